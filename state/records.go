package state

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/zeta-scaler/zeta-scaler/scaling"
)

// EpochKey is the key of the one Leader record.
const EpochKey = "epoch"

// GlobalKey is the key of the Control record of the whole service.
const GlobalKey = ""

// History kinds.
const (
	DecisionEntry = "decision"
	LimitsEntry   = "limits"
	// ActionEntry is an action that is over, with all its transitions.
	ActionEntry = "action"
	// DrainEntry is a drain that is over, with all its jobs and transitions.
	DrainEntry = "drain"
	// AuditEntry is a change that somebody made through the API.
	AuditEntry = "audit"
)

// LeaderRecord says who leads, and under which epoch.
type LeaderRecord struct {
	// Epoch grows with every leader and every restart.
	Epoch uint64 `json:"epoch"`
	// Holder names the process, for people only.
	Holder string    `json:"holder,omitempty"`
	Since  time.Time `json:"since"`
	// URL is where the other replicas reach the process, empty if it has told none.
	URL string `json:"url,omitempty"`
}

// Ramp is the state of step policy exponential between two rounds (spec 1.8).
type Ramp struct {
	// Size is the step of the round in workers, Base the worker count
	// (booting ones included) that the round began with.
	Size int `json:"size"`
	Base int `json:"base"`
	// Tick is when the round began.
	Tick time.Time `json:"tick"`
	// Bound is true when need or max cut the round short.
	Bound bool `json:"bound,omitempty"`
}

// DecisionRecord is what the evaluator keeps about a scope: everything of a
// decision that Prometheus cannot give back after a restart.
type DecisionRecord struct {
	// Scope names the scope with its labels, so that a discovered one is known
	// again after a restart.
	Scope      scaling.Scope `json:"scope"`
	Epoch      uint64        `json:"epoch"`
	Generation uint64        `json:"generation"`
	// Intent is what the generation stands for, Row the row of the last tick.
	Intent scaling.Intent `json:"intent"`
	Row    scaling.RowID  `json:"row"`
	// Since is the tick at which the generation began, LastTick the last
	// published one.
	Since    time.Time `json:"since"`
	LastTick time.Time `json:"lastTick"`
	// Ramp is nil outside an exponential ramp.
	Ramp *Ramp `json:"ramp,omitempty"`
	// Master is the Zeta master that answered last, empty when unknown.
	Master           string                 `json:"master,omitempty"`
	RecommendationID string                 `json:"recommendationId"`
	Recommendation   scaling.Recommendation `json:"recommendation"`
	// UnknownTicks counts consecutive ticks without a worker count: few of
	// them keep the generation (spec 1.9).
	UnknownTicks int `json:"unknownTicks,omitempty"`
	// LastSeen is the last tick with a sample of this scope; a scope unseen for
	// too long is forgotten.
	LastSeen time.Time `json:"lastSeen"`
	// FirstTick is the tick at which the scope began to exist.
	FirstTick time.Time `json:"firstTick"`
	// Told are the limits that everybody was told of last, nil if nobody knows.
	Told *ToldLimits `json:"told,omitempty"`
}

// ToldLimits are limits of a scope as they were told, to find what has changed since.
type ToldLimits struct {
	MinWorkers int `json:"minWorkers"`
	// MaxWorkers is nil for no bound.
	MaxWorkers *int                 `json:"maxWorkers,omitempty"`
	Mode       scaling.Mode         `json:"mode"`
	Timed      []scaling.TimedBound `json:"timed,omitempty"`
	// Conflicts say what was set at run time and does not count.
	Conflicts []string `json:"conflicts,omitempty"`
}

// ExecutionRecord is what the executor keeps about a scope and the evaluator
// reads back as limits.
type ExecutionRecord struct {
	// Epoch is that of the leader that wrote the record.
	Epoch uint64 `json:"epoch,omitempty"`
	// Booting are the requests whose workers may not have registered yet.
	Booting []scaling.Booting `json:"booting,omitempty"`
	// CooldownUntil and BackoffUntil are zero when there is none.
	CooldownUntil time.Time `json:"cooldownUntil,omitzero"`
	BackoffUntil  time.Time `json:"backoffUntil,omitzero"`
	// ActionInFlight is true from the moment at which Action is EXECUTING until
	// it is over.
	ActionInFlight bool `json:"actionInFlight,omitempty"`
	// Action is the scope's latest action that began, nil if there was none; it
	// stays when it is over, so that its recommendation is never executed again.
	Action *scaling.Execution `json:"action,omitempty"`
	// Held is accepted and waits (PENDING) for what holds it up.
	Held *scaling.Execution `json:"held,omitempty"`
	// Deadline is when Action has to have converged.
	Deadline time.Time `json:"deadline,omitzero"`
	// Attempts counts the calls of the platform that failed for Action.
	Attempts int `json:"attempts,omitempty"`
	// NextAttempt is when the platform is called again.
	NextAttempt time.Time `json:"nextAttempt,omitzero"`
	// Failures counts the actions that failed since the last that succeeded:
	// the back-off doubles with each.
	Failures int `json:"failures,omitempty"`
	// EpisodeOver is true once the scope stopped asking for more after Action
	// began: what it asks for later is a new episode, not a round.
	EpisodeOver bool `json:"episodeOver,omitempty"`
	// OtherWriter names who else changes the target, empty if nobody is known.
	OtherWriter string `json:"otherWriter,omitempty"`
	// OtherWriterSince is when it was found; a resume after it accepts what is
	// there.
	OtherWriterSince time.Time `json:"otherWriterSince,omitzero"`
	// Trial is the action that succeeded last, until it is known whether it
	// helped; nil if that is known.
	Trial *Trial `json:"trial,omitempty"`
	// Tried are the latest actions in a row that did not help.
	Tried []scaling.Tried `json:"tried,omitempty"`
	// IneffectiveSince is when the next was held for them, zero if it is not.
	IneffectiveSince time.Time `json:"ineffectiveSince,omitzero"`
	// Seen is the recent past of the inventory, where the platform cannot be
	// observed: ever fewer workers, the last entry is what is there.
	Seen []Seen `json:"seen,omitempty"`
	// FencedTarget is the target that carries our fence since a write of ours,
	// empty if none does: if it is missing there, somebody else has written.
	FencedTarget string `json:"fencedTarget,omitempty"`
}

// Trial is an action that has brought its workers, with what asked for them.
type Trial struct {
	From     *int                `json:"from"`
	Target   int                 `json:"target"`
	Row      scaling.RowID       `json:"row,omitempty"`
	Triggers []scaling.Condition `json:"triggers,omitempty"`
	// CheckAt is when what asks is compared with that.
	CheckAt time.Time `json:"checkAt"`
}

// Seen is how many workers the inventory showed, and until when.
type Seen struct {
	Workers int       `json:"workers"`
	At      time.Time `json:"at"`
}

// HeldFor are the actions for which the next is held at t, nil if it is not;
// resumed is when an operator last said to go on.
func (r ExecutionRecord) HeldFor(t time.Time, resumed ...time.Time) []scaling.Tried {
	if r.IneffectiveSince.IsZero() || !t.Before(r.IneffectiveSince.Add(scaling.IneffectiveHold)) {
		return nil
	}
	for _, at := range resumed {
		if at.After(r.IneffectiveSince) {
			return nil
		}
	}
	return r.Tried
}

// DrainRecord is what the drainer keeps about a scope. It stays when the scope is
// gone as long as a drain is open: a job that was stopped is to be restored.
type DrainRecord struct {
	// Epoch is that of the leader that wrote the record.
	Epoch uint64 `json:"epoch,omitempty"`
	// Open is the drain that is not over, nil if there is none.
	Open *scaling.Drain `json:"open,omitempty"`
	// Last is the latest one that is over, nil if there was none: its
	// recommendation is never carried out again.
	Last *scaling.Drain `json:"last,omitempty"`
	// CooldownUntil is set when a worker is gone, BackoffUntil when a drain went
	// back; zero when there is none.
	CooldownUntil time.Time `json:"cooldownUntil,omitzero"`
	BackoffUntil  time.Time `json:"backoffUntil,omitzero"`
	// Failures counts the drains that went back since the last that did not: the
	// back-off doubles with each.
	Failures int `json:"failures,omitempty"`
	// Others is how far the jobs that were not on the worker had read when it was
	// empty, by id: what the engine restores falls behind.
	Others map[string]int64 `json:"others,omitempty"`
	// OtherWriterSince is when another writer of the target was found, zero if none
	// is known: an operator who resumes the scope later accepts what is there.
	OtherWriterSince time.Time `json:"otherWriterSince,omitzero"`
	// Gone is when workers were seen to be gone, the latest last, MaxGone at most:
	// for a while they are still in what Zeta's inventory is known to have been.
	Gone []time.Time `json:"gone,omitempty"`
}

// MaxGone bounds DrainRecord.Gone.
const MaxGone = 16

// NoteGone notes that a worker is gone, and changes nothing that a copy of the
// record points to.
func (r *DrainRecord) NoteGone(at time.Time) {
	r.Gone = append(slices.Clone(r.Gone[max(0, len(r.Gone)-MaxGone+1):]), at)
}

// InFlight reports whether a drain has begun and is not over.
func (r DrainRecord) InFlight() bool { return r.Open != nil && r.Open.State != scaling.DrainPending }

// Changing reports whether the drain in flight is about to change the target.
// Once the worker is gone, or stays, only jobs are still to be restored, which may
// need more workers.
func (r DrainRecord) Changing() bool {
	return r.InFlight() && r.Open.GivenUp == "" && r.Open.GoneAt.IsZero()
}

// TickRecord is the last tick of one rule set that was published.
type TickRecord struct {
	RuleSet string    `json:"ruleSet"`
	Last    time.Time `json:"last"`
	// Kept is the last tick that was final: later ones were provisional.
	Kept time.Time `json:"kept,omitzero"`
	// Aging is the time by which the history ages: the clock's, but never faster
	// than ticks pass.
	Aging time.Time `json:"aging,omitzero"`
}

// AlertRecord is what the notifier keeps about a scope: the alerts that fired
// and are not forgotten yet, so that a new leader resolves those that no longer
// hold.
type AlertRecord struct {
	Scope scaling.Scope `json:"scope"`
	// Epoch is that of the leader that wrote the record.
	Epoch  uint64       `json:"epoch"`
	Alerts []FiredAlert `json:"alerts"`
}

// FiredAlert is one alert that was sent.
type FiredAlert struct {
	// Labels are the alert's identity; no two alerts have the same.
	Labels      map[string]string `json:"labels"`
	Annotations map[string]string `json:"annotations,omitempty"`
	StartsAt    time.Time         `json:"startsAt"`
	// ResolvedAt is zero while the alert is active.
	ResolvedAt time.Time `json:"resolvedAt,omitzero"`
}

// JobRecord is the config of a job that was submitted through the API.
type JobRecord struct {
	// Cluster is the cluster's name in the configuration, Job the id in Zeta.
	Cluster string `json:"cluster"`
	Job     string `json:"job"`
	Name    string `json:"name"`
	// Format is json, hocon or sql.
	Format string    `json:"format"`
	By     string    `json:"by,omitempty"`
	At     time.Time `json:"at"`
	// Sealed is the text, encrypted: there may be secrets in it.
	Sealed []byte `json:"sealed"`
}

// Decode reads the typed value of a record, and fails with ErrUnreadable. Fields that
// this version does not know are ignored, so that a store survives a downgrade.
func Decode[T any](r Record) (T, error) {
	var v T
	err := json.Unmarshal(r.Value, &v)
	if c, ok := any(v).(checked); ok && err == nil {
		err = c.check()
	}
	if err != nil {
		return v, fmt.Errorf("decoding %s record %q: %w: %w", r.Kind, r.Key, ErrUnreadable, err)
	}
	return v, nil
}

// checked is a value that may be written in the way of its kind and still be none that
// we would write.
type checked interface{ check() error }

// ErrUnreadable says that the value of a record is none of its kind.
var ErrUnreadable = errors.New("its value cannot be read")

// NewPut encodes a typed value as a compare-and-set write.
func NewPut(kind Kind, key string, version uint64, value any) (Put, error) {
	b, err := json.Marshal(value)
	if err != nil {
		return Put{}, fmt.Errorf("encoding %s record %q: %w", kind, key, err)
	}
	return Put{Kind: kind, Key: key, Version: version, Value: b}, nil
}

// Load reads one typed record with its version, whatever its type; who knows the
// kind has a Table. A missing record is the zero value and version 0, which is
// what the first Put of it needs.
func Load[T any](ctx context.Context, s Store, kind Kind, key string) (value T, version uint64, err error) {
	r, err := s.Get(ctx, kind, key)
	switch {
	case errors.Is(err, ErrNotFound):
		return value, 0, nil
	case err != nil:
		return value, 0, err
	}
	value, err = Decode[T](r)
	return value, r.Version, err
}

package state

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
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
	// CheckAt is when an action that succeeded is looked at again: if its
	// trigger has not changed by then, the scaling was ineffective.
	CheckAt time.Time `json:"checkAt,omitzero"`
}

// ControlRecord is what operators set at run time, for one scope or, under
// GlobalKey, for the whole service.
type ControlRecord struct {
	Paused bool `json:"paused"`
	// Reason and By say why and by whom it was paused or changed.
	Reason string `json:"reason,omitempty"`
	By     string `json:"by,omitempty"`
	// PausedUntil ends the pause by itself; zero is until resumed.
	PausedUntil time.Time `json:"pausedUntil,omitzero"`
	// MinWorkers, MaxWorkers and Mode override the configuration; nil does not.
	MinWorkers *int          `json:"minWorkers,omitempty"`
	MaxWorkers *int          `json:"maxWorkers,omitempty"`
	Mode       *scaling.Mode `json:"mode,omitempty"`
	UpdatedAt  time.Time     `json:"updatedAt"`
	// ResumedAt is when somebody last resumed the scope, paused or not: it says
	// that what the platform has now is accepted.
	ResumedAt time.Time `json:"resumedAt,omitzero"`
}

// PausedAt reports whether the pause holds at t.
func (c ControlRecord) PausedAt(t time.Time) bool {
	return c.Paused && (c.PausedUntil.IsZero() || t.Before(c.PausedUntil))
}

// Overlay lays what was set at run time over what the configuration says.
func (c ControlRecord) Overlay(b scaling.Bounds, m scaling.Mode) (scaling.Bounds, scaling.Mode) {
	if c.MinWorkers != nil {
		b.Min = *c.MinWorkers
	}
	if c.MaxWorkers != nil {
		b.Max = *c.MaxWorkers
	}
	if c.Mode != nil {
		m = *c.Mode
	}
	return b, m
}

// TickRecord is the last tick of one rule set that was published.
type TickRecord struct {
	RuleSet string    `json:"ruleSet"`
	Last    time.Time `json:"last"`
	// Kept is the last tick that was final: later ones were provisional.
	Kept time.Time `json:"kept,omitzero"`
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

// Decode reads the typed value of a record. Fields that this version does not
// know are ignored, so that a store survives a downgrade.
func Decode[T any](r Record) (T, error) {
	var v T
	if err := json.Unmarshal(r.Value, &v); err != nil {
		return v, fmt.Errorf("decoding %s record %q: %w", r.Kind, r.Key, err)
	}
	return v, nil
}

// NewPut encodes a typed value as a compare-and-set write.
func NewPut(kind Kind, key string, version uint64, value any) (Put, error) {
	b, err := json.Marshal(value)
	if err != nil {
		return Put{}, fmt.Errorf("encoding %s record %q: %w", kind, key, err)
	}
	return Put{Kind: kind, Key: key, Version: version, Value: b}, nil
}

// Load reads one typed record with its version. A missing record is the zero
// value and version 0, which is what the first Put of it needs.
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

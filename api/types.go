package api

import (
	"encoding/json"
	"time"

	"github.com/zeta-scaler/zeta-scaler/scaling"
	"github.com/zeta-scaler/zeta-scaler/state"
)

// FreshInput is an input with how old it is.
type FreshInput struct {
	scaling.Input
	// ObservedAt is the tick at which it was asked for.
	ObservedAt time.Time `json:"observedAt"`
	// AgeSeconds is the time since then, ≥ 0.
	AgeSeconds float64 `json:"ageSeconds"`
	// Fresh is true when the value is known and younger than three intervals.
	Fresh bool `json:"fresh"`
}

// HistoryEntry is one recorded decision.
type HistoryEntry struct {
	// ID rises with every entry.
	ID    int64     `json:"id"`
	Scope string    `json:"scope"`
	At    time.Time `json:"at"`
	scaling.HistoryRecord
}

// listed turns a nil slice into an empty one: lists are never null in JSON.
func listed[T any](s []T) []T {
	if s == nil {
		return []T{}
	}
	return s
}

// complete returns r with empty lists instead of nil ones.
func complete(r scaling.Recommendation) scaling.Recommendation {
	r.TriggerConditions = listed(r.TriggerConditions)
	r.BlockingConditions = listed(r.BlockingConditions)
	if r.MetricsSnapshot == nil {
		r.MetricsSnapshot = map[string]scaling.Measurement{}
	}
	return r
}

// Origin is the layer that a value of the configuration comes from.
type Origin string

// The origins, each overriding those before it.
const (
	FromDefault     Origin = "default"
	FromRuleSet     Origin = "rule_set"
	FromFile        Origin = "file"
	FromEnvironment Origin = "environment"
	FromFlag        Origin = "flag"
	FromRuntime     Origin = "runtime"
)

// Optional is a field of a request that may be absent, null or a value.
type Optional[T any] struct {
	// Set is true if the field was there; Value is nil for null.
	Set   bool
	Value *T
}

// Some is a field with a value.
func Some[T any](v T) Optional[T] { return Optional[T]{Set: true, Value: &v} }

// UnmarshalJSON reads a value or null.
func (o *Optional[T]) UnmarshalJSON(b []byte) error {
	o.Set = true
	return json.Unmarshal(b, &o.Value)
}

// TakesNull implements document.Nullable.
func (Optional[T]) TakesNull() {}

// MarshalJSON writes the value or null.
func (o Optional[T]) MarshalJSON() ([]byte, error) { return json.Marshal(o.Value) }

// ScopeChange is what a change of the configuration says of one scope.
type ScopeChange struct {
	Scope      string                 `json:"scope"`
	MinWorkers Optional[int]          `json:"minWorkers,omitzero"`
	MaxWorkers Optional[int]          `json:"maxWorkers,omitzero"`
	Mode       Optional[scaling.Mode] `json:"mode,omitzero"`
	// Until is when the bounds of this change end by themselves; not set for never.
	Until  Optional[time.Time] `json:"until,omitzero"`
	Reason string              `json:"reason,omitempty"`
}

// PauseRequest asks for a pause, of the whole service without a Scope.
type PauseRequest struct {
	Scope  Optional[string]    `json:"scope,omitzero"`
	Reason string              `json:"reason"`
	Until  Optional[time.Time] `json:"until,omitzero"`
}

// ResumeRequest asks for the end of a pause, of that of the whole service
// without a Scope.
type ResumeRequest struct {
	Scope  Optional[string] `json:"scope,omitzero"`
	Reason string           `json:"reason,omitempty"`
}

// DrainRequest asks for a drain, without a Worker of the one that the platform
// would remove.
type DrainRequest struct {
	Scope  string           `json:"scope"`
	Worker Optional[string] `json:"worker,omitzero"`
	Reason string           `json:"reason"`
}

// DrainPlanRequest asks what such a drain would do.
type DrainPlanRequest struct {
	Scope  string           `json:"scope"`
	Worker Optional[string] `json:"worker,omitzero"`
}

// DrainCancelRequest cancels the open drain of a scope.
type DrainCancelRequest struct {
	Scope  string `json:"scope"`
	Reason string `json:"reason"`
}

// JobRequest is a job for Zeta.
type JobRequest struct {
	// Cluster may be left out if there is one alone, ID to have one drawn.
	Cluster Optional[string] `json:"cluster,omitzero"`
	ID      Optional[string] `json:"id,omitzero"`
	Name    string           `json:"name"`
	Format  string           `json:"format"`
	Config  string           `json:"config"`
}

// AuditRecord is one change that somebody made, as the history keeps it.
type AuditRecord struct {
	// Who is the user, empty where no credential was asked for; From the address.
	Who  string `json:"who"`
	From string `json:"from"`
	// What is config, pause or resume.
	What string `json:"what"`
	// Scope is empty for the whole service.
	Scope string `json:"scope"`
	// Reason is why the configuration was changed, if somebody said so; that of a
	// pause is in After.
	Reason string `json:"reason,omitempty"`
	// Before and After are the records of what was set at run time.
	Before state.ControlRecord `json:"before"`
	After  state.ControlRecord `json:"after"`
	At     time.Time           `json:"at"`
}

// BacktestRequest is a past period of a scope.
type BacktestRequest struct {
	Scope string              `json:"scope"`
	Start Optional[time.Time] `json:"start,omitzero"`
	End   Optional[time.Time] `json:"end,omitzero"`
	// Against names a loaded rule set, Rules is the text of one.
	Against Optional[string] `json:"against,omitzero"`
	Rules   Optional[string] `json:"rules,omitzero"`
}

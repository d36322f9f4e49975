package scaling

import (
	"encoding/json"
	"math"
	"slices"
	"time"
)

// Names of blocking conditions (spec 1.9). A row may also name a signal.
const (
	BlockerMetricsStale    = "metrics_stale"
	BlockerMetricsMissing  = "metrics_missing"
	BlockerSlotModeUnknown = "slot_mode_unknown"
	BlockerMinWorkers      = "min_workers"
	BlockerMaxWorkers      = "max_workers"
	BlockerCooldown        = "cooldown"
	BlockerFailureBackoff  = "failure_backoff"
	BlockerActionInFlight  = "action_in_flight"
	BlockerBooting         = "booting"
	BlockerNextRound       = "next_round"
	BlockerPaused          = "paused"
	BlockerWorkersUnknown  = "workers_unknown"
	BlockerApplicationMode = "application_mode"
	BlockerOtherWriter     = "other_writer"
	BlockerIneffective     = "ineffective"
	BlockerDrain           = "drain"
)

// Value is a number or unknown. It is written to JSON as a number or as the
// string "UNKNOWN", so that a reader can never mistake a missing value for 0.
type Value struct {
	Number float64
	Known  bool
}

// Known returns a known value.
func Known(v float64) Value { return Value{Number: v, Known: true} }

// MarshalJSON writes the number, or "UNKNOWN". Values that JSON cannot carry
// (NaN, infinities) are unknown.
func (v Value) MarshalJSON() ([]byte, error) {
	if !v.Known || math.IsNaN(v.Number) || math.IsInf(v.Number, 0) {
		return []byte(`"UNKNOWN"`), nil
	}
	return json.Marshal(v.Number)
}

// UnmarshalJSON reads what MarshalJSON writes.
func (v *Value) UnmarshalJSON(b []byte) error {
	if string(b) == `"UNKNOWN"` || string(b) == "null" {
		*v = Value{}
		return nil
	}
	v.Known = true
	return json.Unmarshal(b, &v.Number)
}

// Condition is one trigger or blocker of a recommendation. Name is always
// there; the other fields where they mean something.
type Condition struct {
	Name       string    `json:"name"`
	Signal     string    `json:"signal,omitempty"`
	Class      Class     `json:"class,omitempty"`
	Direction  Direction `json:"direction,omitempty"`
	Value      *Value    `json:"value,omitempty"`
	Comparison string    `json:"comparison,omitempty"`
	Threshold  *float64  `json:"threshold,omitempty"`
	// HeldSeconds is for how long the condition has held, in tick time.
	HeldSeconds *float64 `json:"heldSeconds,omitempty"`
	// WindowSeconds is how long it has to hold.
	WindowSeconds *float64 `json:"windowSeconds,omitempty"`
	// AtLeast is true when HeldSeconds reaches back to the start of what was
	// restored, so that the condition may have held for longer.
	AtLeast bool `json:"atLeast,omitempty"`
	// Until is when a blocker ends by itself, nil if it does not or nobody knows.
	Until *time.Time `json:"until,omitempty"`
}

// InputFree is the input of a metrics snapshot with the slots that no job has, and
// UnitSlots its unit, and that of signals that count slots.
const (
	InputFree = "workers.free"
	UnitSlots = "slots"
)

// Measurement is one input of a decision.
type Measurement struct {
	Value  Value  `json:"value"`
	Unit   string `json:"unit"`
	Reason string `json:"reason,omitempty"`
}

// RuleSetRef names the exact rules that decided.
type RuleSetRef struct {
	Name    string `json:"name"`
	Version string `json:"version"`
	Digest  string `json:"digest"`
}

// Recommendation is what is published for one scope (spec 1.9).
type Recommendation struct {
	Scope            string `json:"scope"`
	RecommendationID string `json:"recommendationId"`
	// MasterEpoch counts zeta-scaler's own leaders and strictly grows.
	MasterEpoch uint64 `json:"masterEpoch"`
	// Generation grows by one whenever the intent changes.
	Generation uint64 `json:"generation"`
	Action     Action `json:"action"`
	Row        RowID  `json:"row"`
	// Strength is "strong" when saturation and capacity agree, else empty.
	Strength string `json:"strength"`
	Reason   string `json:"reason"`
	// CurrentWorkers and RecommendedWorkers are nil when unknown.
	CurrentWorkers     *int        `json:"currentWorkers"`
	RecommendedWorkers *int        `json:"recommendedWorkers"`
	TriggerConditions  []Condition `json:"triggerConditions"`
	BlockingConditions []Condition `json:"blockingConditions"`
	// MetricsSnapshot holds every input by name.
	MetricsSnapshot    map[string]Measurement `json:"metricsSnapshot"`
	MetricsValid       bool                   `json:"metricsValid"`
	StaleWorkerCount   *int                   `json:"staleWorkerCount"`
	RecommendationOnly bool                   `json:"recommendationOnly"`
	RuleSet            RuleSetRef             `json:"ruleSet"`
	// ObservedAt is the tick, Timestamp the time of writing, Since the tick at
	// which this generation began, ValidUntil ObservedAt + 3 intervals.
	ObservedAt time.Time `json:"observedAt"`
	Timestamp  time.Time `json:"timestamp"`
	Since      time.Time `json:"since"`
	ValidUntil time.Time `json:"validUntil"`
}

// HeldBy reports whether a blocking condition of that name holds it back.
func (r *Recommendation) HeldBy(blocker string) bool {
	return slices.ContainsFunc(r.BlockingConditions, func(c Condition) bool { return c.Name == blocker })
}

// Intent is the part of a recommendation that a generation stands for:
// a target for SCALE_OUT and SCALE_IN_CANDIDATE, or hold.
type Intent struct {
	Action Action `json:"action"`
	Target int    `json:"target"`
}

// IntentOf reduces an action and its target to the intent: NO_ACTION and
// SCALE_IN_BLOCKED are the same hold.
func IntentOf(a Action, target int) Intent {
	if a == ScaleOut || a == ScaleInCandidate {
		return Intent{Action: a, Target: target}
	}
	return Intent{Action: NoAction}
}

package scaling

import (
	"slices"
	"time"
)

// ActionState is where an action stands (spec 4.2):
//
//	PENDING ──► EXECUTING ──► CONVERGING ──► SUCCEEDED
//	   │            │  ▲           │
//	   │            ▼  │           └──► FAILED, EXECUTING (a later round)
//	   │         UNKNOWN ──► CONVERGING, FAILED
//	   │            │
//	   └──► REJECTED_STALE, SUPERSEDED, CANCELLED   (from EXECUTING too, when nothing was done)
type ActionState string

// The states. Each is stored before the step that it announces.
const (
	// ActionPending is accepted and not begun: it waits for what holds it up.
	ActionPending ActionState = "PENDING"
	// ActionExecuting is about to call the platform, or has called it and has
	// not stored the answer.
	ActionExecuting ActionState = "EXECUTING"
	// ActionConverging was taken by the platform; its workers have not all come.
	ActionConverging ActionState = "CONVERGING"
	// ActionSucceeded has platform and Zeta's inventory at the target.
	ActionSucceeded ActionState = "SUCCEEDED"
	// ActionFailed was given up.
	ActionFailed ActionState = "FAILED"
	// ActionUnknown may or may not have reached the platform, which is read
	// again before anything else.
	ActionUnknown ActionState = "UNKNOWN"
	// ActionRejectedStale was refused because a newer epoch has written.
	ActionRejectedStale ActionState = "REJECTED_STALE"
	// ActionSuperseded was overtaken by a newer recommendation before it began.
	ActionSuperseded ActionState = "SUPERSEDED"
	// ActionCancelled was called off before it began.
	ActionCancelled ActionState = "CANCELLED"
)

// ActionStates returns every state in the order of an action's life.
func ActionStates() []ActionState {
	return []ActionState{
		ActionPending, ActionExecuting, ActionConverging, ActionSucceeded, ActionFailed,
		ActionUnknown, ActionRejectedStale, ActionSuperseded, ActionCancelled,
	}
}

// Final reports whether an action in this state is over.
func (s ActionState) Final() bool {
	switch s {
	case ActionPending, ActionExecuting, ActionConverging, ActionUnknown:
		return false
	default:
		return true
	}
}

// ConditionPlatformAhead is the condition of an action that had nothing to do:
// the platform already has at least the target.
const ConditionPlatformAhead = "platform_ahead"

// ConditionWorkersMissing is the condition of an action that is not asked for: so
// many workers were there a while ago that the platform, which cannot be
// observed, may still have them.
const ConditionWorkersMissing = "workers_missing"

// Transition is one step of an action's life.
type Transition struct {
	State ActionState `json:"state"`
	At    time.Time   `json:"at"`
	// Reason is one sentence for people.
	Reason string `json:"reason,omitempty"`
}

// Execution is one action: what became of a recommendation that somebody was
// to carry out (spec 4.2 calls the record an action).
type Execution struct {
	// ID is unique: that of the recommendation that began it.
	ID string `json:"id"`
	// RecommendationID is the newest recommendation of the chain: with a step
	// policy that grows in rounds, a later one raises Target.
	RecommendationID string `json:"recommendationId"`
	// Scope is the scope's key.
	Scope       string `json:"scope"`
	MasterEpoch uint64 `json:"masterEpoch"`
	Generation  uint64 `json:"generation"`
	// Row is the table row that decided.
	Row RowID `json:"row,omitempty"`
	// Triggers are the conditions that asked for it, with their values.
	Triggers []Condition `json:"triggers,omitempty"`
	// From is the worker count at acceptance, nil if it was unknown.
	From   *int `json:"from"`
	Target int  `json:"target"`
	// Actuator is its kind, such as "kubernetes".
	Actuator    string       `json:"actuator"`
	State       ActionState  `json:"state"`
	Transitions []Transition `json:"transitions"`
	// Condition is platform_ahead, workers_missing or empty.
	Condition string `json:"condition,omitempty"`
	// Rounds are the recommendations of the chain before RecommendationID.
	Rounds []string `json:"rounds,omitempty"`
	Error  string   `json:"error,omitempty"`
}

// FailureLasts is for how long a failed action is news. If nothing was tried
// since, whatever asked for it is over.
const FailureLasts = 24 * time.Hour

// Has reports whether the recommendation is part of the action's chain.
func (x *Execution) Has(recommendationID string) bool {
	if x.RecommendationID == recommendationID {
		return true
	}
	return slices.Contains(x.Rounds, recommendationID)
}

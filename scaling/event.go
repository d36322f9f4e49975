package scaling

import "time"

// EventKind is what an event is about; the names are those of FLIP-334, with
// workers in the place of parallelism.
type EventKind string

// The kinds.
const (
	// EventScalingReport tells a transition of an action.
	EventScalingReport EventKind = "ScalingReport"
	// EventRecommendedWorkers tells a changed decision.
	EventRecommendedWorkers EventKind = "RecommendedWorkers"
	// EventScalingException tells that scaling failed.
	EventScalingException EventKind = "ScalingException"
	// EventIneffectiveScaling tells that scaling converged and what triggered it
	// is still there one window later.
	EventIneffectiveScaling EventKind = "IneffectiveScaling"
	// EventScopeForgotten tells that a scope is evaluated no more.
	EventScopeForgotten EventKind = "ScopeForgotten"
	// EventLimitsChanged tells that the bounds or the mode of a scope have changed.
	EventLimitsChanged EventKind = "LimitsChanged"
	// EventDrainReport tells a step of a drain.
	EventDrainReport EventKind = "DrainReport"
	// EventDrainException tells that a drain failed, or that a job which it has
	// stopped does not run again yet.
	EventDrainException EventKind = "DrainException"
)

// Severity is how much an event asks of its reader.
type Severity string

// The severities, as Kubernetes names them.
const (
	Normal  Severity = "Normal"
	Warning Severity = "Warning"
)

// SeverityOf is Warning for exceptions and for what nobody watches any more, and
// Normal for everything else.
func SeverityOf(k EventKind) Severity {
	switch k {
	case EventScalingException, EventDrainException, EventScopeForgotten:
		return Warning
	default:
		return Normal
	}
}

// Event is one thing that event handlers are told.
type Event struct {
	Kind     EventKind `json:"kind"`
	Severity Severity  `json:"severity"`
	Scope    Scope     `json:"scope"`
	// Message is one sentence for people.
	Message string `json:"message"`
	// Recommendation is the one that the event is about, nil if there is none.
	// It must not be changed: every handler gets the same.
	Recommendation *Recommendation `json:"recommendation,omitempty"`
	// Execution is the action that the event is about, nil if there is none; it
	// must not be changed either.
	Execution *Execution `json:"execution,omitempty"`
	// Drain is the drain that the event is about, nil if there is none; nor must
	// it be changed.
	Drain *Drain `json:"drain,omitempty"`
	// At is when it happened: the tick of a decision, the time of a transition.
	At time.Time `json:"at"`
}

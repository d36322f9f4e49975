package scaling

// Action is what a recommendation asks for.
type Action string

// The four actions.
const (
	// ScaleOut asks for more workers; Recommendation.RecommendedWorkers is an
	// absolute target.
	ScaleOut Action = "SCALE_OUT"
	// ScaleInCandidate says that fewer workers would do; nothing may be removed
	// without a drain.
	ScaleInCandidate Action = "SCALE_IN_CANDIDATE"
	// ScaleInBlocked says that the scope looks idle but must not shrink.
	ScaleInBlocked Action = "SCALE_IN_BLOCKED"
	// NoAction says that the worker count should stay as it is.
	NoAction Action = "NO_ACTION"
)

// Actions returns every action in a fixed order, for metrics that create
// their label values up front.
func Actions() []Action {
	return []Action{ScaleOut, ScaleInCandidate, ScaleInBlocked, NoAction}
}

// Mode says what a scope's recommendations may lead to.
type Mode string

// The modes of spec 4: advisory is the default and never calls anything.
const (
	Advisory Mode = "advisory"
	Webhook  Mode = "webhook"
	Direct   Mode = "direct"
)

// Deployment tells a long-running session cluster from Zeta's Application
// Mode, whose capacity is fixed (spec 6).
type Deployment string

// The deployments.
const (
	Session     Deployment = "session"
	Application Deployment = "application"
)

// SlotMode is how the workers of a scope hand out slots (spec 1.6).
type SlotMode string

// The slot modes. Mixed and unknown come only from a slot mode expression.
const (
	FixedSlots   SlotMode = "fixed"
	DynamicSlots SlotMode = "dynamic"
	MixedSlots   SlotMode = "mixed"
	UnknownSlots SlotMode = "unknown"
)

// Class is the signal class; earlier classes outrank later ones.
type Class string

// The classes. A guard can only hold back.
const (
	Blocking   Class = "blocking"
	Saturation Class = "saturation"
	Capacity   Class = "capacity"
	Guard      Class = "guard"
)

// Direction tells the two conditions of a signal apart.
type Direction string

// The directions.
const (
	Out Direction = "scale_out"
	In  Direction = "scale_in"
)

// Truth is a condition at one tick: a comparison with an unknown value is
// unknown, never false (spec 1.1).
type Truth uint8

// The truth values; the zero value is Unknown.
const (
	Unknown Truth = iota
	False
	True
)

// String returns "unknown", "false" or "true".
func (t Truth) String() string {
	switch t {
	case False:
		return "false"
	case True:
		return "true"
	default:
		return "unknown"
	}
}

// TruthOf turns a bool into a known truth value.
func TruthOf(b bool) Truth {
	if b {
		return True
	}
	return False
}

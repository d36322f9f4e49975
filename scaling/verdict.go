package scaling

// VerdictResult is the answer to somebody who asks to carry out a
// recommendation, or to let it be, in one word (spec 4.1).
type VerdictResult string

// The results. Only accepted and held begin an action, and every one of them is
// final: asking again gives duplicate or the same refusal.
const (
	// VerdictAccepted: the action is stored and will be carried out.
	VerdictAccepted VerdictResult = "accepted"
	// VerdictHeld: the action is stored as PENDING; it begins when what holds it
	// up ends, if the recommendation is still current by then.
	VerdictHeld VerdictResult = "held"
	// VerdictDuplicate: an action of this recommendation is stored already.
	VerdictDuplicate VerdictResult = "duplicate"
	// VerdictSuperseded: a newer generation has taken its place.
	VerdictSuperseded VerdictResult = "superseded"
	// VerdictStaleEpoch: an older leader made it.
	VerdictStaleEpoch VerdictResult = "stale_epoch"
	// VerdictUnknown: the store has no such recommendation, or it asks for no
	// workers.
	VerdictUnknown VerdictResult = "unknown"
	// VerdictAdvisory: the scope's mode lets nobody act on such a request.
	VerdictAdvisory VerdictResult = "advisory"
	// VerdictPaused: an operator has paused the scope.
	VerdictPaused VerdictResult = "paused"
	// VerdictResolved: the alert is over. An action that had not begun is
	// cancelled; one that had is left alone.
	VerdictResolved VerdictResult = "resolved"
)

// VerdictResults returns every result.
func VerdictResults() []VerdictResult {
	return []VerdictResult{
		VerdictAccepted, VerdictHeld, VerdictDuplicate, VerdictSuperseded,
		VerdictStaleEpoch, VerdictUnknown, VerdictAdvisory, VerdictPaused, VerdictResolved,
	}
}

// Verdict says what becomes of a recommendation that somebody asked about.
type Verdict struct {
	Result VerdictResult `json:"result"`
	// Reason is one sentence for people; never empty when nothing will be done.
	Reason string `json:"reason,omitempty"`
	// ActionID is the action's that the recommendation belongs to, empty if
	// there is none.
	ActionID string `json:"actionId,omitempty"`
	// State is where that action stands, empty if there is none.
	State ActionState `json:"state,omitempty"`
}

package scaling

import (
	"encoding/json"
	"fmt"
)

// Facts are what held at one tick of one scope of all that the decision table
// asks about, worker counts and bounds aside: a set. It is written to JSON as
// the names of what held.
type Facts uint32

// The facts, named as in spec 1.7.
const (
	FactPaused Facts = 1 << iota
	FactApplication
	FactCurrentKnown
	FactBelowMin
	FactMetricsUsable
	FactMetricsValid
	FactShortage
	FactShortagePresent
	FactSaturated
	FactSlotTight
	FactDemandWakes
	FactDemandSustained
	FactGuardHolds
	FactHeldBack
	FactLooksIdle
	FactIdle
	FactBlockingNotIdle
	FactNeededUnknown
	FactCooldown
	FactBackoff
	FactInFlight
	FactOtherWriter
	FactIneffective
)

// factNames are the words of the decision table, in the order of the bits.
var factNames = [...]string{
	"paused", "application", "current_known", "below_min", "metrics_usable", "metrics_valid", "shortage",
	"shortage_present", "saturated", "slot_tight", "demand_wakes", "demand_sustained", "guard_holds", "held_back",
	"looks_idle", "idle", "blocking_not_idle", "needed_unknown", "cooldown", "failure_backoff", "action_in_flight", "other_writer",
	"ineffective",
}

// Has reports whether all of the given facts held.
func (f Facts) Has(facts Facts) bool { return f&facts == facts }

// Names lists what held, in a fixed order.
func (f Facts) Names() []string {
	out := []string{}
	for i, name := range factNames {
		if f&(1<<i) != 0 {
			out = append(out, name)
		}
	}
	return out
}

// MarshalJSON writes Names.
func (f Facts) MarshalJSON() ([]byte, error) { return json.Marshal(f.Names()) }

// UnmarshalJSON reads what MarshalJSON writes. Names that this version does not
// know are left out, so that a history survives a downgrade.
func (f *Facts) UnmarshalJSON(b []byte) error {
	var names []string
	if err := json.Unmarshal(b, &names); err != nil {
		return fmt.Errorf("reading facts: %w", err)
	}
	*f = 0
	for _, name := range names {
		for i := range factNames {
			if factNames[i] == name {
				*f |= 1 << i
			}
		}
	}
	return nil
}

// RowResult is what became of a row of the decision table.
type RowResult string

// The results. Rows are tried in order and the first that matches decides.
const (
	RowMatched    RowResult = "matched"
	RowNotMatched RowResult = "not_matched"
	RowNotTried   RowResult = "not_tried"
	// RowUndetermined: the record does not hold the facts.
	RowUndetermined RowResult = "unknown"
)

// RowVerdict says of one row why it decided or did not.
type RowVerdict struct {
	Row
	Verdict RowResult `json:"verdict"`
	// Because are the conditions of the row that did not hold, in words; empty
	// for a row that matched or was not tried.
	Because []string `json:"because"`
}

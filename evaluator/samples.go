package evaluator

import (
	"math"

	"github.com/zeta-scaler/zeta-scaler/scaling"
)

// Reason says why a value is unknown (spec 1.3).
type Reason uint8

// The reasons; the zero value is a missing sample.
const (
	NoSample Reason = iota
	InvalidValue
	DuplicateSeries
	QueryError
	QueryWarnings
	NoAnswer
	// TwoSources: several Zeta clusters have the scope's key, so that no number is
	// about one of them.
	TwoSources
	NotApplicable
)

// String is the reason's stable name.
func (r Reason) String() string {
	return [...]string{
		"no_sample", "invalid_value", "duplicate_series", "query_error",
		"warnings", "no_answer", "two_sources", "not_applicable",
	}[r]
}

// Reading is one input of one scope at one tick. The zero value is unknown.
type Reading struct {
	V     float64
	Known bool
	// Why is meaningful only while Known is false.
	Why Reason
}

// known returns a known reading.
func known(v float64) Reading { return Reading{V: v, Known: true} }

func unknown(why Reason) Reading { return Reading{Why: why} }

// value is the reading as the domain's word.
func (r Reading) value() scaling.Value { return scaling.Value{Number: r.V, Known: r.Known} }

// Samples are all inputs of one scope at one tick, already checked: what is
// known is finite, inside its range and, for worker counts, whole.
type Samples struct {
	Current, Reporting Reading
	// SlotMode is in 0…1; unused when the rule set's slot mode is a word.
	SlotMode Reading
	// Slots and Unsatisfied size the step policies demand and exponential.
	Slots, Unsatisfied Reading
	// Free is how many slots no job has. Step does not read it.
	Free Reading
	// Sources is how many Zeta clusters have the scope's key. Step does not read
	// it: with more than one everything else is unknown.
	Sources Reading
	// Master is the answering Zeta master, empty when unknown.
	Master string
	// Signals are in rule-set order.
	Signals []Reading
}

// maxWorkers is the greatest worker count that is believed; beyond 2^53 a
// float64 does not count any more.
const maxWorkers = 1 << 53

// checkCount makes worker counts that are not whole numbers ≥ 0 unknown.
func checkCount(r Reading) Reading {
	if r.Known && (r.V < 0 || r.V > maxWorkers || r.V != math.Trunc(r.V)) {
		return unknown(InvalidValue)
	}
	return r
}

// checkRange makes values outside a closed interval unknown.
func checkRange(r Reading, low, high float64) Reading {
	if r.Known && (r.V < low || r.V > high) {
		return unknown(InvalidValue)
	}
	return r
}

// newReading makes values that cannot be compared unknown.
func newReading(v float64) Reading {
	if math.IsNaN(v) || math.IsInf(v, 0) {
		return unknown(InvalidValue)
	}
	return known(v)
}

// mixed makes everything unknown: an average over two clusters is about none of
// them.
func (s *Samples) mixed() {
	for _, r := range []*Reading{&s.Current, &s.Reporting, &s.SlotMode, &s.Slots, &s.Unsatisfied, &s.Free} {
		*r = unknown(TwoSources)
	}
	for i := range s.Signals {
		s.Signals[i] = unknown(TwoSources)
	}
	s.Master = ""
}

package backtest

import (
	"time"

	"github.com/zeta-scaler/zeta-scaler/evaluator"
	"github.com/zeta-scaler/zeta-scaler/scaling"
)

// Tick is one scope at one tick of one rule set. It is valid only while it is
// handed on.
type Tick struct {
	At      time.Time
	RuleSet *RuleSet
	// Failing is true if some expression had no value at this tick.
	Failing bool

	outcome *evaluator.Outcome
	side    *side
	// first is true at the first tick of the scope.
	first bool
}

// Scope is the scope's key.
func (t *Tick) Scope() string { return t.outcome.Scope().Key }

// Decision is what was decided; it must not be changed.
func (t *Tick) Decision() *evaluator.Decision { return t.outcome.Decision() }

// Changed reports whether the decision differs from the one before, or is the
// first of the period.
func (t *Tick) Changed() bool { return t.outcome.Changed || t.first }

// Current is the worker count that was observed, nil if it was unknown.
func (t *Tick) Current() *int {
	c := t.outcome.Samples().Current
	if !c.Known {
		return nil
	}
	n := int(c.V)
	return &n
}

// Signals are the values of the signals in the order of the rule set.
func (t *Tick) Signals() []scaling.Value {
	samples := t.outcome.Samples().Signals
	out := make([]scaling.Value, len(samples))
	for i, r := range samples {
		out[i] = scaling.Value{Number: r.V, Known: r.Known}
	}
	return out
}

// Reason is the decision in one sentence. It costs more than all the rest.
func (t *Tick) Reason() string {
	ev := t.outcome.Evaluation()
	return ev.Recommendation.Reason
}

// Evaluation is everything about the tick, as the service publishes it.
func (t *Tick) Evaluation() scaling.Evaluation { return t.outcome.Evaluation() }

// said is the decision in short.
func (t *Tick) said() Said {
	d := t.Decision()
	s := Said{Action: d.Action, Row: d.RowID()}
	if d.TargetKnown {
		n := d.Target
		s.Recommended = &n
	}
	return s
}

package evaluator

import "github.com/zeta-scaler/zeta-scaler/scaling"

// target is how a row arrives at its worker count.
type target struct {
	// words name it in the table's document.
	words string
	// workers is the count, before the bounds. The step policy reads and
	// advances next's ramp.
	workers func(p *Program, d *Decision, next *State, s *Samples, at int64) int
}

// The targets of the rows.
var (
	toCurrent = target{"current", func(_ *Program, d *Decision, _ *State, _ *Samples, _ int64) int { return d.current }}
	// toUnknown goes with a worker count that is unknown.
	toUnknown = target{"unknown", toCurrent.workers}
	toMin     = target{"min", func(_ *Program, d *Decision, _ *State, _ *Samples, _ int64) int { return d.min }}
	toMax     = target{"max", func(_ *Program, d *Decision, _ *State, _ *Samples, _ int64) int { return d.max }}
	// toFirst wakes an empty scope.
	toFirst = target{"max(1, min)", func(_ *Program, d *Decision, _ *State, _ *Samples, _ int64) int { return max(1, d.min) }}
	// toOneMore asks for one worker, or for those that were asked for already.
	toOneMore = target{"current + max(booting, 1)", func(_ *Program, d *Decision, _ *State, _ *Samples, _ int64) int { return d.oneMore() }}
	// toFewer lets those go that are idle: one, or as many as all signals that are
	// marked surplus agree on.
	toFewer = target{"max(min, current − max(1, surplus))", func(p *Program, d *Decision, _ *State, s *Samples, _ int64) int {
		return max(d.min, d.current-p.surplusOf(d, s))
	}}
	toStep = target{"step policy", func(p *Program, d *Decision, next *State, s *Samples, at int64) (n int) {
		if !d.has(scaling.FactMetricsValid) {
			return d.oneMore()
		}
		n, next.Ramp = p.stepTarget(&d.situation, next.Ramp, s, at)
		return n
	}}
)

// oneMore is one worker more than there are, or those that were asked for
// already.
func (s *situation) oneMore() int { return scaling.AddSaturating(s.current, max(s.booting, 1)) }

// surplusOf is how many workers can go: the least that an applicable signal that is
// marked surplus counts, but one where they count less or there is none. It is for
// an idle scope, in which all of them are known.
func (p *Program) surplusOf(d *Decision, s *Samples) int {
	least, counted := float64(d.current), false
	for i := range p.signals {
		if p.surplus&d.Applies&d.Known&p.signals[i].bit != 0 {
			least, counted = min(least, s.Signals[i].V), true
		}
	}
	if !counted {
		return 1
	}
	return max(1, int(least))
}

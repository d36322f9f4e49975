package evaluator

import (
	"math"

	"github.com/zeta-scaler/zeta-scaler/rules"
	"github.com/zeta-scaler/zeta-scaler/scaling"
)

// Ramp is the state of step policy exponential (AIP-5, after Spark's
// ExecutorAllocationManager). The zero value has no round.
type Ramp struct {
	Active bool
	// Size is how many workers the round asks for beyond Base, which is
	// current + booting at its start. Base + Size stands until the next round.
	Size, Base int
	// At is the tick at which the round began, Unix milliseconds.
	At int64
	// Bound is true when need or max cut the round short: the next one starts
	// at one unit again.
	Bound bool
}

// next returns the round that is on at a tick. need is 0 when unknown.
func (r Ramp) next(now *situation, at, every int64, need, unit int) Ramp {
	base := now.requested()
	size := unit
	switch {
	case !r.Active, r.Bound && at-r.At >= every:
		// A first round, or the one after a cut, asks for one unit.
	case at-r.At < every:
		return r
	case base-r.Base >= r.Size:
		size = scaling.AddSaturating(r.Size, r.Size)
	default:
		size = r.Size
	}
	n := Ramp{Active: true, Size: size, Base: base, At: at}
	// Booting workers are part of the need; what was asked for before is not
	// taken back, so a round may be empty but never negative.
	if need > 0 && n.Size > need-now.booting {
		n.Size, n.Bound = max(need-now.booting, 0), true
	}
	if n.Size > now.max-base {
		n.Size, n.Bound = max(now.max-base, 0), true
	}
	return n
}

// need is how many workers the unsatisfied task slots ask for, in whole units;
// 0 when one of the two inputs is 0 or unknown.
func (p *Program) need(s *Samples) int {
	if !s.Slots.Known || !s.Unsatisfied.Known || s.Slots.V <= 0 || s.Unsatisfied.V <= 0 {
		return 0
	}
	n := math.Ceil(s.Unsatisfied.V / s.Slots.V)
	if n > maxWorkers {
		n = maxWorkers
	}
	return unitUp(int(n), p.RuleSet.Step.Unit)
}

// asksForMore reports whether the step policy may ask for more than one worker
// at a time, so that it makes a difference when it does not count.
func (p *Program) asksForMore() bool {
	return p.RuleSet.Step.Policy != rules.StepFixed || p.RuleSet.Step.Workers > 1
}

// stepTarget is the target of the rows that follow the step policy (spec
// 1.8), and the ramp that goes with it.
func (p *Program) stepTarget(now *situation, r Ramp, s *Samples, at int64) (int, Ramp) {
	step := &p.RuleSet.Step
	switch step.Policy {
	case rules.StepExponential:
		r = r.next(now, at, p.sustainedBacklog, p.need(s), step.Unit)
		return scaling.AddSaturating(r.Base, r.Size), r
	case rules.StepDemand:
		n := 1
		if need := p.need(s); need > 0 {
			n = min(need, step.MaxStep)
		}
		return scaling.AddSaturating(now.current, max(now.booting, n)), r
	default:
		return scaling.AddSaturating(now.current, max(now.booting, step.Workers)), r
	}
}

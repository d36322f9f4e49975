package evaluator

import (
	"slices"
	"time"

	"github.com/zeta-scaler/zeta-scaler/scaling"
)

// maxForecast is how many ticks a forecast looks ahead.
const maxForecast = 480

// forecast is the first tick that decides otherwise if the samples and limits
// stay as they are, and only time goes on; nil if none does, or nobody can tell.
// It is the same fold as that of the ticks, which goes on while anything moves.
func (s *scopeState) forecast(state *State) *scaling.Forecast {
	t := &s.tracks[0]
	d := &t.decision
	if !d.has(scaling.FactCurrentKnown) || d.has(scaling.FactPaused) || !t.member.moves(state, d) {
		return nil
	}
	from, to := t.member.NewState(), t.member.NewState()
	from.CopyFrom(state)
	next := *d
	for i := 0; i < maxForecast && t.member.moves(from, &next); i++ {
		at := from.At + t.member.interval
		if s.boundEnds(at) {
			return nil // what holds from then on is not among the limits
		}
		next = t.member.Step(to, from, at, &t.samples, &s.limits)
		from, to = to, from
		if next.Action == d.Action && next.TargetKnown == d.TargetKnown && (!d.TargetKnown || next.Target == d.Target) {
			continue
		}
		out := &scaling.Forecast{At: time.UnixMilli(at).UTC(), Action: next.Action, Row: next.RowID()}
		if next.TargetKnown {
			n := next.Target
			out.RecommendedWorkers = &n
		}
		return out
	}
	return nil
}

// boundEnds reports whether a bound that ends by itself is over at an instant.
func (s *scopeState) boundEnds(at int64) bool {
	return slices.ContainsFunc(s.limits.Timed, func(b scaling.TimedBound) bool { return !time.UnixMilli(at).Before(b.Until) })
}

// moves reports whether time alone changes something: a window fills or runs out,
// a rest ends, or workers that were asked for are given up.
func (p *Program) moves(state *State, d *Decision) bool {
	demand := &state.demand
	if d.booting > 0 || d.has(scaling.FactCooldown) || d.has(scaling.FactBackoff) || state.Ramp.Active || state.floor.on ||
		demand.on && (demand.last < state.At || !demand.lasted(p.schedulerBacklog)) {
		return true
	}
	for i := range p.signals {
		sig, out, in := &p.signals[i], state.out[i], state.in[i]
		if demand.on && sig.Class == scaling.Capacity && !demand.lasted(sig.out.need) {
			return true
		}
		if out.on && (!out.full || out.last < state.At) || out.keeping || in.on && !in.lasted(state.At, sig.inNeed) {
			return true
		}
	}
	return false
}

package evaluator

import "github.com/zeta-scaler/zeta-scaler/scaling"

// blockerNames are the names of spec 1.9 in the order of the bits.
var blockerNames = [...]string{
	scaling.BlockerMetricsStale,
	scaling.BlockerMetricsMissing,
	scaling.BlockerSlotModeUnknown,
	scaling.BlockerMinWorkers,
	scaling.BlockerMaxWorkers,
	scaling.BlockerCooldown,
	scaling.BlockerFailureBackoff,
	scaling.BlockerActionInFlight,
	scaling.BlockerBooting,
	scaling.BlockerNextRound,
	scaling.BlockerPaused,
	scaling.BlockerWorkersUnknown,
	scaling.BlockerApplicationMode,
	scaling.BlockerOtherWriter,
}

// Names lists the blockers of a set in a fixed order.
func (b Blocker) Names() []string {
	var out []string
	for i, name := range blockerNames {
		if b&(1<<i) != 0 {
			out = append(out, name)
		}
	}
	return out
}

// blockersOf is blockerConditions turned round: which blockers, and which
// signals, a stored decision named.
func (p *Program) blockersOf(conditions []scaling.Condition) (b Blocker, signals uint64) {
	for i := range conditions {
		c := &conditions[i]
		for k := range blockerNames {
			if c.Signal == "" && c.Name == blockerNames[k] {
				b |= 1 << k
			}
		}
		for k := range p.signals {
			if c.Signal == p.signals[k].Name {
				signals |= p.signals[k].bit
			}
		}
	}
	return b, signals
}

// blockerConditions renders the blocking conditions of a decision.
func (t *track) blockerConditions(state *State, l *scaling.Limits) []scaling.Condition {
	d := &t.decision
	out := []scaling.Condition{}
	for _, name := range d.Blockers.Names() {
		out = append(out, t.namedBlocker(name, l))
	}
	for i := range t.member.signals {
		sig := &t.member.signals[i]
		if d.BlockingSignals&sig.bit == 0 {
			continue
		}
		// A guard blocks by its own condition; a blocking signal by not being
		// idle.
		dir := scaling.In
		if sig.In == nil || d.OutTrue&sig.bit != 0 || d.OutSustained&sig.bit != 0 {
			dir = scaling.Out
		}
		out = append(out, t.condition(i, dir, state, l))
	}
	return out
}

// namedBlocker adds the numbers that go with a blocker's name.
func (t *track) namedBlocker(name string, l *scaling.Limits) scaling.Condition {
	d := &t.decision
	c := scaling.Condition{Name: name}
	number := func(v float64, cmp string, limit float64) {
		k := scaling.Known(v)
		c.Value, c.Comparison, c.Threshold = &k, cmp, &limit
	}
	switch name {
	case scaling.BlockerMetricsStale:
		number(float64(d.Stale), ">", 0)
	case scaling.BlockerMinWorkers:
		number(float64(d.current), "≤", float64(l.Bounds.Min))
	case scaling.BlockerMaxWorkers:
		number(float64(d.current), "≥", float64(l.Bounds.Max))
	case scaling.BlockerBooting:
		number(float64(d.booting), ">", 0)
	}
	return c
}

// condition renders one direction of a signal in the one shape of spec 1.9.
func (t *track) condition(i int, dir scaling.Direction, state *State, l *scaling.Limits) scaling.Condition {
	w := t.window(i, dir, state, l)
	sig := &t.member.signals[i]
	v := t.samples.Signals[i].value()
	return scaling.Condition{
		Name: sig.Name, Signal: sig.Name, Class: sig.Class, Direction: dir,
		Value: &v, Comparison: w.Comparison, Threshold: w.Threshold,
		HeldSeconds: &w.HeldSeconds, WindowSeconds: &w.WindowSeconds, AtLeast: w.AtLeast,
	}
}

// window renders one direction of a signal with its progress.
func (t *track) window(i int, dir scaling.Direction, state *State, l *scaling.Limits) scaling.Window {
	sig, d := &t.member.signals[i], &t.decision
	var held, need int64
	var sustained, older bool
	var truth scaling.Truth
	c := sig.Out
	if dir == scaling.Out {
		r := state.out[i]
		held, need = r.heldFor(state.At), sig.out.need
		older = r.sinceOrigin(state.Origin, sig.out.gap)
		sustained = d.OutSustained&sig.bit != 0
		truth = truthAt(sig.bit, d.OutTrue, d.Known&^d.OutUnknown)
	} else {
		c = sig.In
		q := state.in[i]
		held, need = q.heldFor(state.At), sig.inNeed
		older = q.on && q.first == state.Origin
		sustained = d.InSustained&sig.bit != 0
		truth = truthAt(sig.bit, d.InTrue, d.Known)
	}
	return scaling.Window{
		Direction: dir, Comparison: c.Comparison.Symbol(), Threshold: threshold(c, l.Bounds.Max),
		Truth: truth.String(), Sustained: sustained,
		HeldSeconds: seconds(held), WindowSeconds: seconds(need),
		AtLeast: older && state.Restored,
	}
}

func truthAt(bit, trueSet, known uint64) scaling.Truth {
	switch {
	case known&bit == 0:
		return scaling.Unknown
	case trueSet&bit != 0:
		return scaling.True
	default:
		return scaling.False
	}
}

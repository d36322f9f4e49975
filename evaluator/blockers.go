package evaluator

import (
	"time"

	"github.com/zeta-scaler/zeta-scaler/scaling"
)

// Blocker is a set of named blocking conditions.
type Blocker uint16

// The blockers that a tick can have; their names are scaling.Blocker….
const (
	metricsStale Blocker = 1 << iota
	metricsMissing
	slotModeUnknown
	minWorkersBlocker
	maxWorkersBlocker
	cooldownBlocker
	failureBackoffBlocker
	actionInFlightBlocker
	bootingBlocker
	nextRoundBlocker
	pausedBlocker
	workersUnknownBlocker
	applicationModeBlocker
	otherWriterBlocker
	ineffectiveBlocker
)

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
	scaling.BlockerIneffective,
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

// block names the blocking conditions of the row (spec 1.9), unless the bounds
// have done so.
func (p *Program) block(d *Decision) {
	if d.Blockers == 0 {
		d.Blockers, d.BlockingSignals = table[d.Row].blockers(p, d)
	}
}

// nobody is for rows that nothing blocks.
func nobody(*Program, *Decision) (Blocker, uint64) { return 0, 0 }

// always is for rows that name the same blocker whenever they decide.
func always(b Blocker) func(*Program, *Decision) (Blocker, uint64) {
	return func(*Program, *Decision) (Blocker, uint64) { return b, 0 }
}

func whatHoldsTheFloor(_ *Program, d *Decision) (Blocker, uint64) {
	b := d.busy()
	if d.has(scaling.FactOtherWriter) {
		b |= otherWriterBlocker
	}
	return b, 0
}

func whatHoldsGrowth(p *Program, d *Decision) (Blocker, uint64) {
	b, _ := whatHoldsTheFloor(p, d)
	if d.has(scaling.FactIneffective) {
		b |= ineffectiveBlocker
	}
	return b, 0
}

func whatHoldsShrinking(_ *Program, d *Decision) (Blocker, uint64) {
	b := d.busy()
	if d.booting > 0 {
		b |= bootingBlocker
	}
	return b, 0
}

func (s *situation) busy() Blocker {
	var b Blocker
	if s.has(scaling.FactCooldown) {
		b |= cooldownBlocker
	}
	if s.has(scaling.FactBackoff) {
		b |= failureBackoffBlocker
	}
	if s.has(scaling.FactInFlight) {
		b |= actionInFlightBlocker
	}
	return b
}

// whatWaits are the blocking signals that speak against an idle scope.
func (p *Program) whatWaits(d *Decision) (Blocker, uint64) {
	notIdle := p.hasIn & d.Known &^ d.InTrue
	return 0, p.blocking & (d.OutTrue | d.OutSustained | notIdle)
}

// blindness says which inputs cannot be trusted.
func (p *Program) blindness(d *Decision) (b Blocker, signals uint64) {
	if d.StaleKnown() && (d.Stale > 0 || d.Coverage < p.RuleSet.MinCoverage) {
		b |= metricsStale
	}
	missing := d.Applies &^ d.Known
	noSaturation := (!d.has(scaling.FactCurrentKnown) || d.current > 0) && d.Known&p.saturation == 0
	if !d.ReportingKnown || noSaturation || (p.required|p.speaksAgainst)&missing != 0 {
		b |= metricsMissing
	}
	if d.Mode == scaling.UnknownSlots {
		b |= slotModeUnknown
	}
	return b, 0
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
	c := scaling.Condition{Name: name, Until: blockerEnd(name, l, t.decision.current)}
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

// blockerEnd is when a blocker ends by itself, nil if it does not.
func blockerEnd(name string, l *scaling.Limits, current int) *time.Time {
	var end time.Time
	switch name {
	case scaling.BlockerCooldown:
		end = l.CooldownUntil
	case scaling.BlockerFailureBackoff:
		end = l.BackoffUntil
	case scaling.BlockerActionInFlight:
		end = l.ActionDeadline
	case scaling.BlockerPaused:
		end = l.PausedUntil
	case scaling.BlockerIneffective:
		for _, tried := range l.Tried {
			if at := tried.At.Add(scaling.IneffectiveHold); at.After(end) {
				end = at
			}
		}
	case scaling.BlockerBooting:
		for _, b := range l.Booting {
			if b.Target > current && b.Deadline.After(end) {
				end = b.Deadline
			}
		}
	}
	if end.IsZero() {
		return nil
	}
	end = end.UTC()
	return &end
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
	filling := true
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
		filling = q.on
		sustained = d.InSustained&sig.bit != 0
		truth = truthAt(sig.bit, d.InTrue, d.Known)
	}
	w := scaling.Window{
		Direction: dir, Comparison: c.Comparison.Symbol(), Threshold: threshold(c, l.Bounds.Max),
		Truth: truth.String(), Sustained: sustained,
		HeldSeconds: seconds(held), WindowSeconds: seconds(need),
		AtLeast: older && state.Restored,
	}
	if filling && truth == scaling.True && !sustained {
		w.SustainedAt = sustainedAt(state.At, need-held, t.member.interval)
	}
	return w
}

// sustainedAt is the first tick that is at least so long after another; all in
// milliseconds.
func sustainedAt(at, lacking, interval int64) time.Time {
	ticks := max(1, (lacking+interval-1)/interval)
	return time.UnixMilli(at + ticks*interval).UTC()
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

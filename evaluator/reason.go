package evaluator

import (
	"fmt"
	"strings"

	"github.com/zeta-scaler/zeta-scaler/rules"
	"github.com/zeta-scaler/zeta-scaler/scaling"
)

// reason is the one sentence that a person on call reads: what was seen, for
// how long against which window, and what follows.
func (t *track) reason(scope *scaling.Scope, state *State, l *scaling.Limits) string {
	w := sentence{t: t, scope: scope, state: state, l: l}
	d := &t.decision
	text := w.row(table[d.Row].ID)
	switch {
	case d.Blockers&maxWorkersBlocker != 0:
		text += fmt.Sprintf("; already at max_workers %d", l.Bounds.Max)
	case d.Blockers&nextRoundBlocker != 0:
		text += fmt.Sprintf("; %s reached, the next round is due later", workers(d.current, "was", "were"))
	case d.Action == scaling.ScaleOut, d.Action == scaling.ScaleInCandidate:
		text += fmt.Sprintf("; %d → %d workers", d.current, d.Target)
		if held := w.heldBy(); d.Action == scaling.ScaleOut && held != 0 {
			text += ", held by " + join(held.Names())
		}
	}
	return text
}

// sentence renders the parts of a reason.
type sentence struct {
	t     *track
	scope *scaling.Scope
	state *State
	l     *scaling.Limits
}

// heldBy are the blockers that a scale-out really waits for: the cooldown runs,
// but the floor is restored all the same (spec 1.7).
func (w *sentence) heldBy() Blocker {
	d := &w.t.decision
	if table[d.Row].ID == scaling.RowBelowMin {
		return d.Blockers &^ cooldownBlocker
	}
	return d.Blockers
}

func (w *sentence) row(id scaling.RowID) string {
	d, m := &w.t.decision, w.t.member
	triggers := d.OutSustained &^ m.guards &^ d.heldBackMask // what a guard holds asks for nothing
	switch id {
	case scaling.RowPaused:
		return "paused: the worker count stays as it is"
	case scaling.RowApplicationMode:
		return "Zeta Application Mode: the capacity is fixed and never scaled"
	case scaling.RowWorkersUnknown:
		return w.unknownWorkers(triggers)
	case scaling.RowBelowMin:
		return w.belowMin()
	case scaling.RowAboveMax:
		return fmt.Sprintf("%d workers are more than max_workers %d and idle: %s", d.current, d.max, w.idle())
	case scaling.RowAboveMaxBlocked:
		return fmt.Sprintf("%d workers are more than max_workers %d, %s", d.current, d.max, w.whyNotIdle("but not idle for long enough"))
	case scaling.RowWake:
		return fmt.Sprintf("no workers, and %s (scheduler_backlog %s)", w.demand(), duration(m.schedulerBacklog))
	case scaling.RowShortageBlind:
		return w.conditions(triggers, scaling.Out) + "; the metrics cannot be relied on (" + w.blindness() + "), so " + w.probe()
	case scaling.RowBlindIdle, scaling.RowIdleStale, scaling.RowIdleUnknown:
		return "looks idle, but the metrics cannot be relied on: " + w.blindness()
	case scaling.RowBlind:
		return "the metrics cannot be relied on: " + w.blindness()
	case scaling.RowUnsatisfiable:
		return w.unsatisfiable()
	case scaling.RowTightWithDemand:
		return w.conditions(triggers, scaling.Out) + ", and " + w.demand()
	case scaling.RowTightAlone:
		return w.conditions(triggers, scaling.Out) + w.tightAlone()
	default:
		return w.quietRow(id, triggers)
	}
}

func (w *sentence) quietRow(id scaling.RowID, triggers uint64) string {
	d, m := &w.t.decision, w.t.member
	switch id {
	case scaling.RowIdleShortage:
		return "looks idle, but " + w.values(d.BlockingSignals)
	case scaling.RowIdleAtMin:
		return fmt.Sprintf("idle: %s; already at min_workers %d", w.idle(), d.min)
	case scaling.RowIdleHeld:
		return "idle, but held by " + join(d.Blockers.Names())
	case scaling.RowIdle:
		return "idle: " + w.idle()
	case scaling.RowSettling:
		return "looks idle, " + w.whyNotIdle("its windows are filling")
	case scaling.RowSteady:
		text, filling := "nothing to do: no condition is sustained", d.OutTrue&^d.OutSustained&^m.guards
		switch {
		case filling != 0 && d.booting > 0:
			// A scope that was just woken: its job still waits, and help is coming.
			text = workers(d.booting, "is", "are") + " booting; nothing is sustained yet: " + w.progress(filling, scaling.Out)
		case filling != 0:
			text = "nothing is sustained yet: " + w.progress(filling, scaling.Out)
		case d.booting > 0:
			text = workers(d.booting, "is", "are") + " booting, and no condition is sustained"
		}
		return text
	default:
		text := w.conditions(triggers, scaling.Out)
		if d.Action == scaling.ScaleOut && !d.valid && m.asksForMore() {
			text += "; the metrics cannot be relied on (" + w.blindness() + "), so " + w.probe()
		}
		return text
	}
}

// workers counts workers, with the verb that goes with their number.
func workers(n int, one, many string) string {
	if n == 1 {
		return counted(n) + " " + one
	}
	return counted(n) + " " + many
}

func counted(workers int) string {
	if workers == 1 {
		return "1 worker"
	}
	return fmt.Sprintf("%d workers", workers)
}

func (w *sentence) belowMin() string {
	d := &w.t.decision
	if d.booting == 0 {
		return fmt.Sprintf("%s fewer than min_workers %d", workers(d.current, "is", "are"), d.min)
	}
	return fmt.Sprintf("%s and %d booting are fewer than min_workers %d", counted(d.current), d.booting, d.min)
}

// probe says how far a scale-out goes while the metrics are not valid.
func (w *sentence) probe() string {
	if b := w.t.decision.booting; b > 1 {
		return fmt.Sprintf("no more than the %d workers that are booting", b)
	}
	return "one worker at a time"
}

// tightAlone says why full slots lead to nothing: what else there is, and that
// it is not enough yet.
func (w *sentence) tightAlone() string {
	d, m := &w.t.decision, w.t.member
	if d.guardHolds && d.demandSustained {
		return ", but more workers would not help: " + w.conditions(d.guardsActive, scaling.Out)
	}
	if filling := d.OutTrue &^ d.OutSustained &^ m.guards &^ m.capacity; filling != 0 {
		return ", but slots alone never scale, and nothing else is sustained yet: " + w.progress(filling, scaling.Out)
	}
	waiting := m.hasIn & m.blocking & d.Known &^ d.InTrue
	if m.demand != noQuery && w.t.samples.Signals[m.demand].V > 0 {
		waiting |= m.signals[m.demand].bit & d.Known
	}
	switch missing := d.Applies &^ d.Known & (m.blocking | m.saturation); {
	case waiting != 0:
		return ", but slots alone never scale, and there is no shortage yet: " + w.values(waiting)
	case missing != 0:
		return ", but slots alone never scale: " + w.values(missing)
	}
	return ", but slots alone never scale: nothing waits and nothing is saturated"
}

func (w *sentence) unknownWorkers(triggers uint64) string {
	s := "the worker count is unknown (" + w.t.samples.Current.Why.String() + ")"
	if triggers != 0 {
		s += ", although " + w.conditions(triggers, scaling.Out)
	}
	return s
}

// conditions lists sustained conditions with value, threshold, held and
// window.
func (w *sentence) conditions(set uint64, dir scaling.Direction) string {
	return w.list(set, func(i int) string { return w.one(i, dir, " for %s (window %s)") })
}

// progress lists conditions that are true but not sustained.
func (w *sentence) progress(set uint64, dir scaling.Direction) string {
	s := w.list(set, func(i int) string { return w.one(i, dir, " for %s of %s") })
	if s == "" {
		return "not every condition has begun"
	}
	return s
}

func (w *sentence) list(set uint64, f func(int) string) string {
	return join(w.parts(set, f))
}

func (w *sentence) parts(set uint64, f func(int) string) []string {
	var parts []string
	for i := range w.t.member.signals {
		if set&w.t.member.signals[i].bit != 0 {
			parts = append(parts, f(i))
		}
	}
	return parts
}

// one writes a single condition: the signal's own summary, or the default.
func (w *sentence) one(i int, dir scaling.Direction, span string) string {
	sig := &w.t.member.signals[i]
	c := sig.Out
	if dir == scaling.In {
		c = sig.In
	}
	win := w.t.window(i, dir, w.state, w.l)
	held, need := int64(win.HeldSeconds*1000), int64(win.WindowSeconds*1000)
	isTrue := win.Truth == scaling.True.String()
	// A summary speaks of a value that is there and asks for more.
	if s := w.t.member.summary[i]; s != nil && dir == scaling.Out && isTrue {
		if text, err := s.render(w.summaryData(i, &win)); err == nil {
			return strings.TrimSpace(text)
		}
	}
	value, r := w.valueText(i), w.t.samples.Signals[i]
	if r.Known && win.Threshold != nil {
		value = withUnit(numberBeside(r.V, *win.Threshold), sig.Unit)
	}
	asked := c.Comparison.Symbol() + " " + thresholdText(c, sig.Unit, w.l.Bounds.Max)
	heldText := duration(held)
	if win.AtLeast {
		heldText = "at least " + heldText
	}
	name := human(sig.Name)
	switch kept := dir == scaling.Out && w.state.out[i].keptOnly(); {
	case kept && !isTrue:
		return fmt.Sprintf("%s %s, was %s, kept by keep_firing_for %s (window %s)", name, value, asked, duration(sig.out.keep), duration(need))
	case kept:
		return fmt.Sprintf("%s %s %s for %s, kept by keep_firing_for %s (window %s)", name, value, asked, heldText, duration(sig.out.keep), duration(need))
	case !r.Known:
		return name + " " + asked + fmt.Sprintf(span, heldText, duration(need)) + ", at this tick " + value
	}
	return name + " " + value + " " + asked + fmt.Sprintf(span, heldText, duration(need))
}

// valueText is a signal's value, or why there is none.
func (w *sentence) valueText(i int) string {
	if r := w.t.samples.Signals[i]; !r.Known {
		return "UNKNOWN (" + r.Why.String() + ")"
	}
	return withUnit(number(w.t.samples.Signals[i].V), w.t.member.signals[i].Unit)
}

func (w *sentence) summaryData(i int, win *scaling.Window) rules.SummaryData {
	sig := &w.t.member.signals[i]
	data := rules.SummaryData{
		Signal: sig.Name, Scope: w.scope.Key, Labels: map[string]string{},
		Value: w.t.samples.Signals[i].V, Comparison: win.Comparison, Unit: sig.Unit,
		Held: duration(int64(win.HeldSeconds * 1000)), Window: duration(int64(win.WindowSeconds * 1000)),
		Current: w.t.decision.current,
	}
	if win.Threshold != nil {
		data.Threshold = *win.Threshold
	}
	for _, l := range w.scope.Labels {
		data.Labels[l.Name] = l.Value
	}
	return data
}

// idle says what has been low for how long. That nothing waits goes without
// numbers: there is nothing to see in a row of zeros.
func (w *sentence) idle() string {
	d, m := &w.t.decision, w.t.member
	text := w.conditions(d.InSustained&^m.blocking, scaling.In)
	if d.InSustained&m.blocking != 0 {
		text = "nothing waits, " + text
	}
	return text
}

// settling names the conditions that an idle scope still waits for, those of
// saturation and capacity first.
func (w *sentence) settling() string {
	d, m := &w.t.decision, w.t.member
	filling := d.InTrue &^ d.InSustained
	if low := filling &^ m.blocking; low != 0 {
		filling = low
	}
	return w.progress(filling, scaling.In)
}

func (w *sentence) is(i int) string {
	return human(w.t.member.signals[i].Name) + " is " + w.valueText(i)
}

// values lists signals with their bare values.
func (w *sentence) values(set uint64) string {
	return w.list(set, w.is)
}

func (w *sentence) demand() string {
	i, run := w.t.member.demand, &w.state.demand
	held := duration(run.heldFor(w.state.At))
	if w.state.Restored && run.sinceOrigin(w.state.Origin, w.t.member.gap) {
		held = "at least " + held
	}
	if r := w.t.samples.Signals[i]; !r.Known {
		return fmt.Sprintf("%s > 0 for %s, at this tick UNKNOWN (%s)", human(w.t.member.signals[i].Name), held, r.Why)
	}
	return human(w.t.member.signals[i].Name) + " is " + w.valueText(i) + " for " + held
}

// unsatisfiable names what a held-back signal needs and the most that the
// bounds could give.
func (w *sentence) unsatisfiable() string {
	d, m := &w.t.decision, w.t.member
	parts := []string{w.values(d.heldBackMask) + ", but more workers would not help: " + w.conditions(d.guardsActive, scaling.Out)}
	for i := range m.signals {
		if sig := &m.signals[i]; d.guardsActive&sig.bit != 0 && sig.Advice != "" {
			parts = append(parts, sig.Advice)
		}
	}
	return strings.Join(parts, "; ")
}

// blindness says which inputs are missing or stale.
func (w *sentence) blindness() string {
	d, m := &w.t.decision, w.t.member
	var parts []string
	if !d.ReportingKnown {
		parts = append(parts, "the number of reporting workers is unknown ("+w.t.samples.Reporting.Why.String()+")")
	}
	if d.StaleKnown() && d.Stale > 0 {
		parts = append(parts, noFreshSample(d.Stale, d.current))
	}
	if d.Mode == scaling.UnknownSlots {
		parts = append(parts, "the slot mode is unknown")
	}
	if missing := d.Applies &^ d.Known & (m.required | m.speaksAgainst); missing != 0 {
		parts = append(parts, w.parts(missing, w.is)...)
	} else if d.current > 0 && d.Known&m.saturation == 0 {
		parts = append(parts, "no saturation signal has a value")
	}
	return join(parts)
}

func noFreshSample(stale, current int) string {
	if stale == 1 {
		return fmt.Sprintf("1 of %d workers has no fresh sample", current)
	}
	return fmt.Sprintf("%d of %d workers have no fresh sample", stale, current)
}

// whyNotIdle explains why a scope that looks idle, or has more workers than its
// maximum, is not a candidate to shrink; filling is said when only time lacks.
func (w *sentence) whyNotIdle(filling string) string {
	d, m := &w.t.decision, w.t.member
	present := d.OutTrue | d.OutSustained
	notIdle := m.hasIn & d.Known &^ d.InTrue
	if d.idle {
		return "but held by " + join(d.Blockers.Names())
	}
	if !d.valid || d.neededUnknown {
		if b := w.blindness(); b != "" {
			return "but the metrics cannot be relied on: " + b
		}
	}
	if against := (present|notIdle)&m.blocking | present&m.speaksAgainst; against != 0 {
		return "but " + w.values(against)
	}
	if !d.looksIdle {
		return "but not idle: " + w.values(notIdle)
	}
	return filling + ": " + w.settling()
}

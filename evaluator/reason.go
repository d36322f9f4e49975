package evaluator

import (
	"fmt"
	"strings"

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
		text += fmt.Sprintf("; %d workers were reached, the next round is due later", d.current)
	case d.Action == scaling.ScaleOut, d.Action == scaling.ScaleInCandidate:
		text += fmt.Sprintf("; %d → %d workers", d.current, d.Target)
		if d.Action == scaling.ScaleOut && d.Blockers != 0 {
			text += ", held by " + join(d.Blockers.Names())
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

func (w *sentence) row(id scaling.RowID) string {
	d, m := &w.t.decision, w.t.member
	triggers := d.OutSustained &^ m.guards
	switch id {
	case scaling.RowPaused:
		return "paused: the worker count stays as it is"
	case scaling.RowApplicationMode:
		return "Zeta Application Mode: the capacity is fixed and never scaled"
	case scaling.RowWorkersUnknown:
		return w.unknownWorkers(triggers)
	case scaling.RowBelowMin:
		return fmt.Sprintf("%d workers%s are fewer than min_workers %d", d.current, w.booting(), d.min)
	case scaling.RowAboveMax:
		return fmt.Sprintf("%d workers are more than max_workers %d and idle: %s", d.current, d.max, w.idle())
	case scaling.RowAboveMaxBlocked:
		return fmt.Sprintf("%d workers are more than max_workers %d, but %s", d.current, d.max, w.whyNotIdle())
	case scaling.RowWake:
		return fmt.Sprintf("no workers, and %s for %s (scheduler_backlog %s)", w.demand(), duration(w.state.demand.heldFor(w.state.At)), duration(m.schedulerBacklog))
	case scaling.RowShortageBlind:
		return w.conditions(triggers, scaling.Out) + "; the metrics cannot be relied on (" + w.blindness() + "), so one worker at a time"
	case scaling.RowBlindIdle, scaling.RowIdleStale, scaling.RowIdleUnknown:
		return "looks idle, but the metrics cannot be relied on: " + w.blindness()
	case scaling.RowBlind:
		return "the metrics cannot be relied on: " + w.blindness()
	case scaling.RowUnsatisfiable:
		return w.unsatisfiable()
	case scaling.RowTightAlone:
		return w.conditions(triggers, scaling.Out) + ", but slots alone never scale: nothing waits and nothing is saturated"
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
		return "looks idle, its windows are filling: " + w.settling()
	case scaling.RowSteady:
		if filling := d.OutTrue &^ d.OutSustained &^ m.guards; filling != 0 {
			return "nothing is sustained yet: " + w.progress(filling, scaling.Out)
		}
		return "nothing to do: no condition is sustained"
	default:
		return w.conditions(triggers, scaling.Out)
	}
}

func (w *sentence) booting() string {
	if b := w.t.decision.booting; b > 0 {
		return fmt.Sprintf(" and %d booting", b)
	}
	return ""
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
	var parts []string
	for i := range w.t.member.signals {
		if set&w.t.member.signals[i].bit != 0 {
			parts = append(parts, f(i))
		}
	}
	return join(parts)
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
	if s := w.t.member.summary[i]; s != nil && dir == scaling.Out {
		if text, err := s.render(w.summaryData(i, &win)); err == nil {
			return strings.TrimSpace(text)
		}
	}
	r := w.t.samples.Signals[i]
	value := "UNKNOWN"
	if r.Known {
		value = withUnit(r.V, sig.Unit)
	}
	heldText := duration(held)
	if win.AtLeast {
		heldText = "at least " + heldText
	}
	return fmt.Sprintf("%s %s %s %s", human(sig.Name), value, c.Comparison.Symbol(), thresholdText(c, sig.Unit, w.l.Bounds.Max)) +
		fmt.Sprintf(span, heldText, duration(need))
}

func (w *sentence) summaryData(i int, win *scaling.Window) SummaryData {
	sig := &w.t.member.signals[i]
	data := SummaryData{
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

// values lists signals with their bare values.
func (w *sentence) values(set uint64) string {
	return w.list(set, func(i int) string {
		sig, r := &w.t.member.signals[i], w.t.samples.Signals[i]
		if !r.Known {
			return human(sig.Name) + " is UNKNOWN (" + r.Why.String() + ")"
		}
		return human(sig.Name) + " is " + withUnit(r.V, sig.Unit)
	})
}

func (w *sentence) demand() string {
	return w.values(w.t.member.signals[w.t.member.demand].bit)
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
		parts = append(parts, fmt.Sprintf("%d of %d workers have no fresh sample", d.Stale, d.current))
	}
	if d.Mode == scaling.UnknownSlots {
		parts = append(parts, "the slot mode is unknown")
	}
	if missing := d.Applies &^ d.Known & (m.required | m.speaksAgainst); missing != 0 {
		parts = append(parts, w.values(missing))
	} else if d.current > 0 && d.Known&m.saturation == 0 {
		parts = append(parts, "no saturation signal has a value")
	}
	return join(parts)
}

// whyNotIdle explains a scope above its maximum that may not shrink yet.
func (w *sentence) whyNotIdle() string {
	d := &w.t.decision
	switch {
	case d.idle:
		return "held by " + join(d.Blockers.Names())
	case !d.valid:
		if b := w.blindness(); b != "" {
			return b
		}
	}
	if d.looksIdle {
		return "its windows are still filling"
	}
	return "it is not idle"
}

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
	d := &t.decision
	row := &table[d.Row]
	w := &sentence{t: t, d: d, m: t.member, scope: scope, state: state, l: l}
	text := row.reason(w)
	switch {
	case d.Blockers&maxWorkersBlocker != 0:
		text += fmt.Sprintf("; already at max_workers %d", l.Bounds.Max)
	case d.Blockers&nextRoundBlocker != 0:
		text += fmt.Sprintf("; %s reached, the next round is due later", workers(d.current, "was", "were"))
	case d.Action == scaling.ScaleOut, d.Action == scaling.ScaleInCandidate:
		text += fmt.Sprintf("; %d → %s", d.current, scaling.Counted(d.Target, "worker"))
		held := d.Blockers
		if row.restoresFloor {
			held &^= cooldownBlocker // it runs, but the floor is restored all the same
		}
		if d.Action == scaling.ScaleOut && held != 0 {
			text += ", held by " + join(held.Names())
			if held&ineffectiveBlocker != 0 {
				text += w.tried()
			}
		}
	}
	return text + w.freeSlots() + w.unknowns()
}

// freeSlots says when slots are not what the first job of the queue lacks: as
// many are free. More workers are asked for all the same, until they are known
// to change nothing.
func (w *sentence) freeSlots() string {
	free, lacking := w.t.samples.Free, w.t.samples.Unsatisfied
	if w.d.Mode != scaling.FixedSlots || !w.d.has(scaling.FactShortage) || !free.Known || !lacking.Known || lacking.V <= 0 || free.V < lacking.V {
		return ""
	}
	verb := "slots are"
	if free.V == 1 {
		verb = "slot is"
	}
	return fmt.Sprintf("; %.0f %s free and the head job lacks %.0f: a tag or a requirement is not met", free.V, verb, lacking.V)
}

// sentence renders the parts of a reason.
type sentence struct {
	t     *track
	d     *Decision
	m     *member
	scope *scaling.Scope
	state *State
	l     *scaling.Limits
	// said are the unknown signals that the sentence has named, modeSaid is
	// that it has named an unknown slot mode.
	said     uint64
	modeSaid bool
}

// says is a reason without anything to fill in.
func says(text string) func(*sentence) string {
	return func(*sentence) string { return text }
}

// asking are the sustained scale-out conditions that ask for workers: what a
// guard holds asks for nothing.
func (w *sentence) asking() uint64 { return w.d.OutSustained &^ w.m.guards &^ w.d.heldBack }

func (w *sentence) triggers() string { return w.conditions(w.asking(), scaling.Out) }

// growth is the reason of the rows that follow the step policy.
func (w *sentence) growth() string {
	text := w.triggers()
	if w.d.Action == scaling.ScaleOut && !w.d.has(scaling.FactMetricsValid) && w.m.asksForMore() {
		text += w.oneAtATime()
	}
	return text
}

// oneAtATime says how far a scale-out goes while the metrics are not valid.
func (w *sentence) oneAtATime() string {
	most := "one worker at a time"
	if b := w.d.booting; b > 1 {
		most = fmt.Sprintf("no more than the %s booting", workers(b, "that is", "that are"))
	}
	return "; the metrics cannot be relied on (" + w.blindness() + "), so " + most
}

func (w *sentence) idleButBlind() string {
	return "looks idle, but the metrics cannot be relied on: " + w.blindness()
}

func (w *sentence) steady() string {
	d := w.d
	filling := d.OutTrue &^ d.OutSustained &^ w.m.guards
	switch {
	case filling != 0 && d.booting > 0:
		// A scope that was just woken: its job still waits, and help is coming.
		return workers(d.booting, "is", "are") + " booting; nothing is sustained yet: " + w.progress(filling, scaling.Out)
	case filling != 0:
		return "nothing is sustained yet: " + w.progress(filling, scaling.Out)
	case d.booting > 0:
		return workers(d.booting, "is", "are") + " booting, and no condition is sustained"
	}
	if w.needed() != 0 || d.Mode == scaling.UnknownSlots {
		return "no condition is sustained as far as is known"
	}
	return "nothing to do: no condition is sustained"
}

// workers counts workers, with the verb that goes with their number.
func workers(n int, one, many string) string {
	return scaling.Counted(n, "worker") + " " + scaling.Plural(n, one, many)
}

func (w *sentence) belowMin() string {
	d := w.d
	if d.booting == 0 {
		return fmt.Sprintf("%s fewer than min_workers %d", workers(d.current, "is", "are"), d.min)
	}
	return fmt.Sprintf("%s and %d booting are fewer than min_workers %d", scaling.Counted(d.current, "worker"), d.booting, d.min)
}

// tightAlone says why full slots lead to nothing: what else there is, and that
// it is not enough yet.
func (w *sentence) tightAlone() string {
	d, m := w.d, w.m
	if d.has(scaling.FactGuardHolds | scaling.FactDemandSustained) {
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

func (w *sentence) unknownWorkers() string {
	s := "the worker count is unknown (" + w.t.samples.Current.Why.String() + ")"
	if w.asking() != 0 {
		s += ", although " + w.triggers()
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
	for i := range w.m.signals {
		if set&w.m.signals[i].bit != 0 {
			parts = append(parts, f(i))
		}
	}
	return parts
}

// one writes a single condition: the signal's own summary, or the default.
func (w *sentence) one(i int, dir scaling.Direction, span string) string {
	sig := &w.m.signals[i]
	c := sig.Out
	if dir == scaling.In {
		c = sig.In
	}
	win := w.t.window(i, dir, w.state, w.l)
	held, need := int64(win.HeldSeconds*1000), int64(win.WindowSeconds*1000)
	isTrue := win.Truth == scaling.True.String()
	// A summary speaks of a value that is there and asks for more.
	if s := w.m.summary[i]; s != nil && dir == scaling.Out && isTrue {
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
		w.said |= w.m.signals[i].bit
		return "UNKNOWN (" + r.Why.String() + ")"
	}
	return withUnit(number(w.t.samples.Signals[i].V), w.m.signals[i].Unit)
}

func (w *sentence) summaryData(i int, win *scaling.Window) rules.SummaryData {
	sig := &w.m.signals[i]
	data := rules.SummaryData{
		Signal: sig.Name, Scope: w.scope.Key, Labels: map[string]string{},
		Value: w.t.samples.Signals[i].V, Comparison: win.Comparison, Unit: sig.Unit,
		Held: duration(int64(win.HeldSeconds * 1000)), Window: duration(int64(win.WindowSeconds * 1000)),
		Current: w.d.current,
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
	d, m := w.d, w.m
	text := w.conditions(d.InSustained&^m.blocking, scaling.In)
	if d.InSustained&m.blocking != 0 {
		text = "nothing waits, " + text
	}
	return text
}

// settling names the conditions that an idle scope still waits for, those of
// saturation and capacity first.
func (w *sentence) settling() string {
	d, m := w.d, w.m
	filling := d.InTrue &^ d.InSustained
	if low := filling &^ m.blocking; low != 0 {
		filling = low
	}
	return w.progress(filling, scaling.In)
}

func (w *sentence) is(i int) string {
	return human(w.m.signals[i].Name) + " is " + w.valueText(i)
}

// values lists signals with their bare values.
func (w *sentence) values(set uint64) string {
	return w.list(set, w.is)
}

func (w *sentence) demand() string {
	i, run := w.m.demand, &w.state.demand
	held := duration(run.heldFor(w.state.At))
	if w.state.Restored && run.sinceOrigin(w.state.Origin, w.m.gap) {
		held = "at least " + held
	}
	if !w.t.samples.Signals[i].Known {
		return fmt.Sprintf("%s > 0 for %s, at this tick %s", human(w.m.signals[i].Name), held, w.valueText(i))
	}
	return human(w.m.signals[i].Name) + " is " + w.valueText(i) + " for " + held
}

// unsatisfiable names what a held-back signal needs and the most that the
// bounds could give.
func (w *sentence) unsatisfiable() string {
	d, m := w.d, w.m
	parts := []string{w.values(d.heldBack) + ", but more workers would not help: " + w.conditions(d.guardsActive, scaling.Out)}
	for i := range m.signals {
		if sig := &m.signals[i]; d.guardsActive&sig.bit != 0 && sig.Advice != "" {
			parts = append(parts, sig.Advice)
		}
	}
	return strings.Join(parts, "; ")
}

// whyNotIdle explains why a scope that looks idle, or has more workers than its
// maximum, is not a candidate to shrink; filling is said when only time lacks.
func (w *sentence) whyNotIdle(filling string) string {
	d, m := w.d, w.m
	present := d.OutTrue | d.OutSustained
	notIdle := m.hasIn & d.Known &^ d.InTrue
	if d.has(scaling.FactIdle) {
		return "but held by " + join(d.Blockers.Names())
	}
	if !d.has(scaling.FactMetricsValid) || d.has(scaling.FactNeededUnknown) {
		if b := w.blindness(); b != "" {
			return "but the metrics cannot be relied on: " + b
		}
	}
	if against := (present|notIdle)&m.blocking | present&m.speaksAgainst; against != 0 {
		return "but " + w.values(against)
	}
	if !d.has(scaling.FactLooksIdle) {
		return "but not idle: " + w.values(notIdle)
	}
	return filling + ": " + w.settling()
}

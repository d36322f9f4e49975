package evaluator

import (
	"fmt"
	"maps"
	"slices"

	"github.com/zeta-scaler/zeta-scaler/scaling"
)

// needed are the applicable signals that a decision needs and that are unknown.
func (w *sentence) needed() uint64 {
	return w.d.Applies &^ w.d.Known & (w.m.required | w.m.speaksAgainst)
}

// unknowns says what is needed, unknown and not yet named, whatever the row:
// silence about a queue that nobody answers for would read as an empty one.
func (w *sentence) unknowns() string {
	byReason := map[Reason][]string{}
	for i := range w.m.signals {
		if w.needed()&^w.said&w.m.signals[i].bit != 0 {
			why := w.t.samples.Signals[i].Why
			byReason[why] = append(byReason[why], human(w.m.signals[i].Name))
		}
	}
	var parts []string
	for _, why := range slices.Sorted(maps.Keys(byReason)) {
		verb := "is"
		if len(byReason[why]) > 1 {
			verb = "are"
		}
		parts = append(parts, fmt.Sprintf("%s %s UNKNOWN (%s)", join(byReason[why]), verb, why))
	}
	if w.d.Mode == scaling.UnknownSlots && !w.modeSaid {
		parts = append(parts, "the slot mode is unknown")
	}
	if len(parts) == 0 {
		return ""
	}
	return "; " + join(parts)
}

// tried says which actions have brought workers and changed nothing.
func (w *sentence) tried() string {
	var steps []string
	for _, t := range w.l.Tried {
		if t.From != nil {
			steps = append(steps, fmt.Sprintf("%d → %d", *t.From, t.To))
		}
	}
	if len(steps) == 0 {
		return " (the last actions brought workers and changed nothing)"
	}
	return fmt.Sprintf(" (%s workers have changed nothing)", join(steps))
}

// blindness says which inputs are missing or stale.
func (w *sentence) blindness() string {
	d, m := w.d, w.m
	var parts []string
	if !d.ReportingKnown {
		parts = append(parts, "the number of reporting workers is unknown ("+w.t.samples.Reporting.Why.String()+")")
	}
	if d.StaleKnown() && d.Stale > 0 {
		parts = append(parts, noFreshSample(d.Stale, d.current))
	}
	if d.Mode == scaling.UnknownSlots {
		w.modeSaid = true
		parts = append(parts, "the slot mode is unknown")
	}
	if missing := w.needed(); missing != 0 {
		parts = append(parts, w.parts(missing, w.is)...)
	} else if d.current > 0 && d.Known&m.saturation == 0 {
		parts = append(parts, "no saturation signal has a value")
	}
	return join(parts)
}

func noFreshSample(stale, current int) string {
	return fmt.Sprintf("%d of %s %s no fresh sample", stale, scaling.Counted(current, "worker"), scaling.Plural(stale, "has", "have"))
}

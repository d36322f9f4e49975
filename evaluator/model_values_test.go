package evaluator

import (
	"math"
	"slices"

	"github.com/zeta-scaler/zeta-scaler/rules"
	"github.com/zeta-scaler/zeta-scaler/scaling"
)

// What the model takes from the samples of a tick (spec 1.3, 1.5, 1.6).

func (w *world) number(e *rules.Expr, t int) (float64, bool) {
	if e == nil {
		return 0, false
	}
	v, ok := w.ticks[t].raw[e.Text]
	if !ok || math.IsNaN(v) || math.IsInf(v, 0) {
		return 0, false
	}
	return v, true
}

func (w *world) count(e *rules.Expr, t int) (int, bool) {
	v, ok := w.number(e, t)
	if !ok || v < 0 || v != math.Floor(v) {
		return 0, false
	}
	return int(v), true
}

func (w *world) current(t int) (int, bool) { return w.count(w.rs.Workers.Current, t) }
func (w *world) reporting(t int) (int, bool) {
	n, ok := w.count(w.rs.Workers.Reporting, t)
	if current, known := w.current(t); ok && known && n > current {
		return 0, false // counted twice, or a worker that is gone
	}
	return n, ok
}

func (w *world) mode(t int) scaling.SlotMode {
	if w.rs.SlotModeExpr == nil {
		return w.rs.SlotMode
	}
	v, ok := w.number(w.rs.SlotModeExpr, t)
	switch {
	case !ok || v < 0 || v > 1:
		return scaling.UnknownSlots
	case v == 0:
		return scaling.FixedSlots
	case v == 1:
		return scaling.DynamicSlots
	default:
		return scaling.MixedSlots
	}
}

// master is known when exactly one sample has a label that is not empty.
func (w *world) master(t int) (string, bool) {
	var named []string
	for _, m := range w.ticks[t].masters {
		if m != "" {
			named = append(named, m)
		}
	}
	if len(named) != 1 {
		return "", false
	}
	return named[0], true
}

func (w *world) applies(s *rules.Signal, t int) bool {
	if len(s.SlotModes) > 0 && !slices.Contains(s.SlotModes, w.mode(t)) {
		return false
	}
	current, ok := w.current(t)
	empty := ok && current == 0
	return !empty || s.Class != scaling.Saturation && s.Class != scaling.Capacity
}

// value is the signal's number, were it to apply.
func (w *world) value(s *rules.Signal, t int) (float64, bool) {
	v, ok := w.number(s.Expr, t)
	if _, sample := w.ticks[t].raw[s.Expr.Text]; !sample && s.Absent == rules.AbsentZero {
		v, ok = 0, true
	}
	if ok && s.Range != nil && (v < s.Range[0] || v > s.Range[1]) {
		return 0, false
	}
	return v, ok
}

func (w *world) known(s *rules.Signal, t int) bool {
	_, ok := w.value(s, t)
	return ok && w.applies(s, t)
}

// stale is nil when it cannot be counted.
func (w *world) stale(t int) *int {
	current, ok1 := w.current(t)
	reporting, ok2 := w.reporting(t)
	if !ok1 || !ok2 {
		return nil
	}
	n := max(0, current-reporting)
	return &n
}

// covered reports whether coverage is known and enough.
func (w *world) covered(t int) bool {
	current, ok := w.current(t)
	if ok && current == 0 {
		return true
	}
	reporting, ok2 := w.reporting(t)
	return ok && ok2 && float64(reporting)/float64(current) >= w.rs.MinCoverage
}

func (w *world) usable(t int) bool {
	current, ok1 := w.current(t)
	_, ok2 := w.reporting(t)
	if !ok1 || !ok2 {
		return false
	}
	return current == 0 || w.covered(t) && w.any(func(s *rules.Signal) bool {
		return s.Class == scaling.Saturation && w.known(s, t)
	})
}

func (w *world) requiredUnknown(t int) bool {
	return w.any(func(s *rules.Signal) bool { return s.Required && w.applies(s, t) && !w.known(s, t) })
}

func (w *world) valid(t int) bool {
	stale := w.stale(t)
	return w.usable(t) && w.mode(t) != scaling.UnknownSlots && !w.requiredUnknown(t) && stale != nil && *stale == 0
}

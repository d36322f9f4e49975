package evaluator

import "time"

// This file says what a window is, over the whole series and with no state:
// every question is answered by walking back from the tick (spec 1.4).

// mark is a condition at one tick of a series.
type mark byte

const (
	markTrue    mark = 't'
	markFalse   mark = 'f'
	markUnknown mark = 'u'
	// markGone is a tick at which the signal does not apply: it keeps no window.
	markGone mark = 'n'
)

// modelWindow is one scale-out window over a series.
type modelWindow struct {
	marks    []mark
	interval time.Duration
	// gap is how many consecutive unknown ticks are bridged.
	gap  int
	need time.Duration
	keep time.Duration
}

// run is the run that a tick belongs to: its first and its last true tick.
func (w *modelWindow) run(t int) (first, last int, ok bool) {
	first, last = -1, -1
	unknowns := 0
	for i := t; i >= 0; i-- {
		switch w.marks[i] {
		case markTrue:
			first, unknowns = i, 0
			if last < 0 {
				last = i
			}
		case markUnknown:
			unknowns++
			if unknowns > w.gap {
				return first, last, first >= 0
			}
		default:
			return first, last, first >= 0
		}
	}
	return first, last, first >= 0
}

// lasted reports whether the run at t is as long as asked for, from its first
// to its last true tick.
func (w *modelWindow) lasted(t int, need time.Duration) bool {
	first, last, ok := w.run(t)
	return ok && time.Duration(last-first)*w.interval >= need
}

// held is how many ticks the run at t is old.
func (w *modelWindow) held(t int) int {
	first, _, ok := w.run(t)
	if !ok {
		return 0
	}
	return t - first
}

// sustained reports whether the run at t is full, or a full one ended in a
// false tick less than keep ago.
func (w *modelWindow) sustained(t int) bool {
	if w.lasted(t, w.need) {
		return true
	}
	for f := t; f >= 1 && time.Duration(t-f)*w.interval < w.keep; f-- {
		if w.marks[f] == markGone {
			return false
		}
		if w.marks[f] == markFalse && w.lasted(f-1, w.need) {
			return true
		}
	}
	return false
}

package evaluator

import (
	"time"

	"github.com/zeta-scaler/zeta-scaler/rules"
	"github.com/zeta-scaler/zeta-scaler/scaling"
)

// This file is the reference: a second evaluator, written from the text of
// spec 1 alone, slow and plain on purpose. It keeps nothing between ticks but
// the exponential ramp; whatever it says about a tick it works out again from
// every sample since the first one.

// moment is one tick as the world saw it.
type moment struct {
	at time.Time
	// raw holds the sample of each expression; no entry, no sample.
	raw map[string]float64
	// masters are the master labels of the samples of workers.master.
	masters []string
	limits  scaling.Limits
}

// world is a rule set with everything that ever happened to one scope.
type world struct {
	rs    *rules.RuleSet
	ticks []moment
}

// verdict is what is compared, one tick of one scope.
type verdict struct {
	Row        scaling.RowID
	Action     scaling.Action
	Target     *int
	Valid      bool
	Stale      *int
	Strong     bool
	Triggers   []string
	Blockers   []string
	Generation uint64
	// Windows is the progress of every condition, in rule-set order.
	Windows []string
}

func (w *world) any(f func(*rules.Signal) bool) bool {
	for i := range w.rs.Signals {
		if f(&w.rs.Signals[i]) {
			return true
		}
	}
	return false
}

func (w *world) mark(s *rules.Signal, c *rules.Condition, t int) mark {
	if !w.applies(s, t) {
		return markGone
	}
	v, ok := w.value(s, t)
	if !ok {
		return markUnknown
	}
	threshold := c.Threshold
	if c.MaxWorkers {
		if w.ticks[t].limits.Bounds.Max == scaling.Unbounded {
			return markFalse // there is no limit to be above, at or below
		}
		threshold = float64(w.ticks[t].limits.Bounds.Max)
	}
	var yes bool
	switch c.Comparison {
	case rules.Above:
		yes = v > threshold
	case rules.AtLeast:
		yes = v >= threshold
	case rules.Below:
		yes = v < threshold
	case rules.AtMost:
		yes = v <= threshold
	}
	if yes {
		return markTrue
	}
	return markFalse
}

// outWindow is a signal's scale-out window up to a tick.
func (w *world) outWindow(s *rules.Signal, t int) *modelWindow {
	win := &modelWindow{interval: w.rs.Interval, need: s.Out.For, keep: s.KeepFiringFor}
	if s.Class == scaling.Blocking || s.Class == scaling.Guard {
		win.gap = w.rs.GapTolerance
	}
	for i := 0; i <= t; i++ {
		m := w.mark(s, s.Out, i)
		if s.Class == scaling.Saturation && m != markGone && !w.covered(i) {
			m = markUnknown
		}
		win.marks = append(win.marks, m)
	}
	return win
}

func (w *world) outTrue(s *rules.Signal, t int) bool {
	return s.Out != nil && w.mark(s, s.Out, t) == markTrue
}

func (w *world) outSustained(s *rules.Signal, t int) bool {
	return s.Out != nil && w.outWindow(s, t).sustained(t)
}

func (w *world) outNowOrStill(s *rules.Signal, t int) bool {
	return w.outTrue(s, t) || w.outSustained(s, t)
}

// quietBroken reports whether no scale-in run of the scope can exist at t.
func (w *world) quietBroken(t int) bool {
	stale := w.stale(t)
	if stale == nil || *stale > 0 || w.mode(t) == scaling.UnknownSlots || w.requiredUnknown(t) {
		return true
	}
	_, ok := w.master(t)
	return w.rs.Workers.Master != nil && !ok
}

// quietCut reports whether a run at t cannot reach back beyond t.
func (w *world) quietCut(t int) bool {
	if t == 0 {
		return true
	}
	if w.mode(t) != w.mode(t-1) {
		return true
	}
	now, ok1 := w.master(t)
	before, ok2 := w.master(t - 1)
	return w.rs.Workers.Master != nil && (!ok1 || !ok2 || now != before)
}

// inHeld is how many ticks the scale-in run at t is old, if there is one.
func (w *world) inHeld(s *rules.Signal, t int) (ticks int, ok bool) {
	first := -1
	for i := t; i >= 0 && w.mark(s, s.In, i) == markTrue && !w.quietBroken(i); i-- {
		first = i
		if w.quietCut(i) {
			break
		}
	}
	if first < 0 {
		return 0, false
	}
	return t - first, true
}

func (w *world) inSustained(s *rules.Signal, t int) bool {
	held, ok := w.inHeld(s, t)
	return ok && time.Duration(held)*w.rs.Interval >= s.In.For
}

// demandFor reports whether jobs have wanted workers for that long.
func (w *world) demandFor(t int, need time.Duration) bool {
	for i := range w.rs.Signals {
		s := &w.rs.Signals[i]
		if !s.Demand {
			continue
		}
		win := &modelWindow{interval: w.rs.Interval, gap: w.rs.GapTolerance}
		positive := &rules.Condition{Comparison: rules.Above}
		for k := 0; k <= t; k++ {
			m := w.mark(s, positive, k)
			if w.restoresFloor(k) {
				m = markGone // row below_min resets the gates
			}
			win.marks = append(win.marks, m)
		}
		return win.lasted(t, need)
	}
	return false
}

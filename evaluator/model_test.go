package evaluator

import (
	"math"
	"slices"
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
}

// --- spec 1.3, 1.5, 1.6: values -------------------------------------------

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

func (w *world) current(t int) (int, bool)   { return w.count(w.rs.Workers.Current, t) }
func (w *world) reporting(t int) (int, bool) { return w.count(w.rs.Workers.Reporting, t) }

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

// --- spec 1.4: conditions and windows ---------------------------------------

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

func (w *world) inSustained(s *rules.Signal, t int) bool {
	first := -1
	for i := t; i >= 0 && w.mark(s, s.In, i) == markTrue && !w.quietBroken(i); i-- {
		first = i
		if w.quietCut(i) {
			break
		}
	}
	return first >= 0 && time.Duration(t-first)*w.rs.Interval >= s.In.For
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

// --- spec 1.7: what the rows are about ----------------------------------------

// holds reports whether a guard explains a blocking signal.
func holds(g, s *rules.Signal) bool {
	return s.Class == scaling.Blocking && (!g.HoldsSet || slices.Contains(g.Holds, s.Name))
}

func (w *world) holdsAnything(g *rules.Signal) bool {
	return w.any(func(s *rules.Signal) bool { return holds(g, s) })
}

// heldBack reports whether a sustained guard holds the signal.
func (w *world) heldBack(s *rules.Signal, t int) bool {
	return w.any(func(g *rules.Signal) bool {
		return g.Class == scaling.Guard && holds(g, s) && w.outSustained(g, t)
	})
}

func (w *world) guardUp(t int) bool {
	return w.any(func(g *rules.Signal) bool {
		return g.Class == scaling.Guard && w.holdsAnything(g) && w.outSustained(g, t)
	})
}

func (w *world) shortage(t int) bool {
	return w.any(func(s *rules.Signal) bool {
		return s.Class == scaling.Blocking && w.outSustained(s, t) && !w.heldBack(s, t)
	})
}

func (w *world) classSustained(c scaling.Class, t int) bool {
	return w.any(func(s *rules.Signal) bool { return s.Class == c && w.outSustained(s, t) })
}

func (w *world) demandSustained(t int) bool {
	return w.any(func(s *rules.Signal) bool {
		return s.Class == scaling.Capacity && w.outSustained(s, t) && w.demandFor(t, s.Out.For)
	})
}

func (w *world) unsatisfiable(t int) bool {
	return w.any(func(s *rules.Signal) bool {
		return s.Class == scaling.Blocking && w.heldBack(s, t) && w.outNowOrStill(s, t)
	})
}

// restless reports whether a blocking signal speaks against an idle scope.
func (w *world) restless(s *rules.Signal, t int) bool {
	return s.Class == scaling.Blocking && (w.outNowOrStill(s, t) || s.In != nil && w.mark(s, s.In, t) == markFalse)
}

func (w *world) looksIdle(t int) bool {
	saturation := false
	for i := range w.rs.Signals {
		s := &w.rs.Signals[i]
		if s.In == nil || s.Class != scaling.Saturation && s.Class != scaling.Capacity || !w.known(s, t) {
			continue
		}
		if w.mark(s, s.In, t) != markTrue {
			return false
		}
		saturation = saturation || s.Class == scaling.Saturation
	}
	return saturation
}

// idleNeeds reports whether idle must know the signal.
func idleNeeds(s *rules.Signal) bool {
	evidence := s.Out == nil && s.In == nil && !s.Required && !s.Demand
	return s.Class != scaling.Guard && !evidence
}

func (w *world) idleUnknown(t int) bool {
	return w.any(func(s *rules.Signal) bool { return idleNeeds(s) && w.applies(s, t) && !w.known(s, t) })
}

func (w *world) idle(t int) bool {
	if !w.valid(t) || w.idleUnknown(t) {
		return false
	}
	saturation := false
	for i := range w.rs.Signals {
		s := &w.rs.Signals[i]
		if idleNeeds(s) && w.outNowOrStill(s, t) {
			return false
		}
		if s.In == nil || !w.applies(s, t) {
			continue
		}
		if !w.inSustained(s, t) {
			return false
		}
		saturation = saturation || s.Class == scaling.Saturation
	}
	return saturation
}

func (w *world) booting(t int) int {
	current, _ := w.current(t)
	n := 0
	for _, b := range w.ticks[t].limits.Booting {
		if w.ticks[t].at.Before(b.Deadline) {
			n = max(n, b.Target-current)
		}
	}
	return n
}

func (w *world) busyNames(t int) []string {
	l, at := w.ticks[t].limits, w.ticks[t].at
	var names []string
	if at.Before(l.CooldownUntil) {
		names = append(names, scaling.BlockerCooldown)
	}
	if at.Before(l.BackoffUntil) {
		names = append(names, scaling.BlockerFailureBackoff)
	}
	if l.ActionInFlight {
		names = append(names, scaling.BlockerActionInFlight)
	}
	return names
}

// belowMin reports whether the scope has been below its floor for floor_delay.
func (w *world) belowMin(t int) bool {
	first := -1
	for i := t; i >= 0; i-- {
		current, ok := w.current(i)
		if !ok || current+w.booting(i) >= w.ticks[i].limits.Bounds.Min {
			break
		}
		first = i
	}
	return first >= 0 && time.Duration(t-first)*w.rs.Interval >= w.ticks[t].limits.Bounds.FloorDelay
}

// restoresFloor reports whether row below_min decides a tick.
func (w *world) restoresFloor(t int) bool {
	l := w.ticks[t].limits
	return !l.Paused && l.Deployment != scaling.Application && w.belowMin(t)
}

package evaluator

import (
	"math"
	"slices"
	"time"

	"github.com/zeta-scaler/zeta-scaler/rules"
	"github.com/zeta-scaler/zeta-scaler/scaling"
)

// What the rows of the model's table are about (spec 1.7).

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

// surplus is how many workers may go at once: as many as everybody who counts them
// allows, and one in any case.
func (w *world) surplus(t int) int {
	allowed := []int{}
	for i := range w.rs.Signals {
		s := &w.rs.Signals[i]
		if v, ok := w.value(s, t); ok && s.Surplus && w.applies(s, t) {
			allowed = append(allowed, max(1, int(math.Floor(v))))
		}
	}
	if len(allowed) == 0 {
		return 1
	}
	return slices.Min(allowed)
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

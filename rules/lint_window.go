package rules

import (
	"fmt"
	"time"

	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/promql/parser"

	"github.com/zeta-scaler/zeta-scaler/scaling"
)

// eventWindow is a function that sees events of the last reach.
type eventWindow struct {
	function string
	reach    time.Duration
}

// eventFunctions turn changes of a series into a number that is not 0 while
// the change lies in their range.
func eventFunctions() map[string]bool {
	return map[string]bool{
		"increase": true, "rate": true, "irate": true, "changes": true, "resets": true, "delta": true, "idelta": true,
	}
}

// holdFunctions keep a value that was there at any time of their range.
func holdFunctions() map[string]bool {
	return map[string]bool{
		"max_over_time": true, "sum_over_time": true, "avg_over_time": true, "count_over_time": true, "present_over_time": true,
	}
}

// eventWindows finds the event functions of an expression. A subquery that
// holds their value lengthens their reach.
func eventWindows(e parser.Node, held time.Duration) []eventWindow {
	var out []eventWindow
	if c, ok := e.(*parser.Call); ok && c.Func != nil {
		for _, a := range c.Args {
			switch r := unwrap(a).(type) {
			case *parser.MatrixSelector:
				if eventFunctions()[c.Func.Name] {
					out = append(out, eventWindow{c.Func.Name, r.Range + held})
				}
			case *parser.SubqueryExpr:
				if eventFunctions()[c.Func.Name] {
					out = append(out, eventWindow{c.Func.Name, r.Range + held})
				}
				if holdFunctions()[c.Func.Name] {
					held += r.Range
				}
			}
		}
	}
	for child := range parser.ChildrenIter(e) {
		out = append(out, eventWindows(child, held)...)
	}
	return out
}

func unwrap(e parser.Expr) parser.Expr {
	for {
		p, ok := e.(*parser.ParenExpr)
		if !ok {
			return e
		}
		e = p.Expr
	}
}

// lookback is how far back an expression reads, without offsets or with them.
func lookback(e parser.Node, offsets bool) time.Duration {
	var own, inner time.Duration
	switch n := e.(type) {
	case *parser.MatrixSelector:
		own = n.Range
	case *parser.SubqueryExpr:
		own = n.Range
		if offsets {
			own += max(0, n.OriginalOffset)
		}
	case *parser.VectorSelector:
		if offsets {
			own = max(0, n.OriginalOffset)
		}
	}
	for child := range parser.ChildrenIter(e) {
		inner = max(inner, lookback(child, offsets))
	}
	return own + inner
}

// lintEventWindow: an event that leaves its range before the window is full
// never sustains it.
func lintEventWindow(rs *RuleSet, report reporter) {
	for i := range rs.Signals {
		s := &rs.Signals[i]
		if s.Class != scaling.Blocking || s.Out == nil || s.Expr == nil || s.Expr.Node == nil {
			continue
		}
		need := s.Out.For + rs.Interval
		for _, w := range eventWindows(s.Expr.Node, 0) {
			if w.reach > need {
				continue
			}
			report(s.Expr.Pos, fmt.Sprintf(
				"signal %s: %s sees events of the last %s, but its window is %s with ticks every %s: only events at most %s apart sustain it; a single one, or one every hour, never does",
				s.Name, w.function, model.Duration(w.reach), model.Duration(s.Out.For), model.Duration(rs.Interval), model.Duration(w.reach)),
				eventWindowHint(need, w.reach-rs.Interval))
		}
	}
}

// eventWindowHint says how range and window fit together. A range of one
// interval or less fits no window.
func eventWindowHint(need, longest time.Duration) string {
	hint := fmt.Sprintf("make the range longer than %s (for + interval)", model.Duration(need))
	if longest > 0 {
		hint += fmt.Sprintf(", or for shorter than %s", model.Duration(longest))
	}
	return hint
}

// lintLongLookback: an average over more than the window remembers what the
// window was meant to have forgotten. What a single reading ends does not.
func lintLongLookback(rs *RuleSet, report reporter) {
	for i := range rs.Signals {
		s := &rs.Signals[i]
		if s.Expr == nil || s.Expr.Node == nil {
			continue
		}
		if s.Class == scaling.Blocking && len(eventWindows(s.Expr.Node, 0)) > 0 {
			continue
		}
		for _, w := range []struct {
			dir scaling.Direction
			c   *Condition
		}{{scaling.Out, s.Out}, {scaling.In, s.In}} {
			if w.c == nil {
				continue
			}
			back := remembers(s.Expr.Node, w.c.side())
			if back <= w.c.For {
				continue
			}
			report(s.Expr.Pos, fmt.Sprintf("signal %s: the expression looks back %s, longer than its %s window %s: old values decide after they are over",
				s.Name, model.Duration(back), w.dir, model.Duration(w.c.For)), "shorten the range; the window already smooths")
			break
		}
	}
}

// lintForInterval: nothing happens to a window between ticks.
func lintForInterval(rs *RuleSet, report reporter) {
	for i := range rs.Signals {
		s := &rs.Signals[i]
		for _, w := range []struct {
			dir scaling.Direction
			c   *Condition
		}{{scaling.Out, s.Out}, {scaling.In, s.In}} {
			if w.c == nil || rs.Interval <= 0 || w.c.For%rs.Interval == 0 {
				continue
			}
			up := (w.c.For/rs.Interval + 1) * rs.Interval
			report(s.at(string(w.dir)+".for", string(w.dir)), fmt.Sprintf("signal %s: the %s window %s is no multiple of the interval %s and is rounded up to %s",
				s.Name, w.dir, model.Duration(w.c.For), model.Duration(rs.Interval), model.Duration(up)), "write "+model.Duration(up).String())
		}
	}
}

// lintKeepFiring: keeping for less than the window only delays its end.
func lintKeepFiring(rs *RuleSet, report reporter) {
	for i := range rs.Signals {
		s := &rs.Signals[i]
		if s.KeepFiringFor == 0 || s.Out == nil || s.KeepFiringFor >= s.Out.For {
			continue
		}
		report(s.at("keep_firing_for"), fmt.Sprintf(
			"signal %s: keep_firing_for %s is shorter than for %s: one false tick still interrupts, as a new run is not sustained before keeping ends",
			s.Name, model.Duration(s.KeepFiringFor), model.Duration(s.Out.For)),
			"make keep_firing_for at least "+model.Duration(s.Out.For).String())
	}
}

// lintMinZero: a scope without workers grows only because something waits.
func lintMinZero(rs *RuleSet, report reporter) {
	if rs.Bounds == nil || rs.Bounds.Min != 0 {
		return
	}
	hasDemand := false
	for i := range rs.Signals {
		hasDemand = hasDemand || rs.Signals[i].Demand
	}
	switch {
	case rs.SlotMode == scaling.DynamicSlots:
		report(rs.at("bounds.min_workers"),
			"min_workers is 0 with slot_mode: dynamic: Zeta then always rejects jobs (REJECT), so nothing queues and nothing wakes the scope",
			"keep at least one worker: min_workers: 1")
	case !hasDemand:
		report(rs.at("bounds.min_workers"),
			"min_workers is 0, but no signal is marked demand: true: nothing wakes a scope without workers",
			"mark the number of waiting jobs demand: true (with job-schedule-strategy WAIT; with REJECT nothing queues), or keep one worker")
	default:
		report(rs.at("bounds.min_workers"),
			"min_workers is 0: only jobs that wait wake a scope without workers; with job-schedule-strategy REJECT, Zeta's default, nothing queues, so nothing wakes it",
			"set job-schedule-strategy: WAIT in seatunnel.yaml, or keep one worker")
	}
}

// lintNoEffect: what is written, but can never do what it is there for.
func lintNoEffect(rs *RuleSet, report reporter) {
	for i := range rs.Signals {
		if s := &rs.Signals[i]; s.Class == scaling.Guard && s.Out == nil {
			report(s.Pos, "guard "+s.Name+" has no scale_out, which is its condition: it never holds anything",
				"give it one, such as scale_out: {above: max_workers}")
		}
	}
	if rs.Step.Policy == StepDemand && (rs.Workers.Slots == nil || rs.Workers.Unsatisfied == nil) {
		report(rs.at("step.policy", "step"), "step policy demand needs workers.slots and workers.unsatisfied: without both it always adds one worker",
			"name both expressions, or use policy: fixed")
	}
}

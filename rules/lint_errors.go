package rules

import (
	"fmt"
	"strconv"

	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/promql/parser"

	"github.com/zeta-scaler/zeta-scaler/document"
	"github.com/zeta-scaler/zeta-scaler/scaling"
)

// lintScalar: a scalar has no labels, so it belongs to no scope (spec 1.3).
func lintScalar(rs *RuleSet, report reporter) {
	if len(rs.ScopeBy) == 0 {
		return
	}
	for _, in := range rs.inputs() {
		if in.expr.Node.Type() == parser.ValueTypeScalar {
			report(in.expr.Pos, fmt.Sprintf("%s gives a scalar, which has no label %s to tell scopes apart by", in.name, rs.ScopeBy[0]),
				"a scalar is allowed only with scope_by: []")
		}
	}
}

// region is the set of values for which a condition is true: a ray.
type region struct {
	bound  float64
	up     bool // towards +Inf
	closed bool // with bound itself
}

func regionOf(c *Condition) region {
	return region{
		bound:  c.Threshold,
		up:     c.Comparison == Above || c.Comparison == AtLeast,
		closed: c.Comparison == AtLeast || c.Comparison == AtMost,
	}
}

// overlap reports whether some value lies in both regions, and whether both
// end at the same value.
func overlap(a, b region) (overlaps, meets bool) {
	if a.up == b.up {
		return true, false
	}
	up, down := a, b
	if b.up {
		up, down = b, a
	}
	if up.bound == down.bound {
		return up.closed && down.closed, true
	}
	return up.bound < down.bound, false
}

// text writes a region as people do.
func (c *Condition) text() string {
	return c.Comparison.Symbol() + " " + strconv.FormatFloat(c.Threshold, 'g', -1, 64)
}

// readable reports whether a condition is there and was decoded.
func (c *Condition) readable() bool {
	return c != nil && c.Comparison != badComparison && !c.MaxWorkers
}

// lintHysteresis keeps a value that trembles around one threshold from asking
// for more and for less in turn.
func lintHysteresis(rs *RuleSet, report reporter) {
	for i := range rs.Signals {
		s := &rs.Signals[i]
		if !s.Out.readable() || !s.In.readable() || s.Class == scaling.Guard {
			continue
		}
		overlaps, meets := overlap(regionOf(s.Out), regionOf(s.In))
		at := s.at("scale_in."+string(s.In.Comparison), "scale_in")
		switch {
		case overlaps:
			report(at, fmt.Sprintf("signal %s: scale_in (%s) and scale_out (%s) are true for the same values", s.Name, s.In.text(), s.Out.text()),
				"no value may ask for more and for fewer workers at once")
		case meets && s.Class != scaling.Blocking:
			report(at, fmt.Sprintf("signal %s: scale_in (%s) and scale_out (%s) share the boundary %s", s.Name, s.In.text(), s.Out.text(),
				strconv.FormatFloat(s.In.Threshold, 'g', -1, 64)),
				"leave a gap between the thresholds, such as 0.3 and 0.8, or the worker count will swing")
		}
	}
}

// lintScaleInClasses: shrinking needs evidence that nothing waits and that the
// workers are idle.
func lintScaleInClasses(rs *RuleSet, report reporter) {
	hasIn := func(s *Signal) bool { return s.In != nil }
	first := -1
	for i := range rs.Signals {
		if s := &rs.Signals[i]; s.In != nil && s.Class != scaling.Guard {
			first = i
			break
		}
	}
	if first < 0 || !rs.classesKnown() {
		return
	}
	s := &rs.Signals[first]
	for _, class := range []scaling.Class{scaling.Blocking, scaling.Saturation} {
		// A set without any signal of the class is told so by its own check.
		if rs.has(class, anySignal) && !rs.has(class, hasIn) {
			report(s.at("scale_in"), fmt.Sprintf("the rule set has scale_in conditions, but none of a %s signal", class),
				fmt.Sprintf("give a %s signal a scale_in, or drop scale_in everywhere", class))
		}
	}
}

// lintScaleInShorter: growing may be quicker than shrinking, never slower.
func lintScaleInShorter(rs *RuleSet, report reporter) {
	for i := range rs.Signals {
		s := &rs.Signals[i]
		if s.Out == nil || s.In == nil || s.In.For >= s.Out.For {
			continue
		}
		report(s.at("scale_in.for", "scale_out.for", "scale_in"),
			fmt.Sprintf("signal %s: the scale_in window %s is shorter than the scale_out window %s",
				s.Name, model.Duration(s.In.For), model.Duration(s.Out.For)),
			"a worker is added sooner than it is taken away: make scale_in.for at least "+model.Duration(s.Out.For).String())
	}
}

// lintCapacitySlotMode: slots have a total only where their number is fixed
// (spec 1.6).
func lintCapacitySlotMode(rs *RuleSet, report reporter) {
	for i := range rs.Signals {
		s := &rs.Signals[i]
		if s.Class != scaling.Capacity || s.Out == nil && s.In == nil {
			continue
		}
		if len(s.SlotModes) == 1 && s.SlotModes[0] == scaling.FixedSlots {
			continue
		}
		if _, broken := s.places[document.Join(s.path, "slot_mode")]; broken && len(s.SlotModes) == 0 {
			continue
		}
		report(s.at("slot_mode", "scale_out", "scale_in"),
			fmt.Sprintf("capacity signal %s has thresholds, but not slot_mode: [fixed]", s.Name),
			"with dynamic slots a slot utilisation means nothing: add slot_mode: [fixed], or drop scale_out and scale_in to keep it as evidence")
	}
}

func lintNoBlocking(rs *RuleSet, report reporter) {
	if rs.classesKnown() && !rs.has(scaling.Blocking, anySignal) {
		report(rs.at("signals"), "no blocking signal, expected at least one: what says that jobs wait or are rejected?",
			"see oldest_blocked_age in the pack zeta-fixed-slot")
	}
}

func lintNoSaturation(rs *RuleSet, report reporter) {
	if rs.classesKnown() && !rs.has(scaling.Saturation, anySignal) {
		report(rs.at("signals"), "no saturation signal, expected at least one: the metrics could never count as usable",
			"see avg_cpu in the pack zeta-fixed-slot")
	}
}

// lintHolds: a guard explains blocking signals that could trigger.
func lintHolds(rs *RuleSet, report reporter) {
	for i := range rs.Signals {
		g := &rs.Signals[i]
		if g.Class != scaling.Guard {
			continue
		}
		var candidates []string
		for j := range rs.Signals {
			if rs.Signals[j].canBeHeld() {
				candidates = append(candidates, rs.Signals[j].Name)
			}
		}
		for j, name := range g.Holds {
			if message := rs.badHold(g, name); message != "" {
				report(g.at(document.Index("holds", j), "holds"), message, document.DidYouMean(name, candidates))
			}
		}
	}
}

// canBeHeld is true for blocking signals that could trigger.
func (s *Signal) canBeHeld() bool { return s.Class == scaling.Blocking && s.Out != nil }

func (rs *RuleSet) badHold(g *Signal, name string) string {
	for i := range rs.Signals {
		s := &rs.Signals[i]
		switch {
		case s.Name != name:
		case s.Class == "" || s.canBeHeld():
			return ""
		case s.Class != scaling.Blocking:
			return fmt.Sprintf("guard %s holds %s, a %s signal; expected a blocking one", g.Name, name, s.Class)
		default:
			return fmt.Sprintf("guard %s holds %s, which has no scale_out and so never triggers", g.Name, name)
		}
	}
	return fmt.Sprintf("guard %s holds %q, which is no signal of this set", g.Name, name)
}

func lintDemand(rs *RuleSet, report reporter) {
	first := ""
	for i := range rs.Signals {
		s := &rs.Signals[i]
		switch {
		case !s.Demand:
		case first == "":
			first = s.Name
		default:
			report(s.at("demand"), fmt.Sprintf("signal %s is marked demand: true, as %s is already; expected at most one", s.Name, first),
				"the demand is one number: that of the jobs that wait")
		}
	}
}

// lintSurplus: what counts the workers that can go says so from one worker on, and
// is about idle workers.
func lintSurplus(rs *RuleSet, report reporter) {
	for i := range rs.Signals {
		s := &rs.Signals[i]
		if !s.Surplus || s.Class == "" {
			continue
		}
		switch {
		case s.Class != scaling.Saturation && s.Class != scaling.Capacity:
			report(s.at("surplus"), fmt.Sprintf("%s signal %s is marked surplus: true; expected a saturation or capacity signal", s.Class, s.Name),
				"a surplus are workers that are not used")
		case s.In == nil:
			report(s.at("surplus"), fmt.Sprintf("signal %s is marked surplus: true, but has no scale_in", s.Name),
				"its value counts while the scope is idle: write scale_in: {at_least: 1}")
		case s.In.readable() && (s.In.Comparison != AtLeast || s.In.Threshold < 1):
			report(s.at("scale_in."+string(s.In.Comparison), "scale_in"),
				fmt.Sprintf("signal %s is marked surplus: true, and its scale_in is %s; expected at_least 1 or more", s.Name, s.In.text()),
				"its value is a number of workers: write scale_in: {at_least: 1}")
		}
	}
}

// lintGuard: a guard holds back, and only a guard does.
func lintGuard(rs *RuleSet, report reporter) {
	for i := range rs.Signals {
		s := &rs.Signals[i]
		switch {
		case s.Class == "":
		case s.Class == scaling.Guard && s.In != nil:
			report(s.at("scale_in"), fmt.Sprintf("guard %s has a scale_in; its condition is scale_out", s.Name),
				"a guard can only hold back growing: move the condition to scale_out")
		case s.Class != scaling.Guard && s.HoldsSet:
			report(s.at("holds"), fmt.Sprintf("%s signal %s has holds, which only guards have", s.Class, s.Name), "write class: guard, or drop holds")
		case s.Class != scaling.Guard && s.Advice != "":
			report(s.at("advice"), fmt.Sprintf("%s signal %s has advice, which only guards have", s.Class, s.Name), "write it into summary instead")
		}
	}
}

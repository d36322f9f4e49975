package evaluator

import (
	"fmt"

	"github.com/zeta-scaler/zeta-scaler/rules"
	"github.com/zeta-scaler/zeta-scaler/scaling"
)

// Decided is what is known of a decision that was taken, from an evaluation or
// from the history.
type Decided struct {
	// Row decided.
	Row scaling.RowID
	// Facts are nil when the record does not hold them.
	Facts *scaling.Facts
	// Current is nil when the worker count was unknown.
	Current *int
	Booting int
	// Min and Max are the tick's bounds; Max is nil without an upper bound.
	Min int
	Max *int
}

// Explain says of every row of the decision table, in order, why it decided or
// did not. Rows behind the one that matched were not tried.
func Explain(d Decided) []scaling.RowVerdict {
	var f *facts
	if d.Facts != nil {
		f = factsOf(&d)
	}
	out := make([]scaling.RowVerdict, len(table))
	decided := false
	for i := range table {
		v := &out[i]
		v.Row, v.Because = table[i].Row, []string{}
		switch {
		case decided:
			v.Verdict = scaling.RowNotTried
		case v.ID == d.Row:
			v.Verdict, decided = scaling.RowMatched, true
		case f == nil:
			v.Verdict = scaling.RowUndetermined
		default:
			v.Verdict = scaling.RowNotMatched
			for _, c := range conditions[v.ID] {
				if !c.holds(f) {
					v.Because = append(v.Because, c.otherwise(f))
				}
			}
		}
	}
	return out
}

// Queries lists what a rule set asks for by the names that the inputs have in a
// decision: workers.current and the like, and the signals.
func Queries(rs *rules.RuleSet) map[string]Query {
	out := make(map[string]Query, len(rs.Signals)+6)
	add := func(name string, e *rules.Expr) {
		if e != nil {
			out[name] = Query{Expr: e.Text, Offset: rs.QueryOffset}
		}
	}
	add("workers.current", rs.Workers.Current)
	add("workers.reporting", rs.Workers.Reporting)
	add("workers.slots", rs.Workers.Slots)
	add("workers.unsatisfied", rs.Workers.Unsatisfied)
	add("slot_mode", rs.SlotModeExpr)
	for i := range rs.Signals {
		add(rs.Signals[i].Name, rs.Signals[i].Expr)
	}
	return out
}

// fact ties one fact to its bit.
type fact struct {
	bit  scaling.Facts
	held *bool
}

// list is every fact but the worker counts and bounds.
func (f *facts) list() [21]fact {
	return [...]fact{
		{scaling.FactPaused, &f.paused},
		{scaling.FactApplication, &f.application},
		{scaling.FactCurrentKnown, &f.currentKnown},
		{scaling.FactBelowMin, &f.belowMin},
		{scaling.FactMetricsUsable, &f.usable},
		{scaling.FactMetricsValid, &f.valid},
		{scaling.FactShortage, &f.shortage},
		{scaling.FactShortagePresent, &f.shortagePresent},
		{scaling.FactSaturated, &f.saturated},
		{scaling.FactSlotTight, &f.slotTight},
		{scaling.FactDemandWakes, &f.demandWakes},
		{scaling.FactDemandSustained, &f.demandSustained},
		{scaling.FactGuardHolds, &f.guardHolds},
		{scaling.FactHeldBack, &f.heldBack},
		{scaling.FactLooksIdle, &f.looksIdle},
		{scaling.FactIdle, &f.idle},
		{scaling.FactBlockingNotIdle, &f.blockingNotIdle},
		{scaling.FactNeededUnknown, &f.neededUnknown},
		{scaling.FactCooldown, &f.cooldown},
		{scaling.FactBackoff, &f.backoff},
		{scaling.FactInFlight, &f.inFlight},
	}
}

// set is what is published of the facts.
func (f *facts) set() scaling.Facts {
	var out scaling.Facts
	for _, x := range f.list() {
		if *x.held {
			out |= x.bit
		}
	}
	return out
}

// factsOf is set turned round.
func factsOf(d *Decided) *facts {
	f := &facts{booting: d.Booting, min: d.Min, max: scaling.Unbounded}
	if d.Max != nil {
		f.max = *d.Max
	}
	for _, x := range f.list() {
		*x.held = d.Facts.Has(x.bit)
	}
	if d.Current != nil {
		f.current = *d.Current
	}
	return f
}

// condition is one part of a row's predicate; a row matches when all of its
// conditions hold.
type condition struct {
	holds func(*facts) bool
	// otherwise says what was there when it does not hold.
	otherwise func(*facts) string
}

// when is a condition whose opposite needs no numbers.
func when(holds func(*facts) bool, otherwise string) condition {
	return condition{holds, func(*facts) string { return otherwise }}
}

// The conditions that several rows share.
var (
	metricsUnusable = when(func(f *facts) bool { return !f.usable }, "the metrics are usable")
	shortage        = when(func(f *facts) bool { return f.shortage },
		"no blocking signal has been above its threshold for its window, or a guard holds it")
	saturated = when(func(f *facts) bool { return f.saturated }, "no saturation signal has been above its threshold for its window")
	slotTight = when(func(f *facts) bool { return f.slotTight }, "no capacity signal has been above its threshold for its window")
	noGuard   = when(func(f *facts) bool { return !f.guardHolds }, "a sustained guard holds signals: more workers would not help")
	looksIdle = when(func(f *facts) bool { return f.looksIdle },
		"it does not look idle: a saturation or capacity signal is not below its scale-in threshold, or is unknown")
	idle = when(func(f *facts) bool { return f.idle },
		"it is not idle: not every scale-in condition has held for its window with valid metrics")
	aboveMin = condition{
		func(f *facts) bool { return f.current > f.min },
		func(f *facts) string { return fmt.Sprintf("current %d is not above min %d", f.current, f.min) },
	}
	aboveMax = condition{
		func(f *facts) bool { return f.current > f.max },
		func(f *facts) string {
			if f.max == scaling.Unbounded {
				return "there is no upper bound"
			}
			return fmt.Sprintf("current %d is not above max %d", f.current, f.max)
		},
	}
	settled = condition{(*facts).settled, unsettled}
)

func unsettled(f *facts) string {
	var parts []string
	add := func(holds bool, text string) {
		if holds {
			parts = append(parts, text)
		}
	}
	add(f.cooldown, "the cooldown runs")
	add(f.backoff, "the failure back-off runs")
	add(f.inFlight, "an action is in flight")
	add(f.booting > 0, fmt.Sprintf("%d workers are booting", f.booting))
	return join(parts)
}

// conditions are the rows' predicates part by part. That they say the same as
// the predicates is a law that the tests check.
var conditions = map[scaling.RowID][]condition{
	scaling.RowPaused: {when(func(f *facts) bool { return f.paused }, "neither the scope nor the service is paused")},
	scaling.RowApplicationMode: {
		when(func(f *facts) bool { return f.application }, "the scope is a session cluster"),
	},
	scaling.RowWorkersUnknown: {{
		func(f *facts) bool { return !f.currentKnown },
		func(f *facts) string { return fmt.Sprintf("the worker count is known: %d", f.current) },
	}},
	scaling.RowBelowMin:        {{func(f *facts) bool { return f.belowMin }, notBelowMin}},
	scaling.RowAboveMax:        {aboveMax, idle, settled},
	scaling.RowAboveMaxBlocked: {aboveMax},
	scaling.RowWake: {
		{
			func(f *facts) bool { return f.requested() == 0 },
			func(f *facts) string { return fmt.Sprintf("current %d + booting %d is not 0", f.current, f.booting) },
		},
		when(func(f *facts) bool { return f.demandWakes }, "there has been no demand for scheduler_backlog"),
		noGuard,
	},
	scaling.RowShortageBlind:  {metricsUnusable, shortage},
	scaling.RowBlindIdle:      {metricsUnusable, looksIdle, aboveMin},
	scaling.RowBlind:          {metricsUnusable},
	scaling.RowShortage:       {shortage},
	scaling.RowSaturatedTight: {saturated, slotTight},
	scaling.RowSaturated:      {saturated},
	scaling.RowTightWithDemand: {
		slotTight,
		when(func(f *facts) bool { return f.demandSustained }, "demand has not lasted for the window of a sustained capacity signal"),
		noGuard,
	},
	scaling.RowUnsatisfiable: {
		when(func(f *facts) bool { return f.heldBack }, "no guard holds back a blocking signal that is true or still sustained"),
	},
	scaling.RowTightAlone: {slotTight},
	scaling.RowIdleShortage: {looksIdle, aboveMin, when(
		func(f *facts) bool { return f.shortagePresent || f.blockingNotIdle },
		"no blocking signal is true, and none is above its scale-in threshold")},
	scaling.RowIdleStale: {looksIdle, aboveMin, when(func(f *facts) bool { return !f.valid }, "the metrics are valid")},
	scaling.RowIdleUnknown: {looksIdle, aboveMin, when(
		func(f *facts) bool { return f.neededUnknown }, "every signal that idle needs is known")},
	scaling.RowIdleAtMin: {idle, {
		func(f *facts) bool { return f.current <= f.min },
		func(f *facts) string { return fmt.Sprintf("current %d is above min %d", f.current, f.min) },
	}},
	scaling.RowIdleHeld: {idle, when(func(f *facts) bool { return !f.settled() },
		"nothing holds it: no cooldown, no back-off, no action in flight, no workers booting")},
	scaling.RowIdle:     {idle},
	scaling.RowSettling: {looksIdle},
	scaling.RowSteady:   {},
}

func notBelowMin(f *facts) string {
	if f.requested() < f.min {
		return fmt.Sprintf("current %d + booting %d is below min %d, but not for floor_delay yet", f.current, f.booting, f.min)
	}
	return fmt.Sprintf("current %d + booting %d is not below min %d", f.current, f.booting, f.min)
}

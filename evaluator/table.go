package evaluator

import "github.com/zeta-scaler/zeta-scaler/scaling"

// facts are the inputs of the decision table at one tick of one scope, named
// as in spec 1.7.
type facts struct {
	paused, application bool

	current, booting, min, max int
	currentKnown               bool
	// belowMin is current + booting < min for floor_delay.
	belowMin bool

	usable, valid bool
	// shortage is a sustained blocking signal that no sustained guard holds;
	// shortagePresent any blocking signal true now or still sustained.
	shortage, shortagePresent bool
	saturated, slotTight      bool
	// demandWakes is demand for scheduler_backlog, demandSustained demand for
	// the window of a sustained capacity signal.
	demandWakes, demandSustained bool
	// guardHolds is a sustained guard that holds signals, heldBack a blocking
	// signal that one holds and that is true now or still sustained.
	guardHolds, heldBack bool
	looksIdle, idle      bool
	// blockingNotIdle is a blocking signal whose scale-in condition is false.
	blockingNotIdle bool
	// neededUnknown is an applicable signal that idle needs and that is unknown.
	neededUnknown bool

	cooldown, backoff, inFlight, otherWriter bool
}

func (f *facts) busy() bool    { return f.cooldown || f.backoff || f.inFlight }
func (f *facts) settled() bool { return !f.busy() && f.booting == 0 }
func (f *facts) requested() int {
	return scaling.AddSaturating(f.current, f.booting)
}

// maybeIdle opens the idle_* rows that say why an idle-looking scope stays.
func (f *facts) maybeIdle() bool { return f.looksIdle && f.current > f.min }

// target says how a row's worker count is computed.
type target uint8

const (
	targetCurrent target = iota
	targetUnknown
	targetMin
	targetMax
	targetWake
	targetProbe
	targetStep
	targetLess
)

// tableRow is a row with the predicate that a reader sees as When.
type tableRow struct {
	scaling.Row
	target target
	match  func(*facts) bool
}

//go:generate go test -run TestDecisionTableDocument -update .

// table is the decision table of spec 1.7. The first row that matches decides,
// and the last one always matches.
var table = []tableRow{
	{scaling.Row{
		ID: scaling.RowPaused, When: "scope or service paused",
		Action: scaling.NoAction, Target: "current",
	}, targetCurrent, func(f *facts) bool { return f.paused }},
	{scaling.Row{
		ID: scaling.RowApplicationMode, When: "scope of fixed capacity (Zeta Application Mode)",
		Action: scaling.NoAction, Target: "current",
	}, targetCurrent, func(f *facts) bool { return f.application }},
	{scaling.Row{
		ID: scaling.RowWorkersUnknown, When: "current unknown",
		Action: scaling.NoAction, Target: "unknown",
	}, targetUnknown, func(f *facts) bool { return !f.currentKnown }},
	{scaling.Row{
		ID: scaling.RowBelowMin, When: "current + booting < min, for floor_delay",
		Action: scaling.ScaleOut, Target: "min",
	}, targetMin, func(f *facts) bool { return f.belowMin }},
	{scaling.Row{
		ID: scaling.RowAboveMax, When: "current > max ∧ idle ∧ settled",
		Action: scaling.ScaleInCandidate, Target: "max",
	}, targetMax, func(f *facts) bool { return f.current > f.max && f.idle && f.settled() }},
	{scaling.Row{
		ID: scaling.RowAboveMaxBlocked, When: "current > max",
		Action: scaling.ScaleInBlocked, Target: "current",
	}, targetCurrent, func(f *facts) bool { return f.current > f.max }},
	{scaling.Row{
		ID: scaling.RowWake, When: "current + booting = 0 ∧ demand for scheduler_backlog ∧ no sustained guard that holds signals",
		Action: scaling.ScaleOut, Target: "max(1, min)",
	}, targetWake, func(f *facts) bool { return f.requested() == 0 && f.demandWakes && !f.guardHolds }},
	{scaling.Row{
		ID: scaling.RowShortageBlind, When: "¬metrics_usable ∧ shortage",
		Action: scaling.ScaleOut, Target: "current + max(booting, 1)",
	}, targetProbe, func(f *facts) bool { return !f.usable && f.shortage }},
	{scaling.Row{
		ID: scaling.RowBlindIdle, When: "¬metrics_usable ∧ looks_idle ∧ current > min",
		Action: scaling.ScaleInBlocked, Target: "current",
	}, targetCurrent, func(f *facts) bool { return !f.usable && f.maybeIdle() }},
	{scaling.Row{
		ID: scaling.RowBlind, When: "¬metrics_usable",
		Action: scaling.NoAction, Target: "current",
	}, targetCurrent, func(f *facts) bool { return !f.usable }},
	{scaling.Row{
		ID: scaling.RowShortage, When: "shortage",
		Action: scaling.ScaleOut, Target: "step policy",
	}, targetStep, func(f *facts) bool { return f.shortage }},
	{scaling.Row{
		ID: scaling.RowSaturatedTight, When: "saturated ∧ slot_tight",
		Action: scaling.ScaleOut, Target: "step policy",
	}, targetStep, func(f *facts) bool { return f.saturated && f.slotTight }},
	{scaling.Row{
		ID: scaling.RowSaturated, When: "saturated",
		Action: scaling.ScaleOut, Target: "step policy",
	}, targetStep, func(f *facts) bool { return f.saturated }},
	{scaling.Row{
		ID: scaling.RowTightWithDemand, When: "slot_tight ∧ demand_sustained ∧ no sustained guard that holds signals",
		Action: scaling.ScaleOut, Target: "current + max(booting, 1)",
	}, targetProbe, func(f *facts) bool { return f.slotTight && f.demandSustained && !f.guardHolds }},
	{scaling.Row{
		ID: scaling.RowUnsatisfiable, When: "a blocking signal that a sustained guard holds is true now, or still sustained",
		Action: scaling.NoAction, Target: "current",
	}, targetCurrent, func(f *facts) bool { return f.heldBack }},
	{scaling.Row{
		ID: scaling.RowTightAlone, When: "slot_tight",
		Action: scaling.NoAction, Target: "current",
	}, targetCurrent, func(f *facts) bool { return f.slotTight }},
	{scaling.Row{
		ID: scaling.RowIdleShortage, When: "looks_idle ∧ current > min ∧ (shortage_present ∨ a blocking signal's scale-in condition false)",
		Action: scaling.ScaleInBlocked, Target: "current",
	}, targetCurrent, func(f *facts) bool { return f.maybeIdle() && (f.shortagePresent || f.blockingNotIdle) }},
	{scaling.Row{
		ID: scaling.RowIdleStale, When: "looks_idle ∧ current > min ∧ ¬metrics_valid",
		Action: scaling.ScaleInBlocked, Target: "current",
	}, targetCurrent, func(f *facts) bool { return f.maybeIdle() && !f.valid }},
	{scaling.Row{
		ID: scaling.RowIdleUnknown, When: "looks_idle ∧ current > min ∧ an applicable signal that idle needs is unknown",
		Action: scaling.ScaleInBlocked, Target: "current",
	}, targetCurrent, func(f *facts) bool { return f.maybeIdle() && f.neededUnknown }},
	{scaling.Row{
		ID: scaling.RowIdleAtMin, When: "idle ∧ current ≤ min",
		Action: scaling.NoAction, Target: "current",
	}, targetCurrent, func(f *facts) bool { return f.idle && f.current <= f.min }},
	{scaling.Row{
		ID: scaling.RowIdleHeld, When: "idle ∧ ¬settled",
		Action: scaling.ScaleInBlocked, Target: "current",
	}, targetCurrent, func(f *facts) bool { return f.idle && !f.settled() }},
	{scaling.Row{
		ID: scaling.RowIdle, When: "idle",
		Action: scaling.ScaleInCandidate, Target: "max(min, current − 1)",
	}, targetLess, func(f *facts) bool { return f.idle }},
	{scaling.Row{
		ID: scaling.RowSettling, When: "looks_idle (its windows are filling)",
		Action: scaling.NoAction, Target: "current",
	}, targetCurrent, func(f *facts) bool { return f.looksIdle }},
	{scaling.Row{
		ID: scaling.RowSteady, When: "otherwise",
		Action: scaling.NoAction, Target: "current",
	}, targetCurrent, func(*facts) bool { return true }},
}

// Table returns the decision table in the order in which rows are tried.
func Table() []scaling.Row {
	rows := make([]scaling.Row, len(table))
	for i := range table {
		rows[i] = table[i].Row
	}
	return rows
}

// decide returns the index of the first row that matches.
func decide(f *facts) int {
	for i := range table {
		if table[i].match(f) {
			return i
		}
	}
	return len(table) - 1
}

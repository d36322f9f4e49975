package evaluator

import (
	"fmt"
	"strings"

	"github.com/zeta-scaler/zeta-scaler/scaling"
)

// tableRow is one row of the decision table, whole: the predicate, its
// explanation, the blocking conditions, the reason, the document and what the
// API serves are all made from it.
type tableRow struct {
	id scaling.RowID
	// when are the conditions under which the row decides: all of them. The
	// last row has none.
	when []condition
	// remark goes in brackets behind the conditions; most rows need none.
	remark string
	action scaling.Action
	// strength is the recommendation's, empty for all but one row.
	strength string
	target   target
	// restoresFloor: the scope gets its least workers back. The cooldown does
	// not hold that, and what grew before starts anew.
	restoresFloor bool
	// blockers name what stands in the way; nobody where nothing does.
	blockers func(*Program, *Decision) (Blocker, uint64)
	// reason is the row's part of the sentence that a person on call reads.
	reason func(*sentence) string
}

//go:generate go test -run TestDecisionTableDocument -update .

// table is the decision table of spec 1.7. The first row that matches decides,
// and the last one always matches.
var table = []tableRow{
	{
		id:     scaling.RowPaused,
		when:   []condition{whenFact("scope or service paused", scaling.FactPaused, "neither the scope nor the service is paused")},
		action: scaling.NoAction, target: toCurrent,
		blockers: always(pausedBlocker),
		reason:   says("paused: the worker count stays as it is"),
	},
	{
		id:     scaling.RowApplicationMode,
		when:   []condition{whenFact("scope of fixed capacity (Zeta Application Mode)", scaling.FactApplication, "the scope is a session cluster")},
		action: scaling.NoAction, target: toCurrent,
		blockers: always(applicationModeBlocker),
		reason:   says("Zeta Application Mode: the capacity is fixed and never scaled"),
	},
	{
		id: scaling.RowWorkersUnknown,
		when: []condition{{
			"current unknown",
			func(s *situation) bool { return !s.has(scaling.FactCurrentKnown) },
			func(s *situation) string { return fmt.Sprintf("the worker count is known: %d", s.current) },
		}},
		action: scaling.NoAction, target: toUnknown,
		blockers: always(workersUnknownBlocker),
		reason:   (*sentence).unknownWorkers,
	},
	{
		id: scaling.RowBelowMin,
		when: []condition{{
			"current + booting < min, for floor_delay",
			func(s *situation) bool { return s.has(scaling.FactBelowMin) }, notBelowMin,
		}},
		action: scaling.ScaleOut, target: toMin, restoresFloor: true,
		blockers: whatHoldsTheFloor,
		reason:   (*sentence).belowMin,
	},
	{
		id:     scaling.RowAboveMax,
		when:   []condition{aboveMax, idle, settled},
		action: scaling.ScaleInCandidate, target: toMax,
		blockers: nobody,
		reason: func(w *sentence) string {
			return fmt.Sprintf("%s more than max_workers %d and idle: %s", workers(w.d.current, "is", "are"), w.d.max, w.idle())
		},
	},
	{
		id:     scaling.RowAboveMaxBlocked,
		when:   []condition{aboveMax},
		action: scaling.ScaleInBlocked, target: toCurrent,
		blockers: whatHoldsShrinking,
		reason: func(w *sentence) string {
			return fmt.Sprintf("%s more than max_workers %d, %s", workers(w.d.current, "is", "are"), w.d.max, w.whyNotIdle("but not idle for long enough"))
		},
	},
	{
		id: scaling.RowWake,
		when: []condition{
			{
				"current + booting = 0",
				func(s *situation) bool { return s.requested() == 0 },
				func(s *situation) string {
					return fmt.Sprintf("current %d + booting %d is not 0", s.current, s.booting)
				},
			},
			whenFact("demand for scheduler_backlog", scaling.FactDemandWakes, "there has been no demand for scheduler_backlog"),
			noGuard,
		},
		action: scaling.ScaleOut, target: toFirst,
		blockers: whatHoldsGrowth,
		reason: func(w *sentence) string {
			return fmt.Sprintf("no workers, and %s (scheduler_backlog %s)", w.demand(), duration(w.m.schedulerBacklog))
		},
	},
	{
		id:     scaling.RowShortageBlind,
		when:   []condition{metricsUnusable, shortage},
		action: scaling.ScaleOut, target: toOneMore,
		blockers: whatHoldsGrowth,
		reason:   func(w *sentence) string { return w.triggers() + w.oneAtATime() },
	},
	{
		id:     scaling.RowBlindIdle,
		when:   []condition{metricsUnusable, looksIdle, aboveMin},
		action: scaling.ScaleInBlocked, target: toCurrent,
		blockers: (*Program).blindness,
		reason:   (*sentence).idleButBlind,
	},
	{
		id:     scaling.RowBlind,
		when:   []condition{metricsUnusable},
		action: scaling.NoAction, target: toCurrent,
		blockers: (*Program).blindness,
		reason:   func(w *sentence) string { return "the metrics cannot be relied on: " + w.blindness() },
	},
	{
		id:     scaling.RowShortage,
		when:   []condition{shortage},
		action: scaling.ScaleOut, target: toStep,
		blockers: whatHoldsGrowth,
		reason:   (*sentence).growth,
	},
	{
		id:     scaling.RowSaturatedTight,
		when:   []condition{saturated, slotTight},
		action: scaling.ScaleOut, target: toStep, strength: "strong",
		blockers: whatHoldsGrowth,
		reason:   (*sentence).growth,
	},
	{
		id:     scaling.RowSaturated,
		when:   []condition{saturated},
		action: scaling.ScaleOut, target: toStep,
		blockers: whatHoldsGrowth,
		reason:   (*sentence).growth,
	},
	{
		id: scaling.RowTightWithDemand,
		when: []condition{
			slotTight,
			whenFact("demand_sustained", scaling.FactDemandSustained,
				"demand has not lasted for the window of a sustained capacity signal"),
			noGuard,
		},
		action: scaling.ScaleOut, target: toOneMore,
		blockers: whatHoldsGrowth,
		reason:   func(w *sentence) string { return w.triggers() + ", and " + w.demand() },
	},
	{
		id: scaling.RowUnsatisfiable,
		when: []condition{whenFact("a blocking signal that a sustained guard holds is true now, or still sustained", scaling.FactHeldBack,
			"no guard holds back a blocking signal that is true or still sustained")},
		action: scaling.NoAction, target: toCurrent,
		blockers: func(_ *Program, d *Decision) (Blocker, uint64) { return 0, d.guardsActive },
		reason:   (*sentence).unsatisfiable,
	},
	{
		id:     scaling.RowTightAlone,
		when:   []condition{slotTight},
		action: scaling.NoAction, target: toCurrent,
		blockers: nobody,
		reason:   func(w *sentence) string { return w.triggers() + w.tightAlone() },
	},
	{
		id: scaling.RowIdleShortage,
		when: []condition{looksIdle, aboveMin, when(
			"(shortage_present ∨ a blocking signal's scale-in condition false)",
			func(s *situation) bool { return s.hasAny(scaling.FactShortagePresent | scaling.FactBlockingNotIdle) },
			"no blocking signal is true, and none is above its scale-in threshold")},
		action: scaling.ScaleInBlocked, target: toCurrent,
		blockers: (*Program).whatWaits,
		reason:   func(w *sentence) string { return "looks idle, but " + w.values(w.d.BlockingSignals) },
	},
	{
		id:     scaling.RowIdleStale,
		when:   []condition{looksIdle, aboveMin, whenNot("¬metrics_valid", scaling.FactMetricsValid, "the metrics are valid")},
		action: scaling.ScaleInBlocked, target: toCurrent,
		blockers: (*Program).blindness,
		reason:   (*sentence).idleButBlind,
	},
	{
		id: scaling.RowIdleUnknown,
		when: []condition{looksIdle, aboveMin, whenFact("an applicable signal that idle needs is unknown", scaling.FactNeededUnknown,
			"every signal that idle needs is known")},
		action: scaling.ScaleInBlocked, target: toCurrent,
		blockers: (*Program).blindness,
		reason:   (*sentence).idleButBlind,
	},
	{
		id: scaling.RowIdleAtMin,
		when: []condition{idle, {
			"current ≤ min",
			func(s *situation) bool { return s.current <= s.min },
			func(s *situation) string { return fmt.Sprintf("current %d is above min %d", s.current, s.min) },
		}},
		action: scaling.NoAction, target: toCurrent,
		blockers: always(minWorkersBlocker),
		reason: func(w *sentence) string {
			return fmt.Sprintf("idle: %s; already at min_workers %d", w.idle(), w.d.min)
		},
	},
	{
		id: scaling.RowIdleHeld,
		when: []condition{idle, when("¬settled", func(s *situation) bool { return !s.settled() },
			"nothing holds it: no cooldown, no back-off, no action in flight, no workers booting")},
		action: scaling.ScaleInBlocked, target: toCurrent,
		blockers: whatHoldsShrinking,
		reason:   func(w *sentence) string { return "idle, but held by " + join(w.d.Blockers.Names()) },
	},
	{
		id:     scaling.RowIdle,
		when:   []condition{idle},
		action: scaling.ScaleInCandidate, target: toFewer,
		blockers: nobody,
		reason:   func(w *sentence) string { return "idle: " + w.idle() },
	},
	{
		id:     scaling.RowSettling,
		when:   []condition{looksIdle},
		remark: "its windows are filling",
		action: scaling.NoAction, target: toCurrent,
		blockers: nobody,
		reason:   func(w *sentence) string { return "looks idle, " + w.whyNotIdle("its windows are filling") },
	},
	{
		id:     scaling.RowSteady,
		when:   nil,
		action: scaling.NoAction, target: toCurrent,
		blockers: nobody,
		reason:   (*sentence).steady,
	},
}

// Table returns the decision table in the order in which rows are tried.
func Table() []scaling.Row {
	rows := make([]scaling.Row, len(table))
	for i := range table {
		rows[i] = table[i].described()
	}
	return rows
}

// described is the row as a reader sees it.
func (r *tableRow) described() scaling.Row {
	words := make([]string, len(r.when))
	for i := range r.when {
		words[i] = r.when[i].words
	}
	text := strings.Join(words, " ∧ ")
	if len(r.when) == 0 {
		text = "otherwise"
	}
	if r.remark != "" {
		text += " (" + r.remark + ")"
	}
	return scaling.Row{ID: r.id, When: text, Action: r.action, Target: r.target.words}
}

// matches reports whether all of the row's conditions hold.
func (r *tableRow) matches(s *situation) bool {
	for i := range r.when {
		if !r.when[i].holds(s) {
			return false
		}
	}
	return true
}

// missing says in words which of the row's conditions do not hold.
func (r *tableRow) missing(s *situation) []string {
	out := []string{}
	for i := range r.when {
		if c := &r.when[i]; !c.holds(s) {
			out = append(out, c.otherwise(s))
		}
	}
	return out
}

// decide returns the index of the first row that matches.
func decide(s *situation) int {
	for i := range table {
		if table[i].matches(s) {
			return i
		}
	}
	return len(table) - 1
}

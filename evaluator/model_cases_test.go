package evaluator

import (
	"math"
	"time"

	"github.com/zeta-scaler/zeta-scaler/rules"
	"github.com/zeta-scaler/zeta-scaler/scaling"
)

// The cases of the STIP and of the reviews of its implementations.

// conflictCases are the conflict cases of spec 2.
func conflictCases() []proposalCase {
	return []proposalCase{
		{name: "slots high, CPU and memory low", inputs: restful(map[string]string{"slot_utilization": "0.95"}), want: []caseWant{
			{tick: outFull, through: 24, row: scaling.RowTightAlone, action: sayHold, target: 4, triggers: these("slot_utilization"), generation: 1},
		}},
		{name: "slots high, CPU and memory low, jobs wait", inputs: restful(map[string]string{"slot_utilization": "0.95", "blocked_jobs": "1"}), want: []caseWant{
			{tick: outFull - 1, row: scaling.RowSteady, action: sayHold, target: 4},
			{tick: outFull, through: 24, row: scaling.RowTightWithDemand, action: sayOut, target: 5, triggers: these("slot_utilization"), generation: 2},
		}},
		{name: "slots low, CPU high", inputs: map[string]string{"slot_utilization": "0.1", "avg_cpu": "0.95"}, want: []caseWant{
			{tick: outFull - 1, row: scaling.RowSteady, action: sayHold, target: 4},
			{tick: outFull, through: 24, row: scaling.RowSaturated, action: sayOut, target: 5, triggers: these("avg_cpu")},
		}},
		{name: "all averages low, WAIT", inputs: restful(map[string]string{"oldest_blocked_age": "90", "blocked_jobs": "1"}), want: []caseWant{
			{tick: outFull - 1, row: scaling.RowIdleShortage, action: sayBlocked, target: 4, blockers: these("oldest_blocked_age", "blocked_jobs")},
			{tick: outFull, through: 24, row: scaling.RowShortage, action: sayOut, target: 5, triggers: these("oldest_blocked_age")},
		}},
		{name: "all averages low, REJECT", inputs: restful(map[string]string{"resource_rejections": "1"}), want: []caseWant{
			{tick: outFull - 1, row: scaling.RowIdleShortage, action: sayBlocked, target: 4, blockers: these("resource_rejections")},
			{tick: outFull, through: 24, row: scaling.RowShortage, action: sayOut, target: 5, triggers: these("resource_rejections")},
		}},
		{name: "everything high", inputs: map[string]string{"slot_utilization": "0.95", "avg_cpu": "0.95", "avg_memory": "0.9"}, want: []caseWant{
			{
				tick: outFull, through: 24, row: scaling.RowSaturatedTight, action: sayOut, target: 5, strong: true,
				triggers: these("avg_cpu", "avg_memory", "slot_utilization"),
			},
		}},
		{name: "everything low and no job waits", inputs: restful(nil), want: []caseWant{
			{tick: 0, through: inFull - 1, row: scaling.RowSettling, action: sayHold, target: 4, generation: 1},
			{tick: inFull, through: 24, row: scaling.RowIdle, action: sayIn, target: 3, generation: 2},
		}},
	}
}

// scaleOutCases: each signal of the STIP scales out beyond its threshold, not at it.
func scaleOutCases() []proposalCase {
	var cases []proposalCase
	for _, s := range []struct {
		name, hot, edge string
	}{
		{"oldest_blocked_age", "61", "60"},
		{"unsatisfied_slots", "1", "0"},
		{"resource_rejections", "1", "0"},
		{"avg_cpu", "0.81", "0.8"},
		{"avg_memory", "0.81", "0.8"},
	} {
		row := scaling.RowShortage
		if s.edge == "0.8" {
			row = scaling.RowSaturated
		}
		cases = append(cases, proposalCase{name: s.name + " alone for 300 s", inputs: map[string]string{s.name: s.hot}, want: []caseWant{
			{tick: 0, through: outFull - 1, row: scaling.RowSteady, action: sayHold, target: 4},
			{tick: outFull, through: 24, row: row, action: sayOut, target: 5, triggers: these(s.name)},
		}}, proposalCase{name: s.name + " at its threshold", inputs: map[string]string{s.name: s.edge}, want: []caseWant{
			{tick: 0, through: 24, row: scaling.RowSteady, action: sayHold, target: 4},
		}}, proposalCase{name: s.name + " interrupted once", inputs: map[string]string{s.name: s.hot + "x10 " + s.edge + " " + s.hot}, want: []caseWant{
			{tick: 0, through: 20, row: scaling.RowSteady, action: sayHold, target: 4},
			{tick: 21, through: 24, row: row, action: sayOut, target: 5, triggers: these(s.name)},
		}})
	}
	return append(
		cases,
		proposalCase{name: "fixed slots alone never scale", inputs: map[string]string{"slot_utilization": "0.81"}, want: []caseWant{
			{tick: outFull, through: 24, row: scaling.RowTightAlone, action: sayHold, target: 4, triggers: these("slot_utilization")},
		}},
		proposalCase{name: "dynamic slots are not looked at", change: dynamic, inputs: map[string]string{"slot_utilization": "1", "blocked_jobs": "3"}, want: []caseWant{
			{tick: 0, through: 24, row: scaling.RowSteady, action: sayHold, target: 4},
		}},
		proposalCase{name: "WAIT comes before CPU", inputs: map[string]string{"oldest_blocked_age": "90", "avg_cpu": "0.95"}, want: []caseWant{
			{tick: outFull, through: 24, row: scaling.RowShortage, action: sayOut, target: 5, triggers: these("oldest_blocked_age", "avg_cpu")},
		}},
		proposalCase{name: "a late sample holds the target to one worker", change: func(rs *rules.RuleSet) { rs.Step.Workers = 3 }, inputs: map[string]string{"avg_cpu": "0.95", "reporting": "4x15 3"}, want: []caseWant{
			{tick: outFull, through: 14, row: scaling.RowSaturated, action: sayOut, target: 7, triggers: these("avg_cpu")},
			{tick: 15, through: 24, row: scaling.RowSaturated, action: sayOut, target: 5, triggers: these("avg_cpu")},
		}},
		proposalCase{name: "a job that no cluster of this size can run", limits: caseBounds(1, 6), inputs: map[string]string{"oldest_blocked_age": "90", "head_job_too_big": "9"}, want: []caseWant{
			{tick: outFull, through: 24, row: scaling.RowUnsatisfiable, action: sayHold, target: 4, triggers: these("oldest_blocked_age"), blockers: these("head_job_too_big")},
		}},
		proposalCase{name: "an unknown guard holds nothing", limits: caseBounds(1, 6), inputs: map[string]string{"oldest_blocked_age": "90", "head_job_too_big": "_"}, want: []caseWant{
			{tick: outFull, through: 24, row: scaling.RowShortage, action: sayOut, target: 5, triggers: these("oldest_blocked_age")},
		}},
	)
}

// scaleInCases: what the STIP asks for before a scope may shrink, and what each missing part of it does.
func scaleInCases() []proposalCase {
	idleAtMin := caseWant{tick: inFull, through: 24, row: scaling.RowIdleAtMin, action: sayHold, target: 4, blockers: these("min_workers"), generation: 1}
	cases := []proposalCase{
		{name: "never below min", inputs: restful(nil), limits: caseBounds(4, 10), want: []caseWant{idleAtMin}},
		{name: "max does not hold it", inputs: restful(nil), limits: caseBounds(1, 4), want: []caseWant{
			{tick: inFull, through: 24, row: scaling.RowIdle, action: sayIn, target: 3},
		}},
		{name: "idle slots alone never scale in", inputs: map[string]string{"slot_utilization": "0"}, want: []caseWant{
			{tick: 0, through: 24, row: scaling.RowSteady, action: sayHold, target: 4},
		}},
		{name: "dynamic slots are skipped", change: dynamic, inputs: restful(map[string]string{"slot_utilization": "1"}), want: []caseWant{
			{tick: inFull, through: 24, row: scaling.RowIdle, action: sayIn, target: 3},
		}},
		{name: "a stale worker starts it over", inputs: restful(map[string]string{"reporting": "4x3 3 4"}), want: []caseWant{
			{tick: 3, row: scaling.RowIdleStale, action: sayBlocked, target: 4, blockers: these("metrics_stale")},
			{tick: 4, through: 23, row: scaling.RowSettling, action: sayHold, target: 4},
			{tick: 24, row: scaling.RowIdle, action: sayIn, target: 3},
		}},
		{name: "an unknown slot mode starts it over", inputs: restful(map[string]string{"mode": "0x3 _ 0"}), want: []caseWant{
			{tick: 3, row: scaling.RowIdleStale, action: sayBlocked, target: 4, blockers: these("slot_mode_unknown")},
			{tick: 4, through: 23, row: scaling.RowSettling, action: sayHold, target: 4},
			{tick: 24, row: scaling.RowIdle, action: sayIn, target: 3},
		}},
		{name: "held while busy", inputs: restful(nil), limits: func(l *scaling.Limits, _ int) {
			l.Bounds = scaling.Bounds{Min: 1, Max: 10}
			l.ActionInFlight, l.CooldownUntil = true, time.UnixMilli(1e15)
		}, want: []caseWant{
			{tick: inFull, through: 24, row: scaling.RowIdleHeld, action: sayBlocked, target: 4, blockers: these("action_in_flight", "cooldown")},
		}},
		{name: "paused", inputs: restful(nil), limits: func(l *scaling.Limits, _ int) {
			l.Bounds = scaling.Bounds{Min: 1, Max: 10}
			l.Paused = true
		}, want: []caseWant{
			{tick: 0, through: 24, row: scaling.RowPaused, action: sayHold, target: 4, blockers: these("paused")},
		}},
	}
	// Each requirement by itself: what it is while it is violated, and while it
	// cannot be known.
	for _, s := range []struct{ name, bad string }{
		{"oldest_blocked_age", "1"}, {"blocked_jobs", "1"}, {"resource_rejections", "1"}, {"unsatisfied_slots", "1"},
	} {
		want := caseWant{tick: 0, through: outFull - 1, row: scaling.RowIdleShortage, action: sayBlocked, target: 4, blockers: these(s.name)}
		cases = append(cases, proposalCase{name: "not while " + s.name, inputs: restful(map[string]string{s.name: s.bad}), want: []caseWant{want}},
			proposalCase{name: "not without " + s.name, inputs: restful(map[string]string{s.name: "_"}), want: []caseWant{
				{tick: 0, through: 24, row: scaling.RowIdleStale, action: sayBlocked, target: 4, blockers: these("metrics_missing")},
			}})
	}
	for _, s := range these("avg_cpu", "avg_memory", "slot_utilization") {
		missing := caseWant{tick: 0, through: 24, row: scaling.RowIdleStale, action: sayBlocked, target: 4, blockers: these("metrics_missing")}
		if s == "slot_utilization" { // not required for metrics_valid, but idle needs it
			missing.row = scaling.RowIdleUnknown
		}
		cases = append(cases, proposalCase{name: "not at the threshold of " + s, inputs: restful(map[string]string{s: "0.3"}), want: []caseWant{
			{tick: 0, through: 24, row: scaling.RowSteady, action: sayHold, target: 4},
		}}, proposalCase{name: "not without " + s, inputs: restful(map[string]string{s: "_"}), want: []caseWant{missing}})
	}
	return cases
}

// defectCases are defects of the STIP's own implementations: D1…D14 were found
// in their code, R1…R8 by their reviewers. D8, D11 and R4 are about how long a
// recommendation is valid and about consumers; see TestProposalRecommendation.
func defectCases() []proposalCase {
	overflow := func(rs *rules.RuleSet) { rs.Step.Workers = math.MaxInt }
	return []proposalCase{
		{name: "D1 one rejection is evidence for as long as its window", inputs: map[string]string{"resource_rejections": "1x20 0"}, want: []caseWant{
			{tick: outFull, through: 19, row: scaling.RowShortage, action: sayOut, target: 5, triggers: these("resource_rejections")},
			{tick: 20, through: 24, row: scaling.RowSteady, action: sayHold, target: 4},
		}},
		{name: "D2 no worker and a waiting job, min 1", inputs: map[string]string{"current": "0", "reporting": "0", "blocked_jobs": "3", "avg_cpu": "_", "avg_memory": "_", "slot_utilization": "_"}, want: []caseWant{
			{tick: 0, through: 24, row: scaling.RowBelowMin, action: sayOut, target: 1, generation: 1},
		}},
		{name: "D2 no worker and a waiting job, min 0", limits: caseBounds(0, 10), inputs: map[string]string{"current": "0", "reporting": "0", "blocked_jobs": "3", "avg_cpu": "_", "avg_memory": "_", "slot_utilization": "_"}, want: []caseWant{
			{tick: 0, through: 1, row: scaling.RowSteady, action: sayHold, target: 0},
			{tick: 2, through: 24, row: scaling.RowWake, action: sayOut, target: 1},
		}},
		{name: "D3 below min without any pressure", limits: caseBounds(3, 10), inputs: restful(map[string]string{"current": "1", "reporting": "1"}), want: []caseWant{
			{tick: 0, through: 24, row: scaling.RowBelowMin, action: sayOut, target: 3},
		}},
		{name: "D4 above max under pressure", inputs: map[string]string{"current": "12", "reporting": "12", "avg_cpu": "0.95"}, want: []caseWant{
			{tick: outFull, through: 24, row: scaling.RowAboveMaxBlocked, action: sayBlocked, target: 12, triggers: these("avg_cpu")},
		}},
		{name: "D4 above max and idle", inputs: restful(map[string]string{"current": "12", "reporting": "12"}), want: []caseWant{
			{tick: inFull, through: 24, row: scaling.RowAboveMax, action: sayIn, target: 10},
		}},
		{name: "D5 one sample of five decides nothing", inputs: map[string]string{"current": "5", "reporting": "1x15 5", "avg_cpu": "0.9"}, want: []caseWant{
			{tick: 0, through: 14, row: scaling.RowBlind, action: sayHold, target: 5, blockers: these("metrics_stale")},
			{tick: 15, through: 24, row: scaling.RowSteady, action: sayHold, target: 5},
		}},
		{name: "D6 a hot worker behind a low mean", change: func(rs *rules.RuleSet) {
			hottest := rs.Signals[5]
			hottest.Name, hottest.Expr = "max_memory", expr("max_memory")
			rs.Signals = append(rs.Signals, hottest)
		}, inputs: map[string]string{"avg_memory": "0.4", "max_memory": "1"}, want: []caseWant{
			{tick: outFull, through: 24, row: scaling.RowSaturated, action: sayOut, target: 5, triggers: these("max_memory")},
		}},
		{name: "D7 a job waits in a dynamic cluster", change: dynamic, inputs: restful(map[string]string{"oldest_blocked_age": "600", "slot_utilization": "_"}), want: []caseWant{
			{tick: outFull, through: 24, row: scaling.RowShortage, action: sayOut, target: 5, triggers: these("oldest_blocked_age")},
		}},
		{name: "D9 a condition that was not observed did not hold", inputs: map[string]string{"avg_cpu": "0.95x3 _x15 0.95"}, want: []caseWant{
			{tick: 0, through: 2, row: scaling.RowSteady, action: sayHold, target: 4},
			{tick: 18, through: 24, row: scaling.RowSteady, action: sayHold, target: 4},
		}},
		{name: "D9 the same of a blocking signal", inputs: map[string]string{"oldest_blocked_age": "90x3 _x15 90"}, want: []caseWant{
			{tick: 18, through: 24, row: scaling.RowSteady, action: sayHold, target: 4},
		}},
		{name: "D10 a huge step under max", change: overflow, inputs: map[string]string{"avg_cpu": "0.95"}, want: []caseWant{
			{tick: outFull, through: 24, row: scaling.RowSaturated, action: sayOut, target: 10, triggers: these("avg_cpu")},
		}},
		{name: "D10 a huge step without max", change: overflow, limits: caseBounds(1, scaling.Unbounded), inputs: map[string]string{"avg_cpu": "0.95"}, want: []caseWant{
			{tick: outFull, through: 24, row: scaling.RowSaturated, action: sayOut, target: math.MaxInt, triggers: these("avg_cpu")},
		}},
		{name: "D12 one tick below the threshold", change: func(rs *rules.RuleSet) { rs.Signals[4].KeepFiringFor = time.Minute }, inputs: map[string]string{"avg_cpu": "0.95x15 0.79 0.95"}, want: []caseWant{
			{tick: outFull, through: 16, row: scaling.RowSaturated, action: sayOut, target: 5, triggers: these("avg_cpu"), generation: 2},
			{tick: 17, through: 24, row: scaling.RowSteady, action: sayHold, target: 4},
		}},
		{name: "D13 a worker joined and it is still not enough", inputs: map[string]string{"current": "3x15 4", "reporting": "3x15 4", "avg_cpu": "0.95"}, want: []caseWant{
			{tick: outFull, through: 14, row: scaling.RowSaturated, action: sayOut, target: 4, triggers: these("avg_cpu"), generation: 2},
			{tick: 15, through: 24, row: scaling.RowSaturated, action: sayOut, target: 5, triggers: these("avg_cpu"), generation: 3},
		}},
		{name: "D13 no runaway while the worker boots", inputs: map[string]string{"current": "3", "reporting": "3", "avg_cpu": "0.95"}, limits: func(l *scaling.Limits, tick int) {
			l.Bounds = scaling.Bounds{Min: 1, Max: 10}
			if tick > outFull {
				l.Booting = []scaling.Booting{{Target: 4, Deadline: time.UnixMilli(1e15)}}
			}
		}, want: []caseWant{
			{tick: outFull, through: 24, row: scaling.RowSaturated, action: sayOut, target: 4, triggers: these("avg_cpu"), generation: 2},
		}},
		{name: "D14 load that is not measured is not zero", inputs: restful(map[string]string{"avg_cpu": "_", "avg_memory": "_"}), want: []caseWant{
			{tick: 0, through: 24, row: scaling.RowBlind, action: sayHold, target: 4, blockers: these("metrics_missing")},
		}},
		{name: "D14 one sample fills no window", inputs: map[string]string{"avg_cpu": "0.5x20 0.99"}, want: []caseWant{
			{tick: 0, through: 24, row: scaling.RowSteady, action: sayHold, target: 4},
		}},
		{name: "D14 no slots at all", inputs: restful(map[string]string{"slot_utilization": "NaN"}), want: []caseWant{
			{tick: 0, through: 24, row: scaling.RowIdleUnknown, action: sayBlocked, target: 4, blockers: these("metrics_missing")},
		}},
		{name: "D14 nobody answers", inputs: map[string]string{"current": "4x5 _", "avg_cpu": "0.9"}, want: []caseWant{
			{tick: 0, through: 4, row: scaling.RowSteady, action: sayHold, target: 4},
			{tick: 5, through: 24, row: scaling.RowWorkersUnknown, action: sayHold, target: -1, blockers: these("workers_unknown")},
		}},
		{name: "D14 an idle spell after growth waits out the cooldown", inputs: restful(nil), limits: func(l *scaling.Limits, tick int) {
			l.Bounds = scaling.Bounds{Min: 1, Max: 10}
			l.CooldownUntil = at(stip(), 23)
		}, want: []caseWant{
			{tick: inFull, through: 22, row: scaling.RowIdleHeld, action: sayBlocked, target: 4, blockers: these("cooldown")},
			{tick: 23, through: 24, row: scaling.RowIdle, action: sayIn, target: 3},
		}},
		{name: "R1 pressure at max", limits: caseBounds(1, 4), inputs: map[string]string{"avg_cpu": "0.9"}, want: []caseWant{
			{tick: outFull, through: 24, row: scaling.RowSaturated, action: sayHold, target: 4, triggers: these("avg_cpu"), blockers: these("max_workers")},
		}},
		{name: "R2 workers of both modes", inputs: map[string]string{"mode": "0.5", "slot_utilization": "1", "blocked_jobs": "1"}, want: []caseWant{
			{tick: 0, through: 24, row: scaling.RowSteady, action: sayHold, target: 4},
		}},
		{name: "R3 rejections where no worker matches", limits: caseBounds(0, 10), inputs: map[string]string{"current": "0", "reporting": "0", "resource_rejections": "1", "avg_cpu": "_", "avg_memory": "_", "slot_utilization": "_"}, want: []caseWant{
			{tick: 0, through: outFull - 1, row: scaling.RowSteady, action: sayHold, target: 0},
			{tick: outFull, through: 24, row: scaling.RowShortage, action: sayOut, target: 1, triggers: these("resource_rejections")},
		}},
		{name: "R5 a probe that fails is not an idle CPU", change: dynamic, inputs: restful(map[string]string{"avg_cpu": "NaN"}), want: []caseWant{
			{tick: 0, through: 24, row: scaling.RowIdleStale, action: sayBlocked, target: 4, blockers: these("metrics_missing")},
		}},
		{name: "R6 nothing is asked for while a window fills", inputs: map[string]string{"avg_cpu": "0.95x10 0.5"}, want: []caseWant{
			{tick: 0, through: 24, row: scaling.RowSteady, action: sayHold, target: 4, generation: 1},
		}},
		{name: "R7 tight slots without a queue", inputs: map[string]string{"slot_utilization": "0.95", "avg_cpu": "0.2"}, want: []caseWant{
			{tick: outFull, through: 24, row: scaling.RowTightAlone, action: sayHold, target: 4, triggers: these("slot_utilization")},
		}},
		{name: "R7 tight slots with a queue", inputs: map[string]string{"slot_utilization": "0.95", "avg_cpu": "0.2", "blocked_jobs": "1"}, want: []caseWant{
			{tick: outFull, through: 24, row: scaling.RowTightWithDemand, action: sayOut, target: 5, triggers: these("slot_utilization")},
		}},
		{name: "R8 all low but jobs wait", inputs: restful(map[string]string{"blocked_jobs": "1"}), want: []caseWant{
			{tick: 0, through: 24, row: scaling.RowIdleShortage, action: sayBlocked, target: 4, blockers: these("blocked_jobs")},
		}},
	}
}

package evaluator

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/zeta-scaler/zeta-scaler/rules"
	"github.com/zeta-scaler/zeta-scaler/scaling"
)

const tickMs = 30_000

// expr is an expression for rule sets that are built in code; only its text
// matters to the evaluator.
func expr(text string) *rules.Expr { return &rules.Expr{Text: text} }

func above(v float64, ticks int) *rules.Condition {
	return &rules.Condition{Comparison: rules.Above, Threshold: v, For: time.Duration(ticks) * 30 * time.Second}
}

func below(v float64, ticks int) *rules.Condition {
	return &rules.Condition{Comparison: rules.Below, Threshold: v, For: time.Duration(ticks) * 30 * time.Second}
}

func atMost(v float64, ticks int) *rules.Condition {
	return &rules.Condition{Comparison: rules.AtMost, Threshold: v, For: time.Duration(ticks) * 30 * time.Second}
}

// fixture is a rule set with one signal of every kind:
// age (blocking), jobs (blocking, demand), cpu (saturation), slots (capacity,
// fixed only) and big (guard).
func fixture() *rules.RuleSet {
	return &rules.RuleSet{
		Name: "fixture", Version: "1.0.0", Digest: "sha256:0", Interval: 30 * time.Second,
		ScopeBy: []string{"cluster"}, SlotMode: scaling.FixedSlots, SlotModeExpr: expr("mode"),
		MinCoverage: 0.5, GapTolerance: 1,
		Workers: rules.Workers{
			Current: expr("current"), Reporting: expr("reporting"),
			Slots: expr("slots_per_worker"), Unsatisfied: expr("unsatisfied"),
		},
		Step: rules.Step{
			Policy: rules.StepFixed, Workers: 1, Unit: 1, MaxStep: 4,
			SustainedBacklog: 30 * time.Second, SchedulerBacklog: time.Minute, BootDeadline: 3 * time.Minute,
		},
		Signals: []rules.Signal{
			{Name: "age", Class: scaling.Blocking, Expr: expr("age"), Required: true, Unit: "seconds", Out: above(60, 3), In: atMost(0, 4)},
			{Name: "jobs", Class: scaling.Blocking, Expr: expr("jobs"), Required: true, Demand: true, In: atMost(0, 4)},
			{Name: "cpu", Class: scaling.Saturation, Expr: expr("cpu"), Required: true, Unit: "ratio", Range: &[2]float64{0, 1}, Out: above(0.8, 3), In: below(0.3, 4)},
			{Name: "slots", Class: scaling.Capacity, Expr: expr("slots"), Unit: "ratio", Range: &[2]float64{0, 1}, SlotModes: []scaling.SlotMode{scaling.FixedSlots}, Out: above(0.8, 3), In: below(0.3, 4)},
			{Name: "big", Class: scaling.Guard, Expr: expr("big"), Out: &rules.Condition{Comparison: rules.Above, MaxWorkers: true, For: 90 * time.Second}, Advice: "raise max_workers"},
		},
	}
}

func compile(t testing.TB, rs *rules.RuleSet) *Program {
	t.Helper()
	p, err := Compile(rs, rs.Interval)
	require.NoError(t, err)
	return p
}

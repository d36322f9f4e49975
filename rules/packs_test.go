package rules

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/common/model"
	"github.com/stretchr/testify/require"

	"github.com/zeta-scaler/zeta-scaler/document"
	"github.com/zeta-scaler/zeta-scaler/scaling"
)

// byIntent reports whether a pack's numbers are not those of the design.
func byIntent(name string) bool {
	return name == "zeta-ample" || name == "zeta-responsive" || name == "zeta-thrifty"
}

func TestPacksHaveNothingToWarnOf(t *testing.T) {
	for _, name := range Packs() {
		t.Run(name, func(t *testing.T) {
			rs, data, err := Pack(name)
			require.NoError(t, err)
			require.NotEmpty(t, data)
			require.Equal(t, name, rs.Name)
			require.Equal(t, "pack:"+name, rs.File)
			require.Empty(t, rs.Warnings, document.Render(rs.Warnings))
		})
	}
}

// TestPacksHaveTheSignalsOfTheDesign holds the packs to the tables of spec 2 and of
// docs/rule-sets.md, to the letter: the tests beside the packs tell what is decided, not at exactly
// which value.
func TestPacksHaveTheSignalsOfTheDesign(t *testing.T) {
	const demand, required = "demand ", "required "
	common := map[string]string{
		"blocked_jobs":        "blocking demand required jobs: in ≤ 0 for 10m",
		"oldest_blocked_age":  "blocking required seconds: out > 60 for 5m in ≤ 0 for 10m",
		"unsatisfied_slots":   "blocking required slots: out > 0 for 5m in ≤ 0 for 10m",
		"resource_rejections": "blocking required rejections: out > 0 for 5m in ≤ 0 for 10m",
		"avg_cpu":             "saturation required ratio [0 1]: out > 0.8 for 5m in < 0.3 for 10m",
		"avg_memory":          "saturation required ratio [0 1]: out > 0.8 for 5m in < 0.3 for 10m",
		"head_job_too_big":    "guard workers: out > max_workers for 5m holds [oldest_blocked_age unsatisfied_slots]",
	}
	slots := "capacity ratio [0 1] in [fixed]: out > 0.8 for 5m in < 0.3 for 10m"
	with := func(more map[string]string) map[string]string {
		for name, text := range common {
			if more[name] == "" {
				more[name] = text
			}
		}
		return more
	}
	packs := map[string]map[string]string{
		"zeta-fixed-slot":   with(map[string]string{"slot_utilization": slots}),
		"zeta-dynamic-slot": with(map[string]string{"unassigned_resources": "capacity ratio [0 1]:"}),
		"zeta-auto": with(map[string]string{
			"slot_utilization": slots, "unassigned_resources": "capacity ratio [0 1] in [dynamic mixed]:",
		}),
		"zeta-ample": {
			"blocked_jobs":        "blocking demand required jobs: in ≤ 0 for 15s",
			"oldest_blocked_age":  "blocking required seconds: out > 60 for 15s in ≤ 0 for 15s",
			"unsatisfied_slots":   "blocking required slots: out > 0 for 0s in ≤ 0 for 15s",
			"resource_rejections": "blocking required rejections: out > 0 for 0s in ≤ 0 for 5m",
			"recent_rejections":   "blocking required rejections: in ≤ 0 for 15s",
			"avg_cpu":             "saturation required ratio [0 1]: out > 0.7 for 1m in < 0.6 for 1m",
			"avg_memory":          "saturation required ratio [0 1]: out > 0.8 for 2m in < 0.6 for 5m",
			"surplus_by_cpu":      "saturation required workers: in ≥ 1 for 15s",
			"surplus_by_memory":   "saturation required workers: in ≥ 1 for 5m",
			"slot_utilization":    "capacity ratio [0 1] in [fixed]: out > 0.95 for 2m",
			"surplus_by_slots":    "capacity workers in [fixed]: in ≥ 1 for 15s",
			"head_job_too_big":    "guard workers: out > max_workers for 15s holds [oldest_blocked_age unsatisfied_slots]",
		},
		"zeta-responsive": {
			"blocked_jobs":        "blocking demand required jobs: in ≤ 0 for 15s",
			"oldest_blocked_age":  "blocking required seconds: out > 60 for 15s in ≤ 0 for 15s",
			"unsatisfied_slots":   "blocking required slots: out > 0 for 0s in ≤ 0 for 15s",
			"resource_rejections": "blocking required rejections: out > 0 for 0s in ≤ 0 for 5m",
			"recent_rejections":   "blocking required rejections: in ≤ 0 for 15s",
			"avg_cpu":             "saturation required ratio [0 1]: out > 0.8 for 1m in < 0.7 for 1m",
			"avg_memory":          "saturation required ratio [0 1]: out > 0.8 for 2m in < 0.6 for 5m",
			"surplus_by_cpu":      "saturation required workers: in ≥ 1 for 15s",
			"surplus_by_memory":   "saturation required workers: in ≥ 1 for 5m",
			"slot_utilization":    "capacity ratio [0 1] in [fixed]: out > 0.95 for 2m",
			"surplus_by_slots":    "capacity workers in [fixed]: in ≥ 1 for 15s",
			"head_job_too_big":    "guard workers: out > max_workers for 15s holds [oldest_blocked_age unsatisfied_slots]",
		},
		"zeta-thrifty": {
			"blocked_jobs":        "blocking demand required jobs: in ≤ 0 for 15s",
			"oldest_blocked_age":  "blocking required seconds: out > 60 for 15s in ≤ 0 for 15s",
			"unsatisfied_slots":   "blocking required slots: out > 0 for 0s in ≤ 0 for 15s",
			"resource_rejections": "blocking required rejections: out > 0 for 0s in ≤ 0 for 5m",
			"recent_rejections":   "blocking required rejections: in ≤ 0 for 15s",
			"avg_cpu":             "saturation required ratio [0 1]: out > 0.8 for 1m in < 0.7 for 1m",
			"avg_memory":          "saturation required ratio [0 1]: out > 0.8 for 2m in < 0.6 for 5m",
			"surplus_by_cpu":      "saturation required workers: in ≥ 1 for 15s",
			"surplus_by_memory":   "saturation required workers: in ≥ 1 for 5m",
			"slot_utilization":    "capacity ratio [0 1] in [fixed]: out > 0.95 for 2m",
			"surplus_by_slots":    "capacity workers in [fixed]: in ≥ 1 for 15s",
			"head_job_too_big":    "guard workers: out > max_workers for 15s holds [oldest_blocked_age unsatisfied_slots]",
		},
		"zeta-telemetry-only": {
			"resource_rejections": "blocking required requests: out > 0 for 5m in ≤ 0 for 10m",
			"avg_cpu":             "saturation required ratio [0 1.1]: out > 0.8 for 5m in < 0.3 for 10m",
			"avg_memory":          common["avg_memory"],
		},
	}
	require.Len(t, packs, len(Packs()))
	for name, want := range packs {
		rs, data, err := Pack(name)
		require.NoError(t, err)
		if rs.Name != "zeta-telemetry-only" {
			fresh := strings.Count(string(data), "(time() - timestamp(seatunnel_zeta_worker_sample_age_seconds))")
			require.Equal(t, 1, fresh, "fresh workers")
			over := map[bool]int{false: 2, true: 1}[byIntent(name)] // its memory is a minimum of five minutes
			require.Equal(t, over, strings.Count(string(data), "_ratio[2m]))"), "and the averages over them")
		}
		got := map[string]string{}
		for i := range rs.Signals {
			s := &rs.Signals[i]
			text := string(s.Class) + " "
			if s.Demand {
				text += demand
			}
			if s.Required {
				text += required
			}
			text += s.Unit
			if s.Range != nil {
				text += fmt.Sprint(" ", *s.Range)
			}
			if len(s.SlotModes) > 0 {
				text += fmt.Sprint(" in ", s.SlotModes)
			}
			got[s.Name] = text + ":" + conditionText("out", s.Out) + conditionText("in", s.In)
			if s.HoldsSet {
				got[s.Name] += fmt.Sprint(" holds ", s.Holds)
			}
			require.Equal(t, AbsentUnknown, s.Absent, "a hung endpoint would read 0")
			require.Zero(t, s.KeepFiringFor)
		}
		require.Equal(t, want, got, name)
		if byIntent(name) {
			require.Equal(t, 15*time.Second, rs.Interval)
			require.Equal(t, StepDemand, rs.Step.Policy)
			require.Nil(t, rs.Bounds, "a pack has no upper bound of its own")
			continue
		}
		require.Equal(t, DefaultInterval, rs.Interval)
		require.InDelta(t, DefaultMinCoverage, rs.MinCoverage, 0)
		require.Equal(t, DefaultGapTolerance, rs.GapTolerance)
		require.Equal(t, defaultStep(), rs.Step)
		require.Nil(t, rs.Bounds, "a pack has no upper bound of its own")
		for _, in := range rs.inputs() {
			for _, w := range eventWindows(in.expr.Node, 0) {
				if w.function == "increase" {
					require.Equal(t, 10*time.Minute, w.reach, "one rejection sustains its window")
				}
			}
		}
	}
	auto, _, err := Pack("zeta-auto")
	require.NoError(t, err)
	require.NotNil(t, auto.SlotModeExpr)
	require.Equal(t, scaling.SlotMode(""), auto.SlotMode)
}

func conditionText(direction string, c *Condition) string {
	switch {
	case c == nil:
		return ""
	case c.MaxWorkers:
		return fmt.Sprintf(" %s %s max_workers for %s", direction, c.Comparison.Symbol(), model.Duration(c.For))
	}
	return fmt.Sprintf(" %s %s for %s", direction, c.text(), model.Duration(c.For))
}

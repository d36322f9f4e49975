package rules

import (
	"testing"
	"time"

	"github.com/prometheus/prometheus/promql/parser"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/zeta-scaler/zeta-scaler/scaling"
)

func parse(t *testing.T, expr string) parser.Expr {
	t.Helper()
	e, err := parser.NewParser(parser.Options{}).ParseExpr(expr)
	require.NoError(t, err)
	return e
}

// TestOverlapAgreesWithValues compares what is said about two regions with what
// their comparisons say about values at, between and beyond the thresholds.
func TestOverlapAgreesWithValues(t *testing.T) {
	isTrue := map[Comparison]func(v, threshold float64) bool{
		Above:   func(v, x float64) bool { return v > x },
		AtLeast: func(v, x float64) bool { return v >= x },
		Below:   func(v, x float64) bool { return v < x },
		AtMost:  func(v, x float64) bool { return v <= x },
	}
	comparisons := []Comparison{Above, AtLeast, Below, AtMost}
	rapid.Check(t, func(t *rapid.T) {
		draw := func(name string) *Condition {
			return &Condition{
				Comparison: rapid.SampledFrom(comparisons).Draw(t, name+" comparison"),
				Threshold:  float64(rapid.IntRange(0, 3).Draw(t, name+" threshold")),
			}
		}
		out, in := draw("out"), draw("in")
		both := false
		for v := -1.0; v <= 4; v += 0.5 {
			both = both || isTrue[out.Comparison](v, out.Threshold) && isTrue[in.Comparison](v, in.Threshold)
		}
		overlaps, meets := overlap(regionOf(out), regionOf(in))
		require.Equal(t, both, overlaps)
		if meets {
			require.InDelta(t, out.Threshold, in.Threshold, 0)
		}
	})
}

func TestEventWindows(t *testing.T) {
	m := time.Minute
	for expr, want := range map[string][]eventWindow{
		`sum(increase(x[10m]))`:                           {{"increase", 10 * m}},
		`changes(x[3m]) + rate(y[5m])`:                    {{"changes", 3 * m}, {"rate", 5 * m}},
		`max_over_time(sum(increase(x[5m]))[10m:1m])`:     {{"increase", 15 * m}},
		`min_over_time(sum(increase(x[5m]))[10m:1m])`:     {{"increase", 5 * m}},
		`increase(sum(x)[7m:1m])`:                         {{"increase", 7 * m}},
		`max_over_time(x[10m]) > 0 and sum(y) unless (z)`: nil,
	} {
		require.Equal(t, want, eventWindows(parse(t, expr), 0), expr)
	}
}

func TestLookbackOfExpressions(t *testing.T) {
	m := time.Minute
	for expr, want := range map[string][2]time.Duration{
		`sum(x)`:                    {0, 0},
		`rate(x[5m])`:               {5 * m, 5 * m},
		`rate(x[5m] offset 10m)`:    {5 * m, 15 * m},
		`x offset -5m`:              {0, 0},
		`rate(x[5m]) / rate(y[9m])`: {9 * m, 9 * m},
		`max_over_time(rate(x[5m])[10m:] offset 1m)`: {15 * m, 16 * m},
	} {
		require.Equal(t, want[0], lookback(parse(t, expr), false), expr)
		require.Equal(t, want[1], lookback(parse(t, expr), true), expr)
	}
}

// TestNearestSeries: the names that people try, and what they mean.
func TestNearestSeries(t *testing.T) {
	for wrong, right := range map[string]string{
		"seatunnel_zeta_oldest_pending_job_seconds": "seatunnel_zeta_pending_job_oldest_seconds",
		"seatunnel_zeta_worker_count":               "seatunnel_zeta_workers",
		"seatunnel_zeta_cpu_ratio":                  "seatunnel_zeta_worker_cpu_ratio",
		"seatunnel_pending_jobs":                    "seatunnel_zeta_pending_jobs",
		"zeta_slots":                                "seatunnel_zeta_slots",
		"seatunnel_zeta_rejections_total":           "seatunnel_zeta_resource_rejections_total",
		"job_counts":                                "job_count",
		"job_thread_pool_activecount":               "job_thread_pool_activeCount",
		"request_slot_operations_total":             "request_slot_operation_total",
	} {
		all := knownSeries()
		require.Nil(t, findSeries(all, wrong))
		require.Equal(t, right, nearestSeries(all, wrong), wrong)
	}
	for _, other := range []string{"up", "node_load1", "node_cpu_seconds_total", "kube_pod_info", "seatunnel_autoscaler_current_workers", "my_metric", "engine_state_store_local_owned_entries"} {
		require.False(t, looksLikeZeta(other), other)
	}
	require.NotNil(t, findSeries(knownSeries(), "job_thread_pool_task_created"))
}

func TestValidateBounds(t *testing.T) {
	step := func(workers, unit, most int) Step { return Step{Workers: workers, Unit: unit, MaxStep: most} }
	tests := []struct {
		bounds scaling.Bounds
		step   Step
		want   string // "" is valid
	}{
		{scaling.DefaultBounds(), defaultStep(), ""},
		{scaling.Bounds{Min: 0, Max: 1}, step(1, 1, 1), ""},
		{scaling.Bounds{Min: 8, Max: 8}, step(4, 4, 4), ""},
		{scaling.Bounds{Min: -1, Max: 1}, step(1, 1, 1), "min_workers is -1, expected 0 or more"},
		{scaling.Bounds{Min: 0, Max: 0}, step(1, 1, 1), "max_workers is 0, expected 1 or more"},
		{scaling.Bounds{Min: 3, Max: 2}, step(1, 1, 1), "min_workers 3 is greater than max_workers 2"},
		{scaling.Bounds{Min: 1, Max: 9}, step(1, 0, 1), "step.unit is 0, expected 1 or more"},
		{scaling.Bounds{Min: 1, Max: 9}, step(1, 5, 4), "step.unit 5 is greater than step.max_step 4"},
		{scaling.Bounds{Min: 1, Max: 3}, step(1, 4, 4), "step.unit 4 is greater than max_workers 3"},
		{scaling.Bounds{Min: 1, Max: 9}, step(0, 1, 1), "step.workers is 0, expected 1 or more"},
		{scaling.Bounds{Min: 1, Max: 9}, step(5, 1, 4), "step.workers 5 is greater than step.max_step 4"},
		{scaling.Bounds{Min: 9, Max: 11}, step(1, 4, 4), "min_workers 9 rounded up to step.unit 4 is greater than max_workers 11"},
		{scaling.Bounds{Min: 9, Max: 12}, step(1, 4, 4), ""},
		{scaling.Bounds{Min: scaling.Unbounded, Max: scaling.Unbounded}, step(1, 2, 4), "min_workers 9223372036854775807 rounded up to step.unit 2 is greater than max_workers 9223372036854775807"},
	}
	for _, tt := range tests {
		errs := ValidateBounds(tt.bounds, tt.step)
		if tt.want == "" {
			require.Empty(t, errs)
			continue
		}
		var all []string
		for _, err := range errs {
			all = append(all, err.Error())
		}
		require.Contains(t, all, tt.want)
	}
}

// TestPacksKeepTheirPromises: what spec 2 forbids them.
func TestPacksKeepTheirPromises(t *testing.T) {
	for _, name := range Packs() {
		rs := pack(t, name)
		require.Nil(t, rs.Bounds, "a pack has no bound of its own")
		require.Nil(t, rs.Workers.Master)
		for _, s := range rs.Signals {
			require.Equal(t, AbsentUnknown, s.Absent, "a hung endpoint would read 0")
			if byIntent(name) {
				continue
			}
			if s.Out != nil {
				require.Equal(t, DefaultOutFor, s.Out.For)
			}
			if s.In != nil {
				require.Equal(t, DefaultInFor, s.In.For)
			}
		}
	}
	_, _, err := Pack("zeta-auto_test")
	require.ErrorContains(t, err, "no such pack")
	_, _, err = Pack("../../go.mod")
	require.ErrorIs(t, err, errNoPack)
}

// TestPacksHaveTheSignals of the table of spec 2.
func TestPacksHaveTheSignals(t *testing.T) {
	always := []string{
		"blocked_jobs", "oldest_blocked_age", "unsatisfied_slots", "resource_rejections", "avg_cpu", "avg_memory", "head_job_too_big",
	}
	for name, more := range map[string][]string{
		"zeta-fixed-slot":   {"slot_utilization"},
		"zeta-dynamic-slot": {"unassigned_resources"},
		"zeta-auto":         {"slot_utilization", "unassigned_resources"},
	} {
		var names []string
		for _, s := range pack(t, name).Signals {
			names = append(names, s.Name)
		}
		require.ElementsMatch(t, append(append([]string{}, always...), more...), names, name)
	}
}

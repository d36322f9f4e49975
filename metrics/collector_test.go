package metrics_test

import (
	"context"
	"math"
	"strconv"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/stretchr/testify/require"
	"golang.org/x/sync/errgroup"

	"github.com/zeta-scaler/zeta-scaler/metrics"
	"github.com/zeta-scaler/zeta-scaler/scaling"
)

func TestRecommendationsCountNewGenerations(t *testing.T) {
	c := collector()
	publish := func(key string, a scaling.Action, isNew bool) {
		e := cluster(key)
		e.Recommendation.Action, e.NewGeneration = a, isNew
		c.Publish(t.Context(), []scaling.Evaluation{e}, nil)
	}
	got := func() map[string]float64 { return values(t, c, "recommendations_total", "scope", "action") }

	publish("a", scaling.NoAction, false)
	require.Equal(t, map[string]float64{
		"a/SCALE_OUT": 0, "a/SCALE_IN_CANDIDATE": 0, "a/SCALE_IN_BLOCKED": 0, "a/NO_ACTION": 0,
	}, got(), "every action is there from the beginning")

	publish("a", scaling.ScaleOut, true)
	publish("a", scaling.ScaleOut, false)
	publish("a", scaling.ScaleOut, true)
	publish("a", scaling.ScaleInBlocked, true)
	publish("b", scaling.NoAction, true)
	require.Equal(t, map[string]float64{
		"a/SCALE_OUT": 2, "a/SCALE_IN_CANDIDATE": 0, "a/SCALE_IN_BLOCKED": 1, "a/NO_ACTION": 0,
		"b/SCALE_OUT": 0, "b/SCALE_IN_CANDIDATE": 0, "b/SCALE_IN_BLOCKED": 0, "b/NO_ACTION": 1,
	}, got())

	c.Publish(t.Context(), nil, []scaling.Scope{cluster("a").Scope})
	require.Equal(t, map[string]float64{
		"b/SCALE_OUT": 0, "b/SCALE_IN_CANDIDATE": 0, "b/SCALE_IN_BLOCKED": 0, "b/NO_ACTION": 1,
	}, got(), "a scope that is gone takes its series with it")
	publish("a", scaling.NoAction, false)
	require.Zero(t, got()["a/SCALE_OUT"])
}

func TestUnknownIsAbsent(t *testing.T) {
	c := collector()
	e := evaluation()
	e.Recommendation.RecommendedWorkers = nil
	e.Recommendation.StaleWorkerCount = nil
	e.Inputs[4].Value = scaling.Value{Number: 0.5}
	e.Inputs[5].Value = scaling.Known(math.NaN())
	e.Shadows[0].RecommendedWorkers = nil
	c.Publish(t.Context(), []scaling.Evaluation{e}, nil)
	for _, name := range []string{
		"recommended_workers", "recommended_delta", "stale_workers", "input_avg_cpu", "input_avg_memory",
		"shadow_recommended_workers",
	} {
		require.Empty(t, values(t, c, name), name)
	}
	signals := values(t, c, "signal_value", "signal")
	require.NotContains(t, signals, "avg_cpu")
	require.NotContains(t, signals, "avg_memory")
	require.Contains(t, signals, "blocked_jobs")
	require.Equal(t, map[string]float64{"": 4}, values(t, c, "current_workers"))
}

func TestDeltaIsSigned(t *testing.T) {
	c := collector()
	e := evaluation()
	e.Recommendation.RecommendedWorkers = new(3)
	c.Publish(t.Context(), []scaling.Evaluation{e}, nil)
	require.Equal(t, map[string]float64{"": -1}, values(t, c, "recommended_delta"))
}

func TestActionStatus(t *testing.T) {
	failed := cluster("a")
	failed.Execution = &scaling.Execution{State: scaling.ActionFailed}
	c := metrics.New(metrics.Options{})
	c.Publish(t.Context(), []scaling.Evaluation{failed, cluster("b")}, nil)
	got := values(t, c, "action_status", "scope", "status")
	require.Len(t, got, 2*len(metrics.Statuses()))
	for _, s := range metrics.Statuses() {
		want := 0.0
		if s == "FAILED" {
			want = 1
		}
		require.Equal(t, want, got["a/"+s], s) //nolint:testifylint // 0 and 1 are exact
		require.Zero(t, got["b/"+s], "no action: no status")
	}
}

func TestCooldownRunsOnBetweenTicks(t *testing.T) {
	at := tick
	c := metrics.New(metrics.Options{Clock: func() time.Time { return at }})
	c.Publish(t.Context(), []scaling.Evaluation{evaluation()}, nil)
	for _, tc := range []struct {
		after time.Duration
		want  float64
	}{{0, 70}, {10 * time.Second, 60}, {70 * time.Second, 0}, {time.Hour, 0}} {
		at = tick.Add(tc.after)
		require.Equal(t, map[string]float64{"": tc.want}, values(t, c, "cooldown_remaining_seconds"))
	}
	c = metrics.New(metrics.Options{})
	c.Publish(t.Context(), []scaling.Evaluation{evaluation()}, nil)
	require.Equal(t, map[string]float64{"": 70}, values(t, c, "cooldown_remaining_seconds"))
}

func TestLimited(t *testing.T) {
	for name, tc := range map[string]struct {
		blockers []string
		min, max float64
	}{
		"neither": {nil, 0, 0},
		"other":   {[]string{scaling.BlockerCooldown}, 0, 0},
		"min":     {[]string{scaling.BlockerMinWorkers}, 1, 0},
		"max":     {[]string{scaling.BlockerCooldown, scaling.BlockerMaxWorkers}, 0, 1},
	} {
		t.Run(name, func(t *testing.T) {
			c := collector()
			e := evaluation()
			for _, b := range tc.blockers {
				e.Recommendation.BlockingConditions = append(e.Recommendation.BlockingConditions, scaling.Condition{Name: b})
			}
			c.Publish(t.Context(), []scaling.Evaluation{e}, nil)
			require.Equal(t, map[string]float64{"min": tc.min, "max": tc.max}, values(t, c, "limited", "bound"))
		})
	}
}

func TestInputsFollowExports(t *testing.T) {
	known := func(name, export string, v float64) scaling.Input {
		return scaling.Input{Name: name, Export: export, Value: scaling.Known(v)}
	}
	for name, tc := range map[string]struct {
		inputs []scaling.Input
		want   map[string]float64
	}{
		"the STIP's own names":       {[]scaling.Input{known("avg_cpu", "", 1)}, map[string]float64{"": 1}},
		"an explicit export":         {[]scaling.Input{known("cpu", "input_avg_cpu", 2)}, map[string]float64{"": 2}},
		"export wins over name":      {[]scaling.Input{known("avg_cpu", "", 1), known("cpu", "input_avg_cpu", 2)}, map[string]float64{"": 2}},
		"exported as something else": {[]scaling.Input{known("avg_cpu", "input_avg_memory", 1)}, map[string]float64{}},
		"two exports, the first one": {
			[]scaling.Input{known("x", "input_avg_cpu", 1), known("y", "input_avg_cpu", 2)}, map[string]float64{"": 1},
		},
		"an unknown export is not replaced": {
			[]scaling.Input{{Name: "cpu", Export: "input_avg_cpu"}, known("avg_cpu", "", 1)}, map[string]float64{},
		},
		"an export that is no input": {[]scaling.Input{known("x", "input_nonsense", 1)}, map[string]float64{}},
	} {
		t.Run(name, func(t *testing.T) {
			c := collector()
			e := evaluation()
			e.Inputs = tc.inputs
			c.Publish(t.Context(), []scaling.Evaluation{e}, nil)
			require.Equal(t, tc.want, values(t, c, "input_avg_cpu"))
		})
	}
}

// Spec 1.6: whatever the slots' signal says, only fixed slots have a
// utilisation.
func TestSlotUtilizationIsForFixedSlots(t *testing.T) {
	for mode, want := range map[scaling.SlotMode]map[string]float64{
		scaling.FixedSlots:   {"fixed": 0.75},
		scaling.DynamicSlots: {},
		scaling.MixedSlots:   {},
		scaling.UnknownSlots: {},
	} {
		c := collector()
		e := evaluation()
		e.SlotMode = mode
		c.Publish(t.Context(), []scaling.Evaluation{e}, nil)
		require.Equal(t, want, values(t, c, "input_slot_utilization", "slot_mode"), mode)
	}
}

func TestSignals(t *testing.T) {
	c := collector()
	c.Publish(t.Context(), []scaling.Evaluation{evaluation()}, nil)
	require.Equal(t, map[string]float64{
		"blocked_jobs/blocking": 2, "oldest_blocked_age/blocking": 42, "unsatisfied_slots/blocking": 3,
		"resource_rejections/blocking": 1, "avg_cpu/saturation": 0.91, "avg_memory/saturation": 0.5,
		"slot_utilization/capacity": 0.75, "head_job_too_big/guard": 2,
	}, values(t, c, "signal_value", "signal", "class"))
	held := values(t, c, "signal_held_seconds", "signal", "direction")
	require.InDelta(t, 330, held["avg_cpu/scale_out"], 0)
	require.InDelta(t, 0, held["avg_cpu/scale_in"], 0)
	window := values(t, c, "signal_window_seconds", "signal", "direction")
	require.InDelta(t, 300, window["avg_cpu/scale_out"], 0)
	require.InDelta(t, 600, window["avg_cpu/scale_in"], 0)
	require.Len(t, window, 14)

	c = metrics.New(metrics.Options{})
	c.Publish(t.Context(), []scaling.Evaluation{evaluation()}, nil)
	for _, name := range []string{"signal_value", "signal_held_seconds", "signal_window_seconds"} {
		require.Empty(t, values(t, c, name), "per_signal: false leaves out %s", name)
	}
	require.NotEmpty(t, values(t, c, "input_avg_cpu"))
}

func TestShadows(t *testing.T) {
	c := collector()
	e := evaluation()
	agreeing := e.Shadows[0]
	agreeing.RuleSet.Name, agreeing.Agrees = "other", true
	e.Shadows = append(e.Shadows, agreeing)
	for range 3 {
		c.Publish(t.Context(), []scaling.Evaluation{e}, nil)
	}
	e.Provisional = true
	c.Publish(t.Context(), []scaling.Evaluation{e}, nil)
	require.Equal(t, map[string]float64{"next/2.0.0": 4, "other/2.0.0": 4},
		values(t, c, "shadow_recommended_workers", "ruleset", "version"))
	require.Equal(t, map[string]float64{"": 3}, values(t, c, "shadow_disagreements_total"),
		"a provisional tick says nothing about the rules")

	e.Shadows = nil
	c.Publish(t.Context(), []scaling.Evaluation{e}, nil)
	require.Empty(t, values(t, c, "shadow_disagreements_total"))
}

// A reload may give a scope other labels under the same key.
func TestLabelsFollowTheRuleSet(t *testing.T) {
	c := collector()
	c.Publish(t.Context(), []scaling.Evaluation{cluster("a")}, nil)
	c.Publish(t.Context(), []scaling.Evaluation{evaluation(scaling.Label{Name: "env", Value: "a"})}, nil)
	require.Equal(t, map[string]float64{"a//a": 5}, values(t, c, "recommended_workers", "scope", "cluster", "env"))
	require.InDelta(t, 2, values(t, c, "recommendations_total", "action")["SCALE_OUT"], 0)
}

func TestScrapesBesideTicks(t *testing.T) {
	c := collector()
	reg := registry(t, c)
	var g errgroup.Group
	for n := range 2 {
		g.Go(func() error {
			for range 50 {
				c.Publish(context.Background(), []scaling.Evaluation{cluster(strconv.Itoa(n)), cluster("both")}, nil)
				c.Publish(context.Background(), nil, []scaling.Scope{cluster("both").Scope})
			}
			return nil
		})
		g.Go(func() error {
			for range 20 {
				if _, err := reg.Gather(); err != nil {
					return err
				}
			}
			return nil
		})
	}
	require.NoError(t, g.Wait())
	require.Len(t, values(t, c, "recommended_workers", "scope"), 2)
}

func TestLoop(t *testing.T) {
	reg := prometheus.NewPedanticRegistry()
	l := metrics.NewLoop(reg)
	count := func(name string) float64 {
		return gather(t, reg)["seatunnel_autoscaler_"+name].GetMetric()[0].GetCounter().GetValue()
	}
	reasons := func() map[string]float64 {
		out := map[string]float64{}
		for _, m := range gather(t, reg)["seatunnel_autoscaler_evaluation_failures_total"].GetMetric() {
			out[m.GetLabel()[0].GetValue()] = m.GetCounter().GetValue()
		}
		return out
	}
	begin := map[string]float64{}
	for _, r := range metrics.FailureReasons() {
		begin[r] = 0
	}
	require.Equal(t, begin, reasons(), "every reason is there from the beginning")
	for _, name := range []string{"evaluations_total", "ticks_missed_total", "clock_jumps_total", "ignored_samples_total"} {
		require.Zero(t, count(name), name)
	}

	l.Evaluated(30 * time.Millisecond)
	l.Evaluated(-time.Second) // a clock that went back meanwhile
	l.Failed("no_answer")
	l.Failed("no_answer")
	l.TicksMissed(3)
	l.TicksMissed(-1)
	l.ClockJumped()
	l.IgnoredSamples(5)
	begin["no_answer"] = 2
	require.Equal(t, begin, reasons())
	require.InDelta(t, 2, count("evaluations_total"), 0)
	require.InDelta(t, 3, count("ticks_missed_total"), 0)
	require.InDelta(t, 1, count("clock_jumps_total"), 0)
	require.InDelta(t, 5, count("ignored_samples_total"), 0)

	h := gather(t, reg)["seatunnel_autoscaler_evaluation_duration_seconds"].GetMetric()[0].GetHistogram()
	require.Equal(t, uint64(2), h.GetSampleCount())
	require.InDelta(t, 0.03, h.GetSampleSum(), 1e-9)
	require.NotEmpty(t, h.GetBucket(), "classic buckets")
	require.NotEmpty(t, h.GetPositiveSpan(), "native buckets")
}

func TestProcess(t *testing.T) {
	reg := prometheus.NewPedanticRegistry()
	p := metrics.NewProcess(reg)
	value := func(name string) float64 {
		return gather(t, reg)["zeta_scaler_"+name].GetMetric()[0].GetGauge().GetValue()
	}
	require.Zero(t, value("leader"))
	require.Zero(t, value("config_last_reload_successful"))
	p.Leads(true)
	p.Reloaded(true, tick)
	require.InDelta(t, 1, value("leader"), 0)
	require.InDelta(t, 1, value("config_last_reload_successful"), 0)
	p.Leads(false)
	p.Reloaded(false, tick.Add(time.Hour))
	require.Zero(t, value("leader"))
	require.Zero(t, value("config_last_reload_successful"))
	require.InDelta(t, float64(tick.Unix()), value("config_last_reload_success_timestamp_seconds"), 0,
		"the last success, not the last attempt")
	require.InDelta(t, 1, value("build_info"), 0)
}

// While nothing can be published, a decision that nobody stands for any more
// must not be acted on: its values go, the counters stay.
func TestExpiredDecisionIsAbsent(t *testing.T) {
	at := tick
	c := metrics.New(metrics.Options{PerSignal: true, Clock: func() time.Time { return at }})
	c.Publish(t.Context(), []scaling.Evaluation{cluster("a")}, nil)
	at = tick.Add(90 * time.Second)
	require.NotEmpty(t, values(t, c, "recommended_workers"))
	at = at.Add(time.Millisecond)
	for _, name := range []string{"recommended_workers", "current_workers", "metrics_valid", "input_avg_cpu"} {
		require.Empty(t, values(t, c, name), name)
	}
	for _, name := range []string{"recommendation_generation", "paused"} {
		require.NotEmpty(t, values(t, c, name), name)
	}
	require.NotEmpty(t, values(t, c, "recommendations_total", "action"))
	require.NotEmpty(t, values(t, c, "ruleset_info", "ruleset"))
}

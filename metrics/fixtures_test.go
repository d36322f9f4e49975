package metrics_test

import (
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	dto "github.com/prometheus/client_model/go"
	"github.com/stretchr/testify/require"

	"github.com/zeta-scaler/zeta-scaler/contact"
	"github.com/zeta-scaler/zeta-scaler/metrics"
	"github.com/zeta-scaler/zeta-scaler/scaling"
)

var tick = time.Date(2026, 4, 5, 6, 7, 0, 0, time.UTC)

func now() time.Time { return tick.Add(10 * time.Second) }

// evaluation is a scope with something in every field that is exported.
func evaluation(labels ...scaling.Label) scaling.Evaluation {
	scope := scaling.NewScope(labels)
	window := func(d scaling.Direction, held, window float64) scaling.Window {
		return scaling.Window{Direction: d, HeldSeconds: held, WindowSeconds: window, Threshold: new(0.8)}
	}
	windows := []scaling.Window{window(scaling.Out, 330, 300), window(scaling.In, 0, 600)}
	filling := window(scaling.Out, 60, 300)
	filling.SustainedAt = tick.Add(4 * time.Minute)
	signal := func(name string, c scaling.Class, v float64, w ...scaling.Window) scaling.Input {
		return scaling.Input{Name: name, Class: c, Value: scaling.Known(v), Applies: true, Windows: w}
	}
	return scaling.Evaluation{
		Scope: scope, SlotMode: scaling.FixedSlots, Mode: scaling.Advisory, Deployment: scaling.Session,
		MinWorkers: 1, MaxWorkers: new(10), CooldownRemainingSeconds: 70, Tick: tick,
		NewGeneration: true, Changed: true, Next: &scaling.Forecast{At: tick.Add(4 * time.Minute), Action: scaling.NoAction, Row: scaling.RowSteady},
		Recommendation: scaling.Recommendation{
			Scope: scope.Key, MasterEpoch: 3, Generation: 12, Action: scaling.ScaleOut, Row: scaling.RowSaturated,
			CurrentWorkers: new(4), RecommendedWorkers: new(5), StaleWorkerCount: new(0), MetricsValid: true,
			RuleSet:    scaling.RuleSetRef{Name: "zeta-fixed-slot", Version: "1.0.0", Digest: "sha256:0123"},
			ObservedAt: tick, ValidUntil: tick.Add(90 * time.Second),
		},
		Inputs: []scaling.Input{
			signal("blocked_jobs", scaling.Blocking, 2, window(scaling.In, 0, 600)),
			signal("oldest_blocked_age", scaling.Blocking, 42, windows...),
			signal("unsatisfied_slots", scaling.Blocking, 3, windows...),
			signal("resource_rejections", scaling.Blocking, 1, windows...),
			signal("avg_cpu", scaling.Saturation, 0.91, windows...),
			signal("avg_memory", scaling.Saturation, 0.5, windows...),
			signal("slot_utilization", scaling.Capacity, 0.75, windows...),
			signal("head_job_too_big", scaling.Guard, 2, filling),
		},
		Shadows: []scaling.Shadow{{
			RuleSet: scaling.RuleSetRef{Name: "next", Version: "2.0.0", Digest: "sha256:4567"},
			Action:  scaling.NoAction, RecommendedWorkers: new(4), Agrees: false,
		}},
	}
}

func cluster(name string) scaling.Evaluation {
	ev := evaluation(scaling.Label{Name: "cluster", Value: name})
	if name == "prod" {
		ev.Execution = &scaling.Execution{State: scaling.ActionConverging}
	}
	return ev
}

// registry holds everything that this package exports.
func registry(t testing.TB, c *metrics.Collector) *prometheus.Registry {
	t.Helper()
	reg := prometheus.NewPedanticRegistry()
	require.NoError(t, reg.Register(c))
	metrics.NewLoop(reg).Evaluated(12 * time.Millisecond)
	metrics.NewProcess(reg).PageAt("http://scaler:9880/")
	metrics.NewContacts(reg, func() map[string][]contact.Status {
		return map[string][]contact.Status{"cluster": {{Name: "prod", URL: "http://m1:8080", State: contact.Up, LastAnswer: new(tick)}, {Name: "new", State: contact.Unasked}}}
	})
	return reg
}

func collector() *metrics.Collector {
	return metrics.New(metrics.Options{PerSignal: true, Clock: now})
}

// gather returns the families of a registry by name.
func gather(t testing.TB, g prometheus.Gatherer) map[string]*dto.MetricFamily {
	t.Helper()
	list, err := g.Gather()
	require.NoError(t, err)
	out := map[string]*dto.MetricFamily{}
	for _, f := range list {
		out[f.GetName()] = f
	}
	return out
}

// values returns the samples of one metric of the family, keyed by the values
// of the given labels, joined by "/".
func values(t testing.TB, c prometheus.Collector, name string, labels ...string) map[string]float64 {
	t.Helper()
	reg := prometheus.NewPedanticRegistry()
	require.NoError(t, reg.Register(c))
	out := map[string]float64{}
	for _, m := range gather(t, reg)["seatunnel_autoscaler_"+name].GetMetric() {
		key := ""
		for i, l := range labels {
			if i > 0 {
				key += "/"
			}
			for _, p := range m.GetLabel() {
				if p.GetName() == l {
					key += p.GetValue()
				}
			}
		}
		require.NotContains(t, out, key)
		out[key] = m.GetGauge().GetValue() + m.GetCounter().GetValue()
	}
	return out
}

package source_test

import (
	"math"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/storage"
	"github.com/stretchr/testify/require"

	"github.com/zeta-scaler/zeta-scaler/source"
)

func lbls(pairs ...string) labels.Labels { return labels.FromStrings(pairs...) }

// queryable is a storage that the test makes up.
type queryable func() (storage.Querier, error)

func (q queryable) Querier(int64, int64) (storage.Querier, error) { return q() }

// requireSamples compares samples, NaN being equal to NaN.
func requireSamples(t testing.TB, want, got []source.Sample) {
	t.Helper()
	require.Len(t, got, len(want))
	for i := range want {
		require.True(t, labels.Equal(want[i].Labels, got[i].Labels), "sample %d: labels %s, want %s", i, got[i].Labels, want[i].Labels)
		require.True(t, want[i].Value == got[i].Value || math.IsNaN(want[i].Value) && math.IsNaN(got[i].Value),
			"sample %d: value %v, want %v", i, got[i].Value, want[i].Value)
	}
}

// counter reads one counter or gauge by its label values, in any order.
func counter(t testing.TB, reg prometheus.Gatherer, name string, values ...string) float64 {
	t.Helper()
	families, err := reg.Gather()
	require.NoError(t, err)
	for _, f := range families {
		if f.GetName() != name {
			continue
		}
	metrics:
		for _, m := range f.GetMetric() {
			have := map[string]bool{}
			for _, l := range m.GetLabel() {
				have[l.GetValue()] = true
			}
			for _, v := range values {
				if !have[v] {
					continue metrics
				}
			}
			return m.GetCounter().GetValue() + m.GetGauge().GetValue()
		}
	}
	require.Fail(t, "no such metric", "%s %v", name, values)
	return 0
}

// requireSameError compares an answered error of the engine with the remote's.
func requireSameError(t testing.TB, want, got error) {
	t.Helper()
	if want == nil {
		require.NoError(t, got)
		return
	}
	require.EqualError(t, got, want.Error())
	require.NotErrorIs(t, got, source.ErrNoAnswer)
}

// requireSameMatrix compares answers, NaN being equal to NaN.
func requireSameMatrix(t testing.TB, want, got source.Matrix) {
	t.Helper()
	require.Equal(t, want.Warnings, got.Warnings)
	require.Equal(t, want.Infos, got.Infos)
	require.Len(t, got.Series, len(want.Series))
	for i, w := range want.Series {
		g := got.Series[i]
		require.True(t, labels.Equal(w.Labels, g.Labels), "series %d: labels %s, want %s", i, g.Labels, w.Labels)
		require.Len(t, g.Points, len(w.Points), "points of %s", w.Labels)
		for j := range w.Points {
			require.Equal(t, w.Points[j].T, g.Points[j].T)
			require.True(t, w.Points[j].V == g.Points[j].V || math.IsNaN(w.Points[j].V) && math.IsNaN(g.Points[j].V),
				"%s at %d: %v, want %v", w.Labels, w.Points[j].T, g.Points[j].V, w.Points[j].V)
		}
	}
}

// gatherer calls f on every scrape and has one metric.
func gatherer(f func()) prometheus.Gatherer {
	reg := prometheus.NewRegistry()
	reg.MustRegister(prometheus.NewGaugeFunc(prometheus.GaugeOpts{Name: "g", Help: "g"}, func() float64 {
		f()
		return 1
	}))
	return reg
}

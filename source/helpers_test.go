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

package app

import (
	"testing"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/stretchr/testify/require"
)

// The embedded Prometheus has names that promtool refuses; they are not shown.
func TestNamesThatLintersRefuseAreLeftOut(t *testing.T) {
	reg := prometheus.NewRegistry()
	for _, name := range []string{"sync_length_histogram_seconds", "sync_length_seconds"} {
		h := prometheus.NewHistogram(prometheus.HistogramOpts{Name: name, Help: "x"})
		h.Observe(1)
		reg.MustRegister(h)
	}
	g := prometheus.NewGauge(prometheus.GaugeOpts{Name: "native_histogram_series", Help: "a count"})
	reg.MustRegister(g)
	s := &samples{}
	s.current.Store(&backend{registry: reg})
	families, err := s.Gather()
	require.NoError(t, err)
	var names []string
	for _, f := range families {
		names = append(names, f.GetName())
	}
	require.Equal(t, []string{"native_histogram_series", "sync_length_seconds"}, names)
}

package source

import (
	"errors"
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// The kinds of query; values of the label kind.
const (
	kindInstant = "instant"
	kindRange   = "range"
)

// queryMetrics count and time the queries of a source.
type queryMetrics struct {
	duration *prometheus.HistogramVec
	failures *prometheus.CounterVec
}

// newQueryMetrics registers the metrics with reg, which may be nil. A source
// that replaces another one (a reload) goes on with the same counters.
func newQueryMetrics(reg prometheus.Registerer) (*queryMetrics, error) {
	m := &queryMetrics{
		duration: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name:    "zeta_scaler_query_duration_seconds",
			Help:    "How long PromQL queries took, failed ones included.",
			Buckets: []float64{0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30},
		}, []string{"kind"}),
		failures: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "zeta_scaler_query_failures_total",
			Help: "PromQL queries that failed, by kind and reason.",
		}, []string{"kind", "reason"}),
	}
	var err error
	if m.duration, err = register(reg, m.duration); err != nil {
		return nil, err
	}
	if m.failures, err = register(reg, m.failures); err != nil {
		return nil, err
	}
	for _, kind := range []string{kindInstant, kindRange} {
		m.duration.WithLabelValues(kind)
		for _, r := range reasons() {
			m.failures.WithLabelValues(kind, string(r))
		}
	}
	return m, nil
}

// observe notes one query that began at start and ended with err.
func (m *queryMetrics) observe(kind string, start time.Time, err error) {
	m.duration.WithLabelValues(kind).Observe(time.Since(start).Seconds())
	if err != nil {
		m.failures.WithLabelValues(kind, string(reasonOf(err))).Inc()
	}
}

// register returns c, or the collector of the same name that is there already.
func register[C prometheus.Collector](reg prometheus.Registerer, c C) (C, error) {
	if reg == nil {
		return c, nil
	}
	err := reg.Register(c)
	if already, ok := errors.AsType[prometheus.AlreadyRegisteredError](err); ok {
		if existing, ok := already.ExistingCollector.(C); ok {
			return existing, nil
		}
	}
	return c, err
}

package metrics

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// Loop counts what the evaluation loop does, over all rule sets. It is the
// evaluator's Instruments.
type Loop struct {
	evaluations, ticksMissed   prometheus.Counter
	clockJumps, ignoredSamples prometheus.Counter
	failures                   *prometheus.CounterVec
	duration                   prometheus.Histogram
}

// FailureReasons are the values of evaluation_failures_total's label reason.
func FailureReasons() []string {
	return []string{
		"no_answer", "query_error", "warnings",
		"duplicate_series", "two_sources", "invalid_value", "restore", "store",
	}
}

// NewLoop registers the loop's metrics. Every counter begins at 0, so that the
// first failure already shows in a rate.
func NewLoop(reg prometheus.Registerer) *Loop {
	count := func(name, help string) prometheus.CounterOpts {
		return prometheus.CounterOpts{Namespace: namespace, Name: name, Help: help}
	}
	l := &Loop{
		evaluations: prometheus.NewCounter(count("evaluations_total",
			"Ticks that were evaluated, over all rule sets.")),
		ticksMissed: prometheus.NewCounter(count("ticks_missed_total",
			"Ticks that were not evaluated in time; they are folded in later.")),
		clockJumps: prometheus.NewCounter(count("clock_jumps_total",
			"How often the clock went back by more than an interval.")),
		ignoredSamples: prometheus.NewCounter(count("ignored_samples_total",
			"Samples that lack a label of scope_by and so belong to no scope.")),
		failures: prometheus.NewCounterVec(count("evaluation_failures_total",
			"Ticks with a failure, by reason; what failed is unknown at that tick."), []string{"reason"}),
		duration: prometheus.NewHistogram(prometheus.HistogramOpts{
			Namespace: namespace, Name: "evaluation_duration_seconds",
			Help:                            "How long one tick of one rule set took, from its queries to its publication.",
			Buckets:                         []float64{0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30},
			NativeHistogramBucketFactor:     1.1,
			NativeHistogramMaxBucketNumber:  100,
			NativeHistogramMinResetDuration: time.Hour,
		}),
	}
	for _, r := range FailureReasons() {
		l.failures.WithLabelValues(r)
	}
	reg.MustRegister(l.evaluations, l.ticksMissed, l.clockJumps, l.ignoredSamples, l.failures, l.duration)
	return l
}

// Evaluated counts one tick of one rule set that took d.
func (l *Loop) Evaluated(d time.Duration) {
	l.evaluations.Inc()
	l.duration.Observe(max(d, 0).Seconds())
}

// Failed counts one failure of a tick; reason is one of FailureReasons.
func (l *Loop) Failed(reason string) { l.failures.WithLabelValues(reason).Inc() }

// TicksMissed counts n ticks, n ≥ 0.
func (l *Loop) TicksMissed(n int) { l.ticksMissed.Add(float64(max(n, 0))) }

// ClockJumped counts one step of the clock backwards.
func (l *Loop) ClockJumped() { l.clockJumps.Inc() }

// IgnoredSamples counts n samples, n ≥ 0.
func (l *Loop) IgnoredSamples(n int) { l.ignoredSamples.Add(float64(max(n, 0))) }

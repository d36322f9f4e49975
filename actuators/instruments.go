package actuators

import (
	"context"
	"errors"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promauto"

	"github.com/zeta-scaler/zeta-scaler/scaling"
)

// The verbs and results of platform calls; values of the labels of that name.
const (
	verbObserve  = "observe"
	verbScale    = "scale"
	verbClaim    = "claim"
	verbWithdraw = "withdraw"

	resultOK          = "ok"
	resultStale       = "stale"
	resultOtherWriter = "other_writer"
	resultRefused     = "refused"
	resultUnknown     = "unknown"
	resultError       = "error"
)

func verbs() []string { return []string{verbObserve, verbScale, verbClaim, verbWithdraw} }

func results() []string {
	return []string{resultOK, resultStale, resultOtherWriter, resultRefused, resultUnknown, resultError}
}

// resultOf says what an answer of a platform means for the action.
func resultOf(err error) string {
	_, other := errors.AsType[*OtherWriterError](err)
	switch {
	case err == nil:
		return resultOK
	case errors.Is(err, ErrUnknownOutcome):
		return resultUnknown
	case errors.Is(err, ErrStale):
		return resultStale
	case other:
		return resultOtherWriter
	case errors.Is(err, ErrRefused), errors.Is(err, ErrUnsupported):
		return resultRefused
	case errors.Is(err, context.DeadlineExceeded), errors.Is(err, context.Canceled):
		return resultUnknown
	default:
		return resultError
	}
}

// instruments are the executor's metrics.
type instruments struct {
	calls    *prometheus.CounterVec
	duration *prometheus.HistogramVec
	actions  *prometheus.CounterVec
	inFlight prometheus.Gauge
}

// newInstruments registers with reg, which may be nil.
func newInstruments(reg prometheus.Registerer) *instruments {
	f := promauto.With(reg)
	m := &instruments{
		calls: f.NewCounterVec(prometheus.CounterOpts{
			Name: "zeta_scaler_actuator_calls_total",
			Help: "Calls of platforms by actuator, verb and result.",
		}, []string{"actuator", "verb", "result"}),
		duration: f.NewHistogramVec(prometheus.HistogramOpts{
			Name:    "zeta_scaler_actuator_call_duration_seconds",
			Help:    "How long calls of platforms took, failed ones included.",
			Buckets: []float64{0.005, 0.025, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60},
		}, []string{"actuator", "verb"}),
		actions: f.NewCounterVec(prometheus.CounterOpts{
			Name: "zeta_scaler_actions_total",
			Help: "Actions that are over, by final state.",
		}, []string{"state"}),
		inFlight: f.NewGauge(prometheus.GaugeOpts{
			Name: "zeta_scaler_actions_in_flight",
			Help: "Actions that have begun and are not over.",
		}),
	}
	for _, s := range scaling.ActionStates() {
		if s.Final() {
			m.actions.WithLabelValues(string(s))
		}
	}
	return m
}

// actuator creates the label values of one kind of actuator.
func (m *instruments) actuator(kind string) {
	for _, verb := range verbs() {
		m.duration.WithLabelValues(kind, verb)
		for _, result := range results() {
			m.calls.WithLabelValues(kind, verb, result)
		}
	}
}

// called notes one call that began at start and ended with err.
func (m *instruments) called(kind, verb string, start time.Time, err error) {
	m.duration.WithLabelValues(kind, verb).Observe(time.Since(start).Seconds())
	m.calls.WithLabelValues(kind, verb, resultOf(err)).Inc()
}

package webhook

import (
	"net/http"
	"strconv"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/zeta-scaler/zeta-scaler/scaling"
)

// resultError counts alerts whose request was answered with 503.
const resultError = "error"

// instruments count notifications and what became of their alerts.
type instruments struct {
	requests, alerts *prometheus.CounterVec
	truncated        prometheus.Counter
	duration         prometheus.Histogram
}

// newInstruments creates all series at 0, so that the first one of a kind shows
// in a rate.
func newInstruments(reg prometheus.Registerer) *instruments {
	opts := func(name, help string) prometheus.CounterOpts {
		return prometheus.CounterOpts{Namespace: "zeta_scaler", Subsystem: "webhook", Name: name, Help: help}
	}
	i := &instruments{
		requests:  prometheus.NewCounterVec(opts("requests_total", "Notifications of Alertmanager by the status of the answer."), []string{"code"}),
		alerts:    prometheus.NewCounterVec(opts("alerts_total", "Alerts in notifications by what became of them."), []string{"result"}),
		truncated: prometheus.NewCounter(opts("truncated_alerts_total", "Alerts that Alertmanager left out of notifications.")),
		duration: prometheus.NewHistogram(prometheus.HistogramOpts{
			Namespace: "zeta_scaler", Subsystem: "webhook", Name: "request_duration_seconds",
			Help:                            "How long it took to answer a notification.",
			Buckets:                         []float64{0.0005, 0.001, 0.002, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 1, 5},
			NativeHistogramBucketFactor:     1.1,
			NativeHistogramMaxBucketNumber:  100,
			NativeHistogramMinResetDuration: time.Hour,
		}),
	}
	for _, code := range []int{
		http.StatusOK, http.StatusBadRequest, http.StatusUnauthorized, http.StatusForbidden, http.StatusRequestEntityTooLarge,
		http.StatusUnprocessableEntity, http.StatusServiceUnavailable,
	} {
		i.requests.WithLabelValues(strconv.Itoa(code))
	}
	for _, result := range scaling.VerdictResults() {
		i.alerts.WithLabelValues(string(result))
	}
	i.alerts.WithLabelValues(resultError)
	if reg != nil {
		reg.MustRegister(i.requests, i.alerts, i.truncated, i.duration)
	}
	return i
}

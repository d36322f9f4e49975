package alerts

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// labelAlertmanager is the address of an Alertmanager, without credentials.
const labelAlertmanager = "alertmanager"

// instruments count what becomes of alerts.
type instruments struct {
	sent, errors, dropped *prometheus.CounterVec
	length                *prometheus.GaugeVec
	capacity              prometheus.Gauge
	latency               *prometheus.HistogramVec
}

func newInstruments(reg prometheus.Registerer) *instruments {
	count := func(name, help string) *prometheus.CounterVec {
		return prometheus.NewCounterVec(prometheus.CounterOpts{
			Namespace: "zeta_scaler", Subsystem: "notifications", Name: name, Help: help,
		}, []string{labelAlertmanager})
	}
	i := &instruments{
		sent:    count("sent_total", "Alerts that an Alertmanager has taken, sent again or resolved ones included."),
		errors:  count("errors_total", "Alerts in requests that failed, counted at every attempt."),
		dropped: count("dropped_total", "Alerts that were given up: the queue was full, they were refused, or the service stopped."),
		length: prometheus.NewGaugeVec(prometheus.GaugeOpts{
			Namespace: "zeta_scaler", Subsystem: "notifications", Name: "queue_length", Help: "Alerts that wait to be sent.",
		}, []string{labelAlertmanager}),
		capacity: prometheus.NewGauge(prometheus.GaugeOpts{
			Namespace: "zeta_scaler", Subsystem: "notifications", Name: "queue_capacity",
			Help: "How many alerts may wait for each Alertmanager.",
		}),
		latency: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Namespace: "zeta_scaler", Subsystem: "notifications", Name: "latency_seconds",
			Help:                            "How long a request to an Alertmanager took, failed ones included.",
			Buckets:                         []float64{0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10},
			NativeHistogramBucketFactor:     1.1,
			NativeHistogramMaxBucketNumber:  100,
			NativeHistogramMinResetDuration: time.Hour,
		}, []string{labelAlertmanager}),
	}
	if reg != nil {
		reg.MustRegister(i.sent, i.errors, i.dropped, i.length, i.capacity, i.latency)
	}
	return i
}

// counts are those of one Alertmanager.
type counts struct {
	sent, errors, dropped prometheus.Counter
	length                prometheus.Gauge
	latency               prometheus.Observer
}

// of creates the counters at 0, so that the first failure shows in a rate.
func (i *instruments) of(alertmanager string) counts {
	return counts{
		sent: i.sent.WithLabelValues(alertmanager), errors: i.errors.WithLabelValues(alertmanager),
		dropped: i.dropped.WithLabelValues(alertmanager), length: i.length.WithLabelValues(alertmanager),
		latency: i.latency.WithLabelValues(alertmanager),
	}
}

// forget removes the series of an Alertmanager that is not told any more.
func (i *instruments) forget(alertmanager string) {
	for _, v := range []*prometheus.MetricVec{i.sent.MetricVec, i.errors.MetricVec, i.dropped.MetricVec, i.length.MetricVec, i.latency.MetricVec} {
		v.DeleteLabelValues(alertmanager)
	}
}

package drain

import (
	"errors"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promauto"

	"github.com/zeta-scaler/zeta-scaler/actuators"
	"github.com/zeta-scaler/zeta-scaler/scaling"
	"github.com/zeta-scaler/zeta-scaler/zeta/control"
)

// instruments are the drainer's metrics.
type instruments struct {
	drains   *prometheus.CounterVec
	open     *prometheus.GaugeVec
	down     *prometheus.GaugeVec
	jobs     *prometheus.CounterVec
	downtime prometheus.Histogram
	calls    *prometheus.CounterVec
}

// Outcomes of a job, and results of a request; values of the labels of that name.
const (
	jobMoved    = "moved"
	jobFinished = "finished"
	jobLeft     = "left"

	resultOK      = "ok"
	resultUnknown = "unknown"
	resultRefused = "refused"
	resultError   = "error"
)

func verbs() []string {
	return []string{"workers", "observe", "claim", "cluster", "worker", "placed", "jobs", "job", "stop", "restore", "hold", "unhold", "release"}
}

func newInstruments(reg prometheus.Registerer) *instruments {
	f := promauto.With(reg)
	m := &instruments{
		drains: f.NewCounterVec(prometheus.CounterOpts{
			Name: "seatunnel_autoscaler_drain_ended_total",
			Help: "Drains that are over: the worker is gone, it was called off, or it went back for a failure.",
		}, []string{"result"}),
		open: f.NewGaugeVec(prometheus.GaugeOpts{
			Name: "seatunnel_autoscaler_drain_state",
			Help: "1 for the state of a scope's drain that is not over.",
		}, []string{"scope", "state"}),
		down: f.NewGaugeVec(prometheus.GaugeOpts{
			Name: "seatunnel_autoscaler_drain_jobs_stopped",
			Help: "Jobs that a scope's drain has asked to stop and that do not run again yet.",
		}, []string{"scope"}),
		jobs: f.NewCounterVec(prometheus.CounterOpts{
			Name: "seatunnel_autoscaler_drain_jobs_total",
			Help: "Jobs of drains that are over: moved to other workers, finished by themselves, or left where they were.",
		}, []string{"outcome"}),
		downtime: f.NewHistogram(prometheus.HistogramOpts{
			Name:    "seatunnel_autoscaler_drain_job_downtime_seconds",
			Help:    "How long a job that was moved did not run.",
			Buckets: []float64{0.5, 1, 2, 3, 5, 10, 20, 30, 60, 120, 300, 900},
		}),
		calls: f.NewCounterVec(prometheus.CounterOpts{
			Name: "seatunnel_autoscaler_drain_requests_total",
			Help: "Requests of drains to Zeta and to platforms, by verb and result.",
		}, []string{"verb", "result"}),
	}
	for _, r := range []string{drainDone, drainCalledOff, drainFailed} {
		m.drains.WithLabelValues(r)
	}
	for _, o := range []string{jobMoved, jobFinished, jobLeft} {
		m.jobs.WithLabelValues(o)
	}
	for _, v := range verbs() {
		for _, r := range []string{resultOK, resultUnknown, resultRefused, resultError} {
			m.calls.WithLabelValues(v, r)
		}
	}
	return m
}

// Results of a drain; values of the label of that name.
const (
	drainDone      = "removed"
	drainCalledOff = "called_off"
	drainFailed    = "failed"
)

// ended notes a drain that is over.
func (m *instruments) ended(d *scaling.Drain) {
	switch {
	case d.State == scaling.DrainDecommissioned:
		m.drains.WithLabelValues(drainDone).Inc()
	case d.Failed:
		m.drains.WithLabelValues(drainFailed).Inc()
	default:
		m.drains.WithLabelValues(drainCalledOff).Inc()
	}
	for _, j := range d.Jobs {
		switch j.Step {
		case scaling.JobRestored:
			m.jobs.WithLabelValues(jobMoved).Inc()
			m.downtime.Observe(j.Downtime().Seconds())
		case scaling.JobFinished:
			m.jobs.WithLabelValues(jobFinished).Inc()
		default:
			m.jobs.WithLabelValues(jobLeft).Inc()
		}
	}
}

// shows notes how a scope's drain stands now, nil if there is none, after it was in
// state from.
func (m *instruments) shows(scope string, from scaling.DrainState, d *scaling.Drain) {
	if from != "" && (d == nil || d.State != from) {
		m.open.DeleteLabelValues(scope, string(from))
	}
	if d == nil {
		m.down.DeleteLabelValues(scope)
		return
	}
	m.open.WithLabelValues(scope, string(d.State)).Set(1)
	down := 0
	for _, j := range d.Jobs {
		if j.Down() {
			down++
		}
	}
	m.down.WithLabelValues(scope).Set(float64(down))
}

// called notes a request.
func (m *instruments) called(verb string, err error) {
	r := resultError
	switch {
	case err == nil, errors.Is(err, control.ErrNoJob), errors.Is(err, control.ErrUnsupported), errors.Is(err, actuators.ErrUnsupported):
		r = resultOK
	case errors.Is(err, control.ErrUnknownOutcome), errors.Is(err, actuators.ErrUnknownOutcome):
		r = resultUnknown
	case errors.Is(err, control.ErrRefused), errors.Is(err, actuators.ErrRefused), errors.Is(err, actuators.ErrStale):
		r = resultRefused
	}
	m.calls.WithLabelValues(verb, r).Inc()
}

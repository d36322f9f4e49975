package metrics

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors/version"
)

// Process is about this process, leader or not.
type Process struct {
	reloadOK, reloadedAt, leader prometheus.Gauge
}

// NewProcess registers the process' metrics.
func NewProcess(reg prometheus.Registerer) *Process {
	gauge := func(name, help string) prometheus.Gauge {
		return prometheus.NewGauge(prometheus.GaugeOpts{Namespace: processNamespace, Name: name, Help: help})
	}
	p := &Process{
		reloadOK: gauge("config_last_reload_successful",
			"1 if the last attempt to load the configuration succeeded, else 0."),
		reloadedAt: gauge("config_last_reload_success_timestamp_seconds",
			"When the configuration was last loaded with success, in Unix time; 0 if never."),
		leader: gauge("leader",
			"1 while this process is the one that decides, else 0."),
	}
	reg.MustRegister(p.reloadOK, p.reloadedAt, p.leader, version.NewCollector(processNamespace))
	return p
}

// Reloaded notes one attempt to load the configuration.
func (p *Process) Reloaded(ok bool, at time.Time) {
	if !ok {
		p.reloadOK.Set(0)
		return
	}
	p.reloadOK.Set(1)
	p.reloadedAt.Set(float64(at.UnixMilli()) / 1000)
}

// Leads notes whether this process decides.
func (p *Process) Leads(leads bool) {
	if leads {
		p.leader.Set(1)
		return
	}
	p.leader.Set(0)
}

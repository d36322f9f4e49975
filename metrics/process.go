package metrics

import (
	"strings"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors/version"
)

// Process is about this process, leader or not.
type Process struct {
	reloadOK, reloadedAt, leader prometheus.Gauge
	page                         *prometheus.GaugeVec
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
		page: prometheus.NewGaugeVec(prometheus.GaugeOpts{
			Namespace: processNamespace, Name: "page_info", Help: "Always 1: under which URL users reach the page.",
		}, []string{"url"}),
	}
	reg.MustRegister(p.reloadOK, p.reloadedAt, p.leader, p.page, version.NewCollector(processNamespace))
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

// PageAt notes under which URL users reach the page, from which dashboards make
// their links.
func (p *Process) PageAt(url string) {
	p.page.Reset()
	p.page.WithLabelValues(strings.TrimRight(url, "/")).Set(1)
}

// Leads notes whether this process decides.
func (p *Process) Leads(leads bool) {
	if leads {
		p.leader.Set(1)
		return
	}
	p.leader.Set(0)
}

package metrics

import (
	"github.com/prometheus/client_golang/prometheus"

	"github.com/zeta-scaler/zeta-scaler/contact"
)

// Contacts exports whether those answer that the service depends on.
type Contacts struct {
	up, answered *prometheus.Desc
	all          func() map[string][]contact.Status
}

// NewContacts registers the metrics of contacts, which are asked for by kind at
// every scrape.
func NewContacts(reg prometheus.Registerer, all func() map[string][]contact.Status) {
	desc := func(name, help string) *prometheus.Desc {
		return prometheus.NewDesc(prometheus.BuildFQName(processNamespace, "contact", name), help, []string{"kind", "name"}, nil)
	}
	reg.MustRegister(&Contacts{
		up: desc("up", "1 if the last answer of somebody that the service depends on was a good one, 0 if it was none or an error; absent before the first."),
		answered: desc("last_answer_timestamp_seconds",
			"When somebody that the service depends on last gave a good answer, in Unix time; absent before the first."),
		all: all,
	})
}

// Describe implements prometheus.Collector.
func (c *Contacts) Describe(ch chan<- *prometheus.Desc) { ch <- c.up; ch <- c.answered }

// Collect implements prometheus.Collector.
func (c *Contacts) Collect(ch chan<- prometheus.Metric) {
	for kind, all := range c.all() {
		for i := range all {
			c.collect(ch, kind, &all[i])
		}
	}
}

func (c *Contacts) collect(ch chan<- prometheus.Metric, kind string, s *contact.Status) {
	name := s.URL
	if kind == "cluster" || name == "" {
		name = s.Name
	}
	if s.State != contact.Unasked {
		up := 0.0
		if s.State == contact.Up {
			up = 1
		}
		ch <- prometheus.MustNewConstMetric(c.up, prometheus.GaugeValue, up, kind, name)
	}
	if s.LastAnswer != nil {
		ch <- prometheus.MustNewConstMetric(c.answered, prometheus.GaugeValue, float64(s.LastAnswer.UnixMilli())/1000, kind, name)
	}
}

package app

import (
	"net/url"
	"time"

	"github.com/zeta-scaler/zeta-scaler/api"
	"github.com/zeta-scaler/zeta-scaler/config"
	"github.com/zeta-scaler/zeta-scaler/contact"
	"github.com/zeta-scaler/zeta-scaler/evaluator"
	"github.com/zeta-scaler/zeta-scaler/web/outgoing"
)

// health is what this process knows about those that it depends on.
func (s *service) health() api.Health {
	cfg, store := s.running.Load(), s.contact.Status()
	h := api.Health{Sources: s.samples.contacts(), Store: &store, Clusters: s.clusters(), Reload: s.refused.Load()}
	if t := s.term.Load(); t != nil {
		h.Alertmanagers, h.NextTick = t.alerts.Contacts(), evaluator.NextTick(cfg.EvaluatorConfig(), time.Now())
		return h
	}
	for _, a := range cfg.Alerting.Alertmanagers {
		h.Alertmanagers = append(h.Alertmanagers, contact.New("alertmanager", shownURL(a.URL), nil).Status())
	}
	return h
}

// clusters are those of the configuration, as this process collects them or as
// its Prometheus knows them.
func (s *service) clusters() []contact.Status {
	if e := s.samples.exporter.Load(); e != nil {
		return e.Contacts()
	}
	return s.watch.contacts()
}

// contacts are the same for the metrics.
func (s *service) contacts() map[string][]contact.Status {
	h := s.health()
	return map[string][]contact.Status{
		"prometheus": h.Sources, "alertmanager": h.Alertmanagers, "cluster": h.Clusters, "store": {*h.Store},
	}
}

// storePlace is where the store is, empty for one that is no file.
func storePlace(cfg *config.Config) string {
	if f, ok := cfg.Store().(interface{ File() string }); ok {
		return f.File()
	}
	if p, ok := cfg.Store().(interface{ Place() string }); ok {
		return p.Place()
	}
	return ""
}

// shownURL is an address without what could be secret.
func shownURL(raw string) string {
	u, err := url.Parse(raw)
	if err != nil {
		return ""
	}
	return outgoing.Shown(u)
}

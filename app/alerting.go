package app

import (
	"net"
	"os"

	"github.com/zeta-scaler/zeta-scaler/alerts"
	"github.com/zeta-scaler/zeta-scaler/config"
)

// alertSettings are what the configuration says about alerts, whose links lead to
// page; without Alertmanagers nothing is sent.
func alertSettings(cfg *config.Config, page string) alerts.Settings {
	s := alerts.Settings{
		ResendDelay: cfg.Alerting.ResendDelay, QueueCapacity: cfg.Alerting.QueueCapacity, ExternalURL: page,
		RunbookURL: cfg.Alerting.RunbookURL,
	}
	for _, a := range cfg.Alerting.Alertmanagers {
		s.Alertmanagers = append(s.Alertmanagers, alerts.Endpoint{URL: a.URL, HTTPClientConfig: a.HTTPConfig})
	}
	return s
}

// pageURL is under which users reach the service, with the port that was opened
// and as it is spoken there, once that is known: a start checks before.
func (s *service) pageURL(w config.Web) string {
	if s.server == nil {
		return externalURL(w, false)
	}
	return externalURL(s.opened(w), s.server.TLS())
}

// externalURL is what is configured, or what is listened on: where that is every
// address, by this machine's name.
func externalURL(w config.Web, tls bool) string {
	if w.ExternalURL != "" {
		return w.ExternalURL
	}
	host, port, err := net.SplitHostPort(w.ListenAddress)
	if err != nil {
		return ""
	}
	if everywhere(host) {
		if host, err = os.Hostname(); err != nil {
			return ""
		}
	}
	return address(host, port, tls)
}

package app

import (
	"net"
	"os"

	"github.com/zeta-scaler/zeta-scaler/alerts"
	"github.com/zeta-scaler/zeta-scaler/config"
)

// alertSettings are what the configuration says about alerts; without
// Alertmanagers nothing is sent.
func alertSettings(cfg *config.Config) alerts.Settings {
	s := alerts.Settings{
		ResendDelay: cfg.Alerting.ResendDelay, QueueCapacity: cfg.Alerting.QueueCapacity, ExternalURL: externalURL(cfg.Web),
		RunbookURL: cfg.Alerting.RunbookURL,
	}
	for _, a := range cfg.Alerting.Alertmanagers {
		s.Alertmanagers = append(s.Alertmanagers, alerts.Endpoint{URL: a.URL, HTTPClientConfig: a.HTTPConfig})
	}
	return s
}

// externalURL is under which users reach the service: what is configured, or
// this machine's name and the port that is listened on.
func externalURL(w config.Web) string {
	if w.ExternalURL != "" {
		return w.ExternalURL
	}
	host, port, err := net.SplitHostPort(w.ListenAddress)
	if err != nil {
		return ""
	}
	if host == "" {
		if host, err = os.Hostname(); err != nil {
			return ""
		}
	}
	return "http://" + net.JoinHostPort(host, port)
}

package app

import (
	"log/slog"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/zeta-scaler/zeta-scaler/config"
	"github.com/zeta-scaler/zeta-scaler/source"
	"github.com/zeta-scaler/zeta-scaler/zeta"
)

// scraped is what an embedded Prometheus scrapes. The zero value is nothing.
type scraped struct {
	options source.ScrapeOptions
	// exporter collects the clusters of the configuration; nil if there are none.
	exporter *zeta.Exporter
}

// newScraped makes what the configuration says is scraped, its clusters
// included.
func newScraped(cfg *config.Config, logger *slog.Logger) (scraped, error) {
	s := scraped{options: cfg.EmbeddedOptions().Scrape}
	if len(cfg.Clusters) == 0 {
		return s, nil
	}
	e, err := zeta.NewExporter(zeta.ExporterOptions{Clusters: cfg.ClusterConfigs(), Logger: logger, Process: prometheus.NewRegistry()})
	if err != nil {
		return scraped{}, err
	}
	s.exporter = e
	s.options.InProcess = append(s.options.InProcess, source.InProcess{
		Job: "zeta", Instance: "zeta-scaler", HonorLabels: true, Handler: e.Handler(), Interval: clusterInterval(cfg),
	})
	return s, nil
}

// clusterInterval is how often clusters are collected: no rule set shall see
// the same sample at two ticks.
func clusterInterval(cfg *config.Config) time.Duration {
	shortest := source.DefaultScrapeInterval
	for _, rs := range cfg.Rules {
		shortest = min(shortest, rs.Interval)
	}
	return shortest
}

// close ends the requests to clusters.
func (s *scraped) close() {
	if s.exporter != nil {
		s.exporter.Close()
	}
}

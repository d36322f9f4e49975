package main

import (
	"context"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	dto "github.com/prometheus/client_model/go"
	"github.com/prometheus/common/version"

	"github.com/zeta-scaler/zeta-scaler/config"
	"github.com/zeta-scaler/zeta-scaler/evaluator"
	"github.com/zeta-scaler/zeta-scaler/source"
	"github.com/zeta-scaler/zeta-scaler/zeta"
)

// backend is what samples come from for one configuration: a remote Prometheus
// that a reload may replace, or an embedded one that stays.
type backend struct {
	evaluator.Source
	// registry has the metrics of this backend alone.
	registry *prometheus.Registry
	// close frees idle connections of a backend that was replaced; nil for none.
	close func() error
}

// dismiss closes a backend unless it is the one that goes on.
func (b *backend) dismiss(inFavourOf *backend) error {
	if b == inFavourOf || b.close == nil {
		return nil
	}
	return b.close()
}

// samples is the evaluator's source. A reload swaps the backend below it; the
// metrics of the current one are gathered through it.
type samples struct {
	current  atomic.Pointer[backend]
	embedded *source.Embedded
	exporter *zeta.Exporter
}

func (s *samples) Instant(ctx context.Context, expr string, at time.Time) (source.Vector, error) {
	return s.current.Load().Instant(ctx, expr, at)
}

func (s *samples) Range(ctx context.Context, expr string, w source.Window) (source.Matrix, error) {
	return s.current.Load().Range(ctx, expr, w)
}

// Gather returns the metrics of the current backend.
func (s *samples) Gather() ([]*dto.MetricFamily, error) {
	families, err := s.current.Load().registry.Gather()
	return slices.DeleteFunc(families, repeatsASummary), err
}

// repeatsASummary reports whether a family of the embedded Prometheus says as a
// native histogram what a summary beside it says, under a name that no linter
// lets pass.
func repeatsASummary(f *dto.MetricFamily) bool {
	return f.GetType() == dto.MetricType_HISTOGRAM && strings.Contains(f.GetName(), "_histogram_")
}

// openSamples opens what the configuration names.
func openSamples(cfg *config.Config, logger *slog.Logger) (*samples, error) {
	s := &samples{}
	if cfg.Embedded == nil {
		b, err := newRemote(cfg, logger)
		if err != nil {
			return nil, err
		}
		s.current.Store(b)
		return s, nil
	}
	reg := prometheus.NewRegistry()
	o := cfg.EmbeddedOptions()
	o.Logger, o.Registerer, o.Internals = logger, reg, reg
	if len(cfg.Clusters) > 0 {
		e, err := zeta.NewExporter(zeta.ExporterOptions{Clusters: cfg.ClusterConfigs(), Logger: logger, Process: prometheus.NewRegistry()})
		if err != nil {
			return nil, err
		}
		s.exporter = e
		o.Scrape.InProcess = append(o.Scrape.InProcess, source.InProcess{
			Job: "zeta", Instance: "zeta-scaler", HonorLabels: true, Handler: e.Handler(),
		})
	}
	e, err := source.OpenEmbedded(o)
	if err != nil {
		return nil, fmt.Errorf("opening the embedded Prometheus: %w", err)
	}
	s.embedded = e
	s.current.Store(&backend{Source: e, registry: reg})
	return s, nil
}

func newRemote(cfg *config.Config, logger *slog.Logger) (*backend, error) {
	reg := prometheus.NewRegistry()
	o := cfg.RemoteOptions()
	o.Logger, o.Registerer, o.UserAgent = logger, reg, "zeta-scaler/"+version.Version
	r, err := source.NewRemote(o)
	if err != nil {
		return nil, err
	}
	return &backend{Source: r, registry: reg, close: r.Close}, nil
}

// run scrapes while there is an embedded Prometheus.
func (s *samples) run(ctx context.Context) error {
	if s.embedded == nil {
		<-ctx.Done()
		return nil
	}
	return s.embedded.Run(ctx)
}

func (s *samples) close() error {
	if s.exporter != nil {
		s.exporter.Close()
	}
	if s.embedded == nil {
		return nil
	}
	return s.embedded.Close()
}

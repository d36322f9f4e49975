package app

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
	"github.com/zeta-scaler/zeta-scaler/contact"
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

// dismiss closes a backend that was replaced.
func (b *backend) dismiss() error {
	if b.close == nil {
		return nil
	}
	return b.close()
}

// samples is the evaluator's source. A reload swaps the backend below it; the
// metrics of the current one are gathered through it.
type samples struct {
	current  atomic.Pointer[backend]
	embedded *source.Embedded
	// scraped is what the embedded Prometheus scrapes; exporter is that of it, for
	// those who only look.
	scraped  scraped
	exporter atomic.Pointer[zeta.Exporter]
}

// scrapes takes over what is scraped.
func (s *samples) scrapes(t scraped) {
	s.scraped = t
	s.exporter.Store(t.exporter)
}

// contacts say how the current backend answers.
func (s *samples) contacts() []contact.Status {
	if b, ok := s.current.Load().Source.(interface{ Contacts() []contact.Status }); ok {
		return b.Contacts()
	}
	return nil
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
	scraped, err := newScraped(cfg, logger)
	if err != nil {
		return nil, err
	}
	s.scrapes(scraped)
	reg := prometheus.NewRegistry()
	o := cfg.EmbeddedOptions()
	o.Logger, o.Registerer, o.Internals, o.Scrape = logger, reg, reg, s.scraped.options
	if s.embedded, err = source.OpenEmbedded(o); err != nil {
		s.scraped.close()
		return nil, fmt.Errorf("opening the embedded Prometheus: %w", err)
	}
	s.current.Store(&backend{Source: s.embedded, registry: reg})
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
	s.scraped.close()
	if s.embedded == nil {
		return nil
	}
	return s.embedded.Close()
}

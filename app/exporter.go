package app

import (
	"context"
	"log/slog"
	"net/http"
	"sync/atomic"

	"github.com/prometheus/client_golang/prometheus"
	versioncollector "github.com/prometheus/client_golang/prometheus/collectors/version"
	"github.com/prometheus/common/promslog"
	"github.com/prometheus/common/version"
	"golang.org/x/sync/errgroup"

	"github.com/zeta-scaler/zeta-scaler/config"
	"github.com/zeta-scaler/zeta-scaler/zeta"
)

// exporter is one running `exporter`; a reload swaps what serves.
type exporter struct {
	load    func() (*config.Config, error)
	logger  *slog.Logger
	level   *promslog.Level
	process *prometheus.Registry
	cfg     *config.Config
	current atomic.Pointer[zeta.Exporter]
}

// Export serves the metrics of Zeta clusters until ctx ends.
func Export(ctx context.Context, o Options) error {
	return bounded(ctx, func() error { return export(ctx, o) })
}

func export(ctx context.Context, o Options) error {
	cfg, err := reading(ctx, o.Load)
	if err != nil {
		return ignoreCancel(ctx, err)
	}
	e := &exporter{load: o.Load, process: NewRegistry()}
	if e.logger, e.level, err = NewLogger(o.Log, cfg.Log); err != nil {
		return err
	}
	e.process.MustRegister(versioncollector.NewCollector("zeta_scaler"))
	if err := e.use(cfg); err != nil {
		return err
	}
	defer func() { e.current.Load().Close() }()
	server, err := listen(ctx, cfg.Web, true, e.logger)
	if err != nil {
		return err
	}
	e.logger.Info("exporter starts", "version", version.Version, "clusters", len(cfg.Clusters))
	if len(cfg.Clusters) == 0 {
		e.logger.Info("no clusters are configured: only /probe asks any")
	}
	eg, ctx := errgroup.WithContext(ctx)
	eg.Go(func() error { return onHangup(ctx, o.Hangup, e.reload) })
	eg.Go(func() error {
		return server.Serve(ctx, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			e.current.Load().Handler().ServeHTTP(w, r)
		}))
	})
	return eg.Wait()
}

// use swaps to a configuration's clusters and waits for the scrapes of the old
// ones. Counters of clusters begin anew.
func (e *exporter) use(cfg *config.Config) error {
	next, err := zeta.NewExporter(zeta.ExporterOptions{
		Clusters: cfg.ClusterConfigs(), Probe: cfg.ProbeConfig(), Process: e.process, Logger: e.logger,
	})
	if err != nil {
		return err
	}
	if old := e.current.Swap(next); old != nil {
		old.Close()
	}
	e.cfg = cfg
	return nil
}

// reload reads the configuration again and swaps to it, all of it or nothing.
func (e *exporter) reload(ctx context.Context) {
	cfg, err := rereading(ctx, e.load)
	if err == nil {
		err = needsRestart([]part{
			{"web", e.cfg.Web, cfg.Web},
			{"log.format", e.cfg.Log.Format, cfg.Log.Format},
		})
	}
	if err == nil {
		err = e.use(cfg)
	}
	if err == nil {
		err = e.level.Set(cfg.Log.Level) // checked when the configuration was loaded
	}
	if err != nil {
		e.logger.Error("reload failed, the old configuration stays", "err", err)
		return
	}
	e.logger.Info("configuration reloaded", "clusters", len(cfg.Clusters))
}

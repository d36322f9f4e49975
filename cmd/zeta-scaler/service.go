package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"os"
	"reflect"
	"strings"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"
	"github.com/prometheus/common/promslog"
	"github.com/prometheus/common/version"
	"golang.org/x/sync/errgroup"

	"github.com/zeta-scaler/zeta-scaler/alerts"
	"github.com/zeta-scaler/zeta-scaler/api"
	"github.com/zeta-scaler/zeta-scaler/config"
	"github.com/zeta-scaler/zeta-scaler/evaluator"
	"github.com/zeta-scaler/zeta-scaler/events"
	"github.com/zeta-scaler/zeta-scaler/leadership"
	"github.com/zeta-scaler/zeta-scaler/metrics"
	"github.com/zeta-scaler/zeta-scaler/state"
	"github.com/zeta-scaler/zeta-scaler/state/file"
	"github.com/zeta-scaler/zeta-scaler/state/memory"
	"github.com/zeta-scaler/zeta-scaler/web"
)

// service is one running `serve`.
type service struct {
	load     func() (*config.Config, error)
	logger   *slog.Logger
	level    *promslog.Level
	registry *prometheus.Registry
	process  *metrics.Process
	samples  *samples
	store    state.Store
	lead     *leadership.Leadership
	board    *evaluator.Board
	loop     *evaluator.Loop
	events   *events.Dispatcher
	alerts   *alerts.Notifier
	server   *web.Server

	// mu lets one reload at a time look at cfg, the configuration that runs.
	mu  sync.Mutex
	cfg *config.Config
}

// newService opens everything that the configuration names, in an order in
// which what fails leaves nothing behind that acts.
func newService(ctx context.Context, stderr io.Writer, load func() (*config.Config, error)) (*service, error) {
	cfg, err := load()
	if err != nil {
		return nil, err
	}
	s := &service{load: load, cfg: cfg, registry: newRegistry()}
	if s.logger, s.level, err = newLogger(stderr, cfg.Log); err != nil {
		return nil, err
	}
	s.warn(cfg)
	if s.store, err = openStore(ctx, cfg.State); err != nil {
		return nil, err
	}
	if err := s.open(ctx); err != nil {
		return nil, errors.Join(err, s.close())
	}
	return s, nil
}

func (s *service) open(ctx context.Context) error {
	host, _ := os.Hostname() // only a name for people
	lead, err := leadership.Acquire(ctx, leadership.Options{
		Store: s.store, LockFile: s.cfg.Leadership.LockFile, Clock: time.Now,
		Memory: s.cfg.State.Type == "memory", Holder: fmt.Sprintf("%s/%d", host, os.Getpid()),
	})
	if err != nil {
		return err
	}
	s.lead = lead
	if s.server, err = listen(ctx, s.cfg.Web, s.logger); err != nil {
		return err
	}
	if s.samples, err = openSamples(s.cfg, s.logger); err != nil {
		return err
	}
	s.process = metrics.NewProcess(s.registry)
	s.process.Leads(true)
	s.process.Reloaded(true, time.Now())
	s.board = evaluator.NewBoard(lead.Epoch())
	collector := metrics.New(metrics.Options{PerSignal: s.cfg.Metrics.PerSignal, Clock: time.Now})
	s.registry.MustRegister(collector)
	s.events = events.New(events.Options{Handlers: eventHandlers(s.cfg, s.logger), Logger: s.logger, Registerer: s.registry})
	if s.alerts, err = alerts.New(ctx, alerts.Options{
		Settings: alertSettings(s.cfg), Store: s.store, Epoch: lead.Epoch(), Logger: s.logger, Registerer: s.registry,
	}); err != nil {
		return err
	}
	s.loop = evaluator.NewLoop(evaluator.Options{
		Source: s.samples, Clock: wallClock{}, Store: s.store, Epoch: lead.Epoch(), Logger: s.logger,
		Publishers:  []evaluator.Publisher{s.board, collector, s.events, s.alerts},
		Instruments: metrics.NewLoop(s.registry), QueryTimeout: queryTimeout(s.cfg),
		MaxRecords: s.cfg.History.MaxRecords, MaxAge: s.cfg.History.MaxAge,
	})
	return nil
}

// eventHandlers are those that the configuration names; it has checked them.
func eventHandlers(cfg *config.Config, logger *slog.Logger) map[string]events.Handler {
	known := map[string]events.Handler{"log": events.NewLog(logger)}
	out := map[string]events.Handler{}
	for _, name := range cfg.Events {
		out[name] = known[name]
	}
	return out
}

func queryTimeout(cfg *config.Config) time.Duration {
	if cfg.Prometheus != nil {
		return cfg.Prometheus.Timeout
	}
	return 0
}

func openStore(ctx context.Context, c config.State) (state.Store, error) {
	if c.Type == "memory" {
		return memory.New(), nil
	}
	return file.Open(ctx, file.Options{Path: c.Path})
}

// run serves until ctx ends or a part of the service fails for good.
func (s *service) run(ctx context.Context) (err error) {
	defer func() { err = errors.Join(err, s.close()) }()
	handler, err := s.handler()
	if err != nil {
		return err
	}
	s.logger.Info("zeta-scaler starts", "version", version.Version, "epoch", s.lead.Epoch(),
		"rule_sets", len(s.cfg.Rules), "listed_scopes", len(s.cfg.Scopes), "mode", "advisory")
	eg, ctx := errgroup.WithContext(ctx)
	eg.Go(func() error { return s.samples.run(ctx) })
	eg.Go(func() error { return s.events.Run(ctx) })
	eg.Go(func() error { return s.alerts.Run(ctx) })
	eg.Go(func() error { return s.loop.Run(ctx, s.cfg.EvaluatorConfig()) })
	eg.Go(func() error { return s.server.Serve(ctx, handler) })
	eg.Go(func() error {
		return onHangup(ctx, func(ctx context.Context) {
			_ = s.reload(ctx) // logged and counted there
		})
	})
	err = eg.Wait()
	if err != nil {
		s.logger.Error("zeta-scaler stops", "err", err)
		return err
	}
	s.logger.Info("zeta-scaler stops")
	return nil
}

func (s *service) handler() (http.Handler, error) {
	gatherers := prometheus.Gatherers{s.registry, s.samples}
	return api.New(api.Options{
		Board: s.board, History: s.store, Table: evaluator.Table(), Reload: s.reload, Ready: s.store.Check,
		Metrics: promhttp.HandlerFor(gatherers, promhttp.HandlerOpts{
			EnableOpenMetrics: true, ErrorLog: scrapeLog{s.logger}, Registry: s.registry,
		}),
		Logger: s.logger,
	})
}

// reload reads the configuration again and swaps to it, all of it or nothing.
func (s *service) reload(ctx context.Context) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	err := s.swap(ctx)
	s.process.Reloaded(err == nil, time.Now())
	if err != nil {
		s.logger.Error("reload failed, the old configuration stays", "err", err)
		return err
	}
	s.logger.Info("configuration reloaded", "rule_sets", len(s.cfg.Rules), "listed_scopes", len(s.cfg.Scopes))
	return nil
}

func (s *service) swap(ctx context.Context) error {
	cfg, err := s.load()
	if err != nil {
		return err
	}
	if err := sameFixedParts(s.cfg, cfg); err != nil {
		return err
	}
	alerting, err := s.alerts.Prepare(alertSettings(cfg))
	if err != nil {
		return err
	}
	old := s.samples.current.Load()
	next := old
	if cfg.Prometheus != nil {
		if next, err = newRemote(cfg, s.logger); err != nil {
			return err
		}
	}
	s.samples.current.Store(next)
	if err := s.loop.Reload(ctx, cfg.EvaluatorConfig()); err != nil {
		s.samples.current.Store(old)
		return errors.Join(err, next.dismiss(old))
	}
	alerting.Apply()
	if err := old.dismiss(next); err != nil {
		s.logger.Warn("closing the replaced source", "err", err)
	}
	// The level was checked when the configuration was loaded.
	if err := s.level.Set(cfg.Log.Level); err != nil {
		return err
	}
	s.warn(cfg)
	s.cfg = cfg
	return nil
}

// sameFixedParts refuses a reload that changes what is only read at a start:
// half of a configuration must never run.
func sameFixedParts(old, next *config.Config) error {
	var changed []string
	for _, part := range []struct {
		name      string
		old, next any
	}{
		{"web", old.Web, next.Web},
		{"log.format", old.Log.Format, next.Log.Format},
		{"embedded", old.Embedded, next.Embedded},
		{"clusters", old.Clusters, next.Clusters},
		{"state", old.State, next.State},
		{"leadership", old.Leadership, next.Leadership},
		{"history", old.History, next.History},
		{"events", old.Events, next.Events},
		{"metrics", old.Metrics, next.Metrics},
	} {
		if !reflect.DeepEqual(part.old, part.next) {
			changed = append(changed, part.name)
		}
	}
	switch len(changed) {
	case 0:
		return nil
	case 1:
		return fmt.Errorf("%s has changed, which needs a restart: nothing was reloaded", changed[0])
	default:
		return fmt.Errorf("%s have changed, which needs a restart: nothing was reloaded", strings.Join(changed, ", "))
	}
}

func (s *service) warn(cfg *config.Config) {
	for _, w := range cfg.Warnings {
		s.logger.Warn("configuration", "place", w.Pos.String(), "check", w.Check, "warning", w.Message)
	}
}

func (s *service) close() error {
	var errs []error
	if s.samples != nil {
		errs = append(errs, s.samples.close())
	}
	if s.lead != nil {
		errs = append(errs, s.lead.Release())
	}
	return errors.Join(append(errs, s.store.Close())...)
}

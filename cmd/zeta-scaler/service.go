package main

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"reflect"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	dto "github.com/prometheus/client_model/go"
	"github.com/prometheus/common/promslog"
	"github.com/prometheus/common/version"
	"golang.org/x/sync/errgroup"

	"github.com/zeta-scaler/zeta-scaler/config"
	"github.com/zeta-scaler/zeta-scaler/evaluator"
	"github.com/zeta-scaler/zeta-scaler/leadership"
	lease "github.com/zeta-scaler/zeta-scaler/leadership/kubernetes"
	"github.com/zeta-scaler/zeta-scaler/metrics"
	"github.com/zeta-scaler/zeta-scaler/scaling"
	"github.com/zeta-scaler/zeta-scaler/state"
	"github.com/zeta-scaler/zeta-scaler/state/file"
	"github.com/zeta-scaler/zeta-scaler/state/kubernetes"
	"github.com/zeta-scaler/zeta-scaler/state/memory"
	"github.com/zeta-scaler/zeta-scaler/web"
)

// service is one running `serve`: what there is whether or not this process
// leads.
type service struct {
	load     func() (*config.Config, error)
	hup      chan os.Signal
	logger   *slog.Logger
	level    *promslog.Level
	registry *prometheus.Registry
	process  *metrics.Process
	samples  *samples
	store    state.Store
	// alone is the leadership of a process that needs nobody's leave; nil with a
	// lease.
	alone  *leadership.Leadership
	board  *evaluator.Board
	server *web.Server
	// term is nil while this process does not lead; begun is closed when the
	// first one has begun.
	term  atomic.Pointer[term]
	begin sync.Once
	begun chan struct{}
	// running is cfg for those who cannot wait for mu.
	running atomic.Pointer[config.Config]

	// mu lets one reload or change of leader at a time look at cfg, the
	// configuration that runs.
	mu  sync.Mutex
	cfg *config.Config
}

// newService opens everything that the configuration names, in an order in
// which what fails leaves nothing behind that acts.
func newService(ctx context.Context, stderr io.Writer, load func() (*config.Config, error)) (*service, error) {
	hup := hangups()
	cfg, err := load()
	if err != nil {
		return nil, err
	}
	s := &service{load: load, hup: hup, cfg: cfg, registry: newRegistry(), board: evaluator.NewBoard(0), begun: make(chan struct{})}
	s.running.Store(cfg)
	if s.logger, s.level, err = newLogger(stderr, cfg.Log); err != nil {
		return nil, err
	}
	s.warn(cfg)
	if s.store, err = s.openStore(ctx, cfg.State); err != nil {
		return nil, err
	}
	if err := s.open(ctx); err != nil {
		return nil, errors.Join(err, s.close())
	}
	return s, nil
}

func (s *service) open(ctx context.Context) (err error) {
	if s.cfg.Leadership.Type == "none" {
		if s.alone, err = leadership.Acquire(ctx, leadership.Options{
			Store: s.store, LockFile: s.cfg.Leadership.LockFile, Clock: time.Now,
			Memory: s.cfg.State.Type == "memory", Holder: holder(),
		}); err != nil {
			return err
		}
	}
	// What cannot be made must stop the start, not the first term.
	if _, err := s.actuation(s.cfg); err != nil {
		return err
	}
	if _, err := s.eventHandlers(); err != nil {
		return err
	}
	if s.server, err = listen(ctx, s.cfg.Web, s.logger); err != nil {
		return err
	}
	if s.samples, err = openSamples(s.cfg, s.logger); err != nil {
		return err
	}
	s.process = metrics.NewProcess(s.registry)
	s.process.Leads(false)
	s.process.Reloaded(true, time.Now())
	return nil
}

// holder names this process for people.
func holder() string {
	host, _ := os.Hostname()
	return fmt.Sprintf("%s/%d", host, os.Getpid())
}

// identity names this process and no other: a pod keeps its name and its
// process number when its container starts again.
func identity() string {
	return holder() + "/" + rand.Text()
}

func queryTimeout(cfg *config.Config) time.Duration {
	if cfg.Prometheus != nil {
		return cfg.Prometheus.Timeout
	}
	return 0
}

func (s *service) openStore(ctx context.Context, c config.State) (state.Store, error) {
	switch c.Type {
	case "memory":
		return memory.New(), nil
	case "kubernetes":
		return kubernetes.Open(ctx, kubernetes.Options{
			Namespace: c.Namespace, Name: c.Name, Kubeconfig: c.Kubeconfig, Logger: s.logger,
		})
	default:
		return file.Open(ctx, file.Options{Path: c.Path})
	}
}

// run serves until ctx ends or a part of the service fails for good.
func (s *service) run(ctx context.Context) (err error) {
	defer func() { err = errors.Join(err, s.close()) }()
	handler, err := s.handler(ctx)
	if err != nil {
		return err
	}
	s.logger.Info("zeta-scaler starts", "version", version.Version,
		"rule_sets", len(s.cfg.Rules), "listed_scopes", len(s.cfg.Scopes), "active_scopes", active(s.cfg))
	eg, ctx := errgroup.WithContext(ctx)
	eg.Go(func() error { return s.samples.run(ctx) })
	eg.Go(func() error { return s.compete(ctx) })
	eg.Go(func() error {
		if s.alone != nil {
			// Nobody shall see for a moment that this process does not lead.
			select {
			case <-s.begun:
			case <-ctx.Done():
			}
		}
		return s.server.Serve(ctx, handler)
	})
	eg.Go(func() error {
		return onHangup(ctx, s.hup, func(ctx context.Context) {
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

// active counts the scopes that the configuration lets act.
func active(cfg *config.Config) int {
	n := 0
	for i := range cfg.Scopes {
		if m := cfg.Scopes[i].Mode; m == scaling.Webhook || m == scaling.Direct {
			n++
		}
	}
	return n
}

// compete leads at once where there is one process, and whenever it holds the
// lease where there are several.
func (s *service) compete(ctx context.Context) error {
	if s.alone != nil {
		return s.lead(ctx, s.alone.Term())
	}
	c := s.cfg
	return lease.Run(ctx, lease.Options{
		Store: s.store, Namespace: c.State.Namespace, Name: c.State.Name, Kubeconfig: c.State.Kubeconfig,
		Identity: identity(), Logger: s.logger, Clock: time.Now,
		LeaseDuration: c.Leadership.LeaseDuration, RenewDeadline: c.Leadership.RenewDeadline, RetryPeriod: c.Leadership.RetryPeriod,
	}, s.lead)
}

// Gather is what /metrics shows: of the process, of its source and, while it
// leads, of its term.
func (s *service) Gather() ([]*dto.MetricFamily, error) {
	gatherers := prometheus.Gatherers{s.registry, s.samples}
	if t := s.term.Load(); t != nil {
		gatherers = append(gatherers, t.registry)
	}
	return gatherers.Gather()
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
	scopes, err := s.actuation(cfg)
	if err != nil {
		return err
	}
	swap, err := s.samples.swap(s.cfg, cfg, s.logger)
	if err != nil {
		return err
	}
	if t := s.term.Load(); t != nil {
		if err := t.reload(ctx, cfg, scopes); err != nil {
			return errors.Join(err, swap.rollback())
		}
	}
	s.cfg = cfg
	s.running.Store(cfg)
	s.warn(cfg)
	if err := swap.commit(); err != nil {
		s.logger.Warn("closing the replaced source", "err", err)
	}
	// The level was checked when the configuration was loaded.
	return s.level.Set(cfg.Log.Level)
}

// database is what of an embedded Prometheus is only read at a start: nil if
// there is none.
func database(e *config.Embedded) *config.Embedded {
	if e == nil {
		return nil
	}
	return &config.Embedded{Path: e.Path, Retention: e.Retention}
}

// part is a part of the configuration before and after a reload.
type part struct {
	name      string
	old, next any
}

// sameFixedParts refuses a reload that changes what is only read at a start:
// half of a configuration must never run.
func sameFixedParts(old, next *config.Config) error {
	return needsRestart([]part{
		{"web", old.Web, next.Web},
		{"log.format", old.Log.Format, next.Log.Format},
		{"embedded", database(old.Embedded), database(next.Embedded)},
		{"state", old.State, next.State},
		{"leadership", old.Leadership, next.Leadership},
		{"history", old.History, next.History},
		{"events", old.Events, next.Events},
		{"event_webhook", old.EventWebhook, next.EventWebhook},
		{"metrics", old.Metrics, next.Metrics},
	})
}

// needsRestart names the parts that have changed, if any has.
func needsRestart(parts []part) error {
	var changed []string
	for _, p := range parts {
		if !reflect.DeepEqual(p.old, p.next) {
			changed = append(changed, p.name)
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
	if s.alone != nil {
		errs = append(errs, s.alone.Release())
	}
	return errors.Join(append(errs, s.store.Close())...)
}

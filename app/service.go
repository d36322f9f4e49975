package app

import (
	"context"
	"errors"
	"log/slog"
	"os"
	"sync"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	dto "github.com/prometheus/client_model/go"
	"github.com/prometheus/common/promslog"
	"github.com/prometheus/common/version"
	"golang.org/x/sync/errgroup"

	"github.com/zeta-scaler/zeta-scaler/api"
	"github.com/zeta-scaler/zeta-scaler/config"
	"github.com/zeta-scaler/zeta-scaler/contact"
	"github.com/zeta-scaler/zeta-scaler/evaluator"
	"github.com/zeta-scaler/zeta-scaler/leadership"
	"github.com/zeta-scaler/zeta-scaler/metrics"
	"github.com/zeta-scaler/zeta-scaler/scaling"
	"github.com/zeta-scaler/zeta-scaler/state"
	"github.com/zeta-scaler/zeta-scaler/web"
)

// service is one running `serve`: what there is whether or not this process
// leads.
type service struct {
	load     func() (*config.Config, error)
	hup      <-chan os.Signal
	logger   *slog.Logger
	level    *promslog.Level
	registry *prometheus.Registry
	process  *metrics.Process
	samples  *samples
	store    state.Store
	// contact is how the store answers, watch which clusters Prometheus knows.
	contact *contact.Log
	watch   *clusterWatch
	// elector says when this process leads; with alone, it leads from its start.
	elector leadership.Elector
	alone   bool
	// identity names this process and no other.
	identity string
	board    *evaluator.Board
	// engines are the clusters that drains ask.
	engines engines
	server  *web.Server
	// term is nil while this process does not lead; begun is closed when the
	// first one has begun.
	term  atomic.Pointer[Term]
	begin sync.Once
	begun chan struct{}
	// running is cfg for those who cannot wait for mu.
	running atomic.Pointer[config.Config]
	// refused is the last reload, nil if it was not refused.
	refused atomic.Pointer[api.ReloadFailure]

	// stopping ends when the service is to stop; reloading is held by the one
	// reload that goes on.
	stopping  context.Context
	reloading chan struct{}

	// mu lets one reload or change of leader at a time look at cfg, the
	// configuration that runs.
	mu  sync.Mutex
	cfg *config.Config
}

// newService opens everything that the configuration names, in an order in
// which what fails leaves nothing behind that acts.
func newService(ctx context.Context, o Options) (*service, error) {
	cfg, err := reading(ctx, o.Load)
	if err != nil {
		return nil, err
	}
	s := &service{
		load: o.Load, hup: o.Hangup, cfg: cfg, registry: NewRegistry(), board: evaluator.NewBoard(0), begun: make(chan struct{}),
		stopping: ctx, reloading: make(chan struct{}, 1), watch: newClusterWatch(),
		identity: identity(),
		contact:  contact.New(cfg.State.Type, storePlace(cfg), nil),
	}
	s.running.Store(cfg)
	if s.logger, s.level, err = NewLogger(o.Log, cfg.Log); err != nil {
		return nil, err
	}
	s.warn(cfg)
	if s.store, err = cfg.Store().Open(ctx, s.logger); err != nil {
		return nil, err
	}
	s.store = state.Watched(s.store, s.contact)
	if err := s.open(ctx); err != nil {
		return nil, errors.Join(err, s.close())
	}
	return s, nil
}

func (s *service) open(ctx context.Context) (err error) {
	maker := s.cfg.Elector()
	s.alone = maker.Alone()
	if s.elector, err = maker.Elect(ctx, leadership.Env{
		Store: s.store, Opened: s.cfg.Store(), Holder: holder(), Identity: s.identity, URL: s.advertisedURL, Logger: s.logger,
	}); err != nil {
		return err
	}
	// What cannot be made must stop the start, not the first term.
	if _, err := s.setup(s.cfg); err != nil {
		return err
	}
	if _, _, err := s.eventHandlers(); err != nil {
		return err
	}
	if s.server, err = listen(ctx, s.cfg.Web, false, s.logger); err != nil {
		return err
	}
	if s.samples, err = openSamples(s.cfg, s.logger); err != nil {
		return err
	}
	s.process = metrics.NewProcess(s.registry)
	metrics.NewContacts(s.registry, s.contacts)
	s.process.Leads(false)
	s.process.Reloaded(true, time.Now())
	s.process.PageAt(s.pageURL(s.cfg.Web))
	return nil
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
	s.logRead(s.cfg)
	eg, ctx := errgroup.WithContext(ctx)
	eg.Go(func() error { return s.samples.run(ctx) })
	eg.Go(func() error { return s.elector.Run(ctx, s.lead) })
	eg.Go(func() error {
		if s.alone {
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

// Gather is what /metrics shows: of the process, of its source and, while it
// leads, of its term.
func (s *service) Gather() ([]*dto.MetricFamily, error) {
	gatherers := prometheus.Gatherers{s.registry, s.samples}
	if t := s.term.Load(); t != nil {
		gatherers = append(gatherers, t.registry)
	}
	return gatherers.Gather()
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
	if s.elector != nil {
		errs = append(errs, s.elector.Release())
	}
	s.engines.keep(nil)
	return errors.Join(append(errs, s.store.Close())...)
}

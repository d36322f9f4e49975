package main

import (
	"context"
	"errors"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"golang.org/x/sync/errgroup"

	"github.com/zeta-scaler/zeta-scaler/actuators"
	"github.com/zeta-scaler/zeta-scaler/alerts"
	"github.com/zeta-scaler/zeta-scaler/config"
	"github.com/zeta-scaler/zeta-scaler/evaluator"
	"github.com/zeta-scaler/zeta-scaler/events"
	"github.com/zeta-scaler/zeta-scaler/leadership"
	"github.com/zeta-scaler/zeta-scaler/metrics"
	"github.com/zeta-scaler/zeta-scaler/state"
)

// term is one time of leading: everything that decides and acts. It ends with
// the leadership and is never used again, so that nothing of an old epoch can
// be left over.
type term struct {
	registry *prometheus.Registry
	events   *events.Dispatcher
	alerts   *alerts.Notifier
	executor *actuators.Executor
	loop     *evaluator.Loop
	cfg      evaluator.Config
	// over is closed when the leadership is lost or given up; what runs may take
	// longer to end.
	over <-chan struct{}
}

// newTerm builds what a leader runs until ctx ends. It calls nobody but the
// store.
func (s *service) newTerm(ctx context.Context, l leadership.Term) (*term, error) {
	t := &term{registry: prometheus.NewRegistry(), cfg: s.cfg.EvaluatorConfig(), over: ctx.Done()}
	store := s.fenced(l.Epoch)
	scopes, err := s.actuation(s.cfg)
	if err != nil {
		return nil, err
	}
	handlers, err := s.eventHandlers()
	if err != nil {
		return nil, err
	}
	t.events = events.New(events.Options{
		Handlers: handlers, Timeout: eventTimeout(s.cfg), Logger: s.logger, Registerer: t.registry,
	})
	if t.alerts, err = alerts.New(ctx, alerts.Options{
		Settings: alertSettings(s.cfg), Store: store, Epoch: l.Epoch, Logger: s.logger, Registerer: t.registry,
	}); err != nil {
		return nil, err
	}
	if t.executor, err = actuators.New(ctx, actuators.Options{
		Store: store, Clock: evaluator.WallClock{}, Epoch: l.Epoch, Leads: l.Leads, Emit: t.events.Emit,
		Logger: s.logger, Registerer: t.registry,
	}); err != nil {
		return nil, err
	}
	t.executor.Configure(scopes)
	collector := metrics.New(metrics.Options{PerSignal: s.cfg.Metrics.PerSignal, Clock: time.Now})
	t.registry.MustRegister(collector)
	t.loop = evaluator.NewLoop(evaluator.Options{
		Source: s.samples, Clock: evaluator.WallClock{}, Store: store, Epoch: l.Epoch, Logger: s.logger,
		Publishers:  []evaluator.Publisher{s.board, collector, t.events, t.alerts, t.executor},
		Instruments: metrics.NewLoop(t.registry), QueryTimeout: queryTimeout(s.cfg),
		MaxRecords: s.cfg.History.MaxRecords, MaxAge: s.cfg.History.MaxAge,
	})
	return t, nil
}

// fenced is the store for what a leader writes: one that replicas share refuses
// a write once another has taken over, even of a record that nobody else wrote.
func (s *service) fenced(epoch uint64) state.Store {
	if f, ok := s.store.(interface{ Fenced(uint64) state.Store }); ok {
		return f.Fenced(epoch)
	}
	return s.store
}

// eventTimeout is for one event with all attempts of its handler.
func eventTimeout(cfg *config.Config) time.Duration {
	if w := cfg.EventWebhook; w != nil {
		return max(events.DefaultTimeout, 3*w.Timeout)
	}
	return events.DefaultTimeout
}

// run leads until ctx ends or a part fails for good.
func (t *term) run(ctx context.Context) error {
	eg, ctx := errgroup.WithContext(ctx)
	eg.Go(func() error { return t.events.Run(ctx) })
	eg.Go(func() error { return t.alerts.Run(ctx) })
	eg.Go(func() error { return t.executor.Run(ctx) })
	eg.Go(func() error { return t.loop.Run(ctx, t.cfg) })
	return eg.Wait()
}

// lead runs one term of this process and shows it to everybody else.
func (s *service) lead(ctx context.Context, l leadership.Term) error {
	ctx, end := context.WithCancel(ctx)
	defer end()
	s.mu.Lock()
	t, err := s.newTerm(ctx, l)
	if err != nil {
		s.mu.Unlock()
		return err
	}
	s.board.Begin(l.Epoch)
	s.process.Leads(true)
	s.term.Store(t)
	s.begin.Do(func() { close(s.begun) })
	s.mu.Unlock()
	// Calls that are under way can take long to end, and another replica may
	// lead by then.
	context.AfterFunc(ctx, func() { s.retire(t) })
	s.logger.Info("leading", "epoch", l.Epoch)
	err = t.run(ctx)
	end()
	s.retire(t)
	if l.Leads() != nil && (errors.Is(err, evaluator.ErrNotLeader) || errors.Is(err, actuators.ErrNotLeader)) {
		// That is what a lost leadership looks like from the inside.
		err = nil
	}
	s.logger.Info("leading no longer", "epoch", l.Epoch)
	return err
}

// retire shows that this process leads no longer, and empties the board of what
// came late.
func (s *service) retire(t *term) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.term.CompareAndSwap(t, nil) {
		s.process.Leads(false)
	}
	if s.term.Load() == nil {
		s.board.Begin(0)
	}
}

// reload gives a running term what a reload has brought, all of it or nothing.
// One that ends meanwhile does not need it: the next begins with it.
func (t *term) reload(ctx context.Context, cfg *config.Config, scopes []actuators.ScopeConfig) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	go func() {
		select {
		case <-t.over:
			cancel()
		case <-ctx.Done():
		}
	}()
	err := t.apply(ctx, cfg, scopes)
	select {
	case <-t.over:
		return nil
	default:
		return err
	}
}

func (t *term) apply(ctx context.Context, cfg *config.Config, scopes []actuators.ScopeConfig) error {
	alerting, err := t.alerts.Prepare(alertSettings(cfg))
	if err != nil {
		return err
	}
	if err := t.loop.Reload(ctx, cfg.EvaluatorConfig()); err != nil {
		return err
	}
	alerting.Apply()
	t.executor.Configure(scopes)
	return nil
}

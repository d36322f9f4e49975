package app

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"os"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/zeta-scaler/zeta-scaler/api"
	"github.com/zeta-scaler/zeta-scaler/config"
	"github.com/zeta-scaler/zeta-scaler/contact"
	"github.com/zeta-scaler/zeta-scaler/evaluator"
	"github.com/zeta-scaler/zeta-scaler/leadership"
	"github.com/zeta-scaler/zeta-scaler/scaling"
	"github.com/zeta-scaler/zeta-scaler/state"
)

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

// newTerm builds what a leader runs from the configuration.
func (s *service) newTerm(ctx context.Context, l leadership.Term) (*Term, error) {
	setup, err := s.setup(s.cfg)
	if err != nil {
		return nil, err
	}
	handlers, patience, err := s.eventHandlers()
	if err != nil {
		return nil, err
	}
	var clusters func() []contact.Status
	if s.samples.embedded != nil {
		clusters = s.clusters
	}
	return NewTerm(ctx, Parts{
		Clusters: clusters,
		Setup:    setup, Source: s.samples, Clock: evaluator.WallClock{}, Store: s.store,
		Epoch: l.Epoch, Leads: l.Leads, Board: s.board,
		Handlers: handlers, EventTimeout: patience,
		NamesHeads: true, PerSignal: s.cfg.Metrics.PerSignal, QueryTimeout: queryTimeout(s.cfg),
		MaxRecords: s.cfg.History.MaxRecords, MaxAge: s.cfg.History.MaxAge,
		Logger: s.logger, Registry: prometheus.NewRegistry(),
	})
}

// setup is what a configuration says about rule sets, scopes and alerts.
func (s *service) setup(cfg *config.Config) (Setup, error) {
	scopes, err := s.actuation(cfg)
	if err != nil {
		return Setup{}, err
	}
	drains, err := s.draining(cfg, scopes)
	return Setup{Evaluation: cfg.EvaluatorConfig(), Scopes: scopes, Drains: drains, Alerting: alertSettings(cfg, s.pageURL(cfg.Web))}, err
}

func queryTimeout(cfg *config.Config) time.Duration {
	if cfg.Prometheus != nil {
		return cfg.Prometheus.Timeout
	}
	return 0
}

// lead runs one term of this process and shows it to everybody else.
func (s *service) lead(ctx context.Context, l leadership.Term) error {
	ctx, end := context.WithCancel(ctx)
	defer end()
	s.mu.Lock()
	t, err := s.newTerm(ctx, l)
	if err != nil {
		s.mu.Unlock()
		return ignoreCancel(ctx, err)
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
	var watching sync.WaitGroup
	if s.samples.embedded == nil {
		watching.Go(func() { s.watch.run(ctx, s.samples, s.clusterNames) })
	}
	err = t.Run(ctx)
	end()
	watching.Wait()
	s.retire(t)
	if l.Leads() != nil && errors.Is(err, state.ErrFenced) {
		// That is what a lost leadership looks like from the inside.
		err = nil
	}
	s.logger.Info("leading no longer", "epoch", l.Epoch)
	return err
}

// retire shows that this process leads no longer, and empties the board of what
// came late.
func (s *service) retire(t *Term) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.term.CompareAndSwap(t, nil) {
		s.process.Leads(false)
	}
	if s.term.Load() == nil {
		s.board.Begin(0)
	}
}

// acceptor asks the running term.
type acceptor struct{ *service }

func (a acceptor) Accept(ctx context.Context, id string) (scaling.Verdict, error) {
	if t := a.term.Load(); t != nil {
		return t.Acceptor().Accept(ctx, id)
	}
	return scaling.Verdict{}, api.ErrFollower
}

func (a acceptor) Resolve(ctx context.Context, id string) (scaling.Verdict, error) {
	if t := a.term.Load(); t != nil {
		return t.Acceptor().Resolve(ctx, id)
	}
	return scaling.Verdict{}, api.ErrFollower
}

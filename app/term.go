package app

import (
	"context"
	"log/slog"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	promconfig "github.com/prometheus/common/config"
	"golang.org/x/sync/errgroup"

	"github.com/zeta-scaler/zeta-scaler/acting"
	"github.com/zeta-scaler/zeta-scaler/actuators"
	"github.com/zeta-scaler/zeta-scaler/alerts"
	"github.com/zeta-scaler/zeta-scaler/contact"
	"github.com/zeta-scaler/zeta-scaler/drain"
	"github.com/zeta-scaler/zeta-scaler/evaluator"
	"github.com/zeta-scaler/zeta-scaler/events"
	"github.com/zeta-scaler/zeta-scaler/metrics"
	"github.com/zeta-scaler/zeta-scaler/scaling"
	"github.com/zeta-scaler/zeta-scaler/state"
)

// Parts are what a term is made of. Clock, Store, Epoch, Board, Logger and
// Registry are required.
type Parts struct {
	Setup
	// Source answers the rule sets' expressions; nil: nothing is evaluated, and
	// what the store says stands.
	Source evaluator.Source
	Clock  evaluator.Clock
	Store  state.Store
	// Epoch is that of this leader, ≥ 1; Leads says that it leads no longer by an
	// error, nil is always.
	Epoch uint64
	Leads func() error
	// Board shows what was decided.
	Board *evaluator.Board
	// Handlers are told events, each of them for EventTimeout at most (0: the
	// default). Emit, if there is one, is told those of actions in their place,
	// and at once.
	Handlers     map[string]events.Handler
	EventTimeout time.Duration
	Emit         func(scaling.Event)
	// Clusters say how the clusters answer that this process collects, for alerts
	// about them; nil: it collects none.
	Clusters func() []contact.Status
	// Publishers are told every tick's outcome after all others.
	Publishers []evaluator.Publisher
	// NamesHeads has the first job of its queue named with every scope that jobs
	// wait in, for those who are told.
	NamesHeads bool
	// Stepped leaves it to Step when alerts are sent and actions go on: virtual
	// time has to stand still meanwhile.
	Stepped bool
	// PerSignal exports a series for every signal of a scope.
	PerSignal bool
	// QueryTimeout, QueryConcurrency, MaxRecords and MaxAge are the evaluator's; 0 is
	// its default.
	QueryTimeout     time.Duration
	QueryConcurrency int
	MaxRecords       int
	MaxAge           time.Duration
	// AlertHTTP is for the clients of the Alertmanagers, such as another way to
	// dial.
	AlertHTTP []promconfig.HTTPClientOption
	// Rand draws from [0, 1) for the jitter of actions; nil: the runtime's.
	Rand   func() float64
	Logger *slog.Logger
	// Registry gets the metrics of the term.
	Registry *prometheus.Registry
}

// Setup is the part of a term that a reload changes.
type Setup struct {
	Evaluation evaluator.Config
	Scopes     []actuators.ScopeConfig
	Drains     []drain.ScopeConfig
	Alerting   alerts.Settings
}

// Term is one time of leading: everything that decides and acts. It ends with
// the leadership and is never used again, so that nothing of an old epoch can
// be left over.
type Term struct {
	registry *prometheus.Registry
	events   *events.Dispatcher
	alerts   *alerts.Notifier
	executor *actuators.Executor
	drainer  *drain.Drainer
	loop     *evaluator.Loop
	cfg      evaluator.Config
	clusters func() []contact.Status
	// evaluates and stepped are as Parts say.
	evaluates, stepped bool
	// leading ends when the leadership is lost or given up; what runs may take
	// longer to end.
	leading context.Context
}

// NewTerm builds what a leader runs until ctx ends. It calls nobody but the
// store.
func NewTerm(ctx context.Context, p Parts) (*Term, error) {
	t := &Term{registry: p.Registry, cfg: p.Evaluation, clusters: p.Clusters, evaluates: p.Source != nil, stepped: p.Stepped, leading: ctx}
	t.events = events.New(events.Options{
		Handlers: p.Handlers, Timeout: p.EventTimeout, Logger: p.Logger, Registerer: p.Registry,
	})
	emit := p.Emit
	if emit == nil {
		emit = t.events.Emit
	}
	var err error
	if t.alerts, err = alerts.New(ctx, alerts.Options{
		Settings: p.Alerting, Store: p.Store, Epoch: p.Epoch, Clock: p.Clock.Now, HTTPOptions: p.AlertHTTP,
		Logger: p.Logger, Registerer: p.Registry,
	}); err != nil {
		return nil, err
	}
	acts := acting.Options{
		Store: p.Store, Clock: p.Clock, Epoch: p.Epoch, Leads: p.Leads, Emit: emit, Rand: p.Rand,
		Logger: p.Logger, Registerer: p.Registry,
	}
	if t.executor, err = actuators.New(ctx, acts); err != nil {
		return nil, err
	}
	if t.drainer, err = drain.New(ctx, acts); err != nil {
		return nil, err
	}
	t.executor.Configure(p.Scopes)
	t.drainer.Configure(p.Drains)
	collector := metrics.New(metrics.Options{PerSignal: p.PerSignal, Clock: p.Clock.Now})
	p.Registry.MustRegister(collector)
	t.loop = evaluator.NewLoop(evaluator.Options{
		Source: p.Source, Clock: p.Clock, Store: p.Store, Epoch: p.Epoch, Logger: p.Logger,
		Publishers:  p.told(p.Board, collector, t.events, t.alerts, t.executor, t.drainer),
		Instruments: metrics.NewLoop(p.Registry), QueryTimeout: p.QueryTimeout, QueryConcurrency: p.QueryConcurrency,
		MaxRecords: p.MaxRecords, MaxAge: p.MaxAge,
	})
	return t, nil
}

// told are all publishers, in their order.
func (p *Parts) told(first ...evaluator.Publisher) []evaluator.Publisher {
	all := append(first, p.Publishers...)
	if !p.NamesHeads || p.Source == nil {
		return all
	}
	// A query that is not answered within half of its time has another replica asked.
	patience := headPatience
	if p.QueryTimeout > 0 {
		patience = min(patience, p.QueryTimeout/4)
	}
	if p.Stepped {
		patience = max(patience, p.QueryTimeout)
	}
	return []evaluator.Publisher{newHeads(p.Source, patience, p.Logger, all)}
}

// Run leads until ctx ends or a part fails for good.
func (t *Term) Run(ctx context.Context) error {
	eg, ctx := errgroup.WithContext(ctx)
	eg.Go(func() error { return t.events.Run(ctx) })
	if !t.stepped {
		eg.Go(func() error { return t.alerts.Run(ctx) })
		eg.Go(func() error { return t.executor.Run(ctx) })
		eg.Go(func() error { return t.drainer.Run(ctx) })
		eg.Go(func() error { return t.lookAtClusters(ctx) })
	}
	if t.evaluates {
		eg.Go(func() error { return t.loop.Run(ctx, t.cfg) })
	}
	return eg.Wait()
}

// clustersEvery is how often alerts look at the clusters.
const clustersEvery = 15 * time.Second

// lookAtClusters tells the alerts how the clusters answer, until ctx ends.
func (t *Term) lookAtClusters(ctx context.Context) error {
	if t.clusters == nil {
		return nil
	}
	tick := time.NewTicker(clustersEvery)
	defer tick.Stop()
	for {
		t.alerts.Clusters(t.clusters())
		select {
		case <-tick.C:
		case <-ctx.Done():
			return nil
		}
	}
}

// Step sends the alerts that are due and lets every action go on as far as it
// can at this time of the clock.
func (t *Term) Step(ctx context.Context) error {
	if t.clusters != nil {
		t.alerts.Clusters(t.clusters())
	}
	if err := t.alerts.Deliver(ctx); err != nil {
		return err
	}
	if err := t.executor.Advance(ctx); err != nil {
		return err
	}
	return t.drainer.Advance(ctx)
}

// Executor carries out actions.
func (t *Term) Executor() *actuators.Executor { return t.executor }

// Drainer drains workers.
func (t *Term) Drainer() *drain.Drainer { return t.drainer }

// reload gives a running term what a reload has brought, all of it or nothing.
// One that ends meanwhile does not need it: the next begins with it.
func (t *Term) reload(ctx context.Context, s Setup) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(t.leading, cancel)()
	err := t.apply(ctx, s)
	if t.leading.Err() != nil {
		return nil
	}
	return err
}

func (t *Term) apply(ctx context.Context, s Setup) error {
	alerting, err := t.alerts.Prepare(s.Alerting)
	if err != nil {
		return err
	}
	if err := t.loop.Reload(ctx, s.Evaluation); err != nil {
		return err
	}
	alerting.Apply()
	t.executor.Configure(s.Scopes)
	t.drainer.Configure(s.Drains)
	return nil
}

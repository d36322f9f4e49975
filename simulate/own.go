package simulate

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/zeta-scaler/zeta-scaler/actuators"
	"github.com/zeta-scaler/zeta-scaler/app"
	"github.com/zeta-scaler/zeta-scaler/config"
	"github.com/zeta-scaler/zeta-scaler/demo/sim"
	"github.com/zeta-scaler/zeta-scaler/demo/site"
	"github.com/zeta-scaler/zeta-scaler/drain"
	"github.com/zeta-scaler/zeta-scaler/evaluator"
	"github.com/zeta-scaler/zeta-scaler/rules"
	"github.com/zeta-scaler/zeta-scaler/scaling"
	"github.com/zeta-scaler/zeta-scaler/simulate/workload"
	"github.com/zeta-scaler/zeta-scaler/source"
	"github.com/zeta-scaler/zeta-scaler/state/memory"
)

// epoch is that of the one leader.
const epoch = 1

// queryTimeout bounds a round of queries, in real time: a slow machine must not
// decide otherwise.
const queryTimeout = time.Minute

// own is zeta-scaler under a rule set: the parts that serve has, on virtual time
// and around a simulated cluster.
type own struct {
	*stage
	rules      *rules.RuleSet
	monitoring *site.Monitoring
	engine     *source.Engine
	clock      *site.Clock
	term       *app.Term
	tell       func(time.Duration)
	forgetAt   time.Duration
	stop       context.CancelFunc
	failed     error
}

// playRules plays a workload under a rule set.
func playRules(ctx context.Context, o *Options, w *workload.Workload, rs *rules.RuleSet, tell func(time.Duration)) (s *stage, err error) {
	r := &own{rules: rs, tell: tell}
	if r.stage, err = newStage(o, w, w.Conditions.MinWorkers); err != nil {
		return nil, err
	}
	ctx, r.stop = context.WithCancel(ctx)
	defer r.stop()
	if err := r.assemble(ctx); err != nil {
		return nil, errors.Join(err, r.close())
	}
	err = r.run(ctx)
	return r.stage, errors.Join(err, r.close())
}

// assemble builds what serve has around the cluster.
func (r *own) assemble(ctx context.Context) (err error) {
	version := sim.V2313
	if r.cluster.HasNoQueue() {
		version = sim.V238
	}
	if r.monitoring, err = site.NewMonitoring(site.MonitoringOptions{
		Name: clusterName, Version: version, Current: r.current, Now: r.cluster.Now, Logger: r.o.Logger,
	}); err != nil {
		return err
	}
	registry := prometheus.NewRegistry()
	if r.engine, err = source.NewEngine(source.EngineOptions{Registerer: registry, Logger: r.o.Logger}, r.monitoring.DB()); err != nil {
		return err
	}
	clock := site.ClockOptions{Start: start(), World: r, ScrapeEvery: r.o.ScrapeInterval, Reached: r.stop}
	if r.o.Drain {
		clock.Between = func(ctx context.Context) error { return r.term.Drainer().Advance(ctx) }
	}
	r.clock = site.NewClock(clock)
	parts := app.Parts{
		Setup:  app.Setup{Evaluation: r.evaluation(), Scopes: r.scopes(), Drains: r.drains()},
		Source: r.engine, Clock: r.clock, Store: memory.New(), Epoch: epoch, Board: evaluator.NewBoard(epoch),
		Publishers: []evaluator.Publisher{r}, Stepped: true, Emit: func(scaling.Event) {},
		QueryTimeout: queryTimeout, QueryConcurrency: r.o.queriesAtOnce(), MaxRecords: 1, Rand: func() float64 { return 0 },
		Logger: r.o.Logger, Registry: registry,
	}
	r.term, err = app.NewTerm(context.WithoutCancel(ctx), parts)
	return err
}

func (r *own) current() *sim.Cluster { return r.cluster }

// scope is the one scope.
func (r *own) scope() scaling.Scope {
	return scaling.NewScope([]scaling.Label{{Name: r.rules.ScopeBy[0], Value: clusterName}})
}

func (r *own) bounds() scaling.Bounds {
	return scaling.Bounds{Min: r.w.Conditions.MinWorkers, Max: r.w.Conditions.MaxWorkers}
}

// mode carries recommendations out without asking anybody.
const mode = scaling.Direct

func (r *own) evaluation() evaluator.Config {
	bounds := r.bounds()
	return evaluator.Config{
		RuleSets: []*rules.RuleSet{r.rules}, DefaultRuleSet: r.rules.Name, ForgetAfter: time.Hour,
		Scopes: []evaluator.ScopeConfig{{
			RuleSet: r.rules.Name, Bounds: &bounds, Mode: mode, Match: map[string]string{r.rules.ScopeBy[0]: clusterName},
		}},
	}
}

func (r *own) scopes() []actuators.ScopeConfig {
	return []actuators.ScopeConfig{{
		Scope: r.scope(), Mode: mode, Bounds: r.bounds(), Kind: site.Kind, Target: clusterName, Actuator: r.platform(),
		Cooldown: r.o.Cooldown, BootDeadline: r.rules.Step.BootDeadline,
		Rounds: r.rules.Step.LaterRounds(), TriggerWindow: config.TriggerWindow(r.rules),
	}}
}

func (r *own) drains() []drain.ScopeConfig {
	if !r.o.Drain {
		return nil
	}
	cooldown := actuators.DefaultCooldown
	if r.o.Cooldown != nil {
		cooldown = *r.o.Cooldown
	}
	return []drain.ScopeConfig{{
		Scope: r.scope(), Mode: mode, Bounds: r.bounds(), Deployment: scaling.Session, Kind: site.Kind, Target: clusterName,
		Actuator: r.platform(), Cluster: clusterName, Engine: sim.View{Current: r.current}, Configs: site.Configs{},
		Hold: true, Cooldown: cooldown,
	}}
}

// platform is the cluster's, with what is done to it noted.
func (r *own) platform() actuators.Actuator {
	return noted{site.Platform{Current: r.current}, r.stage}
}

type noted struct {
	site.Platform
	stage *stage
}

// Scale implements actuators.Actuator.
func (n noted) Scale(ctx context.Context, t actuators.Target, want int, f actuators.Fence) error {
	before, booting := n.stage.cluster.Workers()
	err := n.Platform.Scale(ctx, t, want, f)
	after, starting := n.stage.cluster.Workers()
	n.stage.step(after + starting - before - booting)
	return err
}

// Release implements actuators.Actuator.
func (n noted) Release(ctx context.Context, t actuators.Target, workers []actuators.Worker, f actuators.Fence) error {
	err := n.Platform.Release(ctx, t, workers, f)
	if err == nil {
		n.stage.step(-1)
	}
	return err
}

// forgetEvery is how often the TSDB drops what no expression reads any more: every
// query looks at all series that it has.
const forgetEvery = 30 * time.Minute

// Scrape implements site.World: the TSDB is filled, unless the answer is lost.
func (r *own) Scrape(ctx context.Context, t time.Time) error {
	if err := r.Advance(t); err != nil {
		return err
	}
	r.look(t)
	if r.over {
		r.stop()
		return ctx.Err()
	}
	r.tellHourly(since(t), r.tell)
	if since(t) >= r.forgetAt {
		r.forgetAt = since(t) + forgetEvery
		if err := r.monitoring.DB().Forget(t.Add(-r.rules.Lookback() - source.DefaultLookbackDelta)); err != nil {
			return err
		}
	}
	if r.lost() {
		return r.monitoring.Lose(t)
	}
	return r.monitoring.Scrape(ctx, t)
}

// Publish implements evaluator.Publisher: virtual time stands still until all that
// a tick has led to is done.
func (r *own) Publish(ctx context.Context, evaluations []scaling.Evaluation, _ []scaling.Scope) {
	if err := r.term.Step(ctx); err != nil && ctx.Err() == nil {
		r.fail(fmt.Errorf("carrying out a recommendation: %w", err))
	}
	if r.o.Drain {
		return
	}
	for i := range evaluations {
		rec := &evaluations[i].Recommendation
		if rec.Action != scaling.ScaleInCandidate || rec.RecommendedWorkers == nil {
			continue
		}
		if registered, booting := r.cluster.Workers(); booting == 0 {
			r.remove(registered-*rec.RecommendedWorkers, false)
		}
	}
}

func (r *own) fail(err error) {
	if r.failed == nil {
		r.failed = err
	}
	r.stop()
}

// run plays the workload to its end.
func (r *own) run(ctx context.Context) error {
	// The loop's first tick would lie before the start, where nothing is.
	interval := r.rules.Interval
	first := evaluator.TickAtOrBefore(start().Add(interval), interval, evaluator.Phase(r.rules.Name, interval))
	err := r.clock.WaitUntil(ctx, first)
	if err == nil {
		err = r.term.Run(ctx)
	}
	switch {
	case r.failed != nil:
		return r.failed
	case r.over:
		return nil
	case err == nil:
		return ctx.Err()
	}
	return err
}

// close frees the TSDB.
func (r *own) close() error {
	var errs []error
	if r.engine != nil {
		errs = append(errs, r.engine.Close())
	}
	if r.monitoring != nil {
		errs = append(errs, r.monitoring.Close())
	}
	return errors.Join(errs...)
}

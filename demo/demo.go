package demo

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/zeta-scaler/zeta-scaler/api"
	"github.com/zeta-scaler/zeta-scaler/app"
	"github.com/zeta-scaler/zeta-scaler/demo/site"
	"github.com/zeta-scaler/zeta-scaler/evaluator"
	"github.com/zeta-scaler/zeta-scaler/rules"
	"github.com/zeta-scaler/zeta-scaler/scaling"
	"github.com/zeta-scaler/zeta-scaler/source"
	"github.com/zeta-scaler/zeta-scaler/state"
	"github.com/zeta-scaler/zeta-scaler/state/memory"
)

// Defaults of Options.
const (
	DefaultScenario = "burst"
	DefaultSpeed    = 20.0
	DefaultSeed     = 1
)

const (
	// clusterName is the one scope; pack is the rule set that judges it.
	clusterName = "demo"
	pack        = "zeta-auto"
	// epoch is that of the one leader.
	epoch = 1
)

// start is the virtual time at which a run begins: a constant, so that two runs
// print the same. The simulation lives in whole seconds.
func start() time.Time { return time.Date(2026, time.January, 1, 0, 0, 0, 0, time.UTC) }

// Options describe a run. The zero value of every field is usable.
type Options struct {
	// Scenario is one of ScenarioNames; default burst.
	Scenario string
	// Speed is virtual seconds per real second, > 0; default 20. It has no
	// meaning with Once.
	Speed float64
	// Once plays the scenario to its end as fast as possible. Otherwise it is
	// played again and again until the run is stopped.
	Once bool
	// Follow carries the recommendations out: a SCALE_OUT by way of alert,
	// webhook and executor, and an operator stops workers that are too many.
	Follow bool
	// Seed is the cluster's chance; default 1.
	Seed uint64
	// Output is Text or JSON; default Text. Writer gets the decisions; nil
	// prints nothing.
	Output Output
	Writer io.Writer
	// Logger gets what goes wrong; nil: nothing.
	Logger *slog.Logger
}

func (o *Options) setDefaults() error {
	if o.Scenario == "" {
		o.Scenario = DefaultScenario
	}
	if o.Speed == 0 {
		o.Speed = DefaultSpeed
	}
	if o.Once {
		o.Speed = 0
	} else if !(o.Speed > 0 && o.Speed <= MaxSpeed) {
		return fmt.Errorf("speed is %v, expected more than 0 and at most %v", o.Speed, MaxSpeed)
	}
	if o.Seed == 0 {
		o.Seed = DefaultSeed
	}
	if o.Output == "" {
		o.Output = Text
	}
	if o.Output != Text && o.Output != JSON {
		return fmt.Errorf("output is %q, expected %s or %s", o.Output, Text, JSON)
	}
	if o.Writer == nil {
		o.Writer = io.Discard
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	return nil
}

// MaxSpeed is an hour a second; more would only be a busy loop.
const MaxSpeed = 3600.0

// simulation is a run that is ready to start: the parts that serve has, on a virtual
// clock and over a simulated cluster.
type simulation struct {
	o        Options
	rules    *rules.RuleSet
	world    *world
	clock    *site.Clock
	engine   *source.Engine
	store    state.Store
	board    *evaluator.Board
	registry *prometheus.Registry
	term     *app.Term
	handler  http.Handler
	printer  *printer
	// network is between Alertmanager and the service, nil without Follow; operator
	// stops workers, nil where nobody has to.
	network  *network
	operator *operator
	failed   chan error
	// reached is called at the end of time.
	reached func()
}

// Run plays a scenario: to its end with Once, otherwise until ctx ends.
func Run(ctx context.Context, o Options) error {
	d, err := newSimulation(ctx, o, prometheus.NewRegistry())
	if err != nil {
		return err
	}
	return errors.Join(d.run(ctx), d.close())
}

// newSimulation puts a run together. Close it in the end.
func newSimulation(ctx context.Context, o Options, registry *prometheus.Registry) (*simulation, error) {
	if err := o.setDefaults(); err != nil {
		return nil, err
	}
	d := &simulation{o: o, store: memory.New(), board: evaluator.NewBoard(epoch), registry: registry, failed: make(chan error, 1)}
	d.printer = &printer{w: o.Writer, output: o.Output, start: start(), fail: d.fail}
	var err error
	if d.rules, _, err = rules.Pack(pack); err != nil {
		return nil, err
	}
	if d.world, err = newWorld(&d.o, d.printer.note); err != nil {
		return nil, err
	}
	d.o.Follow = d.o.Follow || d.world.story.Drains
	if err := d.assemble(ctx); err != nil {
		return nil, errors.Join(err, d.close())
	}
	return d, nil
}

// newClock is virtual time, which ends with the story if it is played once.
func (d *simulation) newClock() *site.Clock {
	o := site.ClockOptions{
		Start: start(), World: d.world, ScrapeEvery: scrapeInterval, Speed: d.o.Speed, Reached: func() { d.reached() },
	}
	if d.o.Once {
		o.End = start().Add(d.world.story.Length)
	}
	if d.world.story.Drains {
		o.Between = func(ctx context.Context) error { return d.term.Drainer().Advance(ctx) }
	}
	return site.NewClock(o)
}

// assemble builds what serve has around the simulation.
func (d *simulation) assemble(ctx context.Context) (err error) {
	d.clock = d.newClock()
	if d.engine, err = source.NewEngine(source.EngineOptions{Registerer: d.registry, Logger: d.o.Logger}, d.world.monitoring.DB()); err != nil {
		return err
	}
	parts := app.Parts{
		Setup:  app.Setup{Evaluation: d.evaluation()},
		Source: d.engine, Clock: d.clock, Store: d.store, Epoch: epoch, Board: d.board,
		Publishers: []evaluator.Publisher{d}, Stepped: true, NamesHeads: true, PerSignal: true, Emit: d.printer.action,
		// Queries take real time, and a slow machine must not decide otherwise.
		QueryTimeout: realTimeout,
		Rand:         func() float64 { return 0 },
		Logger:       d.o.Logger, Registry: d.registry,
	}
	if d.o.Follow {
		d.network = newNetwork()
		if !d.world.story.Drains {
			d.operator = &operator{world: d.world, note: d.printer.note}
		}
		d.follow(&parts)
	}
	// A memory store is quick: who stops meanwhile has stopped a run that began.
	if d.term, err = app.NewTerm(context.WithoutCancel(ctx), parts); err != nil {
		return err
	}
	o := app.HandlerOptions{
		Options:  api.Options{Board: d.board, Store: d.store, Queries: d.queries, RuleSets: func() []*rules.RuleSet { return []*rules.RuleSet{d.rules} }, Stopping: ctx.Done(), Now: d.clock.Now, Logger: d.o.Logger},
		Gatherer: d.registry, Registry: d.registry,
	}
	if d.o.Follow {
		o.Acceptor = d.term.Acceptor()
	}
	if d.handler, err = app.NewHandler(o); err != nil {
		return err
	}
	if d.o.Follow {
		d.network.serve(d.clock.Now, d.handler, d.world.story.Drains)
	}
	return nil
}

// scope is the one scope.
func (d *simulation) scope() scaling.Scope {
	var labels []scaling.Label
	for _, name := range d.rules.ScopeBy {
		labels = append(labels, scaling.Label{Name: name, Value: clusterName})
	}
	return scaling.NewScope(labels)
}

// evaluation lists the one scope with the scenario's bounds.
func (d *simulation) evaluation() evaluator.Config {
	bounds := d.world.story.Bounds
	scope := evaluator.ScopeConfig{RuleSet: d.rules.Name, Bounds: &bounds, Match: map[string]string{}}
	if d.o.Follow {
		scope.Mode = scaling.Webhook
	}
	for _, l := range d.scope().Labels {
		scope.Match[l.Name] = l.Value
	}
	return evaluator.Config{
		RuleSets: []*rules.RuleSet{d.rules}, Scopes: []evaluator.ScopeConfig{scope}, DefaultRuleSet: d.rules.Name, ForgetAfter: time.Hour,
	}
}

// Publish implements evaluator.Publisher: virtual time stands still until all
// that a tick has led to is done.
func (d *simulation) Publish(ctx context.Context, evaluations []scaling.Evaluation, gone []scaling.Scope) {
	d.printer.Publish(ctx, evaluations, gone)
	if !d.o.Follow {
		return
	}
	if err := d.term.Step(ctx); err != nil && ctx.Err() == nil {
		d.fail(fmt.Errorf("carrying out a recommendation: %w", err))
	}
	if d.operator != nil {
		d.operator.Publish(ctx, evaluations, gone)
	}
}

// run plays the scenario. It can be called once.
func (d *simulation) run(ctx context.Context) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	d.reached = cancel
	d.clock.Begin()
	if !d.o.Once {
		d.printer.opening(&d.world.story, d.o.Speed)
	}
	// The loop's first tick would lie before the start, where nothing is.
	interval := d.rules.Interval
	first := evaluator.TickAtOrBefore(start().Add(interval), interval, evaluator.Phase(d.rules.Name, interval))
	if err := d.clock.WaitUntil(ctx, first); err != nil {
		return d.outcome(ctx, err)
	}
	done := make(chan error, 1)
	go func() { done <- d.term.Run(ctx) }()
	select {
	case err := <-done:
		return d.outcome(ctx, err)
	case err := <-d.failed:
		cancel()
		return errors.Join(err, d.outcome(ctx, <-done))
	}
}

// outcome tells the end of the story, or of the caller's patience, from a
// failure.
func (d *simulation) outcome(ctx context.Context, err error) error {
	select {
	case failed := <-d.failed:
		return failed
	default:
	}
	if err != nil && ctx.Err() != nil && errors.Is(err, ctx.Err()) {
		return nil
	}
	return err
}

// fail remembers the first failure and ends the run.
func (d *simulation) fail(err error) {
	select {
	case d.failed <- err:
	default:
	}
}

// close frees the TSDB.
func (d *simulation) close() error {
	var errs []error
	if d.network != nil {
		errs = append(errs, d.network.close())
	}
	if d.engine != nil {
		errs = append(errs, d.engine.Close())
	}
	return errors.Join(append(errs, d.world.close())...)
}

// queries are what the rule set of this run asks for; nothing for any other.
func (d *simulation) queries(ref scaling.RuleSetRef) map[string]evaluator.Query {
	if d.rules.Name != ref.Name || d.rules.Digest != ref.Digest {
		return nil
	}
	return evaluator.Queries(d.rules)
}

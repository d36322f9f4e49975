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
	DefaultCluster  = "demo"
	DefaultPack     = "zeta-auto"
)

// DefaultStart is the virtual time at which a run with Once begins: a constant,
// so that two runs print the same.
func DefaultStart() time.Time { return time.Date(2026, time.January, 1, 0, 0, 0, 0, time.UTC) }

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
	// Start is the virtual time of the beginning; default DefaultStart.
	Start time.Time
	// Cluster is the name of the simulated cluster; default demo.
	Cluster string
	// RuleSet judges it; default the pack zeta-auto. Its scope_by is cluster or
	// nothing. Shadows are judged beside it.
	RuleSet *rules.RuleSet
	Shadows []*rules.RuleSet
	// Publishers are told every tick's outcome, such as a Board and metrics.
	Publishers []evaluator.Publisher
	// Store keeps history and generations; default memory. Epoch is this
	// leader's; default 1.
	Store       state.Store
	Epoch       uint64
	Instruments evaluator.Instruments
	// Registerer gets the metrics of the query engine; nil for none.
	Registerer prometheus.Registerer
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
	if o.Start.IsZero() {
		o.Start = DefaultStart()
	}
	// The simulation lives in whole seconds.
	o.Start = o.Start.UTC().Truncate(time.Second)
	if o.Cluster == "" {
		o.Cluster = DefaultCluster
	}
	if o.RuleSet == nil {
		var err error
		if o.RuleSet, _, err = rules.Pack(DefaultPack); err != nil {
			return err
		}
	}
	if o.Store == nil {
		o.Store = memory.New()
	}
	if o.Epoch == 0 {
		o.Epoch = 1
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	return nil
}

// MaxSpeed is an hour a second; more would only be a busy loop.
const MaxSpeed = 3600.0

// Demo is a run that is ready to start.
type Demo struct {
	o       Options
	world   *world
	clock   *clock
	engine  *source.Engine
	loop    *evaluator.Loop
	printer *printer
	config  evaluator.Config
	// chain carries recommendations out; nil without Follow.
	chain  *chain
	failed chan error
}

// Run plays a scenario: to its end with Once, otherwise until ctx ends.
func Run(ctx context.Context, o Options) error {
	d, err := New(o)
	if err != nil {
		return err
	}
	return errors.Join(d.Run(ctx), d.Close())
}

// New puts a run together. Close it in the end.
func New(o Options) (*Demo, error) {
	if err := o.setDefaults(); err != nil {
		return nil, err
	}
	d := &Demo{o: o, failed: make(chan error, 1)}
	d.printer = &printer{w: o.Writer, output: o.Output, start: o.Start, fail: d.fail}
	var err error
	if d.world, err = newWorld(&d.o, d.printer.note); err != nil {
		return nil, err
	}
	d.engine, err = source.NewEngine(source.EngineOptions{Registerer: o.Registerer, Logger: o.Logger}, d.world.db)
	if err != nil {
		return nil, errors.Join(err, d.world.close())
	}
	if d.config, err = d.evaluatorConfig(); err != nil {
		return nil, errors.Join(err, d.Close())
	}
	d.clock = &clock{now: o.Start, world: d.world, speed: o.Speed, start: o.Start, next: o.Start}
	if o.Once {
		d.clock.end = o.Start.Add(d.world.story.Length)
	}
	publishers := append([]evaluator.Publisher{d.printer}, o.Publishers...)
	if o.Follow {
		if d.chain, err = d.newChain(context.Background()); err != nil {
			return nil, errors.Join(err, d.Close())
		}
		publishers = append(publishers, d.chain)
	}
	d.loop = evaluator.NewLoop(evaluator.Options{
		Source:      d.engine,
		Clock:       d.clock,
		Store:       o.Store,
		Publishers:  publishers,
		Logger:      o.Logger,
		Instruments: o.Instruments,
		Epoch:       o.Epoch,
		// Queries take real time, and a slow machine must not decide otherwise.
		QueryTimeout: realTimeout,
	})
	return d, nil
}

// evaluatorConfig lists the one scope with the scenario's bounds.
func (d *Demo) evaluatorConfig() (evaluator.Config, error) {
	bounds := d.world.story.Bounds
	scope := evaluator.ScopeConfig{RuleSet: d.o.RuleSet.Name, Bounds: &bounds, Match: map[string]string{}}
	if d.o.Follow {
		scope.Mode = scaling.Webhook
	}
	for _, l := range d.o.RuleSet.ScopeBy {
		if l != "cluster" {
			return evaluator.Config{}, fmt.Errorf("rule set %s has scope_by %s, the demo's metrics have cluster only", d.o.RuleSet.Name, l)
		}
		scope.Match[l] = d.o.Cluster
	}
	sets := []*rules.RuleSet{d.o.RuleSet}
	for _, s := range d.o.Shadows {
		sets = append(sets, s)
		scope.Shadows = append(scope.Shadows, s.Name)
	}
	return evaluator.Config{
		RuleSets:       sets,
		Scopes:         []evaluator.ScopeConfig{scope},
		DefaultRuleSet: d.o.RuleSet.Name,
		ForgetAfter:    time.Hour,
	}, nil
}

// Run plays the scenario. It can be called once.
func (d *Demo) Run(ctx context.Context) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	d.clock.reached = cancel
	d.clock.began = time.Now()
	if !d.o.Once {
		d.printer.opening(&d.world.story, d.o.Speed)
	}
	// The loop's first tick would lie before the start, where nothing is.
	interval := d.o.RuleSet.Interval
	first := evaluator.TickAtOrBefore(d.o.Start.Add(interval), interval, evaluator.Phase(d.o.RuleSet.Name, interval))
	if err := d.clock.WaitUntil(ctx, first); err != nil {
		return d.outcome(ctx, err)
	}
	done := make(chan error, 1)
	go func() { done <- d.loop.Run(ctx, d.config) }()
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
func (d *Demo) outcome(ctx context.Context, err error) error {
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
func (d *Demo) fail(err error) {
	select {
	case d.failed <- err:
	default:
	}
}

// Close frees the TSDB.
func (d *Demo) Close() error {
	var err error
	if d.chain != nil {
		err = d.chain.close()
	}
	return errors.Join(err, d.engine.Close(), d.world.close())
}

// Source answers PromQL over everything that was scraped.
func (d *Demo) Source() evaluator.Source { return d.engine }

// Queries are what a rule set of this run asks for; nothing for any other.
func (d *Demo) Queries(ref scaling.RuleSetRef) map[string]evaluator.Query {
	for _, rs := range d.config.RuleSets {
		if rs.Name == ref.Name && rs.Digest == ref.Digest {
			return evaluator.Queries(rs)
		}
	}
	return nil
}

// Clock is the demo's virtual time.
func (d *Demo) Clock() evaluator.Clock { return d.clock }

// Config is what the evaluator's loop runs with.
func (d *Demo) Config() evaluator.Config { return d.config }

// Exporter is the registry with the collector that asks the simulated cluster.
func (d *Demo) Exporter() prometheus.Gatherer { return d.world.registry }

// Zeta serves the simulated master's REST API and telemetry.
func (d *Demo) Zeta() http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		d.world.current().Handler().ServeHTTP(w, r)
	})
}

package evaluator

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/zeta-scaler/zeta-scaler/backoff"
	"github.com/zeta-scaler/zeta-scaler/rules"
	"github.com/zeta-scaler/zeta-scaler/scaling"
	"github.com/zeta-scaler/zeta-scaler/state"
	"github.com/zeta-scaler/zeta-scaler/trouble"
)

// Instruments count what the loop does. All methods must be safe for
// concurrent use.
type Instruments interface {
	Evaluated(d time.Duration)
	Failed(reason string)
	TicksMissed(n int)
	ClockJumped()
	IgnoredSamples(n int)
}

// Options are what a loop is made of; all but Logger, Instruments, QueryTimeout,
// QueryConcurrency and the bounds of the history are required.
type Options struct {
	Source      Source
	Clock       Clock
	Store       state.Store
	Publishers  []Publisher
	Logger      *slog.Logger
	Instruments Instruments
	// Epoch is this leader's, from package leadership.
	Epoch uint64
	// QueryTimeout bounds one round of queries; default 10s, never longer than
	// the rule set's interval.
	QueryTimeout time.Duration
	// QueryConcurrency bounds how many queries of a round are under way at once;
	// default 8, which suits a server elsewhere.
	QueryConcurrency int
	// MaxRecords and MaxAge bound the history; defaults 1000 and 168h.
	MaxRecords int
	MaxAge     time.Duration
}

// Loop evaluates every rule set at its ticks until it is stopped.
type Loop struct {
	Options
	decisions  *state.Table[state.DecisionRecord]
	executions *state.Table[state.ExecutionRecord]
	drains     *state.Table[state.DrainRecord]
	controls   *state.Table[state.ControlRecord]
	ticks      *state.Table[state.TickRecord]
	reloads    chan reload
	dropped    *droppedScopes
	// generations are those before the last reload, by scope.
	generations map[string]uint64
}

// firstAssembly and lastAssembly are how long a reload waits for the store before it
// tries again.
const (
	firstAssembly = time.Second
	lastAssembly  = 15 * time.Second
)

type reload struct {
	cfg  Config
	done chan error
}

// NewLoop returns a loop; Run starts it.
func NewLoop(o Options) *Loop {
	if o.QueryTimeout <= 0 {
		o.QueryTimeout = 10 * time.Second
	}
	if o.QueryConcurrency <= 0 {
		o.QueryConcurrency = defaultConcurrency
	}
	if o.MaxRecords <= 0 {
		o.MaxRecords = 1000
	}
	if o.MaxAge <= 0 {
		o.MaxAge = 168 * time.Hour
	}
	if o.Instruments == nil {
		o.Instruments = noInstruments{}
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	fence := state.Fence(o.Epoch)
	return &Loop{
		Options:   o,
		decisions: state.Decisions(o.Store, fence), executions: state.Executions(o.Store, fence), drains: state.Drains(o.Store, fence),
		controls: state.Controls(o.Store), ticks: state.Ticks(o.Store, fence),
		reloads: make(chan reload), dropped: &droppedScopes{last: map[string]uint64{}},
	}
}

type noInstruments struct{}

func (noInstruments) Evaluated(time.Duration) {}
func (noInstruments) Failed(string)           {}
func (noInstruments) TicksMissed(int)         {}
func (noInstruments) ClockJumped()            {}
func (noInstruments) IgnoredSamples(int)      {}

// Run evaluates until ctx ends (then it returns nil) or until another process
// has taken over. Reload swaps the configuration while it runs: a reload is a
// restore with the new rules, the same code as a start. A start fails with the
// store; a reload, which was acknowledged, waits for it.
func (l *Loop) Run(ctx context.Context, cfg Config) error {
	for start := true; ; start = false {
		runners, err := l.assemble(ctx, cfg)
		if err != nil && !start {
			runners, err = l.assembleLater(ctx, cfg, err)
		}
		if ctx.Err() != nil {
			return nil // stopped while it was starting
		}
		if err != nil {
			return err
		}
		runCtx, cancel := context.WithCancel(ctx)
		var eg errgroup.Group
		done := make(chan error, 1)
		for _, r := range runners {
			eg.Go(func() error {
				defer cancel()
				return r.run(runCtx)
			})
		}
		go func() { done <- eg.Wait() }()
		var next *reload
		if len(runners) == 0 {
			done = nil // nothing to evaluate: wait for a reload or the end
		}
		select {
		case err := <-done:
			cancel()
			if ctx.Err() != nil {
				return nil
			}
			return err
		case <-ctx.Done():
			cancel()
			_ = eg.Wait() // the runners end because ctx did
			return nil
		case r := <-l.reloads:
			next = &r
			cancel()
			if err := eg.Wait(); err != nil && !errors.Is(err, context.Canceled) {
				r.done <- err
				return err
			}
		}
		cfg, l.generations = next.cfg, generationsOf(runners)
		next.done <- nil
	}
}

// assembleLater waits for a store that has failed after a reload, as every tick does:
// nothing is decided meanwhile, and what was decided ends by itself. A later reload
// takes the place of this one.
func (l *Loop) assembleLater(ctx context.Context, cfg Config, err error) ([]*runner, error) {
	store := trouble.New(l.Logger, slog.LevelError, "state store failed after a reload, nothing is decided until it works again", "state store works again")
	for failures := 1; ; failures++ {
		if ctx.Err() != nil || errors.Is(err, state.ErrFenced) {
			return nil, err
		}
		l.Instruments.Failed("store")
		store.Note(err)
		waiting, stop := context.WithCancel(ctx)
		waited := make(chan struct{})
		until := l.Clock.Now().Add(backoff.Doubled(firstAssembly, failures, lastAssembly))
		go func() {
			defer close(waited)
			_ = l.Clock.WaitUntil(waiting, until) // it ends with ctx, too
		}()
		select {
		case r := <-l.reloads:
			cfg = r.cfg
			r.done <- nil
			stop()
			<-waited
		case <-waited:
			stop()
		}
		var runners []*runner
		if runners, err = l.assemble(ctx, cfg); err == nil {
			store.Note(nil)
			return runners, nil
		}
	}
}

// Reload checks cfg and, if it can be run, swaps to it. The old configuration
// stays when it cannot.
func (l *Loop) Reload(ctx context.Context, cfg Config) error {
	if _, err := groupsOf(cfg); err != nil {
		return err
	}
	r := reload{cfg: cfg, done: make(chan error, 1)}
	select {
	case l.reloads <- r:
	case <-ctx.Done():
		return ctx.Err()
	}
	return <-r.done
}

// groupsOf makes one group for every rule set that decides something.
func groupsOf(cfg Config) ([]*group, error) {
	byName := map[string]*rules.RuleSet{}
	for _, rs := range cfg.RuleSets {
		if byName[rs.Name] != nil {
			return nil, fmt.Errorf("rule set %s is there twice (%s and %s)", rs.Name, byName[rs.Name].File, rs.File)
		}
		byName[rs.Name] = rs
	}
	uses := usesOf(cfg)
	var groups []*group
	for _, name := range slices.Sorted(maps.Keys(uses)) {
		g, err := buildGroup(byName, name, uses[name])
		if err != nil {
			return nil, err
		}
		groups = append(groups, g)
	}
	return groups, checkListed(groups, cfg)
}

// usesOf lists the shadows that go with every active rule set.
func usesOf(cfg Config) map[string][]string {
	uses := map[string][]string{}
	add := func(active string, shadows []string) {
		for _, s := range shadows {
			if !slices.Contains(uses[active], s) {
				uses[active] = append(uses[active], s)
			}
		}
		if uses[active] == nil {
			uses[active] = []string{}
		}
	}
	if cfg.Discover {
		add(cfg.DefaultRuleSet, cfg.DefaultShadows)
	}
	for _, s := range cfg.Scopes {
		add(ruleSetOf(cfg, &s), s.Shadows)
	}
	return uses
}

func ruleSetOf(cfg Config, s *ScopeConfig) string {
	if s.RuleSet != "" {
		return s.RuleSet
	}
	return cfg.DefaultRuleSet
}

func buildGroup(byName map[string]*rules.RuleSet, name string, shadows []string) (*group, error) {
	active := byName[name]
	if active == nil {
		return nil, fmt.Errorf("rule set %q is not loaded", name)
	}
	var sets []*rules.RuleSet
	for _, s := range shadows {
		if byName[s] == nil {
			return nil, fmt.Errorf("shadow rule set %q is not loaded", s)
		}
		sets = append(sets, byName[s])
	}
	return newGroup(active, sets, active.Interval)
}

// checkListed checks listed scopes against their rule sets, and keeps what one group
// lists out of another group's discovery.
func checkListed(groups []*group, cfg Config) error {
	listed := map[string]bool{}
	for i := range cfg.Scopes {
		sc := &cfg.Scopes[i]
		for _, g := range groups {
			if g.name != ruleSetOf(cfg, sc) {
				continue
			}
			ls, err := labelsFor(g.scopes.by, sc.Match)
			if err != nil {
				return fmt.Errorf("rule set %s: %w", g.name, err)
			}
			key := scaling.NewScope(ls).Key
			if listed[key] {
				return fmt.Errorf("scope %s is listed twice", key)
			}
			listed[key] = true
		}
		for _, g := range groups {
			if ls, err := labelsFor(g.scopes.by, sc.Match); err == nil {
				g.configured[joinValues(ls)] = true
			}
		}
	}
	return nil
}

// assemble builds the groups with the scopes that configuration and store
// know, and cleans what neither knows any more.
func (l *Loop) assemble(ctx context.Context, cfg Config) ([]*runner, error) {
	groups, err := groupsOf(cfg)
	if err != nil {
		return nil, err
	}
	var runners []*runner
	for _, g := range groups {
		g.discover = cfg.Discover && g.name == cfg.DefaultRuleSet
		g.shadows = g.memberIndexes(cfg.DefaultShadows)
		r := &runner{Loop: l, group: g, forgetAfter: cfg.ForgetAfter, troubles: newTroubles(l.Logger, g)}
		g.limitsOf = func(s *scopeState, at time.Time) scaling.Limits {
			return r.overlay.limits(s, g.active().RuleSet.Bounds, at)
		}
		g.generationOf = l.dropped.take
		runners = append(runners, r)
	}
	o, err := l.loadOverlay(ctx)
	if err != nil {
		return nil, fmt.Errorf("reading limits: %w", err)
	}
	for _, r := range runners {
		r.overlay = o
		if err := r.list(cfg); err != nil {
			return nil, err
		}
		r.know(cfg.Clusters)
	}
	return runners, l.recall(ctx, runners, &o)
}

// memberIndexes finds rule sets among the group's shadows.
func (g *group) memberIndexes(names []string) []int {
	var out []int
	for i, m := range g.members[1:] {
		if slices.Contains(names, m.RuleSet.Name) {
			out = append(out, i+1)
		}
	}
	return out
}

package evaluator

import (
	"context"
	"fmt"
	"slices"
	"sync"

	"github.com/zeta-scaler/zeta-scaler/scaling"
	"github.com/zeta-scaler/zeta-scaler/state"
)

// unborn is the first tick of a scope that has not been judged yet; the loop
// replaces it by the tick at which its fold begins.
const unborn = 0

// list adds the scopes that the configuration names. They exist from the first
// tick on, with or without a sample.
func (r *runner) list(cfg Config) error {
	g := r.group
	for i := range cfg.Scopes {
		sc := &cfg.Scopes[i]
		if ruleSetOf(cfg, sc) != g.name {
			continue
		}
		ls, err := labelsFor(g.scopes.by, sc.Match)
		if err != nil {
			return err
		}
		g.newScope(ls, sc, g.memberIndexes(sc.Shadows), unborn)
	}
	return nil
}

// recall gives the scopes back what the store knows about them, makes
// discovered ones known again, and cleans what belongs to nobody any more.
func (l *Loop) recall(ctx context.Context, runners []*runner) error {
	records, err := l.Store.List(ctx, state.Decision)
	if err != nil {
		return fmt.Errorf("reading decisions: %w", err)
	}
	var orphans []scaling.Scope
	for _, rec := range records {
		d, err := state.Decode[state.DecisionRecord](rec)
		if err != nil {
			return err
		}
		if !recallOne(runners, rec, &d) {
			orphans = append(orphans, scaling.Scope{Key: rec.Key, Labels: d.Scope.Labels})
			l.retired.put(rec.Key, d.Generation)
		}
	}
	for _, r := range runners {
		t, version, err := state.Load[state.TickRecord](ctx, l.Store, state.Tick, r.group.name)
		if err != nil {
			return err
		}
		r.tickVersion = version
		if version > 0 {
			r.last, r.hasLast = t.Last.UnixMilli(), true
			r.storedKept = t.Kept.UnixMilli()
		}
	}
	return l.clean(ctx, orphans)
}

// recallOne hands a stored decision to the scope that it is about.
func recallOne(runners []*runner, rec state.Record, d *state.DecisionRecord) bool {
	for _, r := range runners {
		s := r.scopeFor(rec.Key, d)
		if s == nil {
			continue
		}
		blockers, signals := r.group.active().blockersOf(d.Recommendation.BlockingConditions)
		s.published = published{
			generation: d.Generation, intent: d.Intent, since: d.Since, row: d.Row,
			blockers: blockers, signals: signals,
			unknownTicks: d.UnknownTicks, master: d.Master, ramp: loadedRamp(d.Ramp), version: rec.Version,
		}
		if s.listed == nil {
			s.first, s.lastSeen = d.FirstTick.UnixMilli(), d.LastSeen.UnixMilli()
		}
		return true
	}
	return false
}

// scopeFor finds or makes the scope of a stored decision in this group, nil if
// it is not this group's.
func (r *runner) scopeFor(key string, d *state.DecisionRecord) *scopeState {
	g := r.group
	for _, s := range g.scopes.sorted {
		if s.Key == key {
			return s
		}
	}
	names := make([]string, len(d.Scope.Labels))
	for i, l := range d.Scope.Labels {
		names[i] = l.Name
	}
	if !g.discover || !slices.Equal(names, g.scopes.by) || g.claimed[joinValues(d.Scope.Labels)] {
		return nil
	}
	return g.newScope(d.Scope.Labels, nil, g.shadows, d.FirstTick.UnixMilli())
}

// clean removes all trace of scopes that left the configuration (spec 1.3).
func (l *Loop) clean(ctx context.Context, scopes []scaling.Scope) error {
	if len(scopes) == 0 {
		return nil
	}
	var b state.Batch
	for _, s := range scopes {
		for _, kind := range []state.Kind{state.Decision, state.Execution, state.Control} {
			b.Removes = append(b.Removes, state.Remove{Kind: kind, Key: s.Key})
		}
	}
	if _, err := l.Store.Apply(ctx, b); err != nil {
		return fmt.Errorf("removing %d scopes that are gone: %w", len(scopes), err)
	}
	for _, p := range l.Publishers {
		p.Publish(ctx, nil, scopes)
	}
	return nil
}

// maxRetired bounds how many dropped scopes are remembered.
const maxRetired = 10000

// retirees remember the last generation of scopes that were dropped, so that
// one that comes back under the same epoch does not reuse a recommendation id.
type retirees struct {
	mu   sync.Mutex
	last map[string]uint64
}

func (r *retirees) put(key string, generation uint64) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(r.last) >= maxRetired {
		clear(r.last)
	}
	r.last[key] = generation
}

func (r *retirees) take(key string) uint64 {
	r.mu.Lock()
	defer r.mu.Unlock()
	g := r.last[key]
	delete(r.last, key)
	return g
}

package evaluator

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/zeta-scaler/zeta-scaler/scaling"
	"github.com/zeta-scaler/zeta-scaler/state"
)

// notBegun is the first tick of a scope that has not been evaluated yet; the loop
// replaces it by the tick at which its fold begins.
const notBegun = 0

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
		g.newScope(ls, sc, g.memberIndexes(sc.Shadows), notBegun)
	}
	return nil
}

// recall gives the scopes back what the store knows about them, makes
// discovered ones known again, and cleans what belongs to nobody any more.
func (l *Loop) recall(ctx context.Context, runners []*runner, o *overlay) error {
	rows, bad, err := l.decisions.ListReadable(ctx)
	if err != nil {
		return fmt.Errorf("reading decisions: %w", err)
	}
	l.decideAnew(runners, bad)
	var orphans []scaling.Scope
	now := l.Clock.Now()
	for i := range rows {
		key, d := rows[i].Key, &rows[i].Value
		if !recallOne(runners, key, d, now) {
			orphans = append(orphans, scaling.Scope{Key: key, Labels: d.Scope.Labels})
			l.dropped.put(key, d.Generation)
		}
	}
	if err := l.recallTicks(ctx, runners); err != nil {
		return err
	}
	return l.clean(ctx, orphans, o)
}

// decideAnew has scopes begin like new ones whose decisions cannot be read: the next
// tick writes them anew. Under the epoch of a reload no generation comes again.
func (l *Loop) decideAnew(runners []*runner, bad []state.Unreadable) {
	for _, b := range bad {
		l.Instruments.Failed("store")
		l.Logger.Error("the decision of a scope cannot be read: it is decided anew, as that of a new scope", "scope", b.Key, "err", b.Err)
		last, found := l.generations[b.Key], false
		for _, r := range runners {
			for _, s := range r.group.scopes.sorted {
				if s.Key == b.Key {
					s.published.generation, found = last, true
				}
			}
		}
		if !found && last > 0 {
			l.dropped.put(b.Key, last)
		}
	}
}

// generationsOf are the newest generations that runners have published.
func generationsOf(runners []*runner) map[string]uint64 {
	out := map[string]uint64{}
	for _, r := range runners {
		for _, s := range r.group.scopes.sorted {
			out[s.Key] = s.published.generation
		}
	}
	return out
}

// recallTicks tells each rule set where it was. One that is new lets the history
// age as the others do.
func (l *Loop) recallTicks(ctx context.Context, runners []*runner) error {
	rows, bad, err := l.ticks.ListReadable(ctx)
	if err != nil {
		return fmt.Errorf("reading ticks: %w", err)
	}
	for _, b := range bad {
		l.Instruments.Failed("store")
		l.Logger.Error("the last tick of a rule set cannot be read: it begins like a new one", "rule_set", b.Key, "err", b.Err)
	}
	var aging time.Time
	for _, row := range rows {
		t := &row.Value
		if t.Aging.IsZero() {
			t.Aging = t.Last
		}
		if t.Aging.After(aging) {
			aging = t.Aging
		}
	}
	for _, r := range runners {
		r.aging = aging
		for _, row := range rows {
			if row.Key == r.group.name {
				r.last, r.hasLast = row.Value.Last.UnixMilli(), true
				r.storedKept = row.Value.Kept.UnixMilli()
			}
		}
	}
	return nil
}

// recallOne hands a stored decision to the scope that it is about.
func recallOne(runners []*runner, key string, d *state.DecisionRecord, now time.Time) bool {
	for _, r := range runners {
		s := r.scopeFor(key, d)
		if s == nil {
			continue
		}
		corrected := d.Correct(TickAtOrBefore(now, r.group.interval, r.group.phase))
		blockers, signals := r.group.active().blockersOf(d.Recommendation.BlockingConditions)
		s.published = published{
			generation: d.Generation, intent: d.Intent, since: d.Since, row: d.Row,
			blockers: blockers, signals: signals,
			unknownTicks: d.UnknownTicks, master: d.Master, ramp: loadedRamp(d.Ramp), stored: !corrected,
		}
		s.told = d.Told
		if !s.stays() {
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
	if !g.discover || !slices.Equal(names, g.scopes.by) || g.configured[joinValues(d.Scope.Labels)] {
		return nil
	}
	return g.newScope(d.Scope.Labels, nil, g.shadows, d.FirstTick.UnixMilli())
}

// clean removes the scopes that left the configuration (spec 1.3).
func (l *Loop) clean(ctx context.Context, scopes []scaling.Scope, o *overlay) error {
	if len(scopes) == 0 {
		return nil
	}
	w := state.NewWrite(l.Store, state.Fence(l.Epoch))
	for _, s := range scopes {
		l.remove(w, s.Key, o)
	}
	if err := w.Commit(ctx); err != nil {
		return fmt.Errorf("removing %s that are gone: %w", scaling.Counted(len(scopes), "scope"), err)
	}
	for _, s := range scopes {
		l.Logger.Warn("a scope is forgotten: the configuration neither lists it nor lets it be discovered", "scope", s.Key)
	}
	for _, p := range l.Publishers {
		p.Publish(ctx, nil, scopes)
	}
	return nil
}

// remove takes a scope out of the store, but for what somebody has set for it at
// run time: that holds if the scope comes back, be it with the next reload. A
// control record that says nothing any more is swept later.
func (l *Loop) remove(w *state.Write, key string, o *overlay) {
	l.decisions.Remove(w, key)
	l.executions.Remove(w, key)
	control := o.control[key]
	if !control.InForce(l.Clock.Now()) {
		return
	}
	attrs := []any{"scope", key, "paused", control.Paused}
	if n := control.MinWorkers; n != nil {
		attrs = append(attrs, "min_workers", *n)
	}
	if n := control.MaxWorkers; n != nil {
		attrs = append(attrs, "max_workers", *n)
	}
	if m := control.Mode; m != nil {
		attrs = append(attrs, "mode", *m)
	}
	l.Logger.Warn("a scope is gone; what was set for it at run time stays, and holds if it comes back", append(attrs, "by", control.By)...)
}

// maxDropped bounds how many dropped scopes are remembered.
const maxDropped = 10000

// droppedScopes remember the last generation of scopes that were dropped, so that
// one that comes back under the same epoch does not reuse a recommendation id.
type droppedScopes struct {
	mu   sync.Mutex
	last map[string]uint64
}

func (r *droppedScopes) put(key string, generation uint64) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(r.last) >= maxDropped {
		clear(r.last)
	}
	r.last[key] = generation
}

func (r *droppedScopes) take(key string) uint64 {
	r.mu.Lock()
	defer r.mu.Unlock()
	g := r.last[key]
	delete(r.last, key)
	return g
}

package evaluator

import (
	"context"
	"fmt"
	"time"

	"github.com/zeta-scaler/zeta-scaler/rules"
	"github.com/zeta-scaler/zeta-scaler/scaling"
)

// replayChunk is how many ticks one range query of a replay covers.
const replayChunk = 500

// ReplayOptions describe a replay of a rule set over a past period.
type ReplayOptions struct {
	RuleSet *rules.RuleSet
	Shadows []*rules.RuleSet
	// Ticks are Start, Start + Interval, … up to and including End; windows are
	// empty at Start. Interval 0 means the rule set's own.
	Start, End time.Time
	Interval   time.Duration
	// DiscoverAny lets a scope exist from its first sample in any query on, as
	// rule tests want it; otherwise workers.current alone introduces scopes.
	DiscoverAny bool
	// Limits are a scope's limits at a tick; nil means the rule set's bounds.
	Limits func(scope scaling.Scope, at time.Time) scaling.Limits
}

// Replay folds a period through a rule set, exactly as the live service does
// when it restores, and hands every tick's evaluations to yield. It ends early with the
// first error of a query or of yield.
func Replay(ctx context.Context, src Source, o ReplayOptions, yield func(at time.Time, evaluations []scaling.Evaluation) error) error {
	if o.Interval <= 0 {
		o.Interval = o.RuleSet.Interval
	}
	g, err := newGroup(o.RuleSet, o.Shadows, o.Interval)
	if err != nil {
		return err
	}
	g.discover, g.discoverAny = true, o.DiscoverAny
	for i := range o.Shadows {
		g.shadows = append(g.shadows, i+1)
	}
	g.generationOf = func(string) uint64 { return 0 }
	none := overlay{}
	g.limitsOf = func(s *scopeState, at time.Time) scaling.Limits {
		if o.Limits != nil {
			return o.Limits(s.Scope, at)
		}
		return none.limits(s, o.RuleSet.Bounds, at)
	}
	for from := o.Start; !from.After(o.End); from = from.Add(replayChunk * o.Interval) {
		to := from.Add((replayChunk - 1) * o.Interval)
		if to.After(o.End) {
			to = TickAtOrBefore(o.End, o.Interval, phaseOf(o.Start, o.Interval))
		}
		if err := g.replayChunk(ctx, src, from, to, yield); err != nil {
			return err
		}
	}
	return nil
}

// phaseOf is where an instant lies within its interval.
func phaseOf(t time.Time, interval time.Duration) time.Duration {
	step := interval.Milliseconds()
	return time.Duration(((t.UnixMilli()%step)+step)%step) * time.Millisecond
}

func (g *group) replayChunk(ctx context.Context, src Source, from, to time.Time, yield func(time.Time, []scaling.Evaluation) error) error {
	cols := askRange(ctx, src, g.queries, from, to, g.interval)
	for i := range cols {
		if cols[i].failed && cols[i].failure == NoAnswer {
			return fmt.Errorf("replaying %s from %s: %w", g.queries[i].Expr, from.UTC().Format(time.RFC3339), cols[i].err)
		}
	}
	for t := from; !t.After(to); t = t.Add(g.interval) {
		g.foldFinal(cols, t.UnixMilli())
		evaluations := make([]scaling.Evaluation, 0, len(g.scopes.sorted))
		for _, s := range g.scopes.sorted {
			d := &s.tracks[0].decision
			st := stamp{tick: t.UTC(), written: t.UTC(), interval: g.interval}
			st.next = s.published.next(d, s.tracks[0].samples.Master, st.tick, g.active().RuleSet.GapTolerance)
			ev := s.evaluation(&st)
			ev.NewGeneration = st.next.generation != s.published.generation
			ev.Changed = s.published.changed(st.next)
			s.published = st.next
			evaluations = append(evaluations, ev)
		}
		if err := yield(t, evaluations); err != nil {
			return err
		}
	}
	return nil
}

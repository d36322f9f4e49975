package evaluator

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/zeta-scaler/zeta-scaler/scaling"
	"github.com/zeta-scaler/zeta-scaler/state"
)

// published is what was last said about a scope: the part of a recommendation
// that is assigned over published decisions and not by Step.
type published struct {
	generation uint64
	intent     scaling.Intent
	since      time.Time
	row        scaling.RowID
	blockers   Blocker
	signals    uint64
	// unknownTicks counts consecutive published ticks without a worker count.
	unknownTicks int
	master       string
	ramp         Ramp
	limits       limitsKey
	// version is that of the stored record, 0 before the first one.
	version uint64
}

// limitsKey is the part of a scope's limits whose changes belong in the
// history.
type limitsKey struct {
	bounds     scaling.Bounds
	mode       scaling.Mode
	deployment scaling.Deployment
	paused     bool
}

func limitsKeyOf(l *scaling.Limits) limitsKey {
	return limitsKey{bounds: l.Bounds, mode: l.Mode, deployment: l.Deployment, paused: l.Paused}
}

// next assigns generation and since (spec 1.9). A generation stands for an
// intent; a short loss of the worker count keeps it, and a change of the Zeta
// master supersedes whatever was asked for before (spec 1.5).
func (p published) next(d *Decision, master string, tick time.Time, gapTolerance int) published {
	n := p
	n.row, n.blockers, n.signals = d.RowID(), d.Blockers, d.BlockingSignals
	intent := scaling.IntentOf(d.Action, d.Target)
	failover := master != "" && p.master != "" && master != p.master
	if n.row == scaling.RowWorkersUnknown {
		// Counted no further than it matters, as every change is stored.
		n.unknownTicks = min(p.unknownTicks, gapTolerance) + 1
		// What another master was asked for is not carried over a gap.
		if n.unknownTicks <= gapTolerance && p.generation > 0 && !failover {
			intent = p.intent
		}
	} else {
		n.unknownTicks = 0
	}
	if master != "" {
		n.master = master
	}
	if p.generation == 0 || intent != p.intent || failover && intent.Action != scaling.NoAction {
		n.generation, n.intent, n.since = p.generation+1, intent, tick
	}
	return n
}

// changed reports whether a history record is due: generation, row or blockers
// differ.
func (p published) changed(n published) bool {
	return p.generation != n.generation || p.row != n.row || p.blockers != n.blockers || p.signals != n.signals
}

// carried is what the next tick needs to know beyond the generation, and what a
// restart cannot find in Prometheus.
type carried struct {
	ramp         Ramp
	master       string
	unknownTicks int
}

func (p *published) carried() carried { return carried{p.ramp, p.master, p.unknownTicks} }

// announceAtOnce is how many evaluations are rendered before the publishers
// get them: a scope's old and new evaluation are in memory together only for
// that many scopes.
const announceAtOnce = 512

// ruling is what a tick says about a scope, before it is published.
type ruling struct {
	*scopeState
	next                   published
	newGeneration, changed bool
}

// publish stores what the newest tick decided and tells everybody. When it
// fails nothing was published, and the tick's windows are kept.
func (r *runner) publish(ctx context.Context, at int64, provisional bool) error {
	st := stamp{
		epoch: r.Epoch, tick: time.UnixMilli(at).UTC(), written: r.Clock.Now().UTC(),
		interval: r.group.interval, provisional: provisional, overlay: &r.overlay,
	}
	var batch state.Batch
	rulings := make([]ruling, 0, len(r.group.scopes.sorted))
	puts := []*scopeState{}
	for _, s := range r.group.scopes.sorted {
		if s.first > at {
			continue
		}
		v := r.ruling(s, &st)
		if v.due() {
			ev := v.render(&st)
			if err := r.record(&batch, s, &ev, v.next); err != nil {
				return err
			}
		}
		if len(batch.Puts) > len(puts) {
			puts = append(puts, s)
		}
		rulings = append(rulings, v)
	}
	for _, s := range r.gone {
		for _, kind := range []state.Kind{state.Decision, state.Execution, state.Control} {
			batch.Removes = append(batch.Removes, state.Remove{Kind: kind, Key: s.Key})
		}
	}
	if err := r.store(ctx, &batch, puts, rulings, at); err != nil {
		return err
	}
	r.announce(ctx, &st, rulings)
	return nil
}

func (r *runner) ruling(s *scopeState, st *stamp) ruling {
	t := &s.tracks[0]
	next := s.published.next(&t.decision, t.samples.Master, st.tick, t.member.RuleSet.GapTolerance)
	if next.generation == s.published.generation && t.decision.Action == scaling.ScaleOut {
		id := scaling.RecommendationID(st.epoch, next.generation, s.Key)
		if r.overlay.standsAgain(s.Key, id, &t.decision, st.tick) {
			next.generation, next.since = next.generation+1, st.tick
		}
	}
	next.limits = limitsKeyOf(&s.limits)
	if !st.provisional {
		next.ramp = t.kept.Ramp
	}
	return ruling{
		scopeState: s, next: next,
		newGeneration: next.generation != s.published.generation, changed: s.published.changed(next),
	}
}

// due reports whether anything has to be stored about the scope.
func (v *ruling) due() bool {
	p := &v.published
	return v.changed || p.version == 0 || p.limits != v.next.limits || p.carried() != v.next.carried()
}

func (v *ruling) render(st *stamp) scaling.Evaluation {
	st.next = v.next
	ev := v.evaluation(st)
	ev.NewGeneration, ev.Changed = v.newGeneration, v.changed
	return ev
}

// announce hands the stored rulings to the publishers.
func (r *runner) announce(ctx context.Context, st *stamp, rulings []ruling) {
	var lost []scaling.Scope
	for _, s := range r.gone {
		lost = append(lost, s.Scope)
	}
	r.gone = nil
	for {
		n := min(len(rulings), announceAtOnce)
		evaluations := make([]scaling.Evaluation, n)
		for i := range evaluations {
			evaluations[i] = rulings[i].render(st)
		}
		for _, p := range r.Publishers {
			p.Publish(ctx, evaluations, lost)
		}
		if rulings, lost = rulings[n:], nil; len(rulings) == 0 {
			return
		}
	}
}

// record adds what has to be stored about one scope to the batch.
func (r *runner) record(b *state.Batch, s *scopeState, ev *scaling.Evaluation, next published) error {
	if s.published.limits != next.limits {
		v, err := json.Marshal(scaling.LimitsRecord{
			Mode: ev.Mode, Deployment: ev.Deployment, Paused: ev.Paused,
			MinWorkers: ev.MinWorkers, MaxWorkers: ev.MaxWorkers, At: ev.Tick,
		})
		if err != nil {
			return fmt.Errorf("encoding limits of scope %s: %w", s.Key, err)
		}
		b.History = append(b.History, state.Entry{Scope: s.Key, At: ev.Tick, Kind: state.LimitsEntry, Value: v})
	}
	if !ev.Changed && s.published.carried() == next.carried() && s.published.version != 0 {
		return nil
	}
	if ev.Changed {
		v, err := json.Marshal(scaling.HistoryRecord{
			Recommendation: ev.Recommendation, Inputs: ev.Inputs, SlotMode: ev.SlotMode, Mode: ev.Mode,
			Paused: ev.Paused, MinWorkers: ev.MinWorkers, MaxWorkers: ev.MaxWorkers, Booting: ev.Booting,
			Provisional: ev.Provisional, Facts: &ev.Facts,
		})
		if err != nil {
			return fmt.Errorf("encoding history of scope %s: %w", s.Key, err)
		}
		b.History = append(b.History, state.Entry{
			Scope: s.Key, At: ev.Tick, Action: string(ev.Recommendation.Action), Kind: state.DecisionEntry, Value: v,
		})
	}
	put, err := state.NewPut(state.Decision, s.Key, s.published.version, state.DecisionRecord{
		Scope: s.Scope, Epoch: r.Epoch, Generation: next.generation, Intent: next.intent, Row: next.row,
		Since: next.since, LastTick: ev.Tick, Ramp: storedRamp(next.ramp), Master: next.master,
		RecommendationID: ev.Recommendation.RecommendationID, Recommendation: ev.Recommendation,
		UnknownTicks: next.unknownTicks, LastSeen: time.UnixMilli(s.lastSeen).UTC(), FirstTick: time.UnixMilli(s.first).UTC(),
	})
	if err != nil {
		return err
	}
	b.Puts = append(b.Puts, put)
	return nil
}

// store writes the batch with the group's tick, in one transaction, and only
// then takes over what was assigned.
func (r *runner) store(ctx context.Context, b *state.Batch, puts []*scopeState, rulings []ruling, at int64) error {
	tick := state.TickRecord{RuleSet: r.group.name, Last: time.UnixMilli(at).UTC()}
	if r.group.hasKept {
		tick.Kept = time.UnixMilli(r.group.keptAt).UTC()
	}
	put, err := state.NewPut(state.Tick, r.group.name, r.tickVersion, tick)
	if err != nil {
		return err
	}
	b.Puts = append(b.Puts, put)
	versions, err := r.Store.Apply(ctx, *b)
	if err != nil {
		// The cached versions may be wrong now; they are read again.
		r.stale = true
		return fmt.Errorf("storing the decisions of tick %s: %w", tick.Last.Format(time.RFC3339), err)
	}
	for i := range rulings {
		s := rulings[i].scopeState
		version := s.published.version
		s.published = rulings[i].next
		s.published.version = version
	}
	for i, s := range puts {
		s.published.version = versions[i]
	}
	r.tickVersion = versions[len(versions)-1]
	return nil
}

// refresh reads versions again after a failed write. A record that another
// epoch wrote means that this process leads no longer.
func (r *runner) refresh(ctx context.Context) error {
	if !r.stale {
		return nil
	}
	records, err := r.Store.List(ctx, state.Decision)
	if err != nil {
		return fmt.Errorf("reading decisions: %w", err)
	}
	byKey := make(map[string]state.Record, len(records))
	for _, rec := range records {
		byKey[rec.Key] = rec
	}
	for _, s := range r.group.scopes.sorted {
		rec, ok := byKey[s.Key]
		s.published.version = rec.Version
		if !ok {
			continue
		}
		d, err := state.Decode[state.DecisionRecord](rec)
		if err != nil {
			return err
		}
		if d.Epoch > r.Epoch {
			return fmt.Errorf("%w: scope %s was decided by epoch %d, this is epoch %d", ErrNotLeader, s.Key, d.Epoch, r.Epoch)
		}
	}
	_, version, err := state.Load[state.TickRecord](ctx, r.Store, state.Tick, r.group.name)
	if err != nil {
		return err
	}
	r.tickVersion, r.stale = version, false
	return nil
}

// ErrNotLeader says that another process decides now; this one must stop.
var ErrNotLeader = errors.New("another process has taken over")

func storedRamp(r Ramp) *state.Ramp {
	if !r.Active {
		return nil
	}
	return &state.Ramp{Size: r.Size, Base: r.Base, Tick: time.UnixMilli(r.At).UTC(), Bound: r.Bound}
}

func loadedRamp(r *state.Ramp) Ramp {
	if r == nil {
		return Ramp{}
	}
	return Ramp{Active: true, Size: r.Size, Base: r.Base, At: r.Tick.UnixMilli(), Bound: r.Bound}
}

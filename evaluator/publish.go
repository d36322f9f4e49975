package evaluator

import (
	"context"
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
	// stored is false before the first record.
	stored bool
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

// remembered is what the next tick needs to know beyond the generation, and what a
// restart cannot find in Prometheus.
type remembered struct {
	ramp         Ramp
	master       string
	unknownTicks int
}

func (p *published) remembered() remembered { return remembered{p.ramp, p.master, p.unknownTicks} }

// announceAtOnce is how many evaluations are rendered before the publishers
// get them: a scope's old and new evaluation are in memory together only for
// that many scopes.
const announceAtOnce = 512

// announcement is what a tick says about a scope, before it is published.
type announcement struct {
	*scopeState
	next                   published
	newGeneration, changed bool
	limitsChange           *scaling.LimitsChange
	// told replaces what everybody was told of the limits, nil if that is the same.
	told *state.ToldLimits
}

// publish stores what the newest tick decided and tells everybody. When it
// fails nothing was published, and the tick's windows are kept.
func (r *runner) publish(ctx context.Context, at int64, provisional bool) error {
	st := stamp{
		epoch: r.Epoch, tick: time.UnixMilli(at).UTC(), written: r.Clock.Now().UTC(),
		interval: r.group.interval, provisional: provisional, overlay: &r.overlay,
	}
	w := state.NewWrite(r.Store, state.Fence(r.Epoch))
	announcements := make([]announcement, 0, len(r.group.scopes.sorted))
	for _, s := range r.group.scopes.sorted {
		if s.first > at {
			continue
		}
		v := r.announcement(s, &st)
		if v.due() {
			ev := v.render(&st)
			if err := r.record(w, &v, &ev); err != nil {
				return err
			}
		}
		announcements = append(announcements, v)
	}
	for _, s := range r.gone {
		r.remove(w, s.Key, &r.overlay)
	}
	if err := r.store(ctx, w, announcements, at); err != nil {
		// It may have been stored all the same, or in part. Then what the store has
		// was never published, and must not stay: the next tick writes again.
		for i := range announcements {
			announcements[i].published.stored = announcements[i].published.stored && !announcements[i].due()
		}
		return err
	}
	r.announce(ctx, &st, announcements)
	return nil
}

func (r *runner) announcement(s *scopeState, st *stamp) announcement {
	t := &s.tracks[0]
	next := s.published.next(&t.decision, t.samples.Master, st.tick, t.member.RuleSet.GapTolerance)
	if next.generation == s.published.generation && r.mustAskAgain(s, st, next.generation) {
		next.generation, next.since = next.generation+1, st.tick
	}
	next.limits, next.stored = limitsKeyOf(&s.limits), true
	if !st.provisional {
		next.ramp = t.kept.Ramp
	}
	out := announcement{
		scopeState: s, next: next,
		newGeneration: next.generation != s.published.generation, changed: s.published.changed(next),
		limitsChange: s.limitsChange(st.written),
	}
	if !sameLimits(s.told, &s.limits) {
		out.told = toldLimits(&s.limits)
	}
	return out
}

// mustAskAgain reports whether what was done about a generation that still stands
// has failed, so that it has to be asked for under a new id.
func (r *runner) mustAskAgain(s *scopeState, st *stamp, generation uint64) bool {
	d := &s.tracks[0].decision
	id := scaling.RecommendationID(st.epoch, generation, s.Key)
	switch d.Action {
	case scaling.ScaleOut:
		return r.overlay.mustAskAgain(s.Key, id, d, st.tick)
	case scaling.ScaleInCandidate:
		return r.overlay.mustDrainAgain(s.Key, id, st.tick)
	default:
		return false
	}
}

// due reports whether anything has to be stored about the scope.
func (v *announcement) due() bool {
	p := &v.published
	return v.changed || !p.stored || p.limits != v.next.limits || p.remembered() != v.next.remembered() || v.told != nil
}

func (v *announcement) render(st *stamp) scaling.Evaluation {
	st.next = v.next
	ev := v.evaluation(st)
	ev.NewGeneration, ev.Changed, ev.LimitsChange = v.newGeneration, v.changed, v.limitsChange
	return ev
}

// announce hands the stored announcements to the publishers.
func (r *runner) announce(ctx context.Context, st *stamp, announcements []announcement) {
	var lost []scaling.Scope
	for _, s := range r.gone {
		lost = append(lost, s.Scope)
	}
	r.gone = nil
	for {
		n := min(len(announcements), announceAtOnce)
		evaluations := make([]scaling.Evaluation, n)
		for i := range evaluations {
			evaluations[i] = announcements[i].render(st)
		}
		for _, p := range r.Publishers {
			p.Publish(ctx, evaluations, lost)
		}
		if announcements, lost = announcements[n:], nil; len(announcements) == 0 {
			return
		}
	}
}

// record adds what has to be stored about one scope to the write.
func (r *runner) record(w *state.Write, v *announcement, ev *scaling.Evaluation) error {
	s, next, told := v.scopeState, &v.next, v.told
	if s.published.limits != next.limits {
		e, err := state.Entry{Scope: s.Key, At: ev.Tick, Kind: state.LimitsEntry}.With(scaling.LimitsRecord{
			Mode: ev.Mode, Deployment: ev.Deployment, Paused: ev.Paused,
			MinWorkers: ev.MinWorkers, MaxWorkers: ev.MaxWorkers, At: ev.Tick,
		})
		if err != nil {
			return err
		}
		w.Append(e)
	}
	if !ev.Changed && s.published.remembered() == next.remembered() && s.published.stored && told == nil {
		return nil
	}
	if told == nil {
		told = s.told
	}
	if ev.Changed {
		e, err := state.Entry{
			Scope: s.Key, At: ev.Tick, Action: string(ev.Recommendation.Action), Kind: state.DecisionEntry,
		}.With(scaling.HistoryRecord{
			Recommendation: ev.Recommendation, Inputs: ev.Inputs, SlotMode: ev.SlotMode, Mode: ev.Mode,
			Paused: ev.Paused, MinWorkers: ev.MinWorkers, MaxWorkers: ev.MaxWorkers, Booting: ev.Booting,
			TimedBounds: ev.TimedBounds, Provisional: ev.Provisional, Facts: &ev.Facts,
		})
		if err != nil {
			return err
		}
		w.Append(e)
	}
	return r.decisions.Put(w, s.Key, state.DecisionRecord{
		Scope: s.Scope, Epoch: r.Epoch, Generation: next.generation, Intent: next.intent, Row: next.row,
		Since: next.since, LastTick: ev.Tick, Ramp: storedRamp(next.ramp), Master: next.master,
		RecommendationID: ev.Recommendation.RecommendationID, Recommendation: ev.Recommendation,
		UnknownTicks: next.unknownTicks, LastSeen: time.UnixMilli(s.lastSeen).UTC(), FirstTick: time.UnixMilli(s.first).UTC(),
		Told: told,
	})
}

// store writes everything with the group's tick, and only then takes over what
// was assigned.
func (r *runner) store(ctx context.Context, w *state.Write, announcements []announcement, at int64) error {
	r.aging = ageBy(r.aging, time.UnixMilli(at).UTC(), r.group.interval)
	tick := state.TickRecord{RuleSet: r.group.name, Last: time.UnixMilli(at).UTC(), Aging: r.aging}
	if r.group.hasKept {
		tick.Kept = time.UnixMilli(r.group.keptAt).UTC()
	}
	if err := r.ticks.Put(w, r.group.name, tick); err != nil {
		return err
	}
	if err := w.Commit(ctx); err != nil {
		return fmt.Errorf("storing the decisions of tick %s: %w", tick.Last.Format(time.RFC3339), err)
	}
	for i := range announcements {
		announcements[i].published = announcements[i].next
		if told := announcements[i].told; told != nil {
			announcements[i].scopeState.told = told
		}
	}
	return nil
}

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

package evaluator

import (
	"context"
	"errors"
	"runtime/debug"
	"time"

	"github.com/zeta-scaler/zeta-scaler/rules"
)

// maxRampGap is the longest gap, in ticks, over which a ramp is followed; a
// longer one begins a new ramp.
const maxRampGap = 1000

// manyScopes is from how many scopes on the memory of a tick is given back to
// the system as soon as the tick is over: nothing of it is needed for an
// interval, and the collector by itself would keep it.
const manyScopes = 1000

// trimEvery is how often the history is trimmed.
const trimEvery = 10 * time.Minute

// runner drives one group through its ticks.
type runner struct {
	*Loop
	group       *group
	overlay     overlay
	forgetAfter time.Duration
	// last is the newest tick that was published, if hasLast; Unix
	// milliseconds.
	last    int64
	hasLast bool
	// storedKept is the final tick up to which stored ramps are true.
	storedKept  int64
	tickVersion uint64
	// stale is true after a failed write.
	stale   bool
	trimmed time.Time
	// failing remembers each query's failure, so that it is logged once per
	// change of state; storeFailing does for the store.
	failing      map[int]string
	storeFailing bool
	// crowded is true while scopes are refused because there are too many.
	crowded bool
	// restoreFailing is true while windows cannot be restored.
	restoreFailing bool
	// unlisted is true while workers.current has failed: what it does not say is
	// no sign that a scope is gone.
	unlisted bool
	// gone are scopes that were dropped and not yet taken out of the store.
	gone []*scopeState
}

// run evaluates tick after tick until ctx ends.
func (r *runner) run(ctx context.Context) error {
	interval := r.group.interval
	for {
		now := r.Clock.Now()
		tick := TickAtOrBefore(now, interval, r.group.phase).UnixMilli()
		switch {
		case r.hasLast && now.UnixMilli() < r.last-interval.Milliseconds():
			r.clockWentBack(now)
			continue
		case r.hasLast && tick <= r.last:
			if err := r.Clock.WaitUntil(ctx, time.UnixMilli(r.last).Add(interval)); err != nil {
				return err
			}
			continue
		}
		if err := r.tick(ctx, tick); err != nil {
			return err
		}
		if err := ctx.Err(); err != nil {
			return err
		}
	}
}

// clockWentBack starts over at the clock's new time: the one case in which the
// last published tick goes back (spec 1.2).
func (r *runner) clockWentBack(now time.Time) {
	r.Logger.Warn("clock went back, windows are restored anew",
		"rule_set", r.group.name, "now", now, "last_tick", time.UnixMilli(r.last).UTC())
	r.Instruments.ClockJumped()
	r.hasLast = false
	r.group.restart()
	for _, s := range r.group.scopes.sorted {
		s.first = min(s.first, now.UnixMilli())
		s.lastSeen = min(s.lastSeen, now.UnixMilli())
	}
}

// tick evaluates one tick and publishes it. Only a lost leadership or the end
// of ctx is an error: everything else is logged, counted and tried again.
func (r *runner) tick(ctx context.Context, at int64) error {
	began := r.Clock.Now()
	step := r.group.interval.Milliseconds()
	if r.hasLast && at > r.last+step && (r.group.hasKept || r.group.hasProv) {
		r.Instruments.TicksMissed(int((at - r.last - step) / step))
	}
	r.loadLimits(ctx)
	provisional := r.evaluate(ctx, at)
	if err := ctx.Err(); err != nil {
		return err
	}
	r.forget(at)
	err := r.refresh(ctx)
	if err == nil {
		err = r.publish(ctx, at, provisional)
	}
	if errors.Is(err, ErrNotLeader) {
		return err
	}
	r.noteStore(err)
	r.last, r.hasLast = at, true
	r.trim(ctx)
	r.Instruments.Evaluated(r.Clock.Now().Sub(began))
	if len(r.group.scopes.sorted) >= manyScopes {
		debug.FreeOSMemory()
	}
	r.noteCrowd()
	if n := r.group.scopes.ignored; n > 0 {
		r.Instruments.IgnoredSamples(n)
		r.group.scopes.ignored = 0
	}
	return ctx.Err()
}

func (r *runner) loadLimits(ctx context.Context) {
	o, err := loadOverlay(ctx, r.Store)
	if err != nil {
		r.noteStore(err)
		return // the limits of the tick before stay
	}
	r.overlay = o
}

func (r *runner) noteStore(err error) {
	switch {
	case err != nil && !errors.Is(err, context.Canceled):
		r.Instruments.Failed("store")
		if !r.storeFailing {
			r.Logger.Error("state store failed, nothing is published until it works again", "rule_set", r.group.name, "err", err)
		}
		r.storeFailing = true
	case err == nil && r.storeFailing:
		r.Logger.Info("state store works again", "rule_set", r.group.name)
		r.storeFailing = false
	}
}

// evaluate brings the group's decisions to the given tick and reports whether
// they are provisional.
func (r *runner) evaluate(ctx context.Context, at int64) (provisional bool) {
	g := r.group
	step := g.interval.Milliseconds()
	// A query must be over before the next tick is due.
	qctx, cancel := context.WithTimeout(ctx, min(r.QueryTimeout, g.interval))
	defer cancel()
	cols := askInstant(qctx, r.Source, g.queries, time.UnixMilli(at))
	if ctx.Err() != nil {
		return true
	}
	r.noteQueries(cols)
	r.unlisted = cols[g.active().queries[g.active().current]].failed
	answered := !noAnswer(cols)
	if answered && g.hasKept && g.keptAt == at-step {
		g.foldFinal(cols, at)
		r.countReasons(cols)
		return false
	}
	if answered && r.catchUp(ctx, at) {
		r.countReasons(cols)
		return false
	}
	lookback := g.lookback(time.UnixMilli(at)).Milliseconds()
	g.foldProvisional(cols, at, lookback+step)
	r.countReasons(cols)
	if g.provWhole > lookback/step+1 {
		g.promote()
		r.noteRestore(at, nil)
		return false
	}
	return true
}

// catchUp folds the ticks since the last kept one from one range query per
// expression, or everything that the windows reach back to.
func (r *runner) catchUp(ctx context.Context, at int64) bool {
	g := r.group
	step := g.interval.Milliseconds()
	lookback := g.lookback(time.UnixMilli(at)).Milliseconds()
	reach := lookback
	if r.ramps() {
		// Only a fold over every tick tells how far a ramp would have got.
		reach = max(reach, maxRampGap*step)
	}
	fresh := !g.hasKept || g.keptAt >= at || at-g.keptAt > reach
	from := g.keptAt + step
	if fresh {
		from = at - lookback
		if kept := r.lastKept(); r.ramps() && kept < at && kept > at-lookback {
			// The stored ramp belongs to the tick that it was kept at, so the
			// windows have to be whole by then.
			from = kept - lookback
		}
	}
	qctx, cancel := context.WithTimeout(ctx, r.restoreTimeout())
	defer cancel()
	cols := askRange(qctx, r.Source, g.queries, time.UnixMilli(from), time.UnixMilli(at), g.interval)
	if err := firstFailure(cols); err != nil {
		if !errors.Is(err, context.Canceled) {
			r.noteRestore(at, err)
		}
		return false
	}
	r.noteRestore(at, nil)
	ramps, kept := r.savedRamps()
	if fresh {
		g.restart()
		r.begin(from)
	}
	for t := from; t <= at; t += step {
		if fresh && t > kept {
			g.setRamps(ramps)
			ramps = nil
		}
		g.foldFinal(cols, t)
	}
	return true
}

// restoreTimeout is how long the tick may wait for its windows. A start has all
// the time that a query may take, as nothing is known before. Later the tick is
// published without them when the next one is due; and well before, once that
// has happened, because a server that hangs will do so again.
func (r *runner) restoreTimeout() time.Duration {
	switch g := r.group; {
	case r.restoreFailing:
		return g.interval / 2
	case g.hasKept || g.hasProv:
		return g.interval
	default:
		return max(r.QueryTimeout, g.interval)
	}
}

// begin marks where a restore starts to read.
func (r *runner) begin(from int64) {
	r.group.restoredFrom = from
	for _, s := range r.group.scopes.sorted {
		if s.first == unborn {
			s.first, s.lastSeen = from, max(s.lastSeen, from)
		}
		for i := range s.tracks {
			s.tracks[i].kept.Restored = true
		}
	}
}

// ramps reports whether any rule set keeps a ramp over ticks.
func (r *runner) ramps() bool {
	for _, m := range r.group.members {
		if m.RuleSet.Step.Policy == rules.StepExponential {
			return true
		}
	}
	return false
}

// lastKept is the newest tick at which the ramps are known.
func (r *runner) lastKept() int64 {
	if r.group.hasKept {
		return r.group.keptAt
	}
	return r.storedKept
}

// savedRamps are the active tracks' ramps, which Prometheus cannot give back.
func (r *runner) savedRamps() (map[*scopeState]Ramp, int64) {
	out := map[*scopeState]Ramp{}
	for _, s := range r.group.scopes.sorted {
		ramp := s.published.ramp
		if r.group.hasKept {
			ramp = s.tracks[0].kept.Ramp
		}
		if ramp.Active {
			out[s] = ramp
		}
	}
	return out, r.lastKept()
}

func (g *group) setRamps(ramps map[*scopeState]Ramp) {
	for s, ramp := range ramps {
		s.tracks[0].kept.Ramp = ramp
	}
}

// noteRestore counts every failed restore and logs once per change of state.
func (r *runner) noteRestore(at int64, err error) {
	if err == nil {
		if r.restoreFailing {
			r.Logger.Info("windows are restored", "rule_set", r.group.name, "tick", time.UnixMilli(at).UTC())
		}
		r.restoreFailing = false
		return
	}
	r.Instruments.Failed("restore")
	if !r.restoreFailing {
		r.Logger.Warn("windows could not be restored, decisions are provisional until they can",
			"rule_set", r.group.name, "tick", time.UnixMilli(at).UTC(), "err", err)
	}
	r.restoreFailing = true
}

// noteQueries logs a query's failure once per change of state. A source that
// gives no answer fails every query: that is one line for all of them.
func (r *runner) noteQueries(cols []column) {
	silent, back := 0, 0
	var err error
	for i := range cols {
		was, now := r.failing[i], ""
		if cols[i].failed {
			now = cols[i].failure.String()
		}
		if now == was {
			continue
		}
		r.failing[i] = now
		switch {
		case now == NoAnswer.String():
			silent++
			err = cols[i].err
		case now == "" && was == NoAnswer.String():
			back++
		case now == "":
			r.Logger.Info("query works again", "rule_set", r.group.name, "expr", r.group.queries[i].Expr)
		default:
			r.Logger.Warn("query failed, its signals are unknown",
				"rule_set", r.group.name, "reason", now, "expr", r.group.queries[i].Expr, "err", cols[i].err)
		}
	}
	if silent > 0 {
		r.Logger.Warn("the source gives no answer, signals are unknown",
			"rule_set", r.group.name, "expressions", silent, "err", err)
	}
	if back > 0 {
		r.Logger.Info("the source answers again", "rule_set", r.group.name, "expressions", back)
	}
}

// countReasons counts one failure per reason and tick, so that a broken signal
// shows whatever the number of scopes is, and a failed query even while there is
// none: without workers.current none is ever found. A missing sample alone is no
// failure, nor is a value that means nothing while its signal does not apply:
// without workers, no slots of no slots are taken.
func (r *runner) countReasons(cols []column) {
	var seen [NotApplicable + 1]bool
	for i := range cols {
		if cols[i].failed {
			seen[cols[i].failure] = true
		}
	}
	for _, s := range r.group.scopes.sorted {
		t := &s.tracks[0]
		for i := range t.samples.Signals {
			applies := t.decision.Applies&t.member.signals[i].bit != 0
			if v := &t.samples.Signals[i]; !v.Known && (applies || v.Why != InvalidValue) {
				seen[v.Why] = true
			}
		}
		for _, v := range []*Reading{&t.samples.Current, &t.samples.Reporting} {
			if !v.Known {
				seen[v.Why] = true
			}
		}
	}
	for reason := InvalidValue; reason < NotApplicable; reason++ {
		if seen[reason] {
			r.Instruments.Failed(reason.String())
		}
	}
}

// forget drops discovered scopes that no query has named for too long. An
// outage of the source drops nobody: its ticks are provisional.
func (r *runner) forget(at int64) {
	if r.forgetAfter <= 0 || r.unlisted {
		return
	}
	gone := r.group.scopes.remove(func(s *scopeState) bool {
		return s.listed == nil && at-s.lastSeen >= r.forgetAfter.Milliseconds()
	})
	for _, s := range gone {
		r.retired.put(s.Key, s.published.generation)
	}
	r.gone = append(r.gone, gone...)
}

func (r *runner) trim(ctx context.Context) {
	now := r.Clock.Now()
	if now.Sub(r.trimmed) < trimEvery {
		return
	}
	r.trimmed = now
	if err := r.Store.Trim(ctx, r.MaxRecords, now.Add(-r.MaxAge)); err != nil {
		r.noteStore(err)
	}
}

// noteCrowd says once that scopes are left out.
func (r *runner) noteCrowd() {
	if crowded := r.group.refused > 0; crowded != r.crowded {
		r.crowded = crowded
		if crowded {
			r.Logger.Error("too many scopes: those beyond the limit are left out; does workers.current leak a label?",
				"rule_set", r.group.name, "limit", maxScopes, "left_out", r.group.refused)
		}
	}
}

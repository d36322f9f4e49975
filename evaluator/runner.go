package evaluator

import (
	"context"
	"errors"
	"maps"
	"runtime/debug"
	"slices"
	"time"

	"github.com/zeta-scaler/zeta-scaler/state"
)

// manyScopes is from how many scopes on the memory of a tick is given back to
// the system as soon as the tick is over: nothing of it is needed for an
// interval, and the collector by itself would keep it.
const manyScopes = 1000

// trimEvery is how often the history is trimmed.
const trimEvery = 10 * time.Minute

// maxGoneHistories is of how many scopes that are gone history is kept: names that come
// and go for ever must not fill the disk.
const maxGoneHistories = 1000

// runner drives one group through its ticks.
type runner struct {
	*Loop
	group       *group
	overlay     overlay
	forgetAfter time.Duration
	// clusters are those that the configuration names.
	clusters []string
	// last is the newest tick that was published, if hasLast; Unix
	// milliseconds.
	last    int64
	hasLast bool
	// storedKept is the final tick up to which stored ramps are true.
	storedKept int64
	// aging is the time by which the history ages, trimmed when it was last
	// trimmed.
	aging, trimmed time.Time
	// troubles are what the log is told of.
	troubles troubles
	// discoveryFailed is true while workers.current has failed: what it does not say is
	// no sign that a scope is gone.
	discoveryFailed bool
	// holes are what the windows lack because queries failed one by one.
	holes holes
	// gone are scopes that were dropped and not yet taken out of the store.
	gone []*scopeState
	// swept are the control records that will be swept, by key.
	swept map[string]swept
}

// run evaluates tick after tick until ctx ends.
func (r *runner) run(ctx context.Context) error {
	interval := r.group.interval
	for {
		due, err := r.tickIfDue(ctx)
		if err != nil {
			return err
		}
		if !due {
			if err := r.Clock.WaitUntil(ctx, time.UnixMilli(r.last).Add(interval)); err != nil {
				return err
			}
		}
		if err := ctx.Err(); err != nil {
			return err
		}
	}
}

// tickIfDue evaluates the newest tick if it was not published yet.
func (r *runner) tickIfDue(ctx context.Context) (due bool, err error) {
	now := r.Clock.Now()
	if r.hasLast && now.UnixMilli() < r.last-r.group.interval.Milliseconds() {
		r.clockWentBack(now)
	}
	tick := TickAtOrBefore(now, r.group.interval, r.group.phase).UnixMilli()
	if r.hasLast && tick <= r.last {
		return false, nil
	}
	return true, r.tick(ctx, tick)
}

// clockWentBack starts over at the clock's new time: the one case in which the
// last published tick goes back (spec 1.2).
func (r *runner) clockWentBack(now time.Time) {
	r.Logger.Warn("clock went back, windows are restored anew",
		"rule_set", r.group.name, "now", now, "last_tick", time.UnixMilli(r.last).UTC())
	r.Instruments.ClockJumped()
	r.hasLast = false
	r.group.restart()
	tick := TickAtOrBefore(now, r.group.interval, r.group.phase)
	for _, s := range r.group.scopes.sorted {
		s.clockWentBack(tick)
	}
}

// clockWentBack puts right what lies ahead of the tick, and has it stored.
func (s *scopeState) clockWentBack(tick time.Time) {
	at, p := tick.UnixMilli(), &s.published
	s.first, s.lastSeen = min(s.first, at), min(s.lastSeen, at)
	state.Happened(tick, &p.since)
	p.ramp.At = min(p.ramp.At, at)
	p.stored = false
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
	r.forget(ctx, at)
	err := r.publish(ctx, at, provisional)
	if errors.Is(err, state.ErrFenced) {
		return err
	}
	r.noteStore(err)
	r.sweep(ctx)
	r.last, r.hasLast = at, true
	r.trim(ctx)
	r.Instruments.Evaluated(r.Clock.Now().Sub(began))
	if len(r.group.scopes.sorted) >= manyScopes {
		debug.FreeOSMemory()
	}
	r.troubles.crowd.NoteIf(r.group.refused > 0, "limit", maxScopes, "left_out", r.group.refused)
	if n := r.group.scopes.ignored; n > 0 {
		r.Instruments.IgnoredSamples(n)
		r.group.scopes.ignored = 0
	}
	return ctx.Err()
}

func (r *runner) loadLimits(ctx context.Context) {
	o, err := r.loadOverlay(ctx)
	if err != nil {
		r.noteStore(err)
		return // the limits of the tick before stay
	}
	o.keep(&r.overlay)
	r.overlay = o
	r.noteUnreadable()
}

// noteUnreadable tells of records that cannot be decoded. They touch their own
// scopes alone.
func (r *runner) noteUnreadable() {
	keys := slices.Sorted(maps.Keys(r.overlay.unreadable))
	var errs []error
	for _, key := range keys {
		r.Instruments.Failed("store")
		errs = append(errs, r.overlay.unreadable[key])
	}
	r.troubles.controls.NoteOf("scopes", keys, errors.Join(errs...))
	errs = nil
	keys = slices.Sorted(maps.Keys(r.overlay.unknown))
	for _, key := range keys {
		for _, u := range r.overlay.unknown[key] {
			r.Instruments.Failed("store")
			errs = append(errs, u.err)
		}
	}
	r.troubles.actions.NoteOf("scopes", keys, errors.Join(errs...))
}

func (r *runner) noteStore(err error) {
	if errors.Is(err, context.Canceled) {
		return
	}
	if err != nil {
		r.Instruments.Failed("store")
	}
	r.troubles.store.Note(err)
}

// evaluate brings the group's decisions to the given tick and reports whether
// they are provisional.
func (r *runner) evaluate(ctx context.Context, at int64) (provisional bool) {
	g := r.group
	step := g.interval.Milliseconds()
	// A query must be over before the next tick is due.
	qctx, cancel := context.WithTimeout(ctx, min(r.QueryTimeout, g.interval))
	defer cancel()
	cols := askInstant(qctx, r.Source, g.queries, time.UnixMilli(at), r.QueryConcurrency)
	if ctx.Err() != nil {
		return true
	}
	silent := g.silent(cols)
	r.troubles.noteQueries(cols, silent)
	r.discoveryFailed = cols[g.active().queries[g.active().current]].failed
	defer r.countReasons(cols)
	if r.holes.over(at) {
		r.holes = holes{}
		r.noteRestore(at, nil)
	}
	next := g.hasKept && g.keptAt == at-step
	lookback := g.lookback(time.UnixMilli(at)).Milliseconds()
	switch {
	case !silent && (!next || r.holes.readAgain(cols, at)) && r.catchUp(ctx, cols, at):
		return false
	case !silent && next:
		g.foldFinal(cols, at)
		for _, q := range g.active().queries {
			if cols[q].failed && cols[q].failure == NoAnswer {
				r.holes.add(q, at, step, lookback)
			}
		}
		return false
	}
	g.foldProvisional(cols, at, lookback+step)
	if g.provAnswered > lookback/step+1 {
		g.promote()
		r.noteRestore(at, nil)
		return false
	}
	return true
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

func (r *runner) trim(ctx context.Context) {
	now := r.Clock.Now()
	if passed := now.Sub(r.trimmed); passed >= 0 && passed < trimEvery {
		return
	}
	r.trimmed = now
	if err := r.Store.Trim(ctx, state.Retention{Records: r.MaxRecords, Oldest: r.aging.Add(-r.MaxAge), Gone: maxGoneHistories}); err != nil {
		r.noteStore(err)
	}
}

// ageBy is the time by which the history is as old as it is at a tick. It
// follows the clock, but at most twice as fast as ticks pass, so that a clock
// that is days ahead for a while does not make everything too old at once.
func ageBy(before, tick time.Time, interval time.Duration) time.Time {
	if most := before.Add(2 * interval); !before.IsZero() && tick.After(most) {
		tick = most
	}
	if tick.Before(before) {
		return before
	}
	return tick
}

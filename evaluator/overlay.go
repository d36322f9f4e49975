package evaluator

import (
	"context"
	"time"

	"github.com/zeta-scaler/zeta-scaler/scaling"
	"github.com/zeta-scaler/zeta-scaler/state"
)

// overlay is what the store says about limits: the operators' control records
// the executor's and the drainer's.
type overlay struct {
	control   map[string]state.ControlRecord
	execution map[string]state.ExecutionRecord
	drain     map[string]state.DrainRecord
	// rows are the control records as they were read, unreadable those that cannot
	// be decoded, by key.
	rows       []state.Row[state.ControlRecord]
	unreadable map[string]error
	// unknown are the scopes of whose actions or drains the record cannot be decoded.
	unknown map[string][]unknownRecord
}

// unknownRecord is a record of executor or drainer that cannot be decoded.
type unknownRecord struct {
	kind state.Kind
	err  error
}

// loadOverlay reads all kinds of record; they are few, as only scopes that
// somebody touched have one. A control record that a clock has left ahead is put
// right: it is compared with what the executor stores later.
func (l *Loop) loadOverlay(ctx context.Context) (overlay, error) {
	control, bad, err := l.controls.ListReadable(ctx)
	if err != nil {
		return overlay{}, err
	}
	now := l.Clock.Now()
	for i := range control {
		if !control[i].Value.Correct(now) {
			continue
		}
		_, err := l.controls.Change(ctx, control[i].Key, func(old state.Row[state.ControlRecord]) (state.ControlRecord, []state.Entry, bool) {
			corrected := old.Value.Correct(now)
			return old.Value, nil, corrected
		})
		if err != nil {
			return overlay{}, err
		}
	}
	execution, badExecution, err := l.executions.ListReadable(ctx)
	if err != nil {
		return overlay{}, err
	}
	drains, badDrains, err := l.drains.ListReadable(ctx)
	if err != nil {
		return overlay{}, err
	}
	o := overlay{control: byKey(control), execution: byKey(execution), drain: byKey(drains), rows: control, unreadable: map[string]error{}, unknown: map[string][]unknownRecord{}}
	for _, b := range bad {
		o.unreadable[b.Key] = b.Err
	}
	for _, b := range badExecution {
		o.unknown[b.Key] = append(o.unknown[b.Key], unknownRecord{state.Execution, b.Err})
	}
	for _, b := range badDrains {
		o.unknown[b.Key] = append(o.unknown[b.Key], unknownRecord{state.Drain, b.Err})
	}
	return o, nil
}

// keep takes over from the tick before what cannot be read now.
func (o *overlay) keep(before *overlay) {
	for key := range o.unreadable {
		if c, known := before.control[key]; known {
			o.control[key] = c
		}
	}
	for key := range o.unknown {
		_, read := o.execution[key]
		if e, known := before.execution[key]; known && !read {
			o.execution[key] = e
		}
		_, read = o.drain[key]
		if d, known := before.drain[key]; known && !read {
			o.drain[key] = d
		}
	}
}

func byKey[T any](rows []state.Row[T]) map[string]T {
	out := make(map[string]T, len(rows))
	for _, row := range rows {
		out[row.Key] = row.Value
	}
	return out
}

// limits lays configuration and store over each other for one scope and tick.
func (o *overlay) limits(s *scopeState, ruleSet *scaling.Bounds, at time.Time) scaling.Limits {
	l := scaling.Limits{Bounds: scaling.DefaultBounds(), Mode: scaling.Advisory, Deployment: scaling.Session}
	if ruleSet != nil {
		l.Bounds = *ruleSet
	}
	if c := s.listed; c != nil {
		if c.Bounds != nil {
			l.Bounds = *c.Bounds
		}
		if c.Mode != "" {
			l.Mode = c.Mode
		}
		if c.Deployment != "" {
			l.Deployment = c.Deployment
		}
	}
	if c, ok := o.control[s.Key]; ok {
		e := c.Overlay(state.Configured{Listed: s.listed != nil, Bounds: l.Bounds, Mode: l.Mode}, at)
		l.Bounds, l.Mode = e.Bounds, e.Mode
		for _, c := range e.Conflicts {
			l.Conflicts = append(l.Conflicts, c.String())
		}
		l.Timed = c.Timed(at)
		pause(&l, &c, at)
	}
	if err := o.unreadable[s.Key]; err != nil {
		l.Conflicts = append(l.Conflicts, state.UnreadableControl(s.Key))
	}
	global, ok := o.control[state.GlobalKey]
	if ok {
		pause(&l, &global, at)
	}
	if e, ok := o.execution[s.Key]; ok {
		l.CooldownUntil, l.BackoffUntil = e.CooldownUntil, e.BackoffUntil
		l.ActionInFlight, l.ActionDeadline, l.Booting = e.ActionInFlight, e.Deadline, e.Booting
		// Whoever resumes a scope accepts what the other writer has left.
		resumed := o.control[s.Key].ResumedAt.After(e.OtherWriterSince) || global.ResumedAt.After(e.OtherWriterSince)
		l.OtherWriter = e.OtherWriter != "" && !resumed
		l.Tried = e.HeldFor(at, o.control[s.Key].ResumedAt, global.ResumedAt)
	}
	if d, ok := o.drain[s.Key]; ok {
		if d.Changing() && !l.ActionInFlight {
			l.ActionInFlight, l.ActionDeadline = true, time.Time{}
			if d.Open.State == scaling.DrainDraining {
				l.ActionDeadline = d.Open.Deadline // then the worker is empty, or the drain goes back
			}
		}
		if d.CooldownUntil.After(l.CooldownUntil) {
			l.CooldownUntil = d.CooldownUntil
		}
	}
	for _, u := range o.unknown[s.Key] {
		l.Conflicts = append(l.Conflicts, state.UnreadableActions(u.kind))
		l.ActionInFlight, l.ActionDeadline = true, time.Time{} // as far as anybody knows
	}
	return l
}

// latestDrain is the drain that people want to see: the open one, else the one
// that was over last.
func (o *overlay) latestDrain(key string) *scaling.Drain {
	d := o.drain[key]
	if d.Open != nil {
		return d.Open
	}
	return d.Last
}

// mustDrainAgain reports whether the drain of a recommendation went back for a
// failure, and what held back the next one is over.
func (o *overlay) mustDrainAgain(key, recommendationID string, tick time.Time) bool {
	d := o.drain[key]
	return d.Open == nil && d.Last != nil && d.Last.Failed && d.Last.RecommendationID == recommendationID && !tick.Before(d.BackoffUntil)
}

// pause lays one pause over the limits, and over another: both have to end.
func pause(l *scaling.Limits, c *state.ControlRecord, at time.Time) {
	if !c.PausedAt(at) {
		return
	}
	since := c.Since()
	if !l.Paused || since.Before(l.PausedSince) {
		l.PausedSince = since
	}
	switch {
	case !l.Paused:
		l.PausedUntil = c.PausedUntil
	case l.PausedUntil.IsZero() || c.PausedUntil.IsZero():
		l.PausedUntil = time.Time{}
	case c.PausedUntil.After(l.PausedUntil):
		l.PausedUntil = c.PausedUntil
	}
	l.Paused = true
}

// latest is the action that people want to see: the one that waits, else the
// one that began last.
func (o *overlay) latest(key string) *scaling.Execution {
	e := o.execution[key]
	if e.Held != nil {
		return e.Held
	}
	return e.Action
}

// mustAskAgain reports whether the action of a recommendation is over, what held
// back the next one too, and the workers are not there: if the recommendation
// still stands it has to be asked for anew, under a new id (spec 4.2).
func (o *overlay) mustAskAgain(key, recommendationID string, d *Decision, tick time.Time) bool {
	e, ok := o.execution[key]
	if !ok || e.Action == nil || e.Held != nil || e.Action.RecommendationID != recommendationID {
		return false
	}
	switch e.Action.State {
	case scaling.ActionFailed, scaling.ActionRejectedStale:
		return !tick.Before(e.BackoffUntil)
	case scaling.ActionSucceeded:
		// Without a cooldown of its own nothing was done: a dry run.
		n := len(e.Action.Transitions)
		acted := n > 0 && e.Action.Transitions[n-1].At.Before(e.CooldownUntil)
		return acted && !tick.Before(e.CooldownUntil) && d.has(scaling.FactCurrentKnown) && d.current < e.Action.Target
	default:
		return false
	}
}

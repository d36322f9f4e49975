package evaluator

import (
	"context"
	"time"

	"github.com/zeta-scaler/zeta-scaler/scaling"
	"github.com/zeta-scaler/zeta-scaler/state"
)

// overlay is what the store says about limits: the operators' control records
// and the executor's.
type overlay struct {
	control   map[string]state.ControlRecord
	execution map[string]state.ExecutionRecord
}

// loadOverlay reads both kinds of record; they are few, as only scopes that
// somebody touched have one.
func loadOverlay(ctx context.Context, s state.Store) (overlay, error) {
	var o overlay
	var err error
	if o.control, err = loadAll[state.ControlRecord](ctx, s, state.Control); err != nil {
		return overlay{}, err
	}
	o.execution, err = loadAll[state.ExecutionRecord](ctx, s, state.Execution)
	return o, err
}

func loadAll[T any](ctx context.Context, s state.Store, kind state.Kind) (map[string]T, error) {
	records, err := s.List(ctx, kind)
	if err != nil {
		return nil, err
	}
	out := make(map[string]T, len(records))
	for _, r := range records {
		v, err := state.Decode[T](r)
		if err != nil {
			return nil, err
		}
		out[r.Key] = v
	}
	return out, nil
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
		l.Bounds, l.Mode = c.Overlay(l.Bounds, l.Mode)
		l.Paused = c.PausedAt(at)
	}
	global, ok := o.control[state.GlobalKey]
	if ok && global.PausedAt(at) {
		l.Paused = true
	}
	if e, ok := o.execution[s.Key]; ok {
		l.CooldownUntil, l.BackoffUntil = e.CooldownUntil, e.BackoffUntil
		l.ActionInFlight, l.Booting = e.ActionInFlight, e.Booting
		// Whoever resumes a scope accepts what the other writer has left.
		resumed := o.control[s.Key].ResumedAt.After(e.OtherWriterSince) || global.ResumedAt.After(e.OtherWriterSince)
		l.OtherWriter = e.OtherWriter != "" && !resumed
	}
	return l
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

// standsAgain reports whether the action of a recommendation is over, what held
// back the next one too, and the workers are not there: if the recommendation
// still stands it has to be asked for anew, under a new id (spec 4.2).
func (o *overlay) standsAgain(key, recommendationID string, d *Decision, tick time.Time) bool {
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
		return acted && !tick.Before(e.CooldownUntil) && d.currentKnown && d.current < e.Action.Target
	default:
		return false
	}
}

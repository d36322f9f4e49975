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
		applyControl(&l, &c)
		l.Paused = c.PausedAt(at)
	}
	if c, ok := o.control[state.GlobalKey]; ok && c.PausedAt(at) {
		l.Paused = true
	}
	if e, ok := o.execution[s.Key]; ok {
		l.CooldownUntil, l.BackoffUntil = e.CooldownUntil, e.BackoffUntil
		l.ActionInFlight, l.Booting = e.ActionInFlight, e.Booting
	}
	return l
}

func applyControl(l *scaling.Limits, c *state.ControlRecord) {
	if c.MinWorkers != nil {
		l.Bounds.Min = *c.MinWorkers
	}
	if c.MaxWorkers != nil {
		l.Bounds.Max = *c.MaxWorkers
	}
	if c.Mode != nil {
		l.Mode = *c.Mode
	}
}

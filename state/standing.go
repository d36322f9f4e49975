package state

import (
	"context"
	"time"
)

// Standing is what decides whether a scope may be acted on now: what was decided,
// and what operators have set.
type Standing struct {
	Decision DecisionRecord
	// Found is false if nothing was decided yet.
	Found           bool
	Control, Global ControlRecord
	// ValidUntil is the end of the recommendation's validity.
	ValidUntil time.Time
}

// ReadStanding reads it for one scope.
func ReadStanding(ctx context.Context, store Store, key string) (out Standing, err error) {
	decision, err := Decisions(store, NoFence).Get(ctx, key)
	if err != nil || decision.Version == 0 {
		return out, err
	}
	out.Decision, out.Found = decision.Value, true
	controls := Controls(store)
	for key, into := range map[string]*ControlRecord{key: &out.Control, GlobalKey: &out.Global} {
		row, err := controls.Get(ctx, key)
		if err != nil {
			return out, err
		}
		*into = row.Value
	}
	// A recommendation that stands is refreshed by the rule set's tick, not in
	// every scope's record.
	r := &out.Decision.Recommendation
	out.ValidUntil = r.ValidUntil
	last, err := Ticks(store, NoFence).Get(ctx, r.RuleSet.Name)
	if err == nil && last.Version > 0 {
		if t := last.Value.Last.Add(r.ValidUntil.Sub(r.ObservedAt)); t.After(out.ValidUntil) {
			out.ValidUntil = t
		}
	}
	return out, err
}

// PausedAt reports whether the scope or the whole service is paused at t.
func (s *Standing) PausedAt(t time.Time) bool { return s.Control.PausedAt(t) || s.Global.PausedAt(t) }

// ResumedAfter reports whether an operator has accepted what the platform has
// since t.
func (s *Standing) ResumedAfter(t time.Time) bool {
	return s.Control.ResumedAt.After(t) || s.Global.ResumedAt.After(t)
}

// LateAt reports whether the decision is older than it may be at t: every tick
// makes it valid anew, so the loop is late, because the process was frozen or the
// state could not be written. What the next tick says is not known.
func (s *Standing) LateAt(t time.Time) bool { return !t.Before(s.ValidUntil) }

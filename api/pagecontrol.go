package api

import (
	"context"
	"time"

	"github.com/zeta-scaler/zeta-scaler/scaling"
	"github.com/zeta-scaler/zeta-scaler/state"
)

// controlView is what the page says about pauses, and whether it can set any.
type controlView struct {
	// Key is the scope's, empty for the whole service.
	Key string
	// Possible is false in a process that keeps nothing that is set at run time.
	Possible bool
	Problem  string
	// Paused is what the last tick knew, Pauses what is set now.
	Paused bool
	Pauses []pauseView
}

// pauseView is one pause that holds now.
type pauseView struct {
	// Whole is true for that of the whole service.
	Whole       bool
	By, Reason  string
	Since       string
	Until, Left string
}

// scopeControl is about one scope: its own pause and that of the service.
func (s *server) scopeControl(ctx context.Context, ev *scaling.Evaluation, now time.Time) controlView {
	v := s.controlView(ctx, now, ev.Scope.Key, state.GlobalKey)
	v.Key, v.Paused = ev.Scope.Key, ev.Paused
	return v
}

// controlView reads what is set under the keys.
func (s *server) controlView(ctx context.Context, now time.Time, keys ...string) controlView {
	v := controlView{Possible: s.Store != nil}
	if !v.Possible {
		return v
	}
	for _, key := range keys {
		row, err := s.controls.Get(ctx, key)
		if err != nil {
			s.Logger.Error("reading pauses for the page failed", "scope", key, "err", err)
			v.Problem = unreadable
			continue
		}
		r := row.Value
		if !r.PausedAt(now) {
			continue
		}
		p := pauseView{Whole: key == state.GlobalKey, By: r.Pauser(), Reason: r.Reason, Since: scaling.At(r.Since())}
		if !r.PausedUntil.IsZero() {
			p.Until, p.Left = scaling.At(r.PausedUntil), span(r.PausedUntil.Sub(now).Seconds())
		}
		v.Pauses = append(v.Pauses, p)
	}
	return v
}

package api

import (
	"cmp"
	"context"
	"slices"
	"time"

	"github.com/labstack/echo/v4"

	"github.com/zeta-scaler/zeta-scaler/scaling"
	"github.com/zeta-scaler/zeta-scaler/state"
)

// standing is what the store says now about pauses, actions and drains: a tick knows of
// it only up to an interval later.
type standing struct {
	controls   map[string]state.ControlRecord
	executions map[string]state.ExecutionRecord
	drains     map[string]state.DrainRecord
	// misfits say what was set for a scope at run time and does not count; nil
	// without a store.
	misfits func(scope string) []string
	// problem is what people are told if the store cannot be read.
	problem string
}

// standing reads them. What cannot be read is logged, said, and left out.
func (s *server) standing(ctx context.Context) standing {
	var out standing
	if s.Store == nil {
		return out
	}
	controls, err := s.readControls(ctx)
	if err != nil {
		s.Logger.Error("reading pauses failed", "err", err)
		out.problem = unreadable
	}
	out.controls = rowsByKey(controls.rows)
	now := s.Now()
	bad := map[state.Kind][]state.Unreadable{}
	out.misfits = func(scope string) []string {
		misfits := s.conflicts(scope, out.controls[scope], controls.unreadable, now)
		for _, kind := range []state.Kind{state.Execution, state.Drain} {
			if slices.ContainsFunc(bad[kind], func(u state.Unreadable) bool { return u.Key == scope }) {
				misfits = append(misfits, state.UnreadableActions(kind))
			}
		}
		return misfits
	}
	executions, unread, err := s.executions.ListReadable(ctx)
	if err != nil {
		s.Logger.Error("reading actions failed", "err", err)
		out.problem = unreadable
	}
	bad[state.Execution], out.executions = unread, rowsByKey(executions)
	drains, unread, err := s.drainings.ListReadable(ctx)
	if err != nil {
		s.Logger.Error("reading drains failed", "err", err)
		out.problem = unreadable
	}
	bad[state.Drain], out.drains = unread, rowsByKey(drains)
	return out
}

// leads reports whether the replica that was asked leads: one that passed the
// request on does not.
func (s *server) leads(c echo.Context) bool { return s.Board.Leader() && !forwarded(c) }

// leaderName is who leads, as the store has it, where the replica that was asked
// does not. Empty if it does, or nobody knows.
func (s *server) leaderName(c echo.Context) string {
	if s.leaders == nil || s.leads(c) {
		return ""
	}
	return s.leaders.name(c.Request().Context())
}

func rowsByKey[T any](rows []state.Row[T]) map[string]T {
	out := make(map[string]T, len(rows))
	for _, row := range rows {
		out[row.Key] = row.Value
	}
	return out
}

// pauses are those that hold now for the keys, in their order.
func (st *standing) pauses(now time.Time, keys ...string) []Pause {
	var out []Pause
	for _, key := range keys {
		if r := st.controls[key]; r.PausedAt(now) {
			out = append(out, Pause{
				Whole: key == state.GlobalKey, By: r.Pauser(), Reason: r.Reason, Since: r.Since().UTC(), Until: set(r.PausedUntil),
			})
		}
	}
	return out
}

// paused reports whether a scope is paused now, or was at the last tick where
// the store does not tell.
func (st *standing) paused(ev *scaling.Evaluation, now time.Time) bool {
	if st.controls == nil || st.problem != "" {
		return ev.Paused
	}
	return len(st.pauses(now, ev.Scope.Key, state.GlobalKey)) > 0
}

// timed are the bounds of a scope that hold now and end by themselves.
func (st *standing) timed(now time.Time, ev *scaling.Evaluation) []scaling.TimedBound {
	if st.controls == nil || st.problem != "" {
		return ev.TimedBounds
	}
	return st.controls[ev.Scope.Key].Timed(now)
}

// conflicts say what was set for a scope at run time and does not count.
func (st *standing) conflicts(scope string) []string {
	if st.misfits == nil {
		return nil
	}
	return st.misfits(scope)
}

// latest is the action of a scope that waits, is under way or was the last.
func (st *standing) latest(ev *scaling.Evaluation) *scaling.Execution {
	switch r := st.executions[ev.Scope.Key]; {
	case r.Held != nil:
		return r.Held
	case r.Action != nil:
		return r.Action
	default:
		return ev.Execution
	}
}

// drain is the drain of a scope that is not over, or was the last; nil for none.
func (st *standing) drain(ev *scaling.Evaluation) *scaling.Drain {
	r := st.drains[ev.Scope.Key]
	return cmp.Or(r.Open, r.Last, ev.Drain)
}

// drainFailed is the latest drain of a scope if it has failed not long ago, or a job
// that it has stopped does not run; nil else.
func (st *standing) drainFailed(ev *scaling.Evaluation, now time.Time) *scaling.Drain {
	if d := st.drain(ev); d != nil && (d.FailureIsNews(now) || len(d.Stopped(now)) > 0) {
		return d
	}
	return nil
}

// failure is what is known about the scope's latest action if it has failed, or
// fails again and again; nil if it does not, or nobody has tried for a day.
func (st *standing) failure(ev *scaling.Evaluation, now time.Time) *Failure {
	r, x := st.executions[ev.Scope.Key], ev.Execution
	if r.Action != nil {
		x = r.Action
	}
	if x == nil || x.Error == "" && x.State != scaling.ActionFailed {
		return nil
	}
	f := &Failure{ActionID: x.ID, Actuator: x.Actuator, Target: x.Target, State: x.State, Error: x.Error}
	if n := len(x.Transitions); n > 0 {
		f.At = x.Transitions[n-1].At.UTC()
	}
	switch {
	case !x.State.Final():
		f.RetryAt, f.Next = set(r.NextAttempt), "The platform is asked again by itself. If the error is not one that passes, mend it."
	case x.State != scaling.ActionFailed && x.State != scaling.ActionRejectedStale, now.Sub(f.At) >= scaling.FailureLasts:
		return nil
	case ev.Recommendation.HeldBy(scaling.BlockerOtherWriter):
		f.Next = "Somebody else also changes the number of workers" + inBrackets(r.OtherWriter) + ". Stop that, then resume the scope: nothing is tried before."
	case x.State == scaling.ActionRejectedStale:
		f.Next = "The platform has seen a newer leader. Make sure that no other zeta-scaler acts on this scope."
	case ev.Recommendation.Action != scaling.ScaleOut && !st.paused(ev, now):
		f.Next = "It is not called for any more, so nothing is tried again."
	default:
		f.Next = "Mend what the error says. It is tried again by itself while it is still called for."
		if r.BackoffUntil.After(now) {
			f.RetryAt = set(r.BackoffUntil)
		}
	}
	return f
}

func inBrackets(who string) string {
	if who == "" {
		return ""
	}
	return " (" + who + ")"
}

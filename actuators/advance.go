package actuators

import (
	"context"
	"errors"
	"time"

	"github.com/zeta-scaler/zeta-scaler/scaling"
	"github.com/zeta-scaler/zeta-scaler/state"
)

// pace says when advance has to look at a scope again.
type pace struct {
	// again: at once. Else at next, or when something happens if that is zero.
	again bool
	next  time.Time
}

// maxConflicts is how often in a row a record may be changed by somebody else
// before that is an error.
const maxConflicts = 5

// advance does every step of a scope that is due now and returns when the next
// one is, zero if only an event can bring it.
func (x *Executor) advance(ctx context.Context, s *scope) (time.Time, error) {
	if !x.configured.Load() {
		return time.Time{}, nil
	}
	if err := s.turn.lock(ctx); err != nil {
		return time.Time{}, err
	}
	defer s.turn.unlock()
	for conflicts := 0; ; {
		if err := x.leads(); err != nil {
			return time.Time{}, err
		}
		p, err := x.step(ctx, s)
		switch {
		case errors.Is(err, errAgain):
			if conflicts++; conflicts > maxConflicts || ctx.Err() != nil {
				return time.Time{}, err
			}
		case err != nil:
			return time.Time{}, err
		case !p.again:
			return p.next, nil
		}
	}
}

// step does the one thing that comes next.
func (x *Executor) step(ctx context.Context, s *scope) (pace, error) {
	f := s.facts.load()
	if f.gone {
		return pace{}, x.forget(ctx, s)
	}
	if s.answer != nil {
		return pace{again: true}, x.settle(ctx, s)
	}
	r, err := x.record(ctx, s)
	if err != nil {
		return pace{}, err
	}
	if x.direct(s, &f) {
		if _, err := x.Accept(ctx, f.id); err != nil {
			return pace{}, err
		}
		s.directTick = f.tick
		return pace{again: true}, nil
	}
	if done, err := x.tidy(ctx, s, r, &f); done || err != nil {
		return pace{again: true}, err
	}
	if open(r.Action) {
		switch r.Action.State {
		case scaling.ActionExecuting:
			return x.execute(ctx, s, r)
		case scaling.ActionUnknown:
			return x.resolveUnknown(ctx, s, r, &f)
		default:
			return x.converge(ctx, s, r, &f)
		}
	}
	if r.Held != nil {
		return x.begin(ctx, s, r)
	}
	return pace{}, nil
}

// direct reports whether the tick's recommendation is taken up without an
// alert. Every tick is looked at once, so that nothing is lost to a refusal
// that passes.
func (x *Executor) direct(s *scope, f *fact) bool {
	if f.mode != scaling.Direct || f.action != scaling.ScaleOut || !f.tick.After(s.directTick) {
		return false
	}
	_, known := s.known(f.id)
	return !known
}

// tidy stores what follows from the last tick alone.
func (x *Executor) tidy(ctx context.Context, s *scope, r *copied, f *fact) (bool, error) {
	if h := r.Held; h != nil {
		c := s.cfg.Load()
		switch {
		case c == nil || c.Mode == "":
			return true, x.dropHeld(ctx, s, h, scaling.ActionCancelled, "the scope left the configuration before it began")
		case f.generation > h.Generation && h.MasterEpoch == x.o.Epoch:
			return true, x.dropHeld(ctx, s, h, scaling.ActionSuperseded, "a newer decision was made before it began")
		}
	}
	if c := s.cfg.Load(); c != nil && c.Rounds && r.Action != nil && !r.EpisodeOver && f.held.After(began(r.Action)) {
		return true, x.change(ctx, s, func(d *draft) bool {
			d.EpisodeOver = s.over(&d.ExecutionRecord)
			return d.EpisodeOver
		})
	}
	if !r.CheckAt.IsZero() && !f.tick.Before(r.CheckAt) {
		return true, x.check(ctx, s, f)
	}
	return false, nil
}

// check says whether an action that converged has helped.
func (x *Executor) check(ctx context.Context, s *scope, f *fact) error {
	var ineffective *scaling.Execution
	err := x.change(ctx, s, func(d *draft) bool {
		d.CheckAt = time.Time{}
		if a := d.Action; a != nil && a.State == scaling.ActionSucceeded && f.action == scaling.ScaleOut && s.sameTrigger(a, f) {
			ineffective = cloned(a)
		}
		return true
	})
	if err == nil && ineffective != nil {
		x.emit(s, scaling.EventIneffectiveScaling, "the workers came, and what asked for them has not changed", ineffective)
	}
	return err
}

// sameTrigger compares what asks now with what asked for the action; a leader
// that did not see that compares the rows of the decision table.
func (s *scope) sameTrigger(a *scaling.Execution, f *fact) bool {
	if s.recommendation == nil || s.recommendation.RecommendationID != a.RecommendationID {
		return a.Row == f.row
	}
	for name := range s.triggers {
		if f.triggers[name] {
			return true
		}
	}
	return len(s.triggers) == 0 && a.Row == f.row
}

// dropHeld ends h if it is still what is held.
func (x *Executor) dropHeld(ctx context.Context, s *scope, h *scaling.Execution, to scaling.ActionState, reason string) error {
	return x.change(ctx, s, func(d *draft) bool {
		if d.Held == nil || d.Held.ID != h.ID {
			return false
		}
		d.drop(to, reason)
		return true
	})
}

// forget drops a scope that is gone; its record was removed by who said so.
func (x *Executor) forget(ctx context.Context, s *scope) error {
	if err := s.writer.lock(ctx); err != nil {
		return err
	}
	defer s.writer.unlock()
	if c := s.copied.Load(); c != nil {
		if open(c.Action) {
			x.o.Logger.Warn("A scope is gone, and its action in flight is not followed any more", "scope", s.key, "action", c.Action.ID)
		}
		if c.Held != nil {
			d := x.draft(s, &c.ExecutionRecord)
			d.drop(scaling.ActionCancelled, "the scope is gone")
			b, err := historyOf(s.key, d)
			if err != nil {
				return err
			}
			if _, err := x.o.Store.Apply(ctx, state.Batch{History: b}); err != nil {
				return err
			}
			x.tell(s, d)
		}
	}
	s.hold(x, &copied{})
	s.answer, s.claimed, s.failures, s.notBefore = nil, false, 0, time.Time{}
	s.facts.mu.Lock()
	s.facts.now.gone = false
	s.facts.mu.Unlock()
	return nil
}

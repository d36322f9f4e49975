package actuators

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/zeta-scaler/zeta-scaler/scaling"
)

// observes reports whether the scope's platform can be read.
func (c *ScopeConfig) observes() bool {
	return c != nil && c.Actuator != nil && c.Actuator.Capabilities().Observes
}

// dryRun reports whether the scope's actuator calls nothing.
func (c *ScopeConfig) dryRun() bool {
	return c.Actuator != nil && c.Actuator.Capabilities().DryRun
}

// enough reports whether Zeta's inventory shows the action's workers, at a tick
// after since.
func (s *scope) enough(a *scaling.Execution, since time.Time) bool {
	f := s.facts.load()
	return f.current != nil && *f.current >= a.Target && f.tick.After(since)
}

// lastAt is when the action entered its state.
func lastAt(a *scaling.Execution) time.Time {
	if len(a.Transitions) == 0 {
		return time.Time{}
	}
	return a.Transitions[len(a.Transitions)-1].At
}

// resolveUnknown finds out what became of a request whose reply is not known.
func (x *Executor) resolveUnknown(ctx context.Context, s *scope, r *copied, f *fact) (pace, error) {
	a, now, c := r.Action, x.now(), s.cfg.Load()
	if !c.observes() {
		// A dry run has never done anything; one that has taken the place of an
		// actuator does not know what that has done.
		if c != nil && c.Kind == a.Actuator && c.dryRun() {
			return pace{again: true}, x.notDone(ctx, s, a, 0)
		}
		if s.enough(a, lastAt(a)) {
			return pace{again: true}, x.taken(ctx, s, a, "", "the inventory shows the workers")
		}
		return x.outOfTime(ctx, s, r, now, "it is not known whether the platform acted, and the workers did not come; "+inventory(f))
	}
	if now.Before(s.notBefore) {
		return pace{next: s.notBefore}, nil
	}
	st, err := x.lookBack(ctx, s, c, a)
	switch {
	case errors.Is(err, ErrStale):
		return pace{again: true}, x.change(ctx, s, func(d *draft) bool {
			if !same(d.Action, a) {
				return false
			}
			d.reject(err.Error())
			return true
		})
	case ctx.Err() != nil:
		return pace{}, ctx.Err()
	case err != nil:
		s.failures++
		s.notBefore = now.Add(x.backoff(s.failures))
		p, err := x.outOfTime(ctx, s, r, now, "it is not known whether the platform acted: "+err.Error())
		if !p.again {
			p.next = earlier(p.next, s.notBefore)
		}
		return p, err
	}
	s.failures, s.notBefore = 0, time.Time{}
	if st.Desired >= a.Target || st.Fence.RecommendationID == a.RecommendationID {
		return pace{again: true}, x.taken(ctx, s, a, "", fmt.Sprintf("the platform was asked for %d workers", st.Desired))
	}
	return pace{again: true}, x.notDone(ctx, s, a, st.Desired)
}

// lookBack observes the target. What an older leader has on its way is shut out
// before, where the platform can do that.
func (x *Executor) lookBack(ctx context.Context, s *scope, c *ScopeConfig, a *scaling.Execution) (State, error) {
	if claimer, ok := c.Actuator.(Claimer); ok && x.inherited(a) && !s.claimed {
		if err := x.leads(); err != nil {
			return State{}, err
		}
		err := x.claim(ctx, c, claimer)
		if err != nil && !errors.Is(err, ErrUnsupported) {
			return State{}, err
		}
		s.claimed = true
	}
	return x.observe(ctx, c)
}

// notDone goes on after a request that never reached the platform: it is made
// again by who made it, and left to the new leader's own recommendation
// otherwise.
func (x *Executor) notDone(ctx context.Context, s *scope, a *scaling.Execution, desired int) error {
	return x.change(ctx, s, func(d *draft) bool {
		if !same(d.Action, a) {
			return false
		}
		d.withdrawAbove(desired)
		if x.inherited(a) {
			d.end(scaling.ActionSuperseded, "the leader changed, and the platform had not acted")
			return true
		}
		x.retry(d, "the platform had not acted")
		if open(d.Action) {
			d.enter(d.Action, scaling.ActionExecuting, "the platform had not acted; it is asked again")
		}
		return true
	})
}

// converge ends an action whose workers have come, or have not in time.
func (x *Executor) converge(ctx context.Context, s *scope, r *copied, f *fact) (pace, error) {
	a, now, c := r.Action, x.now(), s.cfg.Load()
	if now.Before(s.notBefore) {
		return pace{next: s.notBefore}, nil
	}
	platform, ready := "", true
	if c.observes() {
		st, err := x.observe(ctx, c)
		switch {
		case ctx.Err() != nil:
			return pace{}, ctx.Err()
		case err != nil:
			s.failures++
			s.notBefore = now.Add(x.backoff(s.failures))
			p, err := x.outOfTime(ctx, s, r, now, "the platform could not be observed ("+err.Error()+"); "+inventory(f))
			if !p.again {
				p.next = earlier(p.next, s.notBefore)
			}
			return p, err
		case st.Desired < a.Target:
			return pace{again: true}, x.lowered(ctx, s, a, &st)
		}
		platform, ready = fmt.Sprintf("the platform has %d of %d workers ready; ", st.Ready, st.Desired), st.Ready >= a.Target
	}
	s.failures, s.notBefore = 0, time.Time{}
	if ready && s.enough(a, lastAt(a)) {
		return pace{again: true}, x.succeed(ctx, s, a)
	}
	p, err := x.outOfTime(ctx, s, r, now, "the workers did not come in time: "+platform+inventory(f))
	if !p.again && c.observes() {
		p.next = earlier(p.next, now.Add(x.o.Poll))
	}
	return p, err
}

// earlier returns the earlier of two times.
func earlier(a, b time.Time) time.Time {
	if b.Before(a) {
		return b
	}
	return a
}

func inventory(f *fact) string {
	if f.current == nil {
		return "the inventory is not known"
	}
	return fmt.Sprintf("the inventory shows %d", *f.current)
}

// outOfTime fails the action if its deadline has passed, and else says when it
// will.
func (x *Executor) outOfTime(ctx context.Context, s *scope, r *copied, now time.Time, reason string) (pace, error) {
	if now.Before(r.Deadline) {
		return pace{next: r.Deadline}, nil
	}
	s.failures, s.notBefore = 0, time.Time{}
	a := r.Action
	return pace{again: true}, x.change(ctx, s, func(d *draft) bool {
		if !same(d.Action, a) || d.now.Before(d.Deadline) {
			return false
		}
		d.fail(reason)
		return true
	})
}

// lowered fails an action whose target somebody has taken back.
func (x *Executor) lowered(ctx context.Context, s *scope, a *scaling.Execution, st *State) error {
	return x.change(ctx, s, func(d *draft) bool {
		if !same(d.Action, a) {
			return false
		}
		who := st.OtherWriter
		if who != "" {
			d.OtherWriter, d.OtherWriterSince = who, d.now
		} else {
			who = "somebody"
		}
		d.withdrawAbove(st.Desired)
		d.fail(fmt.Sprintf("%s has changed the platform's count to %d, below the target %d", who, st.Desired, d.Action.Target))
		return true
	})
}

// succeed ends an action that has converged: the cooldown starts here and
// nowhere else.
func (x *Executor) succeed(ctx context.Context, s *scope, a *scaling.Execution) error {
	return x.change(ctx, s, func(d *draft) bool {
		if !same(d.Action, a) {
			return false
		}
		cooldown, window := DefaultCooldown, time.Duration(0)
		if d.cfg != nil {
			cooldown, window = d.cfg.Cooldown, d.cfg.TriggerWindow
		}
		d.Failures, d.BackoffUntil, d.Booting = 0, time.Time{}, nil
		d.CooldownUntil = d.now.Add(cooldown)
		if window > 0 {
			d.CheckAt = d.now.Add(window)
		}
		d.Action.Error = ""
		d.end(scaling.ActionSucceeded, s.whoSaidSo(d.cfg, d.Action.Target))
		return true
	})
}

// whoSaidSo tells who counted the workers of an action that has converged.
func (s *scope) whoSaidSo(c *ScopeConfig, target int) string {
	switch n := s.facts.load().current; {
	case n != nil && *n > target:
		return fmt.Sprintf("the inventory has %d workers, %d were asked for", *n, target)
	case c.observes():
		return fmt.Sprintf("platform and inventory have %d workers", target)
	default:
		return fmt.Sprintf("the inventory has %d workers", target)
	}
}

package actuators

import (
	"cmp"
	"context"
	"time"

	"github.com/zeta-scaler/zeta-scaler/scaling"
)

func (x *Executor) observe(ctx context.Context, s *scope) (State, error) {
	var st State
	err := x.call(ctx, s, verbObserve, func(ctx context.Context, c *ScopeConfig, t Target) (err error) {
		st, err = c.Actuator.Observe(ctx, t)
		return err
	})
	return st, err
}

func (x *Executor) scale(ctx context.Context, s *scope, a *scaling.Execution, f Fence) error {
	return x.call(ctx, s, verbScale, func(ctx context.Context, c *ScopeConfig, t Target) error {
		return c.Actuator.Scale(ctx, t, a.Target, f)
	})
}

// claim records our epoch on the target, and nothing of any recommendation.
func (x *Executor) claim(ctx context.Context, s *scope, claimer Claimer) error {
	return x.call(ctx, s, verbClaim, func(ctx context.Context, _ *ScopeConfig, t Target) error {
		return claimer.Claim(ctx, t, Fence{Epoch: x.o.Epoch})
	})
}

// call makes one call of the scope's platform, in its time, and counts it.
func (x *Executor) call(ctx context.Context, s *scope, verb string, f func(context.Context, *ScopeConfig, Target) error) error {
	c, start := s.cfg.Load(), time.Now()
	ctx, cancel := context.WithTimeout(ctx, cmp.Or(c.CallTimeout, x.o.CallTimeout))
	defer cancel()
	err := f(ctx, c, Target{Scope: c.Scope, Name: c.Target})
	x.m.called(c.Kind, verb, start, err)
	return err
}

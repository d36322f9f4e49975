package actuators

import (
	"cmp"
	"context"
	"time"

	"github.com/zeta-scaler/zeta-scaler/scaling"
)

// The calls take the configuration that was judged: a reload meanwhile may have
// brought another actuator, or none.

func (x *Executor) observe(ctx context.Context, c *ScopeConfig) (State, error) {
	var st State
	err := x.call(ctx, c, verbObserve, func(ctx context.Context, t Target) (err error) {
		st, err = c.Actuator.Observe(ctx, t)
		return err
	})
	return st, err
}

func (x *Executor) scale(ctx context.Context, c *ScopeConfig, a *scaling.Execution, f Fence) error {
	return x.call(ctx, c, verbScale, func(ctx context.Context, t Target) error {
		return c.Actuator.Scale(ctx, t, a.Target, f)
	})
}

// claim records our epoch on the target, and nothing of any recommendation.
func (x *Executor) claim(ctx context.Context, c *ScopeConfig, claimer Claimer) error {
	return x.call(ctx, c, verbClaim, func(ctx context.Context, t Target) error {
		return claimer.Claim(ctx, t, Fence{Epoch: x.o.Epoch})
	})
}

// call makes one call of the scope's platform, in its time, and counts it.
func (x *Executor) call(ctx context.Context, c *ScopeConfig, verb string, f func(context.Context, Target) error) error {
	start := time.Now()
	ctx, cancel := context.WithTimeout(ctx, cmp.Or(c.CallTimeout, x.o.CallTimeout))
	defer cancel()
	err := f(ctx, Target{Scope: c.Scope, Name: c.Target})
	x.m.called(c.Kind, verb, start, err)
	return err
}

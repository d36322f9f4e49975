package backtest

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/zeta-scaler/zeta-scaler/evaluator"
	"github.com/zeta-scaler/zeta-scaler/scaling"
)

// ErrNoSample says that the source has nothing about a scope at an instant.
var ErrNoSample = errors.New("the source has no sample of the scope")

// At is what a rule set says about a scope at its newest tick that is not after
// an instant, as the service would have published it. Of the options, those
// about the period, the scopes and the output do not count.
func At(ctx context.Context, o Options, scope string, at time.Time) (scaling.Evaluation, error) {
	if len(o.RuleSets) != 1 {
		return scaling.Evaluation{}, fmt.Errorf("%d rule sets are given, expected one", len(o.RuleSets))
	}
	rs := o.RuleSets[0]
	tick := evaluator.TickAtOrBefore(at, rs.Interval, evaluator.Phase(rs.Name, rs.Interval))
	last := &lastTick{}
	o.Start, o.End, o.Scopes, o.Lines, o.Plots, o.Checkpoint = tick, tick.Add(time.Millisecond), []string{scope}, last, false, ""
	if _, err := Run(ctx, o); err != nil {
		return scaling.Evaluation{}, err
	}
	if last.evaluation == nil {
		return scaling.Evaluation{}, fmt.Errorf("%w %s at %s", ErrNoSample, scaling.ShownKey(scope), scaling.At(tick))
	}
	return *last.evaluation, nil
}

// lastTick keeps the newest tick.
type lastTick struct{ evaluation *scaling.Evaluation }

func (l *lastTick) Tick(t *Tick) error {
	ev := t.Evaluation()
	l.evaluation = &ev
	return nil
}

func (l *lastTick) Flush() error { return nil }

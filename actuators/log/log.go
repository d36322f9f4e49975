// Package log is the actuator that acts on nothing: it writes what another
// would do. It is the default, so that a scope without an actuator changes
// nothing anywhere.
package log

import (
	"context"
	"fmt"
	"log/slog"

	"github.com/zeta-scaler/zeta-scaler/actuators"
)

// Actuator writes one line for every request.
type Actuator struct{ logger *slog.Logger }

// New makes an actuator that writes to logger at level info.
func New(logger *slog.Logger) *Actuator { return &Actuator{logger: logger} }

// Capabilities says that nothing is ever called.
func (a *Actuator) Capabilities() actuators.Capabilities { return actuators.Capabilities{DryRun: true} }

// Observe is not supported: there is no platform.
func (a *Actuator) Observe(context.Context, actuators.Target) (actuators.State, error) {
	return actuators.State{}, fmt.Errorf("log: observing: %w", actuators.ErrUnsupported)
}

// Scale writes what it would ask for.
func (a *Actuator) Scale(ctx context.Context, t actuators.Target, want int, f actuators.Fence) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	if want < 0 {
		return fmt.Errorf("log: %w: %d is no number of workers", actuators.ErrRefused, want)
	}
	from := slog.String("from", "unknown")
	if f.From != nil {
		from = slog.Int("from", *f.From)
	}
	a.logger.LogAttrs(ctx, slog.LevelInfo, "dry run: this scope would be scaled",
		slog.String("scope", t.Scope.Key), from, slog.Int("want", want),
		slog.String("recommendation_id", f.RecommendationID), slog.String("action_id", f.ActionID),
		slog.String("row", string(f.Recommendation.Row)), slog.String("reason", f.Recommendation.Reason))
	return nil
}

// Release is not supported: a drain that ends in nothing would have stopped
// jobs for nothing.
func (a *Actuator) Release(context.Context, actuators.Target, []actuators.Worker, actuators.Fence) error {
	return fmt.Errorf("log: releasing workers: %w", actuators.ErrUnsupported)
}

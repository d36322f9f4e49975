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
type Actuator struct {
	logger  *slog.Logger
	workers []string
}

// New makes an actuator that writes to logger at level info. workers are those
// that there would be, if that is known.
func New(logger *slog.Logger, workers ...string) *Actuator {
	return &Actuator{logger: logger, workers: workers}
}

// Capabilities says that nothing is ever called.
func (a *Actuator) Capabilities() actuators.Capabilities {
	named := len(a.workers) > 0
	return actuators.Capabilities{DryRun: true, Releases: named, Chooses: named}
}

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

// Workers are those that the configuration names.
func (a *Actuator) Workers(context.Context, actuators.Target) ([]actuators.Worker, error) {
	if len(a.workers) == 0 {
		return nil, fmt.Errorf("log: naming workers: the configuration names none: %w", actuators.ErrUnsupported)
	}
	return actuators.Listed(a.workers).Workers(), nil
}

// Release writes whom it would remove.
func (a *Actuator) Release(ctx context.Context, t actuators.Target, workers []actuators.Worker, f actuators.Fence) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	if len(a.workers) == 0 {
		return fmt.Errorf("log: releasing workers: the configuration names none: %w", actuators.ErrUnsupported)
	}
	w, err := actuators.ToRelease(workers, f)
	if err != nil {
		return fmt.Errorf("log: %w", err)
	}
	a.logger.LogAttrs(ctx, slog.LevelInfo, "dry run: this worker would be removed",
		slog.String("scope", t.Scope.Key), slog.String("worker", w.Name), slog.String("address", w.Address),
		slog.String("recommendation_id", f.RecommendationID), slog.String("action_id", f.ActionID),
		slog.String("row", string(f.Recommendation.Row)), slog.String("reason", f.Recommendation.Reason))
	return nil
}

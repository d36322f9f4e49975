package events

import (
	"context"
	"log/slog"
	"time"

	"github.com/zeta-scaler/zeta-scaler/scaling"
)

// Log writes events to a logger, warnings at level warn. It is the default
// handler.
type Log struct{ logger *slog.Logger }

// NewLog returns a handler that writes to logger.
func NewLog(logger *slog.Logger) Log { return Log{logger} }

// Handle writes one line.
func (l Log) Handle(ctx context.Context, e scaling.Event) error {
	level := slog.LevelInfo
	if e.Severity == scaling.Warning {
		level = slog.LevelWarn
	}
	attrs := []slog.Attr{
		slog.String("kind", string(e.Kind)), slog.String("scope", e.Scope.Key),
		slog.String("at", e.At.UTC().Format(time.RFC3339)),
	}
	if r := e.Recommendation; r != nil {
		attrs = append(attrs,
			slog.String("recommendation_id", r.RecommendationID),
			slog.String("action", string(r.Action)), slog.String("row", string(r.Row)),
			workers("current_workers", r.CurrentWorkers), workers("recommended_workers", r.RecommendedWorkers),
			slog.Bool("recommendation_only", r.RecommendationOnly))
	}
	l.logger.LogAttrs(ctx, level, e.Message, attrs...)
	return nil
}

// workers writes a count that may be unknown.
func workers(key string, n *int) slog.Attr {
	if n == nil {
		return slog.String(key, "unknown")
	}
	return slog.Int(key, *n)
}

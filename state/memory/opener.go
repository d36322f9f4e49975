package memory

import (
	"context"
	"log/slog"

	"github.com/zeta-scaler/zeta-scaler/state"
)

// Options are those of the store memory: none.
type Options struct{}

// Durable implements state.Opener.
func (*Options) Durable() bool { return false }

// Shared implements state.Opener.
func (*Options) Shared() bool { return false }

// Open implements state.Opener.
func (*Options) Open(context.Context, *slog.Logger) (state.Store, error) { return New(), nil }

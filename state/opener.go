package state

import (
	"context"
	"log/slog"
)

// Opener opens a store. It is what the configuration says about one: a pointer
// to a struct that package document decodes.
type Opener interface {
	// Durable says that what is stored outlives the process, Shared that every
	// replica sees the same.
	Durable() bool
	Shared() bool
	// Open opens the store. Its error says what to do.
	Open(context.Context, *slog.Logger) (Store, error)
}

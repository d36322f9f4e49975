package file

import (
	"context"
	"log/slog"

	"github.com/zeta-scaler/zeta-scaler/state"
)

// DefaultPath is where the file is if nothing says otherwise.
const DefaultPath = "data/state.db"

// SetDefaults implements document.Defaulter.
func (o *Options) SetDefaults() { o.Path = DefaultPath }

// File is where the store is: what belongs to it lies beside it.
func (o *Options) File() string { return behindLinks(o.Path) }

// LockFile is where the lock of the one process lies that decides, empty at the
// default place of the file.
func (o *Options) LockFile() string {
	if o.Path == DefaultPath {
		return ""
	}
	return o.File() + ".lock"
}

// Durable implements state.Opener.
func (*Options) Durable() bool { return true }

// Shared implements state.Opener.
func (*Options) Shared() bool { return false }

// Open implements state.Opener.
func (o *Options) Open(ctx context.Context, _ *slog.Logger) (state.Store, error) {
	s, err := Open(ctx, *o)
	if err != nil {
		return nil, err
	}
	return s, nil
}

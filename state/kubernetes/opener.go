package kubernetes

import (
	"context"
	"log/slog"

	"github.com/zeta-scaler/zeta-scaler/state"
)

// SetDefaults implements document.Defaulter.
func (o *Options) SetDefaults() { o.Name = DefaultName }

// Place is where the ConfigMaps are: a lease lies beside them.
func (o *Options) Place() (namespace, name, kubeconfig string) {
	return o.Namespace, o.Name, o.Kubeconfig
}

// Durable implements state.Opener.
func (*Options) Durable() bool { return true }

// Shared implements state.Opener.
func (*Options) Shared() bool { return true }

// Open implements state.Opener.
func (o *Options) Open(ctx context.Context, logger *slog.Logger) (state.Store, error) {
	with := *o
	with.Logger = logger
	s, err := Open(ctx, with)
	if err != nil {
		return nil, err
	}
	return s, nil
}

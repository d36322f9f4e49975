package kubernetes

import (
	"context"
	"errors"

	"github.com/zeta-scaler/zeta-scaler/leadership"
	"github.com/zeta-scaler/zeta-scaler/state"
)

// inCluster is a store that is kept in Kubernetes: the lease lies beside it.
type inCluster interface {
	Place() (namespace, name, kubeconfig string)
}

// Alone implements leadership.Maker.
func (*Options) Alone() bool { return false }

// Fits implements leadership.Maker.
func (*Options) Fits(store state.Opener) bool {
	_, ok := store.(inCluster)
	return ok
}

// Elect implements leadership.Maker.
func (o *Options) Elect(_ context.Context, e leadership.Env) (leadership.Elector, error) {
	store, ok := e.Opened.(inCluster)
	if !ok {
		return nil, errors.New("a lease lies beside a state store in Kubernetes, and this store is none: state.type: kubernetes")
	}
	with := *o
	with.Namespace, with.Name, with.Kubeconfig = store.Place()
	with.Store, with.Identity, with.URL, with.Logger = e.Store, e.Identity, e.URL, e.Logger
	return contender{with}, nil
}

// contender competes for the lease.
type contender struct{ o Options }

// Run implements leadership.Elector.
func (c contender) Run(ctx context.Context, lead func(context.Context, leadership.Term) error) error {
	return Run(ctx, c.o, lead)
}

// Release implements leadership.Elector: Run has given the lease up.
func (contender) Release() error { return nil }

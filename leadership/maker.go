package leadership

import (
	"context"
	"log/slog"

	"github.com/zeta-scaler/zeta-scaler/state"
)

// Maker makes an elector. It is what the configuration says about leadership: a
// pointer to a struct that package document decodes.
type Maker interface {
	// Alone says that there is one process, which leads from its start to its
	// end. Others need a store that replicas share.
	Alone() bool
	// Fits reports whether it works with a store: a lease lies beside the state.
	Fits(state.Opener) bool
	// Elect makes the elector. One that is alone holds the leadership from now
	// on.
	Elect(context.Context, Env) (Elector, error)
}

// Env is what an elector is made with beside its options.
type Env struct {
	// Store keeps the epoch; Opened is what the configuration says about it.
	Store  state.Store
	Opened state.Opener
	// Holder names this process for people; Identity names it and no other, ever.
	Holder, Identity string
	// URL is where other replicas reach this process, empty for nowhere. It is
	// asked for at the beginning of each term, and used by electors that are not
	// alone. Nil is nowhere.
	URL    func() string
	Logger *slog.Logger
}

// Elector says when this process leads.
type Elector interface {
	// Run calls lead whenever this process leads, with a context that ends with
	// the leadership, and waits for it. It returns when ctx ends or lead fails.
	Run(ctx context.Context, lead func(context.Context, Term) error) error
	// Release gives up what is held. It can be called twice.
	Release() error
}

// Alone implements Maker.
func (*Options) Alone() bool { return true }

// Fits implements Maker.
func (*Options) Fits(state.Opener) bool { return true }

// SetDefaults implements document.Defaulter.
func (o *Options) SetDefaults() { o.LockFile = "data/lock" }

// Beside puts the lock beside the store where that has a place of its own and the
// lock has not, so that two processes never share a store without sharing a lock.
func (o *Options) Beside(store state.Opener, isSet func(key string) bool) {
	if s, ok := store.(interface{ LockFile() string }); ok && s.LockFile() != "" && !isSet("lock_file") {
		o.LockFile = s.LockFile()
	}
}

// Elect implements Maker.
func (o *Options) Elect(ctx context.Context, e Env) (Elector, error) {
	with := *o
	with.Store, with.Forgets, with.Holder, with.Logger = e.Store, !e.Opened.Durable(), e.Holder, e.Logger
	if s, ok := e.Opened.(interface{ File() string }); ok {
		with.StateFile = s.File()
	}
	l, err := Acquire(ctx, with)
	if err != nil {
		return nil, err
	}
	return l, nil
}

// Run implements Elector.
func (l *Leadership) Run(ctx context.Context, lead func(context.Context, Term) error) error {
	return lead(ctx, l.Term())
}

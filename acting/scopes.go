package acting

import (
	"context"
	"errors"
	"sync/atomic"
	"time"

	"golang.org/x/sync/semaphore"

	"github.com/zeta-scaler/zeta-scaler/loops"
	"github.com/zeta-scaler/zeta-scaler/scaling"
	"github.com/zeta-scaler/zeta-scaler/state"
)

// Config is what a scope was configured with, of type C itself.
type Config[C any] interface {
	// ScopeKey is the scope's key.
	ScopeKey() string
	// Listed is false for a scope that has left the configuration.
	Listed() bool
	// Left is what remains of it then: what has begun is gone on with.
	Left() C
}

// Scope is what somebody who acts knows about one scope: its configuration C, what
// the last tick said of it T, and what is his own P.
type Scope[C Config[C], T, P any] struct {
	loops.Seat
	// Config is nil for a scope that was never listed; Tick never is.
	Config atomic.Pointer[C]
	Tick   atomic.Pointer[T]
	// Writer is held while an input is folded and stored; Turn while the scope
	// advances. Others are asked with Turn alone.
	Writer, Turn *semaphore.Weighted
	// Own belongs to whoever has Writer, unless it says otherwise.
	Own P
}

// Scopes are the scopes that somebody looks after. It is safe for concurrent use.
type Scopes[C Config[C], T, P any] struct {
	set *loops.Set[*Scope[C, T, P]]
	// configured is true from the first Configure on: nothing moves before.
	configured atomic.Bool
}

// NewScopes returns none.
func NewScopes[C Config[C], T, P any]() *Scopes[C, T, P] {
	return &Scopes[C, T, P]{set: loops.NewSet[*Scope[C, T, P]]()}
}

// Configure says which scopes may be acted on, at the start and after each reload;
// those that were listed and are no longer keep what is Left. Before anything moves
// for the first time, it calls first, unless that is nil.
func (s *Scopes[C, T, P]) Configure(configs []C, first func()) {
	listed := map[string]bool{}
	for i := range configs {
		c := &configs[i]
		key := (*c).ScopeKey()
		listed[key] = true
		s.set.Add(key, fresh[C, T, P](key), func(s *Scope[C, T, P]) { s.Config.Store(c) })
	}
	if !s.configured.Load() && first != nil {
		first()
	}
	s.configured.Store(true)
	for _, one := range s.set.All() {
		if c := one.Config.Load(); c != nil && !listed[one.Key()] {
			left := (*c).Left()
			one.Config.Store(&left)
		}
		one.Poke()
	}
}

// Add returns the scope of that key, made if need be.
func (s *Scopes[C, T, P]) Add(key string) *Scope[C, T, P] {
	return s.set.Add(key, fresh[C, T, P](key), nil)
}

func fresh[C Config[C], T, P any](key string) func() *Scope[C, T, P] {
	return func() *Scope[C, T, P] {
		s := &Scope[C, T, P]{Seat: loops.NewSeat(key), Writer: semaphore.NewWeighted(1), Turn: semaphore.NewWeighted(1)}
		s.Tick.Store(new(T))
		return s
	}
}

// Get returns the scope of that key, nil if there is none.
func (s *Scopes[C, T, P]) Get(key string) *Scope[C, T, P] {
	one, _ := s.set.Get(key)
	return one
}

// Publish notes what a tick said of each scope that there is, and of those that are
// gone. It has one caller at a time and never waits.
func (s *Scopes[C, T, P]) Publish(evaluations []scaling.Evaluation, said func(*Scope[C, T, P], *scaling.Evaluation) T, gone []scaling.Scope, over T) {
	note := func(one *Scope[C, T, P], t T) {
		one.Tick.Store(&t)
		one.Poke()
	}
	for i := range evaluations {
		if one := s.Get(evaluations[i].Scope.Key); one != nil {
			note(one, said(one, &evaluations[i]))
		}
	}
	for _, g := range gone {
		if one := s.Get(g.Key); one != nil {
			note(one, over)
		}
	}
}

// Forget drops what the last tick said of a scope if that is over, and the scope
// itself unless the configuration lists it.
func (s *Scopes[C, T, P]) Forget(one *Scope[C, T, P], over func(*T) bool) {
	if t := one.Tick.Load(); over(t) {
		one.Tick.CompareAndSwap(t, new(T))
	}
	s.set.Remove(one, func() bool {
		c := one.Config.Load()
		return c == nil || !(*c).Listed()
	})
}

// Work is what is done for each scope.
type Work[C Config[C], T, P any] struct {
	Options *Options
	// Advance does every step of a scope that is due, with its Turn; it returns when
	// the next one is, zero if only an event can bring it.
	Advance func(context.Context, *Scope[C, T, P]) (time.Time, error)
	// Ended and Failed are what is logged of an error that ends everything, and of one
	// after which it is tried again.
	Ended, Failed string
}

// Run advances all scopes until ctx ends (nil) or this process leads no longer
// (state.ErrFenced). They advance at the same time, each by itself, so that one that
// hangs holds up nobody else.
func (s *Scopes[C, T, P]) Run(ctx context.Context, w Work[C, T, P]) error {
	return s.set.Run(ctx, s.work(w))
}

// Advance does every step of every scope that is due now, one scope after the other.
// It fails with state.ErrFenced when this process must not act, and with what went
// wrong in the store otherwise; then it can be called again.
func (s *Scopes[C, T, P]) Advance(ctx context.Context, w Work[C, T, P]) error {
	return s.set.Advance(ctx, s.work(w))
}

func (s *Scopes[C, T, P]) work(w Work[C, T, P]) loops.Work[*Scope[C, T, P]] {
	return loops.Work[*Scope[C, T, P]]{
		Clock: w.Options.Clock,
		Advance: func(ctx context.Context, one *Scope[C, T, P]) (time.Time, error) {
			if !s.configured.Load() {
				return time.Time{}, nil
			}
			if err := one.Turn.Acquire(ctx, 1); err != nil {
				return time.Time{}, err
			}
			defer one.Turn.Release(1)
			return w.Advance(ctx, one)
		},
		Final: func(err error) bool { return errors.Is(err, state.ErrFenced) },
		Ended: func(one *Scope[C, T, P], err error) {
			w.Options.Logger.Error(w.Ended, "scope", one.Key(), "err", err)
		},
		Failed: func(one *Scope[C, T, P], n int, err error) time.Time {
			w.Options.Logger.Warn(w.Failed, "scope", one.Key(), "err", err)
			return w.Options.Now().Add(Retry(n, w.Options.Rand()))
		},
	}
}

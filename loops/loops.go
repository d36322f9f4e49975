// Package loops runs a loop for each of a changing set of things, such as scopes.
// A loop goes on when its next step is due, or when somebody pokes it; each by
// itself, so that one that hangs holds up no other.
package loops

import (
	"context"
	"errors"
	"maps"
	"slices"
	"sync"
	"time"
)

// Seat is a thing's place in a Set. It is embedded in the thing.
type Seat struct {
	key  string
	wake chan struct{} // has room for one
}

// NewSeat is the seat of the thing with that key.
func NewSeat(key string) Seat { return Seat{key: key, wake: make(chan struct{}, 1)} }

// Key is the thing's key.
func (s *Seat) Key() string { return s.key }

// Poke lets the loop look at the thing again. It never waits.
func (s *Seat) Poke() {
	select {
	case s.wake <- struct{}{}:
	default:
	}
}

func (s *Seat) seat() *Seat { return s }

// Seated is a thing with a Seat.
type Seated interface {
	comparable
	seat() *Seat
}

// Set is a set of things by their keys. It is safe for concurrent use.
type Set[T Seated] struct {
	mu     sync.RWMutex
	things map[string]T
	// added wakes Run when there are more.
	added   chan struct{}
	running sync.Mutex // held by Run
}

// NewSet returns an empty one.
func NewSet[T Seated]() *Set[T] {
	return &Set[T]{things: map[string]T{}, added: make(chan struct{}, 1)}
}

// Get returns a thing, and whether it is there.
func (s *Set[T]) Get(key string) (T, bool) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	t, ok := s.things[key]
	return t, ok
}

// Add returns the thing of a key, made if need be. If change is not nil, it is
// called while nobody can remove the thing.
func (s *Set[T]) Add(key string, fresh func() T, change func(T)) T {
	s.mu.Lock()
	defer s.mu.Unlock()
	t, ok := s.things[key]
	if !ok {
		t = fresh()
		s.things[key] = t
		select {
		case s.added <- struct{}{}:
		default:
		}
	}
	if change != nil {
		change(t)
	}
	return t
}

// Remove takes a thing out if it is still the one of its key and may goes by that
// nobody can change it meanwhile. Its loop ends by itself.
func (s *Set[T]) Remove(t T, may func() bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if key := t.seat().key; s.things[key] == t && may() {
		delete(s.things, key)
	}
}

// All returns the things sorted by key.
func (s *Set[T]) All() []T {
	s.mu.RLock()
	defer s.mu.RUnlock()
	out := make([]T, 0, len(s.things))
	for _, key := range slices.Sorted(maps.Keys(s.things)) {
		out = append(out, s.things[key])
	}
	return out
}

// Clock waits.
type Clock interface {
	// WaitUntil returns nil once it is not before t, or ctx's error.
	WaitUntil(ctx context.Context, t time.Time) error
}

// Work is what is done with each thing.
type Work[T Seated] struct {
	Clock Clock
	// Advance does every step that is due and returns when the next one is, zero if
	// only a poke can bring it.
	Advance func(context.Context, T) (time.Time, error)
	// Final reports whether an error ends everything.
	Final func(error) bool
	// Ended is told of an error that ends everything, Failed of any other, the nth in
	// a row; it says when to try again.
	Ended  func(T, error)
	Failed func(t T, n int, err error) time.Time
}

// Advance does every step of everything that is due now, one thing after the
// other. It stops at an error that ends everything, and joins the others.
func (s *Set[T]) Advance(ctx context.Context, w Work[T]) error {
	var errs []error
	for _, t := range s.All() {
		_, err := w.Advance(ctx, t)
		if ctx.Err() != nil || err != nil && w.Final(err) {
			return err
		}
		errs = append(errs, err)
	}
	return errors.Join(errs...)
}

// errRunning is returned by a second Run.
var errRunning = errors.New("it runs already")

// Run gives every thing a loop, until ctx ends (nil) or one of them finds an error
// that ends everything.
func (s *Set[T]) Run(ctx context.Context, w Work[T]) error {
	if !s.running.TryLock() {
		return errRunning
	}
	defer s.running.Unlock()
	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	var wg sync.WaitGroup
	defer wg.Wait()
	started := map[T]bool{}
	for {
		maps.DeleteFunc(started, func(t T, _ bool) bool { return !s.has(t) })
		for _, t := range s.All() {
			if started[t] {
				continue
			}
			started[t] = true
			wg.Go(func() {
				if err := s.follow(ctx, w, t); err != nil {
					stop(err)
				}
			})
		}
		select {
		case <-ctx.Done():
			if err := context.Cause(ctx); w.Final(err) {
				return err
			}
			return nil
		case <-s.added:
		}
	}
}

// has reports whether the thing is still in the set.
func (s *Set[T]) has(t T) bool {
	now, ok := s.Get(t.seat().key)
	return ok && now == t
}

// follow is the loop of one thing. It returns only the reason to stop everything.
func (s *Set[T]) follow(ctx context.Context, w Work[T], t T) error {
	failures := 0
	for {
		next, err := w.Advance(ctx, t)
		switch {
		case ctx.Err() != nil:
			return nil
		case err != nil && w.Final(err):
			w.Ended(t, err)
			return err
		case err != nil:
			failures++
			next = w.Failed(t, failures, err)
		default:
			failures = 0
		}
		if !s.has(t) || rest(ctx, w.Clock, t.seat().wake, next) != nil {
			return nil
		}
	}
}

// rest waits for next (zero: for ever) or for a poke.
func rest(ctx context.Context, clock Clock, wake <-chan struct{}, next time.Time) error {
	if next.IsZero() {
		select {
		case <-wake:
			return nil
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	waiting, cancel := context.WithCancel(ctx)
	var wg sync.WaitGroup
	defer wg.Wait()
	defer cancel()
	wg.Go(func() {
		select {
		case <-wake:
			cancel()
		case <-waiting.Done():
		}
	})
	if err := clock.WaitUntil(waiting, next); err != nil && ctx.Err() != nil {
		return ctx.Err()
	}
	return nil
}

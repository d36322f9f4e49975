package state

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
)

// ErrUnusable says that the state store could not be read or written, so that
// nothing was promised.
var ErrUnusable = errors.New("the state store cannot be used")

// Led are the records of one kind in the hands of a leader who acts by them, one per
// scope. Each names the epoch of the leader that wrote it: once one is of a newer
// epoch, or the store refuses a write for one, this process leads no longer,
// whatever it believes. Records are changed by Step, which notes that; Change does not.
// It is safe for concurrent use.
type Led[T epochal] struct {
	*Table[T]
	// what is kept of a scope, for people.
	what  string
	leads func() error
	lost  atomic.Bool
}

// epochal is a record that names the epoch of the leader that wrote it.
type epochal interface{ epoch() uint64 }

func (r ExecutionRecord) epoch() uint64 { return r.Epoch }

func (r DrainRecord) epoch() uint64 { return r.Epoch }

// Lead takes a table with a fence into a leader's hands. what names the thing that is
// kept of a scope, such as "action"; leads says with an error that this process leads
// no longer.
func Lead[T epochal](t *Table[T], what string, leads func() error) *Led[T] {
	return &Led[T]{Table: t, what: what, leads: leads}
}

// Leads fails with ErrFenced once this process leads no longer.
func (l *Led[T]) Leads() error {
	if l.lost.Load() {
		return fmt.Errorf("%w: a newer epoch than %d has written", ErrFenced, l.fence)
	}
	if err := l.leads(); err != nil {
		return fmt.Errorf("%w: %w", ErrFenced, err)
	}
	return nil
}

// Load is LoadReadable. It fails with ErrUnusable, and with ErrFenced if a newer
// epoch has written one of the records.
func (l *Led[T]) Load(ctx context.Context) (rows []Row[T], bad []Unreadable, err error) {
	if rows, bad, err = l.LoadReadable(ctx); err != nil {
		return nil, nil, fmt.Errorf("%w: reading %ss: %w", ErrUnusable, l.what, err)
	}
	for _, r := range rows {
		if err := l.check(r); err != nil {
			return nil, nil, err
		}
	}
	return rows, bad, nil
}

// Get is that of Table, but fails with ErrUnusable.
func (l *Led[T]) Get(ctx context.Context, key string) (Row[T], error) {
	row, err := l.Table.Get(ctx, key)
	if err != nil {
		return row, fmt.Errorf("%w: reading the %s of scope %s: %w", ErrUnusable, l.what, key, err)
	}
	return row, nil
}

// Step is Change by a step that can fail: then nothing is stored, and its error is
// returned as it is. Else it fails with ErrFenced or ErrUnusable.
func (l *Led[T]) Step(ctx context.Context, key string, step func(old T) (next T, history []Entry, changed bool, err error)) error {
	var refused error
	_, err := l.Change(ctx, key, func(old Row[T]) (next T, history []Entry, changed bool) {
		if refused = l.check(old); refused == nil {
			next, history, changed, refused = step(old.Value)
		}
		return next, history, changed && refused == nil
	})
	switch {
	case refused != nil:
		// An ErrFenced of the step's own proves nothing: who asks under a newer epoch
		// has shown no more than a text.
		return refused
	case errors.Is(err, ErrFenced):
		l.lost.Store(true)
		return err
	case err != nil:
		return fmt.Errorf("%w: the %s of scope %s: %w", ErrUnusable, l.what, key, err)
	}
	return nil
}

// check fails with ErrFenced if a newer leader wrote the record.
func (l *Led[T]) check(r Row[T]) error {
	if err := l.fence.Check(r.Value.epoch()); err != nil {
		l.lost.Store(true)
		return fmt.Errorf("the %s of scope %s: %w", l.what, r.Key, err)
	}
	return nil
}

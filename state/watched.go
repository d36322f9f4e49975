package state

import (
	"context"
	"errors"
	"sync"

	"github.com/zeta-scaler/zeta-scaler/contact"
)

// way is how a store is used: a full disk, or a right that is missing, lets it
// be read and not be written.
type way int

const (
	reads way = iota
	writes
)

// watched is a store that notes how it answers.
type watched struct {
	Store
	contact *contact.Log

	mu sync.Mutex
	// failing tells of each way whether its last attempt has failed.
	failing [2]bool
}

// Watched notes in a log how a store answers those who use it. One that can be
// read and not be written is down until it can be written again.
func Watched(s Store, l *contact.Log) Store { return &watched{Store: s, contact: l} }

// note takes what a call has brought: that there is no such record, that another
// was first, or that a newer leader leads, are answers.
func (w *watched) note(by way, err error) error {
	outcome := err
	if errors.Is(err, ErrNotFound) || errors.Is(err, ErrConflict) || errors.Is(err, ErrFenced) {
		outcome = nil
	}
	if errors.Is(outcome, context.Canceled) {
		return err
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.failing[by] = outcome != nil
	if outcome != nil || w.failing == [2]bool{} {
		w.contact.Note(outcome)
	}
	return err
}

func (w *watched) Get(ctx context.Context, kind Kind, key string) (Record, error) {
	r, err := w.Store.Get(ctx, kind, key)
	return r, w.note(reads, err)
}

func (w *watched) List(ctx context.Context, kind Kind) ([]Record, error) {
	r, err := w.Store.List(ctx, kind)
	return r, w.note(reads, err)
}

func (w *watched) Apply(ctx context.Context, f Fence, b Batch) ([]uint64, error) {
	v, err := w.Store.Apply(ctx, f, b)
	return v, w.note(writes, err)
}

func (w *watched) History(ctx context.Context, f Filter) ([]Entry, error) {
	e, err := w.Store.History(ctx, f)
	return e, w.note(reads, err)
}

func (w *watched) Trim(ctx context.Context, keep Retention) error {
	return w.note(writes, w.Store.Trim(ctx, keep))
}

func (w *watched) Check(ctx context.Context) error { return w.note(reads, w.Store.Check(ctx)) }

package state

import (
	"context"
	"errors"

	"github.com/zeta-scaler/zeta-scaler/contact"
)

// watched is a store that notes how it answers.
type watched struct {
	Store
	contact *contact.Log
}

// Watched notes in a log how a store answers those who use it.
func Watched(s Store, l *contact.Log) Store { return watched{s, l} }

// note takes what a call has brought: that there is no such record, that another
// was first, or that a newer leader leads, are answers.
func (w watched) note(err error) error {
	switch {
	case errors.Is(err, ErrNotFound), errors.Is(err, ErrConflict), errors.Is(err, ErrFenced):
		w.contact.Note(nil)
	default:
		w.contact.Note(err)
	}
	return err
}

func (w watched) Get(ctx context.Context, kind Kind, key string) (Record, error) {
	r, err := w.Store.Get(ctx, kind, key)
	return r, w.note(err)
}

func (w watched) List(ctx context.Context, kind Kind) ([]Record, error) {
	r, err := w.Store.List(ctx, kind)
	return r, w.note(err)
}

func (w watched) Apply(ctx context.Context, f Fence, b Batch) ([]uint64, error) {
	v, err := w.Store.Apply(ctx, f, b)
	return v, w.note(err)
}

func (w watched) History(ctx context.Context, f Filter) ([]Entry, error) {
	e, err := w.Store.History(ctx, f)
	return e, w.note(err)
}

func (w watched) Trim(ctx context.Context, keep Retention) error {
	return w.note(w.Store.Trim(ctx, keep))
}

func (w watched) Check(ctx context.Context) error { return w.note(w.Store.Check(ctx)) }

package state_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/zeta-scaler/zeta-scaler/contact"
	"github.com/zeta-scaler/zeta-scaler/state"
	"github.com/zeta-scaler/zeta-scaler/state/memory"
)

// halves is a store whose reads and writes fail as told.
type halves struct {
	state.Store
	read, write error
}

func (h *halves) List(ctx context.Context, kind state.Kind) ([]state.Record, error) {
	if h.read != nil {
		return nil, h.read
	}
	return h.Store.List(ctx, kind)
}

func (h *halves) Apply(ctx context.Context, f state.Fence, b state.Batch) ([]uint64, error) {
	if h.write != nil {
		return nil, h.write
	}
	return h.Store.Apply(ctx, f, b)
}

func TestAStoreThatCanBeReadAndNotWrittenIsDown(t *testing.T) {
	now := time.Date(2026, 3, 14, 9, 0, 0, 0, time.UTC)
	l := contact.New("file", "data/state.db", func() time.Time { return now })
	h := &halves{Store: memory.New()}
	s := state.Watched(h, l)
	read := func() {
		now = now.Add(time.Second)
		_, _ = s.List(t.Context(), state.Decision)
	}
	write := func() {
		now = now.Add(time.Second)
		_, _ = s.Apply(t.Context(), state.NoFence, state.Batch{})
	}
	write()
	read()
	require.Equal(t, contact.Up, l.Status().State)
	last := now

	h.write = errors.New("cannot grow: free space on its disk")
	write()
	full := now
	for range 3 {
		read()
		write()
		read()
		got := l.Status()
		require.Equal(t, contact.Down, got.State)
		require.Equal(t, full, *got.Since, "since the first write that failed, not the last")
		require.Equal(t, last, *got.LastAnswer)
		require.Contains(t, got.Error, "free space")
	}

	h.write = context.Canceled
	write()
	h.write = state.ErrFenced
	h.read = errors.New("cannot be read")
	read()
	write()
	require.Contains(t, l.Status().Error, "cannot be read", "that a newer leader leads is an answer, and reads fail still")
	h.read = nil
	read()
	require.Equal(t, contact.Up, l.Status().State)
	require.Equal(t, now, *l.Status().Since)
}

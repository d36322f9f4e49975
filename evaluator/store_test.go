package evaluator

import (
	"context"
	"errors"
	"log/slog"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/zeta-scaler/zeta-scaler/evaluator/handclock"
	"github.com/zeta-scaler/zeta-scaler/scaling"
	"github.com/zeta-scaler/zeta-scaler/state"
	"github.com/zeta-scaler/zeta-scaler/state/memory"
)

// cancelledStore fails as a store does whose context has ended.
type cancelledStore struct{ *memory.Store }

func (cancelledStore) List(ctx context.Context, _ state.Kind) ([]state.Record, error) {
	return nil, ctx.Err()
}

func TestStopWhileStarting(t *testing.T) {
	rs := fixture()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	l := NewLoop(Options{Store: cancelledStore{memory.New()}, Clock: handclock.New(time.UnixMilli(0)), Logger: slog.New(slog.DiscardHandler)})
	require.NoError(t, l.Run(ctx, fixtureConfig(rs, scaling.DefaultBounds())))
}

// failingStore refuses writes while broken.
type failingStore struct {
	*memory.Store
	broken bool
}

func (s *failingStore) Apply(ctx context.Context, f state.Fence, b state.Batch) ([]uint64, error) {
	if s.broken {
		return nil, errors.New("no space left on device")
	}
	return s.Store.Apply(ctx, f, b)
}

func TestStoreFailurePublishesNothing(t *testing.T) {
	rs := fixture()
	store := &failingStore{Store: memory.New()}
	l := newLive(t, quietCluster(rs), store, fixtureConfig(rs, scaling.DefaultBounds()), 1)
	l.tick(t, at(rs, 100))
	store.broken = true
	l.tick(t, at(rs, 101))
	require.Equal(t, at(rs, 100), l.rec.newest("a").tick)
	store.broken = false
	l.tick(t, at(rs, 102))
	require.Equal(t, at(rs, 102), l.rec.newest("a").tick)
	require.False(t, l.rec.newest("a").provisional, "the windows went on meanwhile")
}

// unsure is a store that writes and then says that it could not.
type unsure struct {
	state.Store
	fails bool
}

func (s *unsure) Apply(ctx context.Context, f state.Fence, b state.Batch) ([]uint64, error) {
	versions, err := s.Store.Apply(ctx, f, b)
	if s.fails && err == nil {
		return nil, errors.New("no reply")
	}
	return versions, err
}

// What was stored and not published is written over, even if what is published
// next is what was published before.
func TestStoreSaysWhatWasPublished(t *testing.T) {
	rs := fixture()
	store := &unsure{Store: memory.New()}
	src := quietCluster(rs)
	src.values["cpu"], src.values["jobs"] = constant(0.5), constant(2) // busy enough, however long
	src.values["current"] = func(_ string, n int64) (float64, bool) { return 4, n != 101 }
	l := newLive(t, src, store, fixtureConfig(rs, scaling.DefaultBounds(), "a"), 1)
	l.tick(t, at(rs, 100))
	published := l.rec.newest("a").row
	stored := func() scaling.RowID {
		row, err := state.Decisions(store, state.NoFence).Get(t.Context(), "a")
		require.NoError(t, err)
		return row.Value.Row
	}
	store.fails = true
	l.tick(t, at(rs, 101))
	require.Equal(t, scaling.RowWorkersUnknown, stored())
	require.Equal(t, at(rs, 100), l.rec.newest("a").tick, "it is not published")
	store.fails = false
	l.tick(t, at(rs, 102))
	require.Equal(t, published, l.rec.newest("a").row)
	require.Equal(t, published, stored())
}

func TestAnotherLeaderStopsTheLoop(t *testing.T) {
	rs := fixture()
	store := memory.New()
	cfg := fixtureConfig(rs, scaling.DefaultBounds())
	old := newLive(t, quietCluster(rs), store, cfg, 1)
	old.tick(t, at(rs, 100))
	_, err := state.Leaders(store).Change(t.Context(), state.EpochKey,
		func(state.Row[state.LeaderRecord]) (state.LeaderRecord, []state.Entry, bool) {
			return state.LeaderRecord{Epoch: 2}, nil, true
		})
	require.NoError(t, err)
	young := newLive(t, quietCluster(rs), store, cfg, 2)
	young.tick(t, at(rs, 101))
	require.ErrorIs(t, old.r.tick(t.Context(), at(rs, 102).UnixMilli()), state.ErrFenced)
	require.Equal(t, at(rs, 100), old.rec.newest("a").tick, "nothing of it was published")
	young.tick(t, at(rs, 103))
}

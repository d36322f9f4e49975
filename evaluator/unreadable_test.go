package evaluator

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/zeta-scaler/zeta-scaler/scaling"
	"github.com/zeta-scaler/zeta-scaler/state"
	"github.com/zeta-scaler/zeta-scaler/state/memory"
)

// spoil puts a value into the store that is none of its kind.
func spoil(t *testing.T, store state.Store, kind state.Kind, key string) {
	t.Helper()
	r, err := store.Get(t.Context(), kind, key)
	if !errors.Is(err, state.ErrNotFound) {
		require.NoError(t, err)
	}
	_, err = store.Apply(t.Context(), state.NoFence, state.Batch{Puts: []state.Put{{Kind: kind, Key: key, Version: r.Version, Value: []byte(`[1]`)}}})
	require.NoError(t, err)
}

func twoThatWait() *series {
	src := quietCluster(fixture())
	src.clusters = []string{"a", "b"}
	src.values["age"] = constant(90) // a job waits: SCALE_OUT at every tick
	return src
}

// A decision or a last tick that cannot be read stops nobody: the scope is decided
// anew, and its record written.
func TestADecisionThatCannotBeReadStopsNobody(t *testing.T) {
	rs := fixture()
	store := memory.New()
	cfg := fixtureConfig(rs, scaling.DefaultBounds())
	l := newLive(t, twoThatWait(), store, cfg, 1)
	l.tick(t, at(rs, 100))
	a := l.rec.last["a"].Recommendation
	spoil(t, store, state.Decision, "b")
	spoil(t, store, state.Tick, rs.Name)
	l = newLive(t, twoThatWait(), store, cfg, 2)
	l.tick(t, at(rs, 101))
	require.Equal(t, a.Since, l.rec.last["a"].Recommendation.Since, "the others go on")
	require.Equal(t, scaling.ScaleOut, l.rec.last["b"].Recommendation.Action)
	require.Equal(t, at(rs, 101), l.rec.last["b"].Recommendation.Since)
	row, err := state.Decisions(store, state.NoFence).Get(t.Context(), "b")
	require.NoError(t, err, "it is written anew")
	require.Equal(t, l.rec.last["b"].Recommendation.RecommendationID, row.Value.RecommendationID)
}

// Under one epoch no recommendation id is used twice, whatever the store says.
func TestAReloadOverADecisionThatCannotBeRead(t *testing.T) {
	rs := fixture()
	for _, cfg := range []Config{fixtureConfig(rs, scaling.DefaultBounds()), fixtureConfig(rs, scaling.DefaultBounds(), "a", "b")} {
		store := memory.New()
		s := startService(t, twoThatWait(), store, cfg, at(rs, 100), 1)
		s.await(at(rs, 100))
		before := s.rec.last["b"].Recommendation
		spoil(t, store, state.Decision, "b")
		require.NoError(t, s.loop.Reload(t.Context(), cfg))
		s.advance(at(rs, 101))
		require.Greater(t, s.rec.last["b"].Recommendation.Generation, before.Generation)
		s.stop()
	}
}

// What executor or drainer know of a scope and cannot be read holds that scope and no
// other, until the record is gone.
func TestAnActionThatCannotBeReadHoldsItsScope(t *testing.T) {
	rs := fixture()
	for _, kind := range []state.Kind{state.Execution, state.Drain} {
		store := memory.New()
		setControl(t, store, "b", state.ControlRecord{ResumedAt: at(rs, 90)})
		spoil(t, store, kind, "b")
		l := newLive(t, twoThatWait(), store, fixtureConfig(rs, scaling.DefaultBounds()), 1)
		var log bytes.Buffer
		l.r.Logger = slog.New(slog.NewTextHandler(&log, nil))
		l.r.troubles = newTroubles(l.r.Logger, l.r.group)
		held := func(key string) bool {
			r := l.rec.last[key].Recommendation
			return r.HeldBy(scaling.BlockerActionInFlight)
		}
		for n := range 200 {
			l.tick(t, at(rs, 100+n))
			require.True(t, held("b"))
			require.False(t, held("a"))
		}
		require.Contains(t, l.r.group.scopes.sorted[1].limits.Conflicts[0], "cannot be read: nothing is carried out")
		require.Equal(t, 1, bytes.Count(log.Bytes(), []byte("nothing is carried out for it")), log.String())
		require.Equal(t, []string{"b"}, controlKeys(t, store), "it may be needed yet")
		w := state.NewWrite(store, state.NoFence)
		state.Executions(store, state.NoFence).Remove(w, "b")
		state.Drains(store, state.NoFence).Remove(w, "b")
		require.NoError(t, w.Commit(t.Context()))
		l.tick(t, at(rs, 301))
		require.False(t, held("b"))
		require.Contains(t, log.String(), "can be read again")
	}
}

// deafStore answers no reads while it is deaf.
type deafStore struct {
	*memory.Store
	deaf atomic.Bool
}

func (s *deafStore) List(ctx context.Context, kind state.Kind) ([]state.Record, error) {
	if s.deaf.Load() {
		return nil, errors.New("connection refused")
	}
	return s.Store.List(ctx, kind)
}

// A reload that was acknowledged waits for a store that fails then, and a later one
// takes its place.
func TestAReloadWaitsForTheStore(t *testing.T) {
	rs := fixture()
	store := &deafStore{Store: memory.New()}
	src := quietCluster(rs)
	src.clusters = []string{"a", "b", "c"}
	s := startService(t, src, store, fixtureConfig(rs, scaling.DefaultBounds(), "a"), at(rs, 100), 1)
	s.await(at(rs, 100))
	store.deaf.Store(true)
	require.NoError(t, s.loop.Reload(t.Context(), fixtureConfig(rs, scaling.DefaultBounds(), "b")))
	require.NoError(t, s.loop.Reload(t.Context(), fixtureConfig(rs, scaling.DefaultBounds(), "c")))
	store.deaf.Store(false)
	s.advance(at(rs, 101))
	require.Equal(t, at(rs, 101), s.rec.newest("c").tick)
	require.Zero(t, s.rec.newest("b"))
	require.Equal(t, []string{"a"}, s.rec.gone)
}

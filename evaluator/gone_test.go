package evaluator

import (
	"bytes"
	"errors"
	"log/slog"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/zeta-scaler/zeta-scaler/scaling"
	"github.com/zeta-scaler/zeta-scaler/source"
	"github.com/zeta-scaler/zeta-scaler/state"
	"github.com/zeta-scaler/zeta-scaler/state/memory"
)

func TestLostScopeIsForgotten(t *testing.T) {
	rs := fixture()
	src := quietCluster(rs)
	gone := false
	for name, f := range src.values {
		src.values[name] = func(c string, n int64) (float64, bool) {
			v, _ := f(c, n)
			return v, !gone
		}
	}
	store := memory.New()
	cfg := fixtureConfig(rs, scaling.DefaultBounds())
	cfg.ForgetAfter = 10 * 30 * time.Second
	l := newLive(t, src, store, cfg, 1)
	l.tick(t, at(rs, 100))
	gone = true
	for i := 101; i < 110; i++ {
		l.tick(t, at(rs, i))
		require.Equal(t, scaling.RowWorkersUnknown, l.rec.newest("a").row)
	}
	require.Nil(t, l.rec.last["a"].Recommendation.RecommendedWorkers)
	l.tick(t, at(rs, 110))
	require.Equal(t, []string{"a"}, l.rec.gone)
	_, err := store.Get(t.Context(), state.Decision, "a")
	require.ErrorIs(t, err, state.ErrNotFound)
	gone = false
	l.tick(t, at(rs, 111))
	require.Greater(t, l.rec.newest("a").generation, uint64(1), "an id is not used twice under one epoch")
}

// A scope that goes and comes back while the store is down was never gone: it is
// not removed and written at once, which no store takes.
func TestForgottenScopeComesBackBeforeTheStoreDoes(t *testing.T) {
	rs := fixture()
	src := quietCluster(rs)
	gone := false
	for name, f := range src.values {
		src.values[name] = func(c string, n int64) (float64, bool) {
			v, _ := f(c, n)
			return v, !gone
		}
	}
	store := &failingStore{Store: memory.New()}
	cfg := fixtureConfig(rs, scaling.DefaultBounds())
	cfg.ForgetAfter = 10 * 30 * time.Second
	l := newLive(t, src, store, cfg, 1)
	l.tick(t, at(rs, 100))
	before := l.rec.newest("a").generation
	gone, store.broken = true, true
	for i := 101; i < 115; i++ {
		l.tick(t, at(rs, i))
	}
	gone = false
	l.tick(t, at(rs, 115))
	store.broken = false
	l.tick(t, at(rs, 116))
	require.Equal(t, at(rs, 116), l.rec.newest("a").tick)
	require.Greater(t, l.rec.newest("a").generation, before)
	require.Empty(t, l.rec.gone)
	_, err := store.Get(t.Context(), state.Decision, "a")
	require.NoError(t, err)
}

func TestScopeIsNotForgottenWhileNobodyAnswers(t *testing.T) {
	rs := fixture()
	src := quietCluster(rs)
	store := memory.New()
	cfg := fixtureConfig(rs, scaling.DefaultBounds())
	cfg.ForgetAfter = 10 * 30 * time.Second
	l := newLive(t, src, store, cfg, 1)
	l.tick(t, at(rs, 100))
	before := l.rec.newest("a").generation
	src.down = func(time.Time, bool) error { return source.NoAnswer(errors.New("connection refused")) }
	for i := 101; i < 200; i++ {
		l.tick(t, at(rs, i))
		require.Equal(t, scaling.RowWorkersUnknown, l.rec.newest("a").row)
	}
	require.Empty(t, l.rec.gone, "a source that is down says nothing about who exists")
	_, err := store.Get(t.Context(), state.Decision, "a")
	require.NoError(t, err)
	// A restart in the outage forgets nobody either.
	l = newLive(t, src, store, cfg, 2)
	l.tick(t, at(rs, 200))
	require.Empty(t, l.rec.gone)
	src.down = nil
	l.tick(t, at(rs, 201))
	require.Equal(t, scaling.RowIdle, l.rec.newest("a").row)
	require.Greater(t, l.rec.newest("a").generation, before)
}

func TestRemovedScopeIsCleanedAtOnce(t *testing.T) {
	rs := fixture()
	src := quietCluster(rs)
	src.clusters = []string{"a", "b"}
	store := memory.New()
	s := startService(t, src, store, fixtureConfig(rs, scaling.DefaultBounds(), "a", "b"), at(rs, 100), 1)
	s.await(at(rs, 100))
	require.NoError(t, s.loop.Reload(t.Context(), fixtureConfig(rs, scaling.DefaultBounds(), "b")))
	s.advance(at(rs, 101))
	require.Equal(t, []string{"a"}, s.rec.gone)
	require.Equal(t, at(rs, 100), s.rec.newest("a").tick)
	require.Equal(t, at(rs, 101), s.rec.newest("b").tick)
	require.Equal(t, scaling.RowIdle, s.rec.newest("b").row, "a reload restores the windows")
	bad := fixtureConfig(rs, scaling.DefaultBounds(), "b")
	bad.DefaultRuleSet = "nothing"
	require.ErrorContains(t, s.loop.Reload(t.Context(), bad), `rule set "nothing" is not loaded`)
	s.advance(at(rs, 102))
}

// What somebody has set at run time outlives the listing of its scope; what is over
// does not count, and is swept later.
func TestPauseOutlivesTheListing(t *testing.T) {
	rs := fixture()
	src := quietCluster(rs)
	src.clusters = []string{"a", "b", "c"}
	store := memory.New()
	s := startService(t, src, store, fixtureConfig(rs, scaling.DefaultBounds(), "a", "b", "c"), at(rs, 100), 1)
	s.await(at(rs, 100))
	var log bytes.Buffer
	s.loop.Logger = slog.New(slog.NewTextHandler(&log, nil))
	controls := state.Controls(store)
	seven := 7
	for key, c := range map[string]state.ControlRecord{
		"a": {Paused: true, Reason: "upgrade", By: "ops"},
		"b": {MaxWorkers: &seven, By: "ann"},
		"c": {Paused: true, PausedUntil: at(rs, 100)},
	} {
		_, err := controls.Change(t.Context(), key, func(state.Row[state.ControlRecord]) (state.ControlRecord, []state.Entry, bool) {
			return c, nil, true
		})
		require.NoError(t, err)
	}
	require.NoError(t, s.loop.Reload(t.Context(), fixtureConfig(rs, scaling.DefaultBounds(), "d")))
	s.advance(at(rs, 101))
	require.ElementsMatch(t, []string{"a", "b", "c"}, s.rec.gone)
	require.Contains(t, log.String(), "scope=a paused=true by=ops")
	require.Contains(t, log.String(), "scope=b paused=false max_workers=7 by=ann")
	left, err := controls.List(t.Context())
	require.NoError(t, err)
	require.Len(t, left, 3)
	require.NotContains(t, log.String(), "scope=c paused")
	require.NoError(t, s.loop.Reload(t.Context(), fixtureConfig(rs, scaling.DefaultBounds(), "a", "b", "c", "d")))
	s.advance(at(rs, 102))
	require.True(t, s.rec.last["a"].Paused)
	require.Equal(t, &seven, s.rec.last["b"].MaxWorkers)
	require.False(t, s.rec.last["c"].Paused)
}

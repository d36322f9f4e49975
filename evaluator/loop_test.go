package evaluator

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"testing"
	"time"

	"github.com/prometheus/prometheus/model/labels"
	"github.com/stretchr/testify/require"

	"github.com/zeta-scaler/zeta-scaler/rules"
	"github.com/zeta-scaler/zeta-scaler/scaling"
	"github.com/zeta-scaler/zeta-scaler/source"
	"github.com/zeta-scaler/zeta-scaler/state"
	"github.com/zeta-scaler/zeta-scaler/state/memory"
)

// quietCluster is an idle cluster of four workers that never changes.
func quietCluster(rs *rules.RuleSet) *series {
	return &series{
		clusters: []string{"a"}, phase: Phase(rs.Name, rs.Interval),
		values: map[string]func(string, int64) (float64, bool){
			"current": constant(4), "reporting": constant(4), "mode": constant(0),
			"age": constant(0), "jobs": constant(0), "cpu": constant(0.1), "slots": constant(0.1), "big": constant(1),
		},
	}
}

func TestLoopPublishesAtItsTicks(t *testing.T) {
	rs := fixture()
	s := startService(t, quietCluster(rs), memory.New(), fixtureConfig(rs, scaling.DefaultBounds()), at(rs, 100).Add(7*time.Second), 3)
	s.await(at(rs, 100))
	require.Equal(t, scaling.RowIdle, s.rec.newest("a").row, "a restore finds the windows full")
	s.advance(at(rs, 101))
	ev := s.rec.last["a"]
	require.Equal(t, at(rs, 101), ev.Recommendation.ObservedAt)
	require.Equal(t, "3-1-a", ev.Recommendation.RecommendationID)
	require.Equal(t, at(rs, 100), ev.Recommendation.Since)
	require.Equal(t, at(rs, 101).Add(90*time.Second), ev.Recommendation.ValidUntil)
	require.True(t, ev.Recommendation.RecommendationOnly)
	require.True(t, ev.Inputs[2].Windows[1].AtLeast, "the run reaches back to the start of the lookback")
}

func TestTickIsNeverPublishedTwice(t *testing.T) {
	rs := fixture()
	store := memory.New()
	cfg := fixtureConfig(rs, scaling.DefaultBounds())
	s := startService(t, quietCluster(rs), store, cfg, at(rs, 100), 1)
	s.await(at(rs, 100))
	s.stop()
	again := startService(t, quietCluster(rs), store, cfg, at(rs, 100).Add(time.Second), 2)
	again.advance(at(rs, 101))
	require.Len(t, again.rec.seen["a"], 1)
	require.Equal(t, "2-1-a", again.rec.last["a"].Recommendation.RecommendationID, "the generation goes on, the epoch is new")
}

func TestClockThatGoesBack(t *testing.T) {
	rs := fixture()
	src := quietCluster(rs)
	s := startService(t, src, memory.New(), fixtureConfig(rs, scaling.DefaultBounds()), at(rs, 100), 1)
	s.await(at(rs, 100))
	s.clock.Set(at(rs, 100).Add(-20 * time.Second)) // less than an interval: nothing happens
	s.clock.Set(at(rs, 50))
	for s.rec.newest("a").tick != at(rs, 50) {
		select {
		case <-s.rec.ticks:
		case <-time.After(10 * time.Second):
			t.Fatal("no fresh restore after the clock went back")
		}
	}
	require.Equal(t, scaling.RowIdle, s.rec.newest("a").row)
}

func TestClockThatJumpsForward(t *testing.T) {
	rs := fixture()
	src := quietCluster(rs)
	now := int64(100)
	for name, f := range src.values {
		src.values[name] = func(c string, n int64) (float64, bool) {
			v, _ := f(c, n)
			return v, n <= now
		}
	}
	l := newLive(t, src, memory.New(), fixtureConfig(rs, scaling.DefaultBounds(), "a"), 1)
	l.tick(t, at(rs, 100))
	require.Equal(t, scaling.RowIdle, l.rec.newest("a").row)
	l.tick(t, at(rs, 400))
	require.Equal(t, scaling.RowWorkersUnknown, l.rec.newest("a").row, "ticks ahead of the samples are unknown")
}

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

// cancelledStore fails as a store does whose context has ended.
type cancelledStore struct{ *memory.Store }

func (cancelledStore) List(ctx context.Context, _ state.Kind) ([]state.Record, error) {
	return nil, ctx.Err()
}

func TestStopWhileStarting(t *testing.T) {
	rs := fixture()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	l := NewLoop(Options{Store: cancelledStore{memory.New()}, Clock: newHandClock(time.UnixMilli(0)), Logger: slog.New(slog.DiscardHandler)})
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

func TestUnknownValues(t *testing.T) {
	rs := fixture()
	rs.Signals[1].Absent = rules.AbsentZero
	for _, tc := range []struct {
		name   string
		change func(*series)
		row    scaling.RowID
		input  int
		reason string
		valid  bool
	}{
		{"no sample", func(s *series) { delete(s.values, "cpu") }, scaling.RowBlind, 2, "no_sample", false},
		{"absent: zero", func(s *series) { delete(s.values, "jobs") }, scaling.RowIdle, 1, "", true},
		{"not a number", func(s *series) { s.values["cpu"] = constant(nan()) }, scaling.RowBlind, 2, "invalid_value", false},
		{"outside its range", func(s *series) { s.values["cpu"] = constant(1.5) }, scaling.RowBlind, 2, "invalid_value", false},
		{"two samples", func(s *series) { s.clusters = []string{"a", "a"} }, scaling.RowWorkersUnknown, 2, "duplicate_series", false},
		{"half a worker", func(s *series) { s.values["current"] = constant(3.5) }, scaling.RowWorkersUnknown, 2, "", false},
		{"warnings", func(s *series) { s.warn = func(e string, _ bool) bool { return e == "cpu" } }, scaling.RowBlind, 2, "warnings", false},
		{"a query that is answered with an error", func(s *series) {
			s.down = func(time.Time, bool) error { return errors.New("bad_data: many-to-many matching") }
		}, "", 2, "", false},
	} {
		t.Run(tc.name, func(t *testing.T) {
			src := quietCluster(rs)
			tc.change(src)
			l := newLive(t, src, memory.New(), fixtureConfig(rs, scaling.DefaultBounds(), "a"), 1)
			// Long enough for the provisional state to be promoted where a
			// restore is impossible.
			for i := 100; i < 120; i++ {
				l.tick(t, at(rs, i))
			}
			ev := l.rec.last["a"]
			require.Equal(t, tc.valid, ev.Recommendation.MetricsValid)
			if tc.row == "" {
				require.Equal(t, scaling.RowWorkersUnknown, ev.Recommendation.Row)
				require.Equal(t, "query_error", ev.Inputs[tc.input].Reason)
				return
			}
			require.Equal(t, tc.row, ev.Recommendation.Row)
			require.Equal(t, tc.reason, ev.Inputs[tc.input].Reason)
			require.False(t, ev.Provisional, "an answer is final")
		})
	}
}

func TestSampleWithoutScopeLabelIsIgnored(t *testing.T) {
	table := newScopeTable([]string{"cluster"})
	_, ok := table.find(labels.FromStrings("instance", "x"))
	require.False(t, ok)
}

func TestShadowsNeverDecide(t *testing.T) {
	rs, eager := fixture(), fixture()
	eager.Name = "eager"
	for i := range eager.Signals {
		if eager.Signals[i].Name == "cpu" {
			eager.Signals[i].Out, eager.Signals[i].In = above(0.05, 3), nil
		}
	}
	cfg := fixtureConfig(rs, scaling.DefaultBounds())
	cfg.RuleSets = append(cfg.RuleSets, eager)
	cfg.DefaultShadows = []string{"eager"}
	l := newLive(t, quietCluster(rs), memory.New(), cfg, 1)
	l.tick(t, at(rs, 100))
	ev := l.rec.last["a"]
	require.Equal(t, scaling.RowIdle, ev.Recommendation.Row)
	require.Len(t, ev.Shadows, 1)
	require.Equal(t, scaling.ScaleOut, ev.Shadows[0].Action)
	require.False(t, ev.Shadows[0].Agrees)
}

func TestGenerations(t *testing.T) {
	tick := at(fixture(), 0)
	decision := func(row scaling.RowID, action scaling.Action, target int) *Decision {
		for i := range table {
			if table[i].id == row {
				return &Decision{Row: i, Action: action, Target: target, TargetKnown: true}
			}
		}
		return nil
	}
	var p published
	step := func(d *Decision, master string, want uint64) {
		t.Helper()
		p = p.next(d, master, tick, 1)
		require.Equal(t, want, p.generation)
	}
	steady := decision(scaling.RowSteady, scaling.NoAction, 4)
	out5 := decision(scaling.RowShortage, scaling.ScaleOut, 5)
	unknown := decision(scaling.RowWorkersUnknown, scaling.NoAction, 0)
	step(steady, "m1", 1)
	step(decision(scaling.RowIdleStale, scaling.ScaleInBlocked, 4), "m1", 1) // still a hold
	step(out5, "m1", 2)
	step(out5, "m1", 2)
	step(unknown, "", 2) // one tick is within the gap tolerance
	step(out5, "m1", 2)
	step(unknown, "", 2)
	step(unknown, "", 3)
	step(out5, "m1", 4)
	step(decision(scaling.RowShortage, scaling.ScaleOut, 6), "m1", 5)
	step(decision(scaling.RowShortage, scaling.ScaleOut, 6), "m2", 6) // a new master supersedes
	step(steady, "m1", 7)
	step(steady, "m2", 7) // nothing to supersede
	step(out5, "m2", 8)
	step(unknown, "m3", 9) // what was asked of m2 ends, although the count is only late
	require.Equal(t, scaling.NoAction, p.intent.Action)
}

func nan() float64 {
	zero := 0.0
	return zero / zero
}

func TestDiscoveryIsBounded(t *testing.T) {
	rs := fixture()
	g, err := newGroup(rs, nil, rs.Interval)
	require.NoError(t, err)
	g.discover = true
	g.limitsOf = func(*scopeState, time.Time) scaling.Limits { return scaling.Limits{Bounds: scaling.DefaultBounds()} }
	g.generationOf = func(string) uint64 { return 0 }
	for i := range maxScopes {
		// The table is only asked for its length.
		g.scopes.sorted = append(g.scopes.sorted, &scopeState{Scope: scaling.Scope{Key: fmt.Sprint(i)}})
	}
	require.Nil(t, g.discoverScope(labels.FromStrings("cluster", "one more"), 0))
	require.Equal(t, 1, g.refused)
}

// flood answers every instant query with more series than there can be scopes.
type flood struct{ *series }

func (f flood) Instant(ctx context.Context, expr string, at time.Time) (source.Vector, error) {
	if expr == "cpu" {
		return source.Vector{Samples: make([]source.Sample, maxSeries+1)}, nil
	}
	return f.series.Instant(ctx, expr, at)
}

func TestAnswerWithTooManySeriesIsRefused(t *testing.T) {
	rs := fixture()
	l := newLive(t, flood{quietCluster(rs)}, memory.New(), fixtureConfig(rs, scaling.DefaultBounds(), "a"), 1)
	l.tick(t, at(rs, 100))
	l.tick(t, at(rs, 101))
	ev := l.rec.last["a"]
	require.Equal(t, scaling.RowBlind, ev.Recommendation.Row)
	require.Equal(t, "query_error", ev.Inputs[2].Reason)
}

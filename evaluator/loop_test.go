package evaluator

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/prometheus/prometheus/model/labels"
	"github.com/stretchr/testify/require"

	"github.com/zeta-scaler/zeta-scaler/rules"
	"github.com/zeta-scaler/zeta-scaler/scaling"
	"github.com/zeta-scaler/zeta-scaler/source"
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

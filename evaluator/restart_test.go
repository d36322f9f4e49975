package evaluator

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/zeta-scaler/zeta-scaler/rules"
	"github.com/zeta-scaler/zeta-scaler/scaling"
	"github.com/zeta-scaler/zeta-scaler/state"
	"github.com/zeta-scaler/zeta-scaler/state/memory"
)

// restartEverywhere compares one service that never stops with one that is
// started anew, with nothing but the samples, at every tick from the given one
// on.
func restartEverywhere(t *testing.T, rs *rules.RuleSet, s story, bounds scaling.Bounds, from int, scopes ...string) []scaling.RowID {
	t.Helper()
	src, cfg := s.source(rs), fixtureConfig(rs, bounds, scopes...)
	uncut := newLive(t, src, memory.New(), cfg, 1)
	var rows []scaling.RowID
	for i := range s["current"] {
		uncut.tick(t, at(rs, i))
		rows = append(rows, uncut.rec.newest("a").row)
		if i < from {
			continue
		}
		cut := newLive(t, src, memory.New(), cfg, 1)
		cut.tick(t, at(rs, i))
		require.True(t, uncut.rec.newest("a").same(cut.rec.newest("a")),
			"tick %d: uncut %s, restarted %s", i, uncut.rec.newest("a"), cut.rec.newest("a"))
	}
	return rows
}

// TestRestartKnowsTheFloorDelayOfScopesToCome: a service without a store finds
// its scopes only by restoring, and has to read back far enough for their
// floor delay all the same.
func TestRestartKnowsTheFloorDelayOfScopesToCome(t *testing.T) {
	const n = 30
	rs := fixture()
	rs.Bounds = &scaling.Bounds{Min: 5, Max: 8, FloorDelay: 20 * rs.Interval}
	s := story{"current": make([]float64, n)}
	for i := range n {
		s["current"][i] = 4
	}
	rows := restartEverywhere(t, rs, s, scaling.Bounds{}, 20)
	require.Equal(t, scaling.RowBelowMin, rows[n-1])
}

// TestRestartKnowsWhenTheFloorWasRestored: the floor resets the window of the
// demand, so that a restart has to see it restored.
func TestRestartKnowsWhenTheFloorWasRestored(t *testing.T) {
	const n, delay, restored = 24, 8, 12
	rs := fixture()
	rs.Signals[3].Out.For = 2 * rs.Interval
	rs.Step.SchedulerBacklog = rs.Interval
	s := story{}
	for i := range n {
		current := 4.0
		if i < restored {
			current = 2
		}
		for name, v := range map[string]float64{
			"current": current, "reporting": current, "mode": 0, "age": 0, "jobs": 2, "cpu": 0.5, "slots": 1, "big": 1,
		} {
			s[name] = append(s[name], v)
		}
	}
	for i := range rs.Signals {
		if rs.Signals[i].In != nil {
			rs.Signals[i].In.For = 2 * rs.Interval
		}
	}
	bounds := scaling.Bounds{Min: 4, Max: 8, FloorDelay: delay * rs.Interval}
	rows := restartEverywhere(t, rs, s, bounds, delay, "a")
	require.Equal(t, scaling.RowBelowMin, rows[restored-1])
	require.Equal(t, scaling.RowTightAlone, rows[restored+1], "the demand has not lasted since the floor was restored")
	require.Equal(t, scaling.RowTightWithDemand, rows[restored+2])
}

// TestRestartGoesOnCountingUnknownWorkers: how long the worker count has been
// unknown decides whether a generation still stands, so it survives a restart.
func TestRestartGoesOnCountingUnknownWorkers(t *testing.T) {
	rs := fixture()
	rs.GapTolerance = 3
	src := story{
		"current": {2, 2, absent, absent, absent, absent}, "reporting": {2, 2, 2, 2, 2, 2},
	}.source(rs)
	for stop := 1; stop < 6; stop++ {
		cfg := fixtureConfig(rs, scaling.Bounds{Min: 3, Max: 8}, "a")
		store := memory.New()
		l := newLive(t, src, store, cfg, 1)
		for i := range 6 {
			if i == stop {
				l = newLive(t, src, store, cfg, 2)
			}
			l.tick(t, at(rs, i))
			want := uint64(1) // SCALE_OUT to 3
			if i > 4 {
				want = 2 // unknown for more than three ticks: hold
			}
			require.Equal(t, want, l.rec.newest("a").generation, "tick %d, restarted at %d", i, stop)
		}
	}
}

// TestRestartIsNoChange: a decision that a restart finds as it was is not told
// anew, neither to the history nor to anybody else.
func TestRestartIsNoChange(t *testing.T) {
	busy := &state.ExecutionRecord{ActionInFlight: true}
	for name, tc := range map[string]struct {
		age  float64
		exec *state.ExecutionRecord
		row  scaling.RowID
	}{"blocked by an action": {90, busy, scaling.RowShortage}, "blocked by a signal": {30, nil, scaling.RowIdleShortage}} {
		t.Run(name, func(t *testing.T) {
			rs := fixture()
			src := story{
				"current": {4, 4}, "reporting": {4, 4}, "age": {tc.age, tc.age}, "jobs": {0, 0}, "cpu": {0.1, 0.1},
			}.source(rs)
			rs.Signals[0].Out.For = 0
			store := memory.New()
			if tc.exec != nil {
				put, err := state.NewPut(state.Execution, "a", 0, tc.exec)
				require.NoError(t, err)
				_, err = store.Apply(t.Context(), state.NoFence, state.Batch{Puts: []state.Put{put}})
				require.NoError(t, err)
			}
			cfg := fixtureConfig(rs, scaling.Bounds{Min: 1, Max: 8}, "a")
			l := newLive(t, src, store, cfg, 1)
			l.tick(t, at(rs, 0))
			require.Equal(t, tc.row, l.rec.newest("a").row)
			require.NotEmpty(t, l.rec.last["a"].Recommendation.BlockingConditions)
			l = newLive(t, src, store, cfg, 2)
			l.tick(t, at(rs, 1))
			require.False(t, l.rec.last["a"].Changed)
		})
	}
}

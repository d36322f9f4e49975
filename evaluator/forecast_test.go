package evaluator

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/zeta-scaler/zeta-scaler/scaling"
	"github.com/zeta-scaler/zeta-scaler/state"
	"github.com/zeta-scaler/zeta-scaler/state/memory"
)

// A forecast comes true: after any past, if every later tick sees what the newest
// one has seen, then nothing else is decided before the tick of the forecast, and
// at that tick what it says; without one nothing else is ever decided.
func TestForecastComesTrue(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		const past, future = 25, 30
		rs := drawRules(t)
		s := drawStory(t, past)
		for name, values := range s {
			for range future {
				values = append(values, values[past-1])
			}
			s[name] = values
		}
		l := newLive(t, s.source(rs), memory.New(), fixtureConfig(rs, scaling.Bounds{Min: 1, Max: 8}, "a"), 1)
		for i := range past {
			l.tick(t, at(rs, i))
		}
		said := l.rec.last["a"]
		known := said.Recommendation.CurrentWorkers != nil
		for i := past; i < past+future; i++ {
			l.tick(t, at(rs, i))
			now := l.rec.last["a"]
			same := now.Recommendation.Action == said.Recommendation.Action && equalCounts(now.Recommendation.RecommendedWorkers, said.Recommendation.RecommendedWorkers)
			switch {
			case !known:
				require.Nil(t, said.Next, "nobody can tell")
				return
			case said.Next != nil && now.Tick.Equal(said.Next.At):
				require.Equal(t, said.Next.Action, now.Recommendation.Action)
				require.Equal(t, said.Next.Row, now.Recommendation.Row)
				require.True(t, equalCounts(said.Next.RecommendedWorkers, now.Recommendation.RecommendedWorkers))
				return
			default:
				require.True(t, same, "tick %d decides %s by %s, which nobody has said", i, now.Recommendation.Action, now.Recommendation.Row)
			}
		}
		require.Nil(t, said.Next, "it did not come true")
	})
}

func equalCounts(a, b *int) bool {
	if a == nil || b == nil {
		return a == b
	}
	return *a == *b
}

func TestForecastOfAFillingWindow(t *testing.T) {
	rs := fixture()
	l := newLive(t, quietCluster(rs), memory.New(), fixtureConfig(rs, scaling.DefaultBounds()), 1)
	l.tick(t, at(rs, 100)) // restores what was before: everything is idle for long enough
	require.Equal(t, scaling.RowIdle, l.rec.last["a"].Recommendation.Row)
	require.Nil(t, l.rec.last["a"].Next, "nothing fills")

	busy := quietCluster(rs)
	busy.values["age"] = func(_ string, n int64) (float64, bool) {
		if n >= 100 {
			return 90, true
		}
		return 0, true
	}
	store := memory.New()
	l = newLive(t, busy, store, fixtureConfig(rs, scaling.DefaultBounds()), 1)
	l.tick(t, at(rs, 100))
	next := l.rec.last["a"].Next
	require.NotNil(t, next)
	require.Equal(t, scaling.Forecast{At: at(rs, 103).UTC(), Action: scaling.ScaleOut, Row: scaling.RowShortage, RecommendedWorkers: new(5)}, *next)

	_, err := state.Controls(store).Change(t.Context(), "a", func(state.Row[state.ControlRecord]) (state.ControlRecord, []state.Entry, bool) {
		return state.ControlRecord{Paused: true}, nil, true
	})
	require.NoError(t, err)
	l.tick(t, at(rs, 101))
	require.Nil(t, l.rec.last["a"].Next, "nobody knows when it is resumed")
}

// A demand that has not lasted yet is a window that fills, whatever the signals'
// own windows do, and so is one that nobody is sure of any more.
func TestForecastOfADemand(t *testing.T) {
	for name, tc := range map[string]struct {
		slots, workers float64
		want           scaling.Forecast
	}{
		"beside tight slots":  {0.95, 4, scaling.Forecast{Action: scaling.ScaleOut, Row: scaling.RowTightWithDemand, RecommendedWorkers: new(5)}},
		"of an empty cluster": {0, 0, scaling.Forecast{Action: scaling.ScaleOut, Row: scaling.RowWake, RecommendedWorkers: new(1)}},
	} {
		t.Run(name, func(t *testing.T) {
			rs := fixture()
			if tc.workers == 0 {
				rs.Step.SchedulerBacklog = 90 * time.Second
			}
			src := quietCluster(rs)
			src.values["slots"] = constant(tc.slots)
			src.values["current"], src.values["reporting"] = constant(tc.workers), constant(tc.workers)
			src.values["jobs"] = func(_ string, n int64) (float64, bool) { return map[bool]float64{true: 2}[n >= 100], true }
			l := newLive(t, src, memory.New(), fixtureConfig(rs, scaling.Bounds{Max: 9}, "a"), 1)
			l.tick(t, at(rs, 100))
			require.Equal(t, scaling.NoAction, l.rec.last["a"].Recommendation.Action)
			tc.want.At = at(rs, 103).UTC()
			require.Equal(t, &tc.want, l.rec.last["a"].Next)
			for i := 101; i <= 103; i++ {
				l.tick(t, at(rs, i))
			}
			require.Equal(t, tc.want.Row, l.rec.last["a"].Recommendation.Row)
		})
	}
}

// What is decided when a bound has ended by itself, nobody foretells: what held before
// it is not among a tick's limits.
func TestForecastEndsWithABound(t *testing.T) {
	rs := fixture()
	busy := quietCluster(rs)
	busy.values["age"] = func(_ string, n int64) (float64, bool) {
		if n >= 100 {
			return 90, true
		}
		return 0, true
	}
	for end, foretold := range map[int]bool{103: false, 104: true} {
		store := memory.New()
		l := newLive(t, busy, store, fixtureConfig(rs, scaling.Bounds{Min: 1, Max: 4}, "a"), 1)
		l.tick(t, at(rs, 100))
		bound := scaling.TimedBound{Bound: scaling.MaxWorkers, Workers: 5, Until: at(rs, end)}
		_, err := state.Controls(store).Change(t.Context(), "a", func(state.Row[state.ControlRecord]) (state.ControlRecord, []state.Entry, bool) {
			return state.ControlRecord{MaxTimed: &bound}, nil, true
		})
		require.NoError(t, err)
		l.tick(t, at(rs, 101))
		require.Equal(t, foretold, l.rec.last["a"].Next != nil, "it ends at tick %d", end)
		for i := 102; i <= 103; i++ {
			l.tick(t, at(rs, i))
		}
		require.Equal(t, foretold, l.rec.last["a"].Recommendation.Action == scaling.ScaleOut)
	}
}

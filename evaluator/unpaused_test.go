package evaluator

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/zeta-scaler/zeta-scaler/scaling"
	"github.com/zeta-scaler/zeta-scaler/state"
	"github.com/zeta-scaler/zeta-scaler/state/memory"
)

// A paused scope says what would be recommended, since when it is paused and when
// that ends; the pause of the service and its own both have to end.
func TestAPausedScopeSaysWhatWouldBeRecommended(t *testing.T) {
	rs := fixture()
	store := memory.New()
	began, until := at(rs, 90).UTC(), at(rs, 200).UTC()
	put := func(key string, r state.ControlRecord) {
		_, err := state.Controls(store).Change(t.Context(), key, func(state.Row[state.ControlRecord]) (state.ControlRecord, []state.Entry, bool) {
			return r, nil, true
		})
		require.NoError(t, err)
	}
	put("a", state.ControlRecord{Paused: true, PausedSince: began, PausedUntil: until, UpdatedAt: began.Add(time.Minute)})
	l := newLive(t, quietCluster(rs), store, fixtureConfig(rs, scaling.DefaultBounds()), 1)
	l.tick(t, at(rs, 100))
	ev := l.rec.last["a"]
	require.Equal(t, scaling.RowPaused, ev.Recommendation.Row)
	require.Equal(t, began, *ev.PausedSince)
	require.Equal(t, scaling.RowIdle, ev.Unpaused.Row)
	require.Equal(t, scaling.ScaleInCandidate, ev.Unpaused.Action)
	require.Equal(t, 3, *ev.Unpaused.RecommendedWorkers)
	require.Contains(t, ev.Unpaused.Reason, "idle: ")
	require.Equal(t, until, *ev.Recommendation.BlockingConditions[0].Until)

	put(state.GlobalKey, state.ControlRecord{Paused: true, UpdatedAt: began.Add(-time.Minute)})
	l.tick(t, at(rs, 101))
	ev = l.rec.last["a"]
	require.Equal(t, began.Add(-time.Minute), *ev.PausedSince, "the first of both")
	require.Nil(t, ev.Recommendation.BlockingConditions[0].Until, "the service is paused until somebody resumes it")

	put(state.GlobalKey, state.ControlRecord{})
	put("a", state.ControlRecord{})
	l.tick(t, at(rs, 102))
	ev = l.rec.last["a"]
	require.Nil(t, ev.Unpaused)
	require.Nil(t, ev.PausedSince)
	require.Equal(t, scaling.RowIdle, ev.Recommendation.Row, "as it said")
}

// A bound that is set until a time holds from the next tick on, and ends at the
// first tick at which the time is there: both are told.
func TestABoundUntilATime(t *testing.T) {
	rs := fixture()
	store := memory.New()
	l := newLive(t, quietCluster(rs), store, fixtureConfig(rs, scaling.DefaultBounds()), 1)
	l.tick(t, at(rs, 100))
	require.Nil(t, l.rec.last["a"].LimitsChange, "nothing is known of the time before")
	timed := scaling.TimedBound{
		Bound: scaling.MinWorkers, Workers: 6, Since: at(rs, 100).UTC(), Until: at(rs, 102).Add(-time.Second).UTC(), By: "ann",
	}
	_, err := state.Controls(store).Change(t.Context(), "a", func(state.Row[state.ControlRecord]) (state.ControlRecord, []state.Entry, bool) {
		return state.ControlRecord{MinTimed: &timed}, nil, true
	})
	require.NoError(t, err)
	l.tick(t, at(rs, 101))
	ev := l.rec.last["a"]
	require.Equal(t, 6, ev.MinWorkers)
	require.Equal(t, []scaling.TimedBound{timed}, ev.TimedBounds)
	require.Equal(t, "min_workers 1 → 6; "+timed.String(), ev.LimitsChange.String())
	l.clk.Set(at(rs, 102))
	_, err = l.r.loadOverlay(t.Context()) // another rule set's tick comes first
	require.NoError(t, err)
	l.tick(t, at(rs, 102))
	ev = l.rec.last["a"]
	require.Equal(t, 1, ev.MinWorkers)
	require.Empty(t, ev.TimedBounds)
	require.Equal(t, "min_workers 6 → 1; ended: "+timed.String(), ev.LimitsChange.String())
	l.tick(t, at(rs, 103))
	require.Nil(t, l.rec.last["a"].LimitsChange)
	entries, err := store.History(t.Context(), state.Filter{Kind: state.LimitsEntry, Scope: "a", Limit: 10})
	require.NoError(t, err)
	require.Len(t, entries, 3)
}

func TestBlockersSayWhenTheyEnd(t *testing.T) {
	now := time.Date(2026, 3, 14, 9, 0, 0, 0, time.UTC)
	in := func(d time.Duration) time.Time { return now.Add(d) }
	l := scaling.Limits{
		CooldownUntil: in(time.Minute), BackoffUntil: in(2 * time.Minute), ActionDeadline: in(3 * time.Minute), PausedUntil: in(4 * time.Minute),
		Booting: []scaling.Booting{{Target: 5, Deadline: in(5 * time.Minute)}, {Target: 3, Deadline: in(9 * time.Minute)}},
		Tried:   []scaling.Tried{{At: in(-30 * time.Minute)}, {At: in(-10 * time.Minute)}},
	}
	for name, want := range map[string]time.Time{
		scaling.BlockerCooldown: l.CooldownUntil, scaling.BlockerFailureBackoff: l.BackoffUntil, scaling.BlockerActionInFlight: l.ActionDeadline,
		scaling.BlockerPaused: l.PausedUntil, scaling.BlockerBooting: in(5 * time.Minute), scaling.BlockerIneffective: in(50 * time.Minute),
	} {
		require.Equal(t, want, *blockerEnd(name, &l, 3), name)
	}
	for _, name := range []string{scaling.BlockerMaxWorkers, scaling.BlockerOtherWriter, scaling.BlockerWorkersUnknown} {
		require.Nil(t, blockerEnd(name, &l, 3), name)
	}
	require.Nil(t, blockerEnd(scaling.BlockerPaused, &scaling.Limits{}, 3))
}

// A window that fills says when it will have, and keeps its word if nothing
// changes.
func TestFillingWindowsSayWhenTheyAreFull(t *testing.T) {
	rs := fixture()
	src := quietCluster(rs)
	for name, f := range src.values {
		src.values[name] = func(c string, n int64) (float64, bool) {
			v, _ := f(c, n)
			return v, n >= 100 // everything begins at this tick
		}
	}
	l := newLive(t, src, memory.New(), fixtureConfig(rs, scaling.DefaultBounds(), "a"), 1)
	promised, kept := time.Time{}, false
	for i := 100; i < 140; i++ {
		l.tick(t, at(rs, i))
		for _, in := range l.rec.last["a"].Inputs {
			for _, w := range in.Windows {
				if in.Name != "cpu" || w.Direction != scaling.In {
					continue
				}
				switch {
				case w.Sustained:
					require.Zero(t, w.SustainedAt)
					kept = kept || at(rs, i).Equal(promised)
				case promised.IsZero():
					promised = w.SustainedAt
				case w.Truth == "true":
					require.Equal(t, promised, w.SustainedAt)
				}
			}
		}
	}
	require.True(t, kept, "it was full at the tick that it said, %s", promised)
}

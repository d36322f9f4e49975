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

// wrongClock is a service over a store and samples of the real time, with a
// clock that may be wrong.
type wrongClock struct {
	*live
	t     require.TestingT
	src   *series
	store *memory.Store
	cfg   Config
	// n is the real tick, skew what the clock is ahead of it.
	n     int
	skew  time.Duration
	epoch uint64
}

func newWrongClock(t require.TestingT) *wrongClock {
	rs := fixture()
	w := &wrongClock{t: t, src: quietCluster(rs), store: memory.New(), n: 1000}
	w.src.clusters = []string{"a", "b"}
	w.src.values["age"] = constant(90) // a job waits: SCALE_OUT at every tick
	for name, f := range w.src.values {
		// There are no samples of times to come.
		w.src.values[name] = func(c string, n int64) (float64, bool) {
			v, _ := f(c, n)
			return v, n <= int64(w.n)
		}
	}
	rs.Step.Policy = "exponential"
	w.cfg = fixtureConfig(rs, scaling.DefaultBounds())
	w.cfg.ForgetAfter = 20 * rs.Interval
	w.restart()
	return w
}

func (w *wrongClock) now() time.Time { return at(w.cfg.RuleSets[0], w.n).Add(w.skew) }

func (w *wrongClock) restart() {
	w.epoch++
	w.live = newLiveAt(w.t, w.src, w.store, w.cfg, w.epoch, w.now())
}

// tick lets the time of one tick pass.
func (w *wrongClock) tick() {
	w.n++
	w.clk.Set(w.now())
	_, err := w.r.tickIfDue(ctxOf(w.t))
	require.NoError(w.t, err)
}

// Whatever the clock did before, and however often the service was started with
// it: some ticks after it is right, it decides as if it had always been, no
// scope and no pause is gone, the history is still there, and nothing in the
// store lies ahead.
func TestWhateverTheClockDid(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w := newWrongClock(t)
		for range 6 {
			w.tick()
		}
		_, err := state.Controls(w.store).Change(t.Context(), "b", func(state.Row[state.ControlRecord]) (state.ControlRecord, []state.Entry, bool) {
			timed := scaling.TimedBound{Bound: scaling.MinWorkers, Workers: 2, Until: w.now().Add(24 * time.Hour), Since: w.now(), By: "ops"}
			return state.ControlRecord{Paused: true, By: "ops", MinTimed: &timed}, nil, true
		})
		require.NoError(t, err)
		w.tick()
		before, err := w.store.History(t.Context(), state.Filter{Limit: 1000})
		require.NoError(t, err)
		require.NotEmpty(t, before)

		for range rapid.IntRange(1, 5).Draw(t, "adventures") {
			hours := rapid.SampledFrom([]int{0, 1, 24 * 8, 24 * 400, -1, -24 * 400}).Draw(t, "hours ahead")
			w.skew = time.Duration(hours)*time.Hour + time.Duration(rapid.IntRange(-40, 40).Draw(t, "seconds"))*time.Second
			if rapid.Bool().Draw(t, "restart") {
				w.restart()
			}
			for range rapid.IntRange(1, 3).Draw(t, "ticks") {
				w.tick()
			}
			resumed := w.now()
			if rapid.Bool().Draw(t, "resume") {
				_, err := state.Controls(w.store).Change(t.Context(), "a", func(old state.Row[state.ControlRecord]) (state.ControlRecord, []state.Entry, bool) {
					old.Value.ResumedAt, old.Value.UpdatedAt = resumed, resumed
					return old.Value, nil, true
				})
				require.NoError(t, err)
			}
		}
		w.skew = 0
		if rapid.Bool().Draw(t, "restart at the end") {
			w.restart()
		}
		for range 16 { // every window is full again, and a round of the ramp is over
			w.tick()
		}

		always := newWrongClock(t)
		always.n = w.n - 30
		for range 30 {
			always.tick()
		}
		got, want := w.rec.last["a"], always.rec.last["a"]
		require.Equal(t, want.Recommendation.Row, got.Recommendation.Row)
		require.Equal(t, want.Recommendation.Action, got.Recommendation.Action)
		require.Equal(t, want.Tick, got.Tick)
		require.True(t, w.rec.last["b"].Paused)
		require.Equal(t, 2, w.rec.last["b"].MinWorkers, "a bound until tomorrow")
		require.Empty(t, w.rec.gone)
		require.False(t, got.Recommendation.Since.After(got.Tick))

		after, err := w.store.History(t.Context(), state.Filter{Limit: 1000})
		require.NoError(t, err)
		require.Subset(t, ids(after), ids(before))

		d, err := state.Decisions(w.store, state.NoFence).Get(t.Context(), "a")
		require.NoError(t, err)
		require.False(t, d.Value.Correct(w.now()), "%+v", d.Value)
		controls, err := state.Controls(w.store).List(t.Context())
		require.NoError(t, err)
		for _, c := range controls {
			require.False(t, c.Value.Correct(w.now()), "%+v", c)
		}
		tick, err := state.Ticks(w.store, state.NoFence).Get(t.Context(), "fixture")
		require.NoError(t, err)
		require.Equal(t, got.Tick, tick.Value.Last)
	})
}

func ids(entries []state.Entry) []int64 {
	out := make([]int64, len(entries))
	for i, e := range entries {
		out[i] = e.ID
	}
	return out
}

// A round of a ramp that began in an hour does not hold the next one up.
func TestRampOfAClockThatWasAhead(t *testing.T) {
	w := newWrongClock(t)
	w.cfg.Scopes, w.cfg.Discover = fixtureConfig(w.cfg.RuleSets[0], scaling.Bounds{Min: 1, Max: 100}, "a").Scopes, false
	w.restart()
	for range 6 {
		w.tick()
	}
	require.Positive(t, w.r.group.scopes.sorted[0].tracks[0].kept.Ramp.Size)
	decisions := state.Decisions(w.store, state.NoFence)
	_, err := decisions.Change(t.Context(), "a", func(old state.Row[state.DecisionRecord]) (state.DecisionRecord, []state.Entry, bool) {
		old.Value.Ramp.Tick = w.now().Add(time.Hour)
		return old.Value, nil, true
	})
	require.NoError(t, err)
	w.restart()
	for range 4 {
		w.tick()
	}
	require.LessOrEqual(t, w.r.group.scopes.sorted[0].tracks[0].kept.Ramp.At, w.now().UnixMilli())
	d, err := decisions.Get(t.Context(), "a")
	require.NoError(t, err)
	require.False(t, d.Value.Ramp.Tick.After(w.now()))
}

func TestHistoryAgesNoFasterThanTicksPass(t *testing.T) {
	start := time.Date(2026, 1, 2, 3, 4, 0, 0, time.UTC)
	step := 30 * time.Second
	aging := ageBy(time.Time{}, start, step)
	require.Equal(t, start, aging, "a store without history")
	for n := range 10 {
		aging = ageBy(aging, start.Add(8*24*time.Hour+time.Duration(n)*step), step)
	}
	require.Equal(t, start.Add(20*step), aging, "eight days ahead for ten ticks")
	require.Equal(t, aging, ageBy(aging, start, step), "it never goes back")
	require.Equal(t, start.Add(30*step), ageBy(start.Add(29*step), start.Add(30*step), step), "else it is the clock's")
}

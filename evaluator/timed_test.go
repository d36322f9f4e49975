package evaluator

import (
	"bytes"
	"log/slog"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/zeta-scaler/zeta-scaler/scaling"
	"github.com/zeta-scaler/zeta-scaler/state"
	"github.com/zeta-scaler/zeta-scaler/state/memory"
)

func setControl(t *testing.T, store state.Store, key string, r state.ControlRecord) {
	t.Helper()
	_, err := state.Controls(store).Change(t.Context(), key, func(state.Row[state.ControlRecord]) (state.ControlRecord, []state.Entry, bool) {
		return r, nil, true
	})
	require.NoError(t, err)
}

func controlKeys(t *testing.T, store state.Store) []string {
	t.Helper()
	rows, err := state.Controls(store).List(t.Context())
	require.NoError(t, err)
	keys := []string{}
	for _, row := range rows {
		keys = append(keys, row.Key)
	}
	return keys
}

// A clock that is ahead for a tick ends a bound for that tick, and nothing for
// good.
func TestAClockThatIsAheadEndsNoBoundForGood(t *testing.T) {
	w := newWrongClock(t)
	w.tick()
	until := w.now().Add(6 * time.Hour).UTC()
	timed := scaling.TimedBound{Bound: scaling.MinWorkers, Workers: 6, Since: w.now().UTC(), Until: until, By: "ann"}
	setControl(t, w.store, "a", state.ControlRecord{MinTimed: &timed, Paused: true, PausedUntil: until})
	w.tick()
	require.Equal(t, 6, w.rec.last["a"].MinWorkers)
	w.skew = 24 * time.Hour
	w.tick()
	require.Equal(t, 1, w.rec.last["a"].MinWorkers)
	require.Equal(t, "min_workers 6 → 1; ended: "+timed.String(), w.rec.last["a"].LimitsChange.String())
	w.skew = 0
	w.tick()
	require.Equal(t, 6, w.rec.last["a"].MinWorkers)
	require.True(t, w.rec.last["a"].Paused)
	require.Equal(t, "min_workers 1 → 6; "+timed.String(), w.rec.last["a"].LimitsChange.String())
	w.skew = 24 * time.Hour
	w.restart()
	w.tick()
	w.skew = 0
	w.restart()
	w.tick()
	require.Equal(t, 6, w.rec.last["a"].MinWorkers, "nor over a restart")
}

// What ends while nobody leads is told once, by the next leader.
func TestABoundThatEndsWhileNobodyLeads(t *testing.T) {
	rs := fixture()
	store := memory.New()
	cfg := fixtureConfig(rs, scaling.DefaultBounds())
	timed := scaling.TimedBound{Bound: scaling.MinWorkers, Workers: 6, Since: at(rs, 99).UTC(), Until: at(rs, 105).UTC(), By: "ann"}
	l := newLive(t, quietCluster(rs), store, cfg, 1)
	l.tick(t, at(rs, 99))
	setControl(t, store, "a", state.ControlRecord{MinTimed: &timed})
	l.tick(t, at(rs, 100))

	l = newLive(t, quietCluster(rs), store, cfg, 2)
	l.tick(t, at(rs, 103))
	require.Nil(t, l.rec.last["a"].LimitsChange, "it was told")
	l = newLive(t, quietCluster(rs), store, cfg, 3)
	l.tick(t, at(rs, 110))
	require.Equal(t, "min_workers 6 → 1; ended: "+timed.String(), l.rec.last["a"].LimitsChange.String())
	l.tick(t, at(rs, 111))
	require.Nil(t, l.rec.last["a"].LimitsChange)
	l = newLive(t, quietCluster(rs), store, cfg, 4)
	l.tick(t, at(rs, 112))
	require.Nil(t, l.rec.last["a"].LimitsChange)
}

// What was set at run time and does not fit the configuration of a start gives
// way, which is told once.
func TestWhatDoesNotFitTheConfigurationGivesWay(t *testing.T) {
	rs := fixture()
	store := memory.New()
	direct := scaling.Direct
	setControl(t, store, "a", state.ControlRecord{MinWorkers: new(8), Mode: &direct, By: "ann"})
	setControl(t, store, "b", state.ControlRecord{MaxWorkers: new(3)})
	src := quietCluster(rs)
	src.clusters = []string{"a", "b"}
	cfg := fixtureConfig(rs, scaling.DefaultBounds())
	cfg.Scopes = fixtureConfig(rs, scaling.Bounds{Min: 1, Max: 5}, "a").Scopes
	cfg.Scopes = append(cfg.Scopes, fixtureConfig(rs, scaling.Bounds{Min: 4, Max: 9}, "b").Scopes...)
	l := newLive(t, src, store, cfg, 1)
	l.tick(t, at(rs, 100))
	a, b := l.rec.last["a"], l.rec.last["b"]
	require.Equal(t, 5, a.MinWorkers)
	require.Equal(t, 5, *a.MaxWorkers)
	require.LessOrEqual(t, *a.Recommendation.RecommendedWorkers, 5)
	require.Equal(t, scaling.Direct, a.Mode)
	require.Equal(t, "min_workers 8 is greater than max_workers 5: the minimum is 5", a.LimitsChange.String())
	require.Equal(t, 3, b.MinWorkers)
	require.Equal(t, 3, *b.MaxWorkers, "the maximum goes before the minimum, wherever it comes from")
	l = newLive(t, src, store, cfg, 2)
	l.tick(t, at(rs, 101))
	require.Nil(t, l.rec.last["a"].LimitsChange)

	// A scope that is only discovered never acts, whatever was set.
	l = newLive(t, src, store, fixtureConfig(rs, scaling.DefaultBounds()), 3)
	l.tick(t, at(rs, 102))
	require.Equal(t, scaling.Advisory, l.rec.last["a"].Mode)
	require.Contains(t, l.rec.last["a"].LimitsChange.String(), "only for a scope that the configuration lists by name: the mode is advisory")
}

// Records in which nothing is set any more leave the store, long after what ended,
// and never what somebody has set meanwhile.
func TestControlRecordsAreSwept(t *testing.T) {
	rs := fixture()
	store := memory.New()
	ended := scaling.TimedBound{Bound: scaling.MaxWorkers, Workers: 6, Until: at(rs, 99)}
	setControl(t, store, "a", state.ControlRecord{MinWorkers: new(2), MaxTimed: &ended})
	setControl(t, store, "empty", state.ControlRecord{By: "ann"})
	setControl(t, store, "over", state.ControlRecord{Paused: true, PausedUntil: at(rs, 99), MaxTimed: &ended, ResumedAt: at(rs, 90)})
	setControl(t, store, "resumed", state.ControlRecord{ResumedAt: at(rs, 90)})
	setControl(t, store, "set", state.ControlRecord{Paused: true})
	setControl(t, store, "touched", state.ControlRecord{By: "ann"})
	setControl(t, store, state.GlobalKey, state.ControlRecord{ResumedAt: at(rs, 90)})
	put, err := state.NewPut(state.Execution, "resumed", 0, state.ExecutionRecord{OtherWriter: "hpa", OtherWriterSince: at(rs, 80)})
	require.NoError(t, err)
	_, err = store.Apply(t.Context(), state.NoFence, state.Batch{Puts: []state.Put{put}})
	require.NoError(t, err)
	all := []string{"", "a", "empty", "over", "resumed", "set", "touched"}

	l := newLive(t, quietCluster(rs), store, fixtureConfig(rs, scaling.DefaultBounds()), 1)
	l.tick(t, at(rs, 100))
	l.tick(t, at(rs, 100+100_000)) // the clock alone is no proof that time has passed
	n := 100
	for ; time.Duration(n-97)*rs.Interval < sweepAfter; n++ {
		l.tick(t, at(rs, n))
		require.Equal(t, all, controlKeys(t, store))
	}
	setControl(t, store, "touched", state.ControlRecord{By: "bob"})
	for range 3 {
		n++
		l.tick(t, at(rs, n))
	}
	require.Equal(t, []string{"", "a", "resumed", "set", "touched"}, controlKeys(t, store))
	a, err := state.Controls(store).Get(t.Context(), "a")
	require.NoError(t, err)
	require.Nil(t, a.Value.MaxTimed)
	require.Equal(t, 2, *a.Value.MinWorkers)
}

// A control record that cannot be read touches its own scope alone.
func TestAControlRecordThatCannotBeRead(t *testing.T) {
	for _, value := range []string{`[1]`, `{"minWorkers":-3}`, `{"minWorkers":5,"maxWorkers":2}`} {
		t.Run(value, func(t *testing.T) { controlRecordThatCannotBeRead(t, value) })
	}
}

func controlRecordThatCannotBeRead(t *testing.T, value string) {
	t.Helper()
	rs := fixture()
	store := memory.New()
	src := quietCluster(rs)
	src.clusters = []string{"a", "b"}
	setControl(t, store, "b", state.ControlRecord{Paused: true, MinWorkers: new(3)})
	l := newLive(t, src, store, fixtureConfig(rs, scaling.DefaultBounds()), 1)
	var log bytes.Buffer
	l.r.Logger = slog.New(slog.NewTextHandler(&log, nil))
	l.r.troubles = newTroubles(l.r.Logger, l.r.group)
	l.tick(t, at(rs, 100))
	row, err := state.Controls(store).Get(t.Context(), "b")
	require.NoError(t, err)
	_, err = store.Apply(t.Context(), state.NoFence, state.Batch{Puts: []state.Put{{Kind: state.Control, Key: "b", Version: row.Version, Value: []byte(value)}}})
	require.NoError(t, err)
	setControl(t, store, "a", state.ControlRecord{MinWorkers: new(6)})
	for n := range 3 {
		l.tick(t, at(rs, 101+n))
		require.Equal(t, 6, l.rec.last["a"].MinWorkers, "the others go on")
		require.Equal(t, 3, l.rec.last["b"].MinWorkers, "as it was")
		require.True(t, l.rec.last["b"].Paused)
	}
	require.Equal(t, 1, bytes.Count(log.Bytes(), []byte("cannot be read, nothing is carried out")), log.String())
	require.Contains(t, log.String(), "decoding control record")
	l = newLive(t, src, store, fixtureConfig(rs, scaling.DefaultBounds()), 2)
	l.tick(t, at(rs, 105))
	require.Contains(t, l.rec.last["b"].LimitsChange.String(), "zeta-scaler pause b --reason WHY or zeta-scaler resume b writes it anew")
}

// However the clock goes and whoever leads: a bound that ends by itself holds at
// exactly those ticks that lie before its end while the store has it, and it leaves
// the store by nobody's hand only after an hour of ticks.
func TestATimedBoundHoldsUntilItsEnd(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w := newWrongClock(t)
		w.tick()
		controls := state.Controls(w.store)
		until, ticks, skews := w.now(), 0, rapid.SampledFrom([]time.Duration{0, 0, 0, 10 * time.Minute, 24 * time.Hour, -time.Hour})
		for range rapid.IntRange(1, 30).Draw(t, "steps") {
			switch rapid.IntRange(0, 9).Draw(t, "what") {
			case 0:
				w.restart()
			case 1:
				w.skew = skews.Draw(t, "skew")
			case 2:
				until = at(w.cfg.RuleSets[0], w.n+rapid.IntRange(-2, 9).Draw(t, "until")).UTC()
				ticks = 0
				_, err := controls.Change(ctxOf(t), "a", func(old state.Row[state.ControlRecord]) (state.ControlRecord, []state.Entry, bool) {
					old.Value.MinTimed = &scaling.TimedBound{Bound: scaling.MinWorkers, Workers: 6, Until: until}
					return old.Value, nil, true
				})
				require.NoError(t, err)
			}
			before, err := controls.Get(ctxOf(t), "a")
			require.NoError(t, err)
			w.tick()
			ticks++
			ev := w.rec.last["a"]
			if !ev.Tick.Equal(TickAtOrBefore(w.now(), w.r.group.interval, w.r.group.phase)) {
				continue // the clock waits for the ticks to come
			}
			want := 1
			if b := before.Value.MinTimed; b != nil && ev.Tick.Before(b.Until) {
				want = 6
			}
			require.Equal(t, want, ev.MinWorkers)
			if after, err := controls.Get(ctxOf(t), "a"); before.Value.MinTimed != nil {
				require.NoError(t, err)
				require.True(t, after.Value.MinTimed != nil || time.Duration(ticks)*w.r.group.interval >= sweepAfter)
			}
		}
	})
}

package evaluator

import (
	"log/slog"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/zeta-scaler/zeta-scaler/evaluator/handclock"
	"github.com/zeta-scaler/zeta-scaler/rules"
	"github.com/zeta-scaler/zeta-scaler/scaling"
	"github.com/zeta-scaler/zeta-scaler/state"
	"github.com/zeta-scaler/zeta-scaler/state/memory"
)

// fixedClock is a clock for runners that are stepped by hand.
type fixedClock struct{ *handclock.Clock }

// live is one runner that a test steps from tick to tick.
type live struct {
	r   *runner
	rec *recorder
	clk *handclock.Clock
}

func newLive(t require.TestingT, src Source, store state.Store, cfg Config, epoch uint64) *live {
	// It is late enough for whatever the store has.
	return newLiveAt(t, src, store, cfg, epoch, time.Date(2100, 1, 1, 0, 0, 0, 0, time.UTC))
}

func newLiveAt(t require.TestingT, src Source, store state.Store, cfg Config, epoch uint64, now time.Time) *live {
	l := &live{rec: newRecorder(), clk: handclock.New(now)}
	loop := NewLoop(Options{
		Source: src, Clock: fixedClock{l.clk}, Store: store, Publishers: []Publisher{l.rec},
		Logger: slog.New(slog.DiscardHandler), Epoch: epoch,
	})
	runners, err := loop.assemble(ctxOf(t), cfg)
	require.NoError(t, err)
	require.Len(t, runners, 1)
	l.r = runners[0]
	return l
}

func (l *live) tick(t require.TestingT, at time.Time) {
	l.clk.Set(at)
	require.NoError(t, l.r.tick(ctxOf(t), at.UnixMilli()))
}

func fixtureConfig(rs *rules.RuleSet, bounds scaling.Bounds, clusters ...string) Config {
	cfg := Config{RuleSets: []*rules.RuleSet{rs}, DefaultRuleSet: rs.Name, ForgetAfter: time.Hour}
	for _, c := range clusters {
		cfg.Scopes = append(cfg.Scopes, ScopeConfig{Match: map[string]string{"cluster": c}, Bounds: &bounds})
	}
	if len(clusters) == 0 {
		cfg.Discover = true
	}
	return cfg
}

// story draws a random course of every input over n ticks. Values are drawn
// from few that matter, and stay for a while, so that windows do fill.
type story map[string][]float64

const absent = -1e9

func drawStory(t *rapid.T, n int) story {
	s := story{}
	axis := func(name string, values ...float64) {
		out := make([]float64, 0, n)
		for len(out) < n {
			v := rapid.SampledFrom(values).Draw(t, name)
			for range rapid.IntRange(1, 7).Draw(t, name+" ticks") {
				out = append(out, v)
			}
		}
		s[name] = out[:n]
	}
	axis("current", 4, 4, 4, 5, 0, 2, 7, absent)
	axis("reporting", 4, 4, 4, 5, 0, 2, 1, absent)
	axis("mode", 0, 0, 0, 1, 0.5, absent)
	axis("age", 0, 0, 90, 90, 30, absent)
	axis("jobs", 0, 0, 3, absent)
	axis("cpu", 0.1, 0.1, 0.5, 0.9, 0.9, absent)
	axis("slots", 0.1, 0.1, 0.9, absent)
	axis("big", 1, 1, 9, absent)
	axis("unsatisfied", 5, 0, absent)
	axis("slots_per_worker", 2, absent)
	return s
}

// source plays a story from tick 0 on.
func (s story) source(rs *rules.RuleSet) *series {
	src := &series{clusters: []string{"a"}, values: map[string]func(string, int64) (float64, bool){}, phase: Phase(rs.Name, rs.Interval)}
	for name, values := range s {
		src.values[name] = func(_ string, n int64) (float64, bool) {
			if n < 0 || int(n) >= len(values) || values[n] == absent {
				return 0, false
			}
			return values[n], true
		}
	}
	return src
}

func drawRules(t *rapid.T) *rules.RuleSet {
	rs := fixture()
	rs.GapTolerance = rapid.IntRange(0, 2).Draw(t, "gap tolerance")
	ticks := func(name string, low, high int) time.Duration {
		return time.Duration(rapid.IntRange(low, high).Draw(t, name)) * 30 * time.Second
	}
	rs.Step.Policy = rapid.SampledFrom([]rules.StepPolicy{rules.StepFixed, rules.StepDemand}).Draw(t, "policy")
	for i := range rs.Signals {
		s := &rs.Signals[i]
		if s.Out != nil {
			s.Out.For = ticks(s.Name+" out", 1, 4)
			s.KeepFiringFor = ticks(s.Name+" keep", 0, 3)
		}
		if s.In != nil {
			s.In.For = ticks(s.Name+" in", 1, 5)
		}
	}
	return rs
}

func drawBounds(t *rapid.T) scaling.Bounds {
	b := scaling.Bounds{Min: rapid.IntRange(0, 3).Draw(t, "min"), Max: 6}
	b.FloorDelay = time.Duration(rapid.IntRange(0, 3).Draw(t, "floor delay")) * 30 * time.Second
	return b
}

func at(rs *rules.RuleSet, n int) time.Time {
	return time.UnixMilli(int64(n)*tickMs + Phase(rs.Name, rs.Interval).Milliseconds()).UTC()
}

// TestRestartEquivalence is the law of spec 1.2: stopped at any tick and
// started again with nothing but the samples and the store, a service decides
// as one that never stopped.
func TestRestartEquivalence(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		const n = 40
		rs, bounds := drawRules(t), drawBounds(t)
		src := drawStory(t, n).source(rs)
		var scopes []string
		if rapid.Bool().Draw(t, "listed") {
			scopes = []string{"a"}
		}
		cfg := fixtureConfig(rs, bounds, scopes...)
		uncut := newLive(t, src, memory.New(), cfg, 1)
		store := memory.New()
		cut := newLive(t, src, store, cfg, 1)
		stop := rapid.IntRange(1, n-2).Draw(t, "stop")
		pause := rapid.IntRange(0, 12).Draw(t, "pause")
		for i := range n {
			uncut.tick(t, at(rs, i))
			if i == stop {
				cut = newLive(t, src, store, cfg, 2)
			}
			if i >= stop && i < stop+pause {
				continue
			}
			cut.tick(t, at(rs, i))
			if i == stop+pause && neverHeardOf(t, cut, src, i, lookbackTicks(t, rs, bounds)) {
				return
			}
			require.True(t, uncut.rec.newest("a").same(cut.rec.newest("a")),
				"tick %d: uncut %s, restarted at %d after %d ticks: %s", i, uncut.rec.newest("a"), stop, pause, cut.rec.newest("a"))
		}
	})
}

func lookbackTicks(t require.TestingT, rs *rules.RuleSet, b scaling.Bounds) int {
	p, err := Compile(rs, rs.Interval)
	require.NoError(t, err)
	return int(p.Lookback(b.FloorDelay) / rs.Interval)
}

// neverHeardOf reports whether the restart has no way to know the scope: it
// was discovered while nobody was there to store it, and had no worker count
// in any tick of the lookback. The law does not speak of such a scope.
func neverHeardOf(t *rapid.T, restarted *live, src *series, now, lookback int) bool {
	if !restarted.rec.newest("a").tick.IsZero() {
		return false
	}
	for i := now - lookback; i <= now; i++ {
		_, known := src.values["current"]("a", int64(i))
		require.False(t, known, "restarted at tick %d without a scope that had a worker count at tick %d", now, i)
	}
	return true
}

// TestGapEquivalence is the law of spec 1.2: ticks without an answer are
// decided on unknowns, and folded from the source once it answers again.
func TestGapEquivalence(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		const n = 40
		rs, bounds := drawRules(t), drawBounds(t)
		rs.Step.Policy = rapid.SampledFrom([]rules.StepPolicy{rules.StepFixed, rules.StepDemand, rules.StepExponential}).Draw(t, "any policy")
		drawn := drawStory(t, n)
		src, cutSrc := drawn.source(rs), drawn.source(rs)
		from := rapid.IntRange(1, n-2).Draw(t, "from")
		length := rapid.IntRange(1, 10).Draw(t, "length")
		rangeFails := rapid.Bool().Draw(t, "first range fails too")
		gapEnd := from + length
		if rangeFails {
			gapEnd++
		}
		cutSrc.down = func(ts time.Time, isRange bool) error {
			i := int(cutSrc.n(ts))
			if i >= from && i < from+length || isRange && rangeFails && i == from+length {
				return errDown
			}
			return nil
		}
		cfg := fixtureConfig(rs, bounds, "a")
		uncut := newLive(t, src, memory.New(), cfg, 1)
		cut := newLive(t, cutSrc, memory.New(), cfg, 1)
		for i := range n {
			uncut.tick(t, at(rs, i))
			cut.tick(t, at(rs, i))
			got := cut.rec.newest("a")
			if i >= from && i < gapEnd {
				require.True(t, got.provisional, "tick %d must be provisional", i)
				require.NotEqual(t, scaling.ScaleInCandidate, got.action, "tick %d", i)
				continue
			}
			require.False(t, got.provisional, "tick %d", i)
			require.True(t, uncut.rec.newest("a").same(got), "tick %d: uncut %s, after the gap %s", i, uncut.rec.newest("a"), got)
		}
	})
}

// TestLookbackIsExact shows that the lookback of spec 1.2 restores every
// window, and that one tick less does not.
func TestLookbackIsExact(t *testing.T) {
	type law struct {
		name   string
		change func(*rules.RuleSet)
		story  story
		bounds scaling.Bounds
	}
	steady := func(v float64, n int) []float64 {
		out := make([]float64, n)
		for i := range out {
			out[i] = v
		}
		return out
	}
	const n = 24
	base := func() story {
		return story{
			"current": steady(4, n), "reporting": steady(4, n), "mode": steady(0, n),
			"age": steady(0, n), "jobs": steady(0, n), "cpu": steady(0.5, n), "slots": steady(0.5, n), "big": steady(1, n),
		}
	}
	only := func(name string, out, in int) func(*rules.RuleSet) {
		return func(rs *rules.RuleSet) {
			for i := range rs.Signals {
				s := &rs.Signals[i]
				if s.Out != nil {
					s.Out.For = 30 * time.Second
				}
				if s.In != nil {
					s.In.For = 30 * time.Second
				}
				if s.Name == name && out > 0 {
					s.Out.For = time.Duration(out) * 30 * time.Second
				}
				if s.Name == name && in > 0 {
					s.In.For = time.Duration(in) * 30 * time.Second
				}
			}
			rs.Step.SchedulerBacklog = 30 * time.Second
		}
	}
	bounds := scaling.Bounds{Min: 1, Max: 8}
	for _, l := range []law{
		{"saturation", only("cpu", 6, 0), func() story { s := base(); s["cpu"] = steady(0.9, n); return s }(), bounds},
		{"blocking with a gap at both ends", only("age", 6, 0), func() story {
			s := base()
			s["age"] = steady(90, n)
			// The last tick and the ones just before the run's oldest needed
			// tick are unknown.
			s["age"][n-1] = absent
			s["age"][n-1-7] = absent
			return s
		}(), bounds},
		{"scale-in", only("cpu", 0, 8), func() story { s := base(); s["cpu"] = steady(0.1, n); s["slots"] = steady(0.1, n); return s }(), bounds},
		{
			"floor delay", only("", 0, 0), func() story { s := base(); s["current"] = steady(2, n); s["reporting"] = steady(2, n); return s }(),
			scaling.Bounds{Min: 3, Max: 8, FloorDelay: 6 * 30 * time.Second},
		},
	} {
		t.Run(l.name, func(t *testing.T) {
			rs := fixture()
			l.change(rs)
			src := l.story.source(rs)
			cfg := fixtureConfig(rs, l.bounds, "a")
			uncut := newLive(t, src, memory.New(), cfg, 1)
			for i := range n {
				uncut.tick(t, at(rs, i))
			}
			p := compile(t, rs)
			lookback := int(p.Lookback(l.bounds.FloorDelay) / rs.Interval)
			want := uncut.rec.newest("a")
			require.Equal(t, want.row, foldFrom(t, src, rs, l.bounds, n-1-lookback, n-1))
			require.NotEqual(t, want.row, foldFrom(t, src, rs, l.bounds, n-lookback, n-1), "one tick less was enough")
		})
	}
}

// foldFrom is the row at tick `to` when windows begin to fill at tick `from`.
func foldFrom(t *testing.T, src Source, rs *rules.RuleSet, bounds scaling.Bounds, from, to int) scaling.RowID {
	t.Helper()
	var row scaling.RowID
	err := Replay(t.Context(), src, ReplayOptions{
		RuleSet: rs, Start: at(rs, from), End: at(rs, to),
		Limits: func(scaling.Scope, time.Time) scaling.Limits { return scaling.Limits{Bounds: bounds} },
	}, func(_ time.Time, evaluations []scaling.Evaluation) error {
		require.Len(t, evaluations, 1)
		row = evaluations[0].Recommendation.Row
		return nil
	})
	require.NoError(t, err)
	return row
}

// TestReplayEquivalence: a replay of the period that a live service saw gives
// its decisions, tick by tick.
func TestReplayEquivalence(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		const n = 40
		rs, bounds := drawRules(t), drawBounds(t)
		src := drawStory(t, n).source(rs)
		l := newLive(t, src, memory.New(), fixtureConfig(rs, bounds, "a"), 1)
		for i := range n {
			l.tick(t, at(rs, i))
		}
		byTick := map[time.Time]outcome{}
		for _, o := range l.rec.seen["a"] {
			byTick[o.tick] = o
		}
		err := Replay(ctxOf(t), src, ReplayOptions{
			RuleSet: rs, Start: at(rs, 0), End: at(rs, n-1), DiscoverAny: true,
			Limits: func(scaling.Scope, time.Time) scaling.Limits { return scaling.Limits{Bounds: bounds} },
		}, func(tick time.Time, evaluations []scaling.Evaluation) error {
			again := newRecorder()
			again.Publish(ctxOf(t), evaluations, nil)
			for range evaluations {
				require.True(t, byTick[tick].same(again.newest("a")), "live %s, replayed %s", byTick[tick], again.newest("a"))
			}
			return nil
		})
		require.NoError(t, err)
	})
}

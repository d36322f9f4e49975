package evaluator

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/zeta-scaler/zeta-scaler/rules"
	"github.com/zeta-scaler/zeta-scaler/scaling"
	"github.com/zeta-scaler/zeta-scaler/source"
	"github.com/zeta-scaler/zeta-scaler/state/memory"
)

// oneByOne is a source whose queries fail one by one.
type oneByOne struct {
	*series
	fail func(expr string, n int64, isRange bool) error
	// hangs never answers before its context ends.
	hangs string
}

func (s *oneByOne) ask(ctx context.Context, expr string, at time.Time, isRange bool) error {
	if expr == s.hangs {
		<-ctx.Done()
		return source.NoAnswer(ctx.Err())
	}
	if s.fail == nil {
		return nil
	}
	return s.fail(expr, s.n(at), isRange)
}

func (s *oneByOne) Instant(ctx context.Context, expr string, at time.Time) (source.Vector, error) {
	if err := s.ask(ctx, expr, at, false); err != nil {
		return source.Vector{}, err
	}
	return s.series.Instant(ctx, expr, at)
}

func (s *oneByOne) Range(ctx context.Context, expr string, w source.Window) (source.Matrix, error) {
	if err := s.ask(ctx, expr, w.End, true); err != nil {
		return source.Matrix{}, err
	}
	return s.series.Range(ctx, expr, w)
}

var errRefused = errors.New("execution: found duplicate series for the match group")

// waitingJob is a cluster whose job has waited for longer than any window.
func waitingJob(rs *rules.RuleSet) *series {
	src := quietCluster(rs)
	src.values["age"], src.values["cpu"], src.values["slots"] = constant(90), constant(0.5), constant(0.5)
	return src
}

// A shadow's query that is refused, or that hangs, is the shadow's own: the
// active rule set decides from the first tick on as if it were alone, after a
// start and after a gap.
func TestShadowsFailureIsItsOwn(t *testing.T) {
	for name, src := range map[string]*oneByOne{
		"refused": {fail: func(expr string, _ int64, _ bool) error {
			if expr == "odd" {
				return errRefused
			}
			return nil
		}},
		"hangs": {hangs: "odd"},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				rs, odd := fixture(), fixture()
				src.series = waitingJob(rs)
				odd.Name, odd.Signals[2].Expr = "odd", expr("odd")
				cfg := fixtureConfig(rs, scaling.DefaultBounds(), "a")
				cfg.RuleSets = append(cfg.RuleSets, odd)
				cfg.Scopes[0].Shadows = []string{"odd"}
				l := newLive(t, src, memory.New(), cfg, 1)
				for _, i := range []int{100, 101, 105} {
					l.tick(t, at(rs, i))
					got := l.rec.newest("a")
					require.Equal(t, scaling.RowShortage, got.row, "tick %d", i)
					require.False(t, got.provisional, "tick %d", i)
				}
				require.True(t, l.r.holes.none())
				require.Len(t, l.rec.last["a"].Shadows, 1)
			})
		})
	}
}

// A query of the active rule set whose range fails is unknown over the restore;
// the other signals have their windows.
func TestRestoreKeepsFailuresApart(t *testing.T) {
	for name, err := range map[string]error{"refused": errRefused, "no answer": errDown} {
		t.Run(name, func(t *testing.T) {
			rs := fixture()
			src := &oneByOne{series: waitingJob(rs), fail: func(expr string, _ int64, isRange bool) error {
				if expr == "cpu" && isRange {
					return err
				}
				return nil
			}}
			src.values["cpu"] = constant(0.9)
			l := newLive(t, src, memory.New(), fixtureConfig(rs, scaling.DefaultBounds(), "a"), 1)
			c := newCounting(l)
			l.tick(t, at(rs, 100))
			ev := l.rec.last["a"]
			require.False(t, ev.Provisional)
			require.Equal(t, scaling.RowShortage, ev.Recommendation.Row)
			require.Equal(t, "true", ev.Inputs[2].Windows[0].Truth, "the newest tick has its instant answer")
			require.Zero(t, ev.Inputs[2].Windows[0].HeldSeconds)
			require.True(t, ev.Recommendation.MetricsValid)
			require.Equal(t, 1, c.failed["restore"])
			// It is tried again, less and less often, until the window is full.
			before := len(src.ranges)
			for i := 101; i < 120; i++ {
				l.tick(t, at(rs, i))
				require.False(t, l.rec.newest("a").provisional)
			}
			tries := (len(src.ranges) - before) / (len(l.r.group.queries) - 1)
			require.Equal(t, 3, tries, "after 1, 2 and 4 ticks; then the window is full")
			require.True(t, l.r.holes.none())
			require.True(t, l.rec.last["a"].Inputs[2].Windows[0].Sustained)
			require.False(t, l.r.troubles.restore.Present(), "and then it is over")
		})
	}
}

// What was missing at a start is there as soon as it can be read.
func TestHoleIsMendedWhenItCanBeRead(t *testing.T) {
	rs := fixture()
	src := &oneByOne{series: waitingJob(rs), fail: func(expr string, n int64, isRange bool) error {
		if expr == "age" && isRange && n == 100 {
			return errDown
		}
		return nil
	}}
	l := newLive(t, src, memory.New(), fixtureConfig(rs, scaling.DefaultBounds(), "a"), 1)
	l.tick(t, at(rs, 100))
	require.Equal(t, scaling.RowSteady, l.rec.newest("a").row)
	l.tick(t, at(rs, 101))
	require.Equal(t, scaling.RowShortage, l.rec.newest("a").row)
}

// A query that never answers in time costs its own signal and no tick.
func TestSlowQueryCostsItsOwnSignal(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		rs := fixture()
		src := &oneByOne{series: waitingJob(rs), hangs: "slots"}
		l := newLive(t, src, memory.New(), fixtureConfig(rs, scaling.DefaultBounds(), "a"), 1)
		for i := 100; i < 110; i++ {
			began := time.Now()
			l.tick(t, at(rs, i))
			if i > 100 {
				require.Equal(t, l.r.QueryTimeout, time.Since(began), "no range is asked for what does not answer")
			}
			ev := l.rec.last["a"]
			require.False(t, ev.Provisional)
			require.Equal(t, scaling.RowShortage, ev.Recommendation.Row)
			require.Equal(t, "no_answer", ev.Inputs[3].Reason)
		}
	})
}

// TestPartialSilenceEquivalence is the law of gaps for queries that get no
// answer one by one: what follows is decided as if they had been answered.
func TestPartialSilenceEquivalence(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		const n = 40
		rs, bounds := drawRules(t), drawBounds(t)
		drawn := drawStory(t, n)
		src := drawn.source(rs)
		from := rapid.IntRange(1, n-2).Draw(t, "from")
		length := rapid.IntRange(1, 10).Draw(t, "length")
		names := []string{"current", "reporting", "mode", "age", "jobs", "cpu", "slots", "big"}
		silent := map[string]bool{}
		for _, name := range rapid.SliceOfNDistinct(rapid.SampledFrom(names), 1, len(names)-1, rapid.ID[string]).Draw(t, "silent") {
			silent[name] = true
		}
		cutSrc := &oneByOne{series: drawn.source(rs), fail: func(expr string, i int64, _ bool) error {
			if silent[expr] && i >= int64(from) && i < int64(from+length) {
				return errDown
			}
			return nil
		}}
		cfg := fixtureConfig(rs, bounds, "a")
		uncut := newLive(t, src, memory.New(), cfg, 1)
		cut := newLive(t, cutSrc, memory.New(), cfg, 1)
		for i := range n {
			uncut.tick(t, at(rs, i))
			cut.tick(t, at(rs, i))
			got := cut.rec.newest("a")
			require.False(t, got.provisional, "tick %d: some queries were answered", i)
			if i >= from && i < from+length {
				continue
			}
			require.True(t, uncut.rec.newest("a").same(got), "tick %d: uncut %s, after the gap %s", i, uncut.rec.newest("a"), got)
		}
	})
}

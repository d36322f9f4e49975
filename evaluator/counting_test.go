package evaluator

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/prometheus/prometheus/model/labels"
	"github.com/stretchr/testify/require"

	"github.com/zeta-scaler/zeta-scaler/scaling"
	"github.com/zeta-scaler/zeta-scaler/source"
	"github.com/zeta-scaler/zeta-scaler/state/memory"
)

// counting are instruments that remember what they were told.
type counting struct {
	failed                       map[string]int
	evaluated                    []time.Duration
	missed, clockJumps, unscoped int
}

func newCounting(l *live) *counting {
	c := &counting{failed: map[string]int{}}
	l.r.Instruments = c
	return c
}

func (c *counting) Failed(reason string)      { c.failed[reason]++ }
func (c *counting) Evaluated(d time.Duration) { c.evaluated = append(c.evaluated, d) }
func (c *counting) TicksMissed(n int)         { c.missed += n }
func (c *counting) ClockJumped()              { c.clockJumps++ }
func (c *counting) IgnoredSamples(n int)      { c.unscoped += n }

func TestTicksThatWereMissedAreCounted(t *testing.T) {
	rs := fixture()
	l := newLive(t, quietCluster(rs), memory.New(), fixtureConfig(rs, scaling.DefaultBounds(), "a"), 1)
	c := newCounting(l)
	l.tick(t, at(rs, 100))
	l.tick(t, at(rs, 101))
	require.Zero(t, c.missed)
	l.tick(t, at(rs, 105))
	require.Equal(t, 3, c.missed)
	require.Len(t, c.evaluated, 3, "one duration a tick")
}

// What went by before a start was nobody's to evaluate.
func TestAStartMissesNoTicks(t *testing.T) {
	rs := fixture()
	store := memory.New()
	newLive(t, quietCluster(rs), store, fixtureConfig(rs, scaling.DefaultBounds(), "a"), 1).tick(t, at(rs, 100))
	l := newLive(t, quietCluster(rs), store, fixtureConfig(rs, scaling.DefaultBounds(), "a"), 2)
	c := newCounting(l)
	l.tick(t, at(rs, 110))
	require.Zero(t, c.missed)
}

func TestAClockThatGoesBackIsCounted(t *testing.T) {
	rs := fixture()
	l := newLive(t, quietCluster(rs), memory.New(), fixtureConfig(rs, scaling.DefaultBounds(), "a"), 1)
	c := newCounting(l)
	l.tick(t, at(rs, 100))
	l.r.clockWentBack(at(rs, 50))
	require.Equal(t, 1, c.clockJumps)
	l.tick(t, at(rs, 50))
	require.Equal(t, at(rs, 50), l.rec.newest("a").tick)
	require.Zero(t, c.missed)
}

// unscoped adds a sample without the scope's label to one answer.
type unscoped struct{ *series }

func (u unscoped) Instant(ctx context.Context, expr string, at time.Time) (source.Vector, error) {
	v, err := u.series.Instant(ctx, expr, at)
	if expr == "cpu" {
		v.Samples = append(v.Samples, source.Sample{Labels: labels.FromStrings("instance", "x"), Value: 1})
	}
	return v, err
}

func TestSamplesWithoutAScopeAreCounted(t *testing.T) {
	rs := fixture()
	l := newLive(t, unscoped{quietCluster(rs)}, memory.New(), fixtureConfig(rs, scaling.DefaultBounds(), "a"), 1)
	c := newCounting(l)
	// The first tick comes from range queries.
	for i, want := range []int{0, 1, 2} {
		l.tick(t, at(rs, 100+i))
		require.Equal(t, want, c.unscoped)
	}
}

// Without an answer nobody is discovered. That must show, or a service that was
// pointed at the wrong Prometheus would count no failure for ever.
func TestFailedQueriesAreCountedWithoutAScope(t *testing.T) {
	rs := fixture()
	src := quietCluster(rs)
	src.down = func(time.Time, bool) error { return source.NoAnswer(errors.New("connection refused")) }
	l := newLive(t, src, memory.New(), fixtureConfig(rs, scaling.DefaultBounds()), 1)
	c := newCounting(l)
	for i := 100; i < 103; i++ {
		l.tick(t, at(rs, i))
	}
	require.Empty(t, l.rec.last)
	require.Equal(t, map[string]int{"no_answer": 3}, c.failed)
	src.down = nil
	l.tick(t, at(rs, 103))
	require.Equal(t, scaling.RowIdle, l.rec.newest("a").row)
}

// Without workers no slot is taken of no slots: 0 / 0 is not a number. Nobody
// asks for it then, so it is no failure that somebody has to look at.
func TestInvalidValueOfSignalThatDoesNotApplyIsNoFailure(t *testing.T) {
	for name, tc := range map[string]struct {
		workers float64
		failed  map[string]int
	}{
		"no workers":   {0, map[string]int{}},
		"some workers": {2, map[string]int{"invalid_value": 3}},
	} {
		t.Run(name, func(t *testing.T) {
			rs := fixture()
			src := quietCluster(rs)
			src.values["current"], src.values["reporting"] = constant(tc.workers), constant(tc.workers)
			src.values["slots"] = constant(nan())
			l := newLive(t, src, memory.New(), fixtureConfig(rs, scaling.Bounds{Min: 0, Max: 5}, "a"), 1)
			c := newCounting(l)
			for i := 100; i < 103; i++ {
				l.tick(t, at(rs, i))
			}
			require.Equal(t, tc.failed, c.failed)
		})
	}
}

// Two clusters under one key: no number is about one of them, so all of the
// scope is unknown, and the tick after the collision it is known again.
func TestTwoSourcesAreUnknown(t *testing.T) {
	rs := fixture()
	rs.Workers.Sources = expr("sources")
	src := quietCluster(rs)
	sources := 1.0
	src.values["sources"] = func(string, int64) (float64, bool) { return sources, sources > 0 }
	l := newLive(t, src, memory.New(), fixtureConfig(rs, scaling.DefaultBounds(), "a"), 1)
	c := newCounting(l)
	l.tick(t, at(rs, 100))
	require.Equal(t, scaling.RowIdle, l.rec.newest("a").row)
	sources = 2
	l.tick(t, at(rs, 101))
	ev := l.rec.last["a"]
	require.Equal(t, scaling.RowWorkersUnknown, ev.Recommendation.Row)
	require.Contains(t, ev.Recommendation.Reason, "the worker count is unknown (two_sources)")
	require.Nil(t, ev.ReportingWorkers)
	require.Equal(t, scaling.UnknownSlots, ev.SlotMode)
	for _, in := range ev.Inputs {
		require.False(t, in.Value.Known, in.Name)
		if in.Applies {
			require.Equal(t, "two_sources", in.Reason, in.Name)
		}
	}
	require.Equal(t, scaling.Known(2), ev.Recommendation.MetricsSnapshot["workers.sources"].Value)
	require.Equal(t, map[string]int{"two_sources": 1}, c.failed)
	sources = 0 // no sample says nothing
	l.tick(t, at(rs, 102))
	require.Equal(t, scaling.RowSettling, l.rec.newest("a").row, "its windows fill again")
}

// Workers that are counted once for each exporter hide those that do not
// report: nothing shrinks on such a count.
func TestMoreReportThanThereAre(t *testing.T) {
	rs := fixture()
	src := quietCluster(rs)
	src.values["current"], src.values["reporting"] = constant(3), constant(4) // two of three, seen by two exporters
	l := newLive(t, src, memory.New(), fixtureConfig(rs, scaling.DefaultBounds(), "a"), 1)
	l.tick(t, at(rs, 100))
	rec := l.rec.last["a"].Recommendation
	require.Equal(t, scaling.RowBlindIdle, rec.Row)
	require.Equal(t, "looks idle, but the metrics cannot be relied on: the number of reporting workers is unknown (two_sources)", rec.Reason)
	require.Nil(t, rec.StaleWorkerCount)
}

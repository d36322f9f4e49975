package evaluator

import (
	"context"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/prometheus/model/labels"
	"github.com/stretchr/testify/require"

	"github.com/zeta-scaler/zeta-scaler/evaluator/handclock"
	"github.com/zeta-scaler/zeta-scaler/rules"
	"github.com/zeta-scaler/zeta-scaler/scaling"
	"github.com/zeta-scaler/zeta-scaler/source"
	"github.com/zeta-scaler/zeta-scaler/state/memory"
)

// What is said at the end of a tick that was cut off by a stop would be wrong.
func TestATickThatIsCutOffSaysNothing(t *testing.T) {
	rs := fixture()
	src := &oneByOne{series: quietCluster(rs), hangs: "cpu"}
	l := newLive(t, src, memory.New(), fixtureConfig(rs, scaling.DefaultBounds(), "a"), 1)
	c := newCounting(l)
	var log strings.Builder
	l.r.troubles = newTroubles(slog.New(slog.NewTextHandler(&log, nil)), l.r.group)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	require.ErrorIs(t, l.r.tick(ctx, at(rs, 100).UnixMilli()), context.Canceled)
	require.Empty(t, c.failed)
	require.Empty(t, log.String())
	require.False(t, l.r.hasLast)
	require.Empty(t, l.rec.seen)
}

func TestBoardKnowsItsLeader(t *testing.T) {
	b := NewBoard(0)
	require.False(t, b.Leader())
	b.Begin(3)
	require.True(t, b.Leader())
	require.Equal(t, uint64(3), b.Epoch())
	require.False(t, b.Published())
	b.Publish(t.Context(), nil, nil)
	require.True(t, b.Published(), "a tick that found nothing is one")
	b.Begin(0)
	require.False(t, b.Published())
	require.False(t, b.Leader())
}

// A blocking condition has the numbers that make it one.
func TestBlockersHaveTheirNumbers(t *testing.T) {
	rs := fixture()
	for name, tc := range map[string]struct {
		with   map[string]float64
		bounds scaling.Bounds
		want   string
	}{
		"max_workers":   {map[string]float64{"age": 90}, scaling.Bounds{Min: 1, Max: 4}, "max_workers 4 ≥ 4"},
		"min_workers":   {nil, scaling.Bounds{Min: 4, Max: 8}, "min_workers 4 ≤ 4"},
		"metrics_stale": {map[string]float64{"reporting": 3}, scaling.Bounds{Min: 1, Max: 8}, "metrics_stale 1 > 0"},
	} {
		t.Run(name, func(t *testing.T) {
			src := quietCluster(rs)
			for k, v := range tc.with {
				src.values[k] = constant(v)
			}
			l := newLive(t, src, memory.New(), fixtureConfig(rs, tc.bounds, "a"), 1)
			l.tick(t, at(rs, 100))
			blocking := l.rec.last["a"].Recommendation.BlockingConditions
			require.Len(t, blocking, 1)
			c := blocking[0]
			require.NotNil(t, c.Threshold)
			require.Equal(t, tc.want, c.Name+" "+exact(c.Value.Number)+" "+c.Comparison+" "+exact(*c.Threshold))
		})
	}
}

// Too many scopes are said once, and no more when it is over.
func TestTooManyScopesIsOverWhenTheyAreGone(t *testing.T) {
	rs := fixture()
	g, err := newGroup(rs, nil, rs.Interval)
	require.NoError(t, err)
	g.refused = 3
	g.fill(make([]column, len(g.queries)), 0)
	require.Zero(t, g.refused)
}

func TestARuleSetIsThereOnce(t *testing.T) {
	a, b := fixture(), fixture()
	a.File, b.File = "a.yaml", "b.yaml"
	cfg := fixtureConfig(a, scaling.DefaultBounds())
	cfg.RuleSets = []*rules.RuleSet{a, b}
	_, err := groupsOf(cfg)
	require.EqualError(t, err, "rule set fixture is there twice (a.yaml and b.yaml)")
}

// stubborn is a source that ends when it wants to.
type stubborn struct {
	asked, release chan struct{}
}

func (s stubborn) Instant(context.Context, string, time.Time) (source.Vector, error) {
	select {
	case s.asked <- struct{}{}:
	default:
	}
	<-s.release
	return source.Vector{Samples: []source.Sample{{Labels: labels.EmptyLabels()}}}, nil
}

func (s stubborn) Range(context.Context, string, source.Window) (source.Matrix, error) {
	return source.Matrix{}, nil
}

// Run returns when nothing of it runs any more: a new leader may begin.
func TestRunEndsWithItsTicks(t *testing.T) {
	synctest.Test(t, runEndsWithItsTicks)
}

func runEndsWithItsTicks(t *testing.T) {
	rs := fixture()
	src := stubborn{make(chan struct{}, 1), make(chan struct{})}
	l := NewLoop(Options{Source: src, Clock: handclock.New(at(rs, 100)), Store: memory.New()})
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- l.Run(ctx, fixtureConfig(rs, scaling.DefaultBounds(), "a")) }()
	<-src.asked
	cancel()
	synctest.Wait()
	select {
	case err := <-done:
		t.Fatalf("the loop has ended while a tick went on: %v", err)
	default:
	}
	close(src.release)
	require.NoError(t, <-done)
}

func TestCompileRefusesAnIntervalThatIsNone(t *testing.T) {
	_, err := Compile(fixture(), time.Microsecond)
	require.EqualError(t, err, "rule set fixture: interval 1µs is too short")
}

// An outage begins from what was kept, not from where the one before it ended.
func TestSecondOutageBeginsFromWhatWasKept(t *testing.T) {
	rs := fixture()
	src := waitingJob(rs)
	l := newLive(t, src, memory.New(), fixtureConfig(rs, scaling.DefaultBounds(), "a"), 1)
	l.tick(t, at(rs, 100))
	for i := 101; i < 110; i++ {
		out := i < 104 || i == 109
		src.down = nil
		if out {
			src.down = func(time.Time, bool) error { return errDown }
		}
		l.tick(t, at(rs, i))
		require.Equal(t, out, l.rec.newest("a").provisional, "tick %d", i)
	}
	require.Len(t, l.rec.last["a"].Recommendation.TriggerConditions, 1, "a gap of one tick is bridged")
}

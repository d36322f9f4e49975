package evaluator

import (
	"context"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/zeta-scaler/zeta-scaler/scaling"
	"github.com/zeta-scaler/zeta-scaler/source"
	"github.com/zeta-scaler/zeta-scaler/state/memory"
)

func TestFailingRestoreIsLoggedOncePerChangeOfState(t *testing.T) {
	rs := fixture()
	src := quietCluster(rs)
	src.warn = func(_ string, isRange bool) bool { return isRange }
	l := newLive(t, src, memory.New(), fixtureConfig(rs, scaling.DefaultBounds(), "a"), 1)
	var log strings.Builder
	l.r.Logger = slog.New(slog.NewTextHandler(&log, nil))
	l.r.troubles = newTroubles(l.r.Logger, l.r.group)
	for i := 100; i < 105; i++ {
		l.tick(t, at(rs, i))
	}
	require.Equal(t, 1, strings.Count(log.String(), "windows could not be restored"))
	src.warn = nil
	l.tick(t, at(rs, 105))
	require.Equal(t, 1, strings.Count(log.String(), "windows are restored"))
}

// hanging is a source whose range queries never end by themselves.
type hanging struct{ *series }

func (hanging) Range(ctx context.Context, _ string, _ source.Window) (source.Matrix, error) {
	<-ctx.Done()
	return source.Matrix{}, source.NoAnswer(ctx.Err())
}

func TestRestoreThatHangsDelaysNoTickBeyondTheNext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		rs := fixture()
		l := newLive(t, hanging{quietCluster(rs)}, memory.New(), fixtureConfig(rs, scaling.DefaultBounds(), "a"), 1)
		l.r.QueryTimeout = 3 * rs.Interval
		var log strings.Builder
		l.r.Logger = slog.New(slog.NewTextHandler(&log, nil))
		l.r.troubles = newTroubles(l.r.Logger, l.r.group)
		n := 100
		tick := func() time.Duration {
			began := time.Now()
			l.tick(t, at(rs, n))
			n++
			return time.Since(began)
		}
		require.Equal(t, 3*rs.Interval, tick(), "a start waits as long as a query may take")
		whole := lookbackTicks(t, rs, scaling.DefaultBounds())
		for range whole {
			require.Equal(t, rs.Interval/2, tick())
			require.True(t, l.rec.newest("a").provisional)
		}
		tick()
		require.False(t, l.rec.newest("a").provisional, "the ticks themselves have filled the windows")
		require.Equal(t, scaling.RowIdle, l.rec.newest("a").row)
		require.Equal(t, 1, strings.Count(log.String(), "windows are restored"), "%s", &log)
		require.Zero(t, tick())
		n += 3
		require.Equal(t, rs.Interval, tick(), "after a gap, until the next tick is due")
		require.True(t, l.rec.newest("a").provisional)
	})
}

func TestProvisionalUntilTheRestoreIsWhole(t *testing.T) {
	rs := fixture()
	src := quietCluster(rs)
	src.warn = func(_ string, isRange bool) bool { return isRange }
	l := newLive(t, src, memory.New(), fixtureConfig(rs, scaling.DefaultBounds(), "a"), 1)
	for i := 100; i < 103; i++ {
		l.tick(t, at(rs, i))
		require.True(t, l.rec.newest("a").provisional, "a range query with warnings is never folded")
	}
	src.warn = nil
	l.tick(t, at(rs, 103))
	require.False(t, l.rec.newest("a").provisional)
	require.Equal(t, scaling.RowIdle, l.rec.newest("a").row)
}

func TestFailuresOfQueriesAreLoggedOncePerChangeOfState(t *testing.T) {
	var log strings.Builder
	rs := fixture()
	l := newLive(t, quietCluster(rs), memory.New(), fixtureConfig(rs, scaling.DefaultBounds(), "a"), 1)
	tr := newTroubles(slog.New(slog.NewTextHandler(&log, nil)), l.r.group)
	lines := func(text string) int { return strings.Count(log.String(), text) }
	cols := make([]column, len(l.r.group.queries))
	set := func(i int, why Reason) { cols[i] = column{failed: true, failure: why, err: source.ErrNoAnswer} }

	tr.noteQueries(cols, false)
	require.Empty(t, log.String())
	for range 3 {
		for i := range cols {
			set(i, NoAnswer)
		}
		tr.noteQueries(cols, true)
	}
	require.Equal(t, 1, lines("the source gives no answer"), "one line for all queries: %s", &log)
	clear(cols)
	for range 3 {
		set(0, QueryWarnings)
		tr.noteQueries(cols, false)
	}
	require.Equal(t, 1, lines("the source answers again"))
	require.Equal(t, 1, lines("query failed"))
	set(0, QueryError)
	tr.noteQueries(cols, false)
	require.Equal(t, 2, lines("query failed"), "another reason is another state")
	clear(cols)
	tr.noteQueries(cols, false)
	require.Equal(t, 1, lines("query works again"))
}

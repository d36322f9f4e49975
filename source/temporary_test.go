package source_test

import (
	"math"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/storage"
	"github.com/stretchr/testify/require"

	"github.com/zeta-scaler/zeta-scaler/source"
)

// at is a virtual instant, seconds after the Unix epoch.
func at(seconds int64) time.Time { return time.Unix(seconds, 0).UTC() }

// openTemporary returns a database that the test closes.
func openTemporary(t testing.TB) *source.Temporary {
	t.Helper()
	db, err := source.OpenTemporary(t.TempDir(), nil)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, db.Close()) })
	return db
}

// newEngine returns an engine over db that the test closes.
func newEngine(t testing.TB, q storage.Queryable) *source.Engine {
	t.Helper()
	e, err := source.NewEngine(source.EngineOptions{}, q)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, e.Close()) })
	return e
}

// value is the only sample of an expression.
func value(t testing.TB, e *source.Engine, expr string, when time.Time) float64 {
	t.Helper()
	v, err := e.Instant(t.Context(), expr, when)
	require.NoError(t, err)
	require.Len(t, v.Samples, 1, "%s at %s", expr, when)
	return v.Samples[0].Value
}

// absent asserts that an expression yields nothing.
func absent(t testing.TB, e *source.Engine, expr string, when time.Time) {
	t.Helper()
	v, err := e.Instant(t.Context(), expr, when)
	require.NoError(t, err)
	require.Empty(t, v.Samples, "%s at %s", expr, when)
}

func TestTemporaryHoldsAnyTimeAtOnce(t *testing.T) {
	db := openTemporary(t)
	e := newEngine(t, db)
	now := at(1_790_000_000)

	require.NoError(t, db.Append(source.Series{
		Labels: labels.FromStrings("__name__", "m"),
		Points: []source.Point{{T: now.UnixMilli(), V: 2}},
	}))
	// Half a century behind the newest sample, before the epoch, and 40 days on.
	require.NoError(t, db.Append(
		source.Series{Labels: labels.FromStrings("__name__", "old"), Points: []source.Point{{T: 0, V: 1}, {T: 60_000, V: 3}}},
		source.Series{Labels: labels.FromStrings("__name__", "older"), Points: []source.Point{{T: -60_000, V: 4}}},
		source.Series{Labels: labels.FromStrings("__name__", "m"), Points: []source.Point{{T: now.Add(960 * time.Hour).UnixMilli(), V: 5}}},
	))

	require.InDelta(t, 2, value(t, e, "m", now), 0)
	require.InDelta(t, 1, value(t, e, "old", at(30)), 0)
	require.InDelta(t, 3, value(t, e, "old", at(60)), 0)
	require.InDelta(t, 4, value(t, e, "older", at(-60)), 0)
	require.InDelta(t, 5, value(t, e, "m", now.Add(960*time.Hour)), 0)
	absent(t, e, "m", now.Add(10*time.Minute))
}

func TestTemporaryRefusesWhatDoesNotRise(t *testing.T) {
	name := labels.FromStrings("__name__", "m")
	one := func(ms int64, v float64) source.Series {
		return source.Series{Labels: name, Points: []source.Point{{T: ms, V: v}}}
	}
	tests := []struct {
		name   string
		series []source.Series
		want   string
	}{
		{"before an earlier sample", []source.Series{one(30_000, 1)}, `lies before a sample that was written earlier`},
		{"another value for the same time", []source.Series{one(60_000, 9)}, `another value was written for 1970-01-01T00:01:00Z`},
		{"falling in one call", []source.Series{{Labels: name, Points: []source.Point{{T: 90_000}, {T: 80_000}}}}, `does not come after the one at 1970-01-01T00:01:30Z`},
		{"the same series twice", []source.Series{one(90_000, 1), one(120_000, 1)}, `given twice`},
		{"no metric name", []source.Series{{Labels: labels.FromStrings("a", "b"), Points: []source.Point{{T: 90_000}}}}, `has no metric name`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			db := openTemporary(t)
			require.NoError(t, db.Append(one(60_000, 1)))
			other := source.Series{Labels: labels.FromStrings("__name__", "other"), Points: []source.Point{{T: 90_000, V: 1}}}
			require.ErrorContains(t, db.Append(append([]source.Series{other}, tt.series...)...), tt.want)
			absent(t, newEngine(t, db), "other", at(90)) // all or nothing
			require.NoError(t, db.Append(one(90_000, 2)), "the database goes on")
		})
	}
}

func TestTemporaryRemovesOnlyItsOwnFolder(t *testing.T) {
	t.Setenv("TMPDIR", t.TempDir())
	db, err := source.OpenTemporary("", nil)
	require.NoError(t, err)
	made, err := filepath.Glob(filepath.Join(os.Getenv("TMPDIR"), "*"))
	require.NoError(t, err)
	require.Len(t, made, 1)
	require.NoError(t, db.Close())
	require.NoDirExists(t, made[0])

	dir := t.TempDir()
	db, err = source.OpenTemporary(dir, nil)
	require.NoError(t, err)
	require.NoError(t, db.Close())
	require.DirExists(t, dir)
}

func TestStaleMarkerEndsASeries(t *testing.T) {
	db := openTemporary(t)
	e := newEngine(t, db)
	require.NoError(t, db.Append(source.Series{Labels: labels.FromStrings("__name__", "m"), Points: []source.Point{
		{T: 0, V: math.NaN()}, {T: 15_000, V: source.StaleMarker()},
	}}))
	require.True(t, math.IsNaN(value(t, e, "m", at(14))), "an ordinary NaN is a value")
	absent(t, e, "m", at(15))
}

// TestTemporaryForgets: what lies before a time is gone with its series, what comes
// after stays and goes on.
func TestTemporaryForgets(t *testing.T) {
	db := openTemporary(t)
	e := newEngine(t, db)
	points := func(from, to int64) (ps []source.Point) {
		for s := from; s < to; s += 15 {
			ps = append(ps, source.Point{T: at(s).UnixMilli(), V: float64(s)})
		}
		return ps
	}
	require.NoError(t, db.Append(
		source.Series{Labels: labels.FromStrings("__name__", "old"), Points: points(0, 3600)},
		source.Series{Labels: labels.FromStrings("__name__", "m"), Points: points(0, 36000)},
	))
	require.NoError(t, db.Forget(at(30000)))
	absent(t, e, "count_over_time(old[10h])", at(36000))
	require.InDelta(t, 35985, value(t, e, "m", at(36000)), 0)
	require.InDelta(t, 400, value(t, e, "count_over_time(m[10h] @ 36000)", at(36000)), 120, "whole chunks go")
	require.NoError(t, db.Append(source.Series{Labels: labels.FromStrings("__name__", "m"), Points: points(36000, 36100)}))
	require.InDelta(t, 36090, value(t, e, "m", at(36100)), 0)
}

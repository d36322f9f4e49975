package source_test

import (
	"slices"
	"testing"
	"time"

	"github.com/prometheus/prometheus/model/labels"
	"github.com/stretchr/testify/require"
	"golang.org/x/sync/errgroup"

	"github.com/zeta-scaler/zeta-scaler/source"
)

// What the engine writes into an expression must not reach the next query of the
// same text: its time, its range, the series that it found, and the order of labels
// and matchers.
func TestAnExpressionIsAsNewAtEveryQuery(t *testing.T) {
	db := openTemporary(t)
	for i := range int64(40) {
		require.NoError(t, db.Append(
			source.Series{Labels: labels.FromStrings("__name__", "m", "z", "1", "a", "x"), Points: []source.Point{{T: 15000 * i, V: float64(i)}}},
			source.Series{Labels: labels.FromStrings("__name__", "m", "z", "2", "a", "y"), Points: []source.Point{{T: 15000 * i, V: float64(-i)}}},
		))
	}
	tests := []string{
		`m{z=~"1|2",a!=""} or 2 * m`,
		`sum by (z, a) (m) / on (z, a) group_left () count by (z, a) (m)`,
		`(max_over_time((sum by (a) (m))[2m:15s]))`,
		`last_over_time(m[46s] offset 30s) - m @ start() + m @ end()`,
		`topk(1, (m)) and -m < bool 3`,
		`clamp_min(rate(m[2m]), (0))`,
		`count_values by (z) ("v", m)`,
		`label_replace(vector(time()), "q", "$1", "", "(.*)")`,
		`(1 + 2)`,
	}
	kept := newEngine(t, db)
	for _, expr := range tests {
		for _, second := range []int64{300, 360, 300, 75} {
			want, err := newEngine(t, db).Instant(t.Context(), expr, at(second))
			require.NoError(t, err, expr)
			got, err := kept.Instant(t.Context(), expr, at(second))
			require.NoError(t, err, expr)
			require.ElementsMatch(t, want.Samples, got.Samples, "%s at %d", expr, second)

			w := source.Window{Start: at(second), End: at(second + 120), Step: 15 * time.Second}
			wanted, err := newEngine(t, db).Range(t.Context(), expr, w)
			require.NoError(t, err, expr)
			matrix, err := kept.Range(t.Context(), expr, w)
			require.NoError(t, err, expr)
			require.ElementsMatch(t, wanted.Series, matrix.Series, "%s from %d", expr, second)
		}
	}
	var all errgroup.Group
	for _, expr := range slices.Concat(tests, tests) {
		all.Go(func() error {
			_, err := kept.Instant(t.Context(), expr, at(300))
			return err
		})
	}
	require.NoError(t, all.Wait())
	_, err := kept.Instant(t.Context(), "sum(", at(0))
	require.Error(t, err)
	_, again := kept.Instant(t.Context(), "sum(", at(0))
	require.Equal(t, err, again)
}

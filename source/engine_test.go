package source_test

import (
	"context"
	"errors"
	"math"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"
	"github.com/prometheus/prometheus/model/histogram"
	"github.com/prometheus/prometheus/storage"
	"github.com/prometheus/prometheus/tsdb"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/trace/noop"

	"github.com/zeta-scaler/zeta-scaler/source"
)

// A span for every node of an expression is a tenth of what a small query allocates.
func TestAnEngineMakesNoSpans(t *testing.T) {
	newEngine(t, openTemporary(t))
	_, span := otel.Tracer("").Start(t.Context(), "eval")
	require.IsType(t, noop.Span{}, span)
}

func TestEngineInstant(t *testing.T) {
	db := openTemporary(t)
	e := newEngine(t, db)
	require.NoError(t, db.Load(at(0), 30*time.Second,
		source.Notation{Series: `q{c="a"}`, Values: "1x20"},
		source.Notation{Series: `q{c="b"}`, Values: "2x20"},
		source.Notation{Series: `z`, Values: "0x20"},
	))
	tests := []struct {
		expr string
		want []source.Sample
		info string
	}{
		{expr: `sum(q)`, want: []source.Sample{{Value: 3}}},
		{expr: `sort_desc(sum by (c) (q))`, want: []source.Sample{{Labels: lbls("c", "b"), Value: 2}, {Labels: lbls("c", "a"), Value: 1}}},
		{expr: `1 + 1`, want: []source.Sample{{Value: 2}}},
		{expr: `q > 5`, want: []source.Sample{}},
		{expr: `z / z`, want: []source.Sample{{Value: math.NaN()}}},
		{expr: `max_over_time(z[5m:])`, want: []source.Sample{{Value: 0}}}, // a subquery without a step
		{expr: `sum(q @ 30) - sum(q offset -30s)`, want: []source.Sample{{Value: 0}}},
		{expr: `sum(rate(q[5m]))`, want: []source.Sample{{Value: 0}}, info: "metric might not be a counter"},
	}
	for _, tt := range tests {
		t.Run(tt.expr, func(t *testing.T) {
			v, err := e.Instant(t.Context(), tt.expr, at(300))
			require.NoError(t, err)
			require.Empty(t, v.Warnings)
			requireSamples(t, tt.want, v.Samples)
			if tt.info == "" {
				require.Empty(t, v.Infos)
			} else {
				require.Len(t, v.Infos, 1)
				require.Contains(t, v.Infos[0], tt.info)
			}
		})
	}
}

func TestEngineRange(t *testing.T) {
	db := openTemporary(t)
	e := newEngine(t, db)
	require.NoError(t, db.Load(at(0), 30*time.Second,
		source.Notation{Series: `q{c="a"}`, Values: "0+1x4"},
		source.Notation{Series: `q{c="b"}`, Values: "_ 7 stale"},
	))
	m, err := e.Range(t.Context(), `q`, source.Window{Start: at(0), End: at(75), Step: 30 * time.Second})
	require.NoError(t, err)
	require.Equal(t, []source.Series{
		{Labels: lbls("__name__", "q", "c", "a"), Points: []source.Point{{T: 0, V: 0}, {T: 30_000, V: 1}, {T: 60_000, V: 2}}},
		{Labels: lbls("__name__", "q", "c", "b"), Points: []source.Point{{T: 30_000, V: 7}}},
	}, m.Series)

	// The engine reuses its memory: an earlier answer must not change.
	_, err = e.Range(t.Context(), `q + 100`, source.Window{Start: at(0), End: at(75), Step: 30 * time.Second})
	require.NoError(t, err)
	require.InDelta(t, 2, m.Series[0].Points[2].V, 0)

	m, err = e.Range(t.Context(), `4`, source.Window{Start: at(0), End: at(0), Step: time.Second})
	require.NoError(t, err)
	require.Equal(t, []source.Point{{T: 0, V: 4}}, m.Series[0].Points)
}

func TestEngineErrorsAreAnswers(t *testing.T) {
	db := openTemporary(t)
	e := newEngine(t, db)
	require.NoError(t, db.Load(at(0), time.Minute,
		source.Notation{Series: `q{c="a",x="1"}`, Values: "1x5"}, source.Notation{Series: `q{c="a",x="2"}`, Values: "1x5"}))
	minute := source.Window{Start: at(0), End: at(60), Step: time.Minute}
	tests := []struct {
		name, expr string
		window     *source.Window
		want       string
	}{
		{"parse", `sum(`, nil, "bad_data: "},
		{"parse of a range", `sum(`, &minute, "bad_data: "},
		{"many to many", `q * on (c) q`, nil, "execution: found duplicate series for the match group"},
		{"range vector", `q[5m]`, nil, "execution: expression yields a matrix"},
		{"string", `"a"`, nil, "execution: expression yields a string"},
		{"no step", `q`, &source.Window{Start: at(0), End: at(60)}, "bad_data: step 0s"},
		{"odd step", `q`, &source.Window{Start: at(0), End: at(60), Step: 1500 * time.Microsecond}, "bad_data: step 1.5ms"},
		{"backwards", `q`, &source.Window{Start: at(60), End: at(0), Step: time.Second}, "before its start"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			var err error
			if tt.window == nil {
				_, err = e.Instant(t.Context(), tt.expr, at(60))
			} else {
				_, err = e.Range(t.Context(), tt.expr, *tt.window)
			}
			require.ErrorContains(t, err, tt.want)
			require.NotErrorIs(t, err, source.ErrNoAnswer)
			var q *source.QueryError
			require.ErrorAs(t, err, &q)
		})
	}
}

func TestEngineTooManySamplesIsAnAnswer(t *testing.T) {
	db := openTemporary(t)
	require.NoError(t, db.Load(at(0), time.Minute, source.Notation{Series: `a`, Values: "1x9"}, source.Notation{Series: `b`, Values: "1x9"}))
	e, err := source.NewEngine(source.EngineOptions{MaxSamples: 1}, db)
	require.NoError(t, err)
	_, err = e.Instant(t.Context(), `{__name__=~"a|b"}`, at(60))
	require.ErrorContains(t, err, "too many samples")
	require.NotErrorIs(t, err, source.ErrNoAnswer)
}

func TestEngineInterruptionIsNoAnswer(t *testing.T) {
	reg := prometheus.NewRegistry()
	broken := queryable(func() (storage.Querier, error) { return nil, errors.New("disk on fire") })
	e, err := source.NewEngine(source.EngineOptions{Registerer: reg}, broken)
	require.NoError(t, err)
	_, err = e.Instant(t.Context(), `q`, at(0))
	require.ErrorIs(t, err, source.ErrNoAnswer)
	require.ErrorContains(t, err, "disk on fire")

	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err = e.Range(ctx, `q`, source.Window{Start: at(0), End: at(60), Step: time.Minute})
	require.ErrorIs(t, err, source.ErrNoAnswer)

	slow := queryable(func() (storage.Querier, error) { return storage.NoopQuerier(), nil })
	e, err = source.NewEngine(source.EngineOptions{Registerer: reg, Timeout: time.Nanosecond}, slow)
	require.NoError(t, err, "a second source goes on with the metrics of the first")
	_, err = e.Instant(t.Context(), `q`, at(0))
	require.ErrorIs(t, err, source.ErrNoAnswer)

	require.InDelta(t, 2, counter(t, reg, "zeta_scaler_query_failures_total", "instant", "storage")+
		counter(t, reg, "zeta_scaler_query_failures_total", "instant", "timeout"), 0)
	require.InDelta(t, 1, counter(t, reg, "zeta_scaler_query_failures_total", "range", "canceled"), 0)
	problems, err := testutil.GatherAndLint(reg)
	require.NoError(t, err)
	require.Empty(t, problems)
}

func TestEngineRefusesHistograms(t *testing.T) {
	db, err := tsdb.Open(t.TempDir(), nil, nil, tsdb.DefaultOptions(), nil)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, db.Close()) })
	app := db.AppenderV2(t.Context())
	h := &histogram.FloatHistogram{Count: 1, Sum: 2, ZeroCount: 1}
	_, err = app.Append(0, lbls("__name__", "h"), 0, 1000, 0, nil, h, storage.AOptions{})
	require.NoError(t, err)
	require.NoError(t, app.Commit())

	e := newEngine(t, db)
	_, err = e.Instant(t.Context(), `h`, at(1))
	require.ErrorContains(t, err, "expression yields a histogram")
	require.NotErrorIs(t, err, source.ErrNoAnswer)
	_, err = e.Range(t.Context(), `h`, source.Window{Start: at(1), End: at(1), Step: time.Second})
	require.ErrorContains(t, err, "expression yields a histogram")
	require.InDelta(t, 1, value(t, e, `histogram_count(h)`, at(1)), 0)
}

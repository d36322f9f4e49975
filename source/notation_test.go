package source_test

import (
	"math"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/zeta-scaler/zeta-scaler/source"
)

func TestParseNotation(t *testing.T) {
	stale := source.StaleMarker()
	tests := []struct {
		values string
		want   map[int64]float64 // seconds → value, 30 s apart
	}{
		{"1 2 3", map[int64]float64{0: 1, 30: 2, 60: 3}},
		{"0+10x2", map[int64]float64{0: 0, 30: 10, 60: 20}},
		{"5-1x2", map[int64]float64{0: 5, 30: 4, 60: 3}},
		{"0.1x2 stale _x3 0.9x1", map[int64]float64{0: 0.1, 30: 0.1, 60: 0.1, 90: stale, 210: 0.9, 240: 0.9}},
		{"_ 1 _ NaN", map[int64]float64{30: 1, 90: math.NaN()}},
		{"-1 +Inf -Inf", map[int64]float64{0: -1, 30: math.Inf(1), 60: math.Inf(-1)}},
		{"0x0", map[int64]float64{0: 0}},
		{"", map[int64]float64{}},
	}
	for _, tt := range tests {
		t.Run(tt.values, func(t *testing.T) {
			got, err := source.ParseNotation(source.Notation{Series: `m{a="b"}`, Values: tt.values}, at(0), 30*time.Second)
			require.NoError(t, err)
			require.Equal(t, `{__name__="m", a="b"}`, got.Labels.String())
			require.Len(t, got.Points, len(tt.want))
			for _, p := range got.Points {
				want, ok := tt.want[p.T/1000]
				require.True(t, ok, "a value at %d ms", p.T)
				require.Equal(t, math.Float64bits(want), math.Float64bits(p.V), "value at %d ms: %v, want %v", p.T, p.V, want)
			}
		})
	}
}

func TestParseNotationErrors(t *testing.T) {
	tests := []struct {
		name, series, values string
		interval             time.Duration
		want                 string
	}{
		{"series", `m{a=`, "1", time.Second, `series "m{a="`},
		{"no name", `{a="b"}`, "1", time.Second, `no metric name`},
		{"empty", ``, "1", time.Second, `series ""`},
		{"values in the series", `m 1x99999999`, "1", time.Second, `series "m 1x99999999"`},
		{"values", "m", "1 two 3", time.Second, `values "1 two 3"`},
		{"too many", "m", "0x1000000", time.Second, "more than 1000000 values"},
		{"too many together", "m", "0x600000 _x600000", time.Second, "more than 1000000 values"},
		{"beyond uint64", "m", "0x99999999999999999999999", time.Second, "more than 1000000 values"},
		{"histogram", "m", "{{schema:0 sum:1 count:1 buckets:[1]}}", time.Second, "value 1 is a native histogram"},
		{"interval", "m", "1", 0, "interval 0s"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			_, err := source.ParseNotation(source.Notation{Series: tt.series, Values: tt.values}, at(0), tt.interval)
			require.ErrorContains(t, err, tt.want)
		})
	}
}

func TestLoadIsQueriedByTheEngine(t *testing.T) {
	db := openTemporary(t)
	e := newEngine(t, db)
	require.NoError(t, db.Load(at(0), 15*time.Second,
		source.Notation{Series: `jobs_total{cluster="a"}`, Values: "0+15x40"},
		source.Notation{Series: `cpu{cluster="a"}`, Values: "0.5x3 stale"},
	))
	require.InDelta(t, 1, value(t, e, `rate(jobs_total[5m])`, at(600)), 1e-9)
	require.InDelta(t, 0.5, value(t, e, `cpu`, at(59)), 0)
	absent(t, e, `cpu`, at(60))

	err := db.Load(at(0), time.Second, source.Notation{Series: "fine", Values: "1"}, source.Notation{Series: "m", Values: "?"})
	require.ErrorContains(t, err, `values "?"`)
	absent(t, e, "fine", at(0))
}

func FuzzParseNotation(f *testing.F) {
	for _, values := range []string{
		"0.1x10 stale _x3 0.9x20", "0+10x20", "1-1x3", "_", "NaN Inf -Inf", "0x9999999999", "x", "1x", "1x-1", "_x1_000",
		"{{schema:1 sum:-0.3 count:3.1 z_bucket:7.1}}x3", "1e3x2", "0x1e9", "#", "\"", "1 # x3",
	} {
		f.Add(`m{a="b"}`, values)
	}
	f.Add(`m 0x99999`, "1")
	f.Add(`{"a b"}`, "1")
	f.Fuzz(func(t *testing.T, series, values string) {
		s, err := source.ParseNotation(source.Notation{Series: series, Values: values}, at(0), time.Second)
		if err != nil {
			return
		}
		require.NotEmpty(t, s.Labels.Get("__name__"))
		require.LessOrEqual(t, len(s.Points), 1_000_000)
		for i, p := range s.Points {
			require.Zero(t, p.T%1000)
			require.True(t, i == 0 || p.T > s.Points[i-1].T)
		}
		if n := strings.Count(values, "x"); n == 0 {
			require.LessOrEqual(t, len(s.Points), len(values), "without repeats a value needs a character")
		}
	})
}

package backtest

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/prometheus/prometheus/model/labels"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/zeta-scaler/zeta-scaler/rules"
	"github.com/zeta-scaler/zeta-scaler/source"
)

const rulesText = `
format: zeta-scaler/v1
ruleset: tape
version: %s
interval: %s
scope_by: [cluster]
slot_mode: fixed
workers:
  current: {expr: current}
  reporting: {expr: reporting}
signals:
  - signal: age
    class: blocking
    expr: age
    unit: seconds
    scale_out: {above: %s, for: 2m}
    scale_in: {at_most: 0, for: 3m}
  - signal: cpu
    class: saturation
    expr: cpu
    unit: ratio
    range: [0, 1]
    scale_out: {above: 0.8, for: 2m}
    scale_in: {below: 0.3, for: 3m}
`

// period is where every test's data lie.
var period = time.Date(2026, 3, 1, 0, 0, 0, 0, time.UTC)

const step = 30 * time.Second

// tape is a source of functions of time.
type tape struct {
	mu sync.Mutex
	// values say what an expression is for a cluster at an instant.
	values func(expr, cluster string, at time.Time) (float64, bool)
	// failed and warned say at which instants an expression cannot be evaluated.
	failed, warned func(expr string, at time.Time) bool
	// most is how many points are given at once; 0 is any number.
	most int
	// asked counts questions, and called is told of each.
	asked  int
	called func(n int) error
}

func (s *tape) Instant(context.Context, string, time.Time) (source.Vector, error) {
	panic("a backtest asks for ranges only")
}

func (s *tape) Range(ctx context.Context, expr string, w source.Window) (source.Matrix, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.asked++
	if s.called != nil {
		if err := s.called(s.asked); err != nil {
			return source.Matrix{}, err
		}
	}
	if err := ctx.Err(); err != nil {
		return source.Matrix{}, source.NoAnswer(err)
	}
	if s.most > 0 && ticks(w) > s.most {
		return source.Matrix{}, &source.QueryError{Type: "bad_data", Message: "exceeded maximum resolution of 11,000 points per timeseries"}
	}
	var m source.Matrix
	for at := w.Start; !at.After(w.End); at = at.Add(w.Step) {
		if s.failed != nil && s.failed(expr, at) {
			return source.Matrix{}, &source.QueryError{Type: "execution", Message: "many-to-many matching"}
		}
		if s.warned != nil && s.warned(expr, at) {
			m.Warnings = []string{"a store is away"}
		}
	}
	for _, c := range []string{"a", "b"} {
		line := source.Series{Labels: labels.FromStrings("cluster", c)}
		for at := w.Start; !at.After(w.End); at = at.Add(w.Step) {
			if v, ok := s.values(expr, c, at); ok {
				line.Points = append(line.Points, source.Point{T: at.UnixMilli(), V: v})
			}
		}
		if len(line.Points) > 0 {
			m.Series = append(m.Series, line)
		}
	}
	return m, nil
}

// drawTape draws a course of every input over n ticks around the period.
func drawTape(t *rapid.T, n int) *tape {
	const slots = 64 // of time, values stand for a whole one or two
	course := map[string][]float64{}
	for _, c := range []string{"a", "b"} {
		for expr, values := range map[string][]float64{
			"current": {3, 3, 4, 2, -1}, "reporting": {3, 3, 4, 2, -1}, "age": {0, 0, 90, 200, -1}, "cpu": {0.1, 0.5, 0.9, -1},
		} {
			line := make([]float64, slots)
			for i := range line {
				line[i] = rapid.SampledFrom(values).Draw(t, expr+" of "+c)
			}
			course[expr+c] = line
		}
	}
	at := func(at time.Time) int64 { return int64(at.Sub(period)/step) + 200 }
	width := int64(max(1, (n+300)/slots))
	bad := rapid.SliceOfN(rapid.IntRange(0, n+300), 0, 6).Draw(t, "failing ticks")
	length := rapid.IntRange(1, 150).Draw(t, "length")
	fails := func(name string, only int) func(string, time.Time) bool {
		return func(expr string, i time.Time) bool {
			for k, b := range bad {
				if expr == name && k%2 == only && at(i) >= int64(b) && at(i) < int64(b+1+length*(k%3)/2) {
					return true
				}
			}
			return false
		}
	}
	return &tape{
		values: func(expr, cluster string, i time.Time) (float64, bool) {
			line := course[expr+cluster]
			v := line[((at(i)/width)%slots+slots)%slots]
			return v, v >= 0
		},
		failed: fails("cpu", 0), warned: fails("age", 1),
	}
}

func parseRules(t require.TestingT, version, interval, age string) *rules.RuleSet {
	rs, err := rules.Parse("tape.yaml", []byte(fmt.Sprintf(rulesText, version, interval, age)))
	require.NoError(t, err)
	return rs
}

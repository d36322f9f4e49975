package source

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/promql/parser"
)

// Notation is one series of a rule test in Prometheus' own notation. The tags
// are those of package document.
type Notation struct {
	// Series is a metric with its labels, as in sig_cpu{cluster="a"}.
	Series string `yaml:"series" check:"required"`
	// Values are its samples, as in "0.1x10 stale _x3 1+2x5".
	Values string `yaml:"values" check:"required"`
}

// maxNotationValues bounds one series, for "0x1000000000" is short to write and
// long to expand. It is 34 days of a 3 s interval.
const maxNotationValues = 1_000_000

// ParseNotation expands a series whose first value lies at start and whose
// values are interval apart. "_" leaves a gap, "stale" ends the series.
func ParseNotation(n Notation, start time.Time, interval time.Duration) (Series, error) {
	if interval < time.Millisecond {
		return Series{}, fmt.Errorf("interval %s between values is shorter than a millisecond", interval)
	}
	p := parser.NewParser(parser.Options{})
	// Apart, so that an error says which of the two it lies in and a series
	// cannot smuggle in values past the limit.
	l, err := p.ParseMetric(n.Series)
	if err != nil {
		return Series{}, fmt.Errorf("series %q: %w", n.Series, err)
	}
	if l.Get(model.MetricNameLabel) == "" {
		return Series{}, fmt.Errorf("series %q has no metric name", n.Series)
	}
	if err := checkRepeats(n.Values); err != nil {
		return Series{}, fmt.Errorf("values %q of %s: %w", n.Values, l, err)
	}
	_, values, err := p.ParseSeriesDesc("values " + n.Values)
	if err != nil {
		return Series{}, fmt.Errorf("values %q of %s: %w", n.Values, l, err)
	}
	points, err := spaced(values, start.UnixMilli(), interval.Milliseconds())
	if err != nil {
		return Series{}, fmt.Errorf("values %q of %s: %w", n.Values, l, err)
	}
	return Series{Labels: l, Points: points}, nil
}

// spaced puts values on the time line.
func spaced(values []parser.SequenceValue, start, interval int64) ([]Point, error) {
	points := make([]Point, 0, len(values))
	for i, v := range values {
		switch {
		case v.Omitted:
			continue
		case v.Histogram != nil:
			return nil, fmt.Errorf("value %d is a native histogram, expected numbers", i+1)
		}
		points = append(points, Point{T: start + int64(i)*interval, V: v.Value})
	}
	return points, nil
}

// checkRepeats adds up the numbers after every x without expanding anything.
// It may count an x that the parser will refuse, never miss one.
func checkRepeats(values string) error {
	total := len(values)
	for rest := values; ; {
		_, after, found := strings.Cut(rest, "x")
		if !found {
			return nil
		}
		end := strings.IndexFunc(after, func(r rune) bool { return r < '0' || r > '9' })
		if end < 0 {
			end = len(after)
		}
		rest = after[end:]
		if end == 0 {
			continue
		}
		n, err := strconv.ParseUint(after[:end], 10, 32)
		if err != nil || total+int(n) > maxNotationValues {
			return fmt.Errorf("more than %d values", maxNotationValues)
		}
		total += int(n)
	}
}

// Load writes series in notation, all or nothing; values start at start.
func (t *Temporary) Load(start time.Time, interval time.Duration, series ...Notation) error {
	parsed := make([]Series, len(series))
	for i, n := range series {
		s, err := ParseNotation(n, start, interval)
		if err != nil {
			return err
		}
		parsed[i] = s
	}
	return t.Append(parsed...)
}

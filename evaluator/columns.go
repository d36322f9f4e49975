package evaluator

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/prometheus/prometheus/model/labels"

	"github.com/zeta-scaler/zeta-scaler/source"
)

// defaultConcurrency bounds how many queries are under way at once.
const defaultConcurrency = 8

// maxSeries bounds what is kept of one answer; a query gives one sample for
// each of at most maxScopes scopes.
const maxSeries = 10 * maxScopes

// column is the answer to one query over one or more ticks.
type column struct {
	series []line
	// failure, if failed, is why no scope has a value.
	failed  bool
	failure Reason
	err     error
	// stretches are where a replay's column fails; turnTo sets the fields above.
	stretches []Stretch
}

// line is one series of a column; cur is the next point to look at.
type line struct {
	labels labels.Labels
	scope  *scopeState
	points []source.Point
	cur    int
}

// at returns the value at instant t, advancing over older points.
func (l *line) at(t int64) (float64, bool) {
	for l.cur < len(l.points) && l.points[l.cur].T < t {
		l.cur++
	}
	if l.cur < len(l.points) && l.points[l.cur].T == t {
		return l.points[l.cur].V, true
	}
	return 0, false
}

// failureOf classifies a query's error and warnings (spec 1.3).
func failureOf(err error, warnings []string) (Reason, bool) {
	switch {
	case errors.Is(err, source.ErrNoAnswer), errors.Is(err, context.DeadlineExceeded), errors.Is(err, context.Canceled):
		return NoAnswer, true
	case err != nil:
		return QueryError, true
	case len(warnings) > 0:
		return QueryWarnings, true
	}
	return 0, false
}

// askInstant asks every query at one tick. The columns hold points at the
// query's own instant, tick − offset.
func askInstant(ctx context.Context, src Source, queries []Query, at time.Time, concurrency int) []column {
	cols := make([]column, len(queries))
	each(len(queries), concurrency, func(i int) {
		t := at.Add(-queries[i].Offset)
		v, err := src.Instant(ctx, queries[i].Expr, t)
		if err = tooMany(err, len(v.Samples)); err != nil {
			v.Samples = nil
		}
		c := &cols[i]
		c.err = err
		c.failure, c.failed = failureOf(err, v.Warnings)
		if err == nil && c.failed {
			c.err = warningsError(v.Warnings)
		}
		ms := t.UnixMilli()
		points := make([]source.Point, len(v.Samples))
		c.series = make([]line, len(v.Samples))
		for j, s := range v.Samples {
			points[j] = source.Point{T: ms, V: s.Value}
			c.series[j] = line{labels: s.Labels, points: points[j : j+1 : j+1]}
		}
	})
	return cols
}

// askRange asks every query over the ticks from…to.
func askRange(ctx context.Context, src Source, queries []Query, from, to time.Time, step time.Duration, concurrency int) []column {
	cols := make([]column, len(queries))
	each(len(queries), concurrency, func(i int) {
		off := queries[i].Offset
		m, err := src.Range(ctx, queries[i].Expr, source.Window{Start: from.Add(-off), End: to.Add(-off), Step: step})
		if err = tooMany(err, len(m.Series)); err != nil {
			m.Series = nil
		}
		c := &cols[i]
		c.err = err
		c.failure, c.failed = failureOf(err, m.Warnings)
		if err == nil && c.failed {
			c.err = warningsError(m.Warnings)
		}
		c.series = make([]line, len(m.Series))
		for j, s := range m.Series {
			c.series[j] = line{labels: s.Labels, points: s.Points}
		}
	})
	return cols
}

// tooMany refuses an answer that cannot be one sample per scope: an expression
// that leaks a label must not take the memory of the service.
func tooMany(err error, series int) error {
	if err != nil || series <= maxSeries {
		return err
	}
	return fmt.Errorf("the answer has %d series, at most %d are read: does the expression leak a label?", series, maxSeries)
}

// each calls f for 0 to n-1, at most so many of them at once. The caller
// works, too: where answers come from this process, it has most of them before
// another goroutine has grown a stack for its first.
func each(n, concurrency int, f func(i int)) {
	var next atomic.Int64
	work := func() {
		for i := int(next.Add(1)) - 1; i < n; i = int(next.Add(1)) - 1 {
			f(i)
		}
	}
	var others sync.WaitGroup
	for range min(n, concurrency) - 1 {
		others.Go(work)
	}
	work()
	others.Wait()
}

type warningsError []string

func (w warningsError) Error() string { return "the answer may be incomplete: " + w[0] }

// silent reports whether the source gave no answer to any query of the active
// rule set.
func (g *group) silent(cols []column) bool {
	for _, q := range g.active().queries {
		if !cols[q].failed || cols[q].failure != NoAnswer {
			return false
		}
	}
	return true
}

// failedQueries lists the queries of the active rule set that failed, with the
// first error. What a shadow alone asks for never matters.
func (g *group) failedQueries(cols []column) (failed []int, err error) {
	for _, q := range g.active().queries {
		if cols[q].failed {
			failed = append(failed, q)
			err = cmp.Or(err, fmt.Errorf("%s: %w", g.queries[q].Expr, cols[q].err))
		}
	}
	return failed, err
}

package evaluator

import (
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/zeta-scaler/zeta-scaler/scaling"
	"github.com/zeta-scaler/zeta-scaler/source"
	"github.com/zeta-scaler/zeta-scaler/state/memory"
)

// counting are instruments that remember failures.
type counting struct {
	noInstruments
	failed map[string]int
}

func (c *counting) Failed(reason string) { c.failed[reason]++ }

// Without an answer nobody is discovered. That must show, or a service that was
// pointed at the wrong Prometheus would count no failure for ever.
func TestFailedQueriesAreCountedWithoutAScope(t *testing.T) {
	rs := fixture()
	src := quietCluster(rs)
	src.down = func(time.Time, bool) error { return source.NoAnswer(errors.New("connection refused")) }
	l := newLive(t, src, memory.New(), fixtureConfig(rs, scaling.DefaultBounds()), 1)
	c := &counting{failed: map[string]int{}}
	l.r.Instruments = c
	for i := 100; i < 103; i++ {
		l.tick(t, at(rs, i))
	}
	require.Empty(t, l.rec.last)
	require.Equal(t, map[string]int{"no_answer": 3}, c.failed)
	src.down = nil
	l.tick(t, at(rs, 103))
	require.Equal(t, scaling.RowIdle, l.rec.newest("a").row)
}

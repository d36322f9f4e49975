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

// Without workers no slot is taken of no slots: 0 / 0 is not a number. Nobody
// asks for it then, so it is no failure that somebody has to look at.
func TestInvalidValueOfSignalThatDoesNotApplyIsNoFailure(t *testing.T) {
	for name, tc := range map[string]struct {
		workers float64
		failed  map[string]int
	}{
		"no workers":   {0, map[string]int{}},
		"some workers": {2, map[string]int{"invalid_value": 3}},
	} {
		t.Run(name, func(t *testing.T) {
			rs := fixture()
			src := quietCluster(rs)
			src.values["current"], src.values["reporting"] = constant(tc.workers), constant(tc.workers)
			src.values["slots"] = constant(nan())
			l := newLive(t, src, memory.New(), fixtureConfig(rs, scaling.Bounds{Min: 0, Max: 5}, "a"), 1)
			c := &counting{failed: map[string]int{}}
			l.r.Instruments = c
			for i := 100; i < 103; i++ {
				l.tick(t, at(rs, i))
			}
			require.Equal(t, tc.failed, c.failed)
		})
	}
}

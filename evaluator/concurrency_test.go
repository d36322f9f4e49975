package evaluator

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/zeta-scaler/zeta-scaler/evaluator/handclock"
	"github.com/zeta-scaler/zeta-scaler/scaling"
	"github.com/zeta-scaler/zeta-scaler/source"
	"github.com/zeta-scaler/zeta-scaler/state/memory"
)

// crowded counts the queries that are asked and not answered.
type crowded struct {
	asked  chan struct{}
	answer chan struct{}
}

func (c crowded) Instant(context.Context, string, time.Time) (source.Vector, error) {
	c.asked <- struct{}{}
	<-c.answer
	return source.Vector{}, nil
}

func (c crowded) Range(context.Context, string, source.Window) (source.Matrix, error) {
	return source.Matrix{}, nil
}

func TestAtMostSoManyQueriesAreUnderWayAtOnce(t *testing.T) {
	rs := fixture()
	for given, want := range map[int]int{1: 1, 2: 2, 0: 8} {
		synctest.Test(t, func(t *testing.T) {
			src := crowded{make(chan struct{}, 100), make(chan struct{})}
			l := NewLoop(Options{Source: src, Clock: handclock.New(at(rs, 100)), Store: memory.New(), QueryConcurrency: given})
			ctx, cancel := context.WithCancel(t.Context())
			done := make(chan error, 1)
			go func() { done <- l.Run(ctx, fixtureConfig(rs, scaling.DefaultBounds(), "a")) }()
			synctest.Wait()
			require.Len(t, src.asked, want)
			cancel()
			close(src.answer)
			require.NoError(t, <-done)
		})
	}
}

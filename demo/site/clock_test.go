package site

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
)

func TestVirtualTimePassesAtItsSpeed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		start := time.Date(2026, time.January, 1, 0, 0, 0, 0, time.UTC)
		c := NewClock(ClockOptions{Start: start, Speed: 20})
		began := time.Now()
		require.NoError(t, c.pace(t.Context(), start.Add(time.Minute)))
		require.Equal(t, 3*time.Second, time.Since(began))
		require.NoError(t, c.pace(t.Context(), start), "the past is due")
		require.Equal(t, 3*time.Second, time.Since(began))

		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		require.ErrorIs(t, c.pace(ctx, start.Add(time.Hour)), context.Canceled)
	})
}

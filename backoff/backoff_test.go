package backoff

import (
	"context"
	"net/http"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
)

func TestDoubled(t *testing.T) {
	for n, want := range []time.Duration{1, 1, 2, 4, 8, 10, 10} {
		require.Equal(t, want*time.Second, Doubled(time.Second, n, 10*time.Second), "%d", n)
	}
	require.Equal(t, time.Hour, Doubled(time.Second, 1_000_000, time.Hour))
	require.Equal(t, time.Second, Doubled(time.Minute, 3, time.Second))
}

func TestShortened(t *testing.T) {
	for drawn, want := range map[float64]time.Duration{0: 8 * time.Second, 0.5: 6 * time.Second, 1: 4 * time.Second} {
		require.Equal(t, want, Shortened(8*time.Second, drawn), "%g", drawn)
	}
	require.Zero(t, Shortened(0, 0.5))
}

func TestSpread(t *testing.T) {
	for range 1000 {
		d := Spread(10 * time.Second)
		require.GreaterOrEqual(t, d, 5*time.Second)
		require.Less(t, d, 15*time.Second)
	}
	require.Zero(t, Spread(0))
}

func TestAsked(t *testing.T) {
	now := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	for value, want := range map[string]time.Duration{
		"": 0, "5": 5 * time.Second, "-5": 0, "1.5": 0, "soon": 0, "99999999999999": 0,
		"Fri, 02 Jan 2026 03:05:05 GMT": time.Minute, "Fri, 02 Jan 2026 03:00:00 GMT": 0,
	} {
		require.Equal(t, want, Asked(http.Header{"Retry-After": {value}}, now), "%q", value)
	}
}

func TestWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		began := time.Now()
		require.NoError(t, Wait(t.Context(), time.Minute))
		require.Equal(t, time.Minute, time.Since(began))
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		require.ErrorIs(t, Wait(ctx, time.Minute), context.DeadlineExceeded)
	})
}

package harness

import (
	"context"
	"testing"
	"time"
)

// pollEvery is how often a condition is looked at.
const pollEvery = 100 * time.Millisecond

// Wait looks at a condition until it holds, that is until it returns nil, and
// says how long that took. It fails the test with the last error once the
// limit has passed. Each look gets a context that ends with the limit.
func Wait(t testing.TB, limit time.Duration, what string, holds func(context.Context) error) {
	t.Helper()
	began := time.Now()
	ctx, cancel := context.WithTimeout(t.Context(), limit)
	defer cancel()
	ticker := time.NewTicker(pollEvery)
	defer ticker.Stop()
	var last error
	for {
		err := holds(ctx)
		if err == nil {
			t.Logf("%s after %s", what, time.Since(began).Round(pollEvery))
			return
		}
		if ctx.Err() == nil || last == nil {
			last = err
		}
		select {
		case <-ctx.Done():
			t.Fatalf("%s: not within %s; at last: %v", what, limit, last)
		case <-ticker.C:
		}
	}
}

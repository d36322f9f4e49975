// Package backoff says how long to wait after a failure.
package backoff

import (
	"context"
	"math/rand/v2"
	"net/http"
	"strconv"
	"time"
)

// Doubled is base · 2^(n−1), at most limit: the wait after the nth failure in a
// row, n ≥ 1.
func Doubled(base time.Duration, n int, limit time.Duration) time.Duration {
	for ; n > 1 && base < limit; n-- {
		base *= 2
	}
	return min(base, limit)
}

// Spread is between a half and one and a half of d, so that many who failed
// together do not come back together.
func Spread(d time.Duration) time.Duration {
	if d <= 0 {
		return 0
	}
	return d/2 + rand.N(d)
}

// Shortened is d less a half of it at most: by as much as was drawn, from [0, 1).
func Shortened(d time.Duration, drawn float64) time.Duration {
	return d - time.Duration(float64(d)/2*drawn)
}

// Asked is how long a reply asks to wait by its header Retry-After, in seconds or
// as a date; 0 if it does not.
func Asked(h http.Header, now time.Time) time.Duration {
	value := h.Get("Retry-After")
	if seconds, err := strconv.ParseUint(value, 10, 31); err == nil {
		return time.Duration(seconds) * time.Second
	}
	if at, err := http.ParseTime(value); err == nil {
		return max(0, at.Sub(now))
	}
	return 0
}

// Wait returns after d, or early, with an error, when ctx ends.
func Wait(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-timer.C:
		return nil
	}
}

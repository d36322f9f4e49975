package main

import (
	"context"
	"time"
)

// wallClock is the real time. A wait ends when its duration is over, whatever
// happened to the wall clock meanwhile: the loop looks at Now again.
type wallClock struct{}

func (wallClock) Now() time.Time { return time.Now() }

func (wallClock) WaitUntil(ctx context.Context, t time.Time) error {
	// At least a millisecond, so that a clock that stands still or goes back
	// cannot make the loop spin.
	timer := time.NewTimer(max(time.Until(t), time.Millisecond))
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

package evaluator

import (
	"context"
	"time"
)

// WallClock is the real time. A wait ends when its duration is over, whatever
// happened to the wall clock meanwhile: the loop looks at Now again.
type WallClock struct{}

// Now is the wall clock's time.
func (WallClock) Now() time.Time { return time.Now() }

// WaitUntil waits for at least a millisecond, so that a clock that stands still
// or goes back cannot make the loop spin.
func (WallClock) WaitUntil(ctx context.Context, t time.Time) error {
	timer := time.NewTimer(max(time.Until(t), time.Millisecond))
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

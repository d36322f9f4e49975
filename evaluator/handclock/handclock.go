// Package handclock is a clock for tests and benches of the loop: it stands still until
// it is moved.
package handclock

import (
	"context"
	"sync"
	"time"
)

// Clock is an evaluator.Clock. It is safe for concurrent use.
type Clock struct {
	mu   sync.Mutex
	now  time.Time
	wake chan struct{}
}

// New returns a clock that stands at a time.
func New(t time.Time) *Clock { return &Clock{now: t, wake: make(chan struct{})} }

// Now is the time at which it stands.
func (c *Clock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.now
}

// Set moves it, forwards or backwards.
func (c *Clock) Set(t time.Time) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.now = t
	close(c.wake)
	c.wake = make(chan struct{})
}

// WaitUntil waits until it is not before t, or is moved at all: whatever it says then,
// the loop looks again.
func (c *Clock) WaitUntil(ctx context.Context, t time.Time) error {
	c.mu.Lock()
	now, wake := c.now, c.wake
	c.mu.Unlock()
	if !now.Before(t) {
		return nil
	}
	select {
	case <-wake:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

package demo

import (
	"context"
	"sync"
	"time"
)

// clock is virtual time. WaitUntil makes it pass: it moves the world forward,
// one scrape after the other, and with a speed it also lets real time pass.
type clock struct {
	mu  sync.Mutex
	now time.Time

	world *world
	// speed is virtual seconds per real second; 0 does not wait.
	speed float64
	// began and start are the real and virtual time of the beginning.
	began, start time.Time
	// next is when the world is scraped next.
	next time.Time
	// end is the end of time, zero if there is none; reached is called once
	// then.
	end     time.Time
	reached func()
	ended   bool
}

// Now is the virtual time.
func (c *clock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.now
}

// WaitUntil lets virtual time pass until t. At the end of time it blocks until
// ctx ends.
func (c *clock) WaitUntil(ctx context.Context, t time.Time) error {
	if c.ended {
		<-ctx.Done()
		return ctx.Err()
	}
	to := t
	if !c.end.IsZero() && c.end.Before(t) {
		to = c.end
	}
	for !c.next.After(to) {
		if err := c.pace(ctx, c.next); err != nil {
			return err
		}
		if err := c.world.scrape(ctx, c.next); err != nil {
			return err
		}
		c.set(c.next)
		c.next = c.next.Add(scrapeInterval)
	}
	if err := c.pace(ctx, to); err != nil {
		return err
	}
	if err := c.world.advance(to); err != nil {
		return err
	}
	c.set(to)
	if to.Before(t) {
		c.ended = true
		c.reached()
		<-ctx.Done()
		return ctx.Err()
	}
	return nil
}

// set never goes back: the loop may ask for a tick that lies in the past.
func (c *clock) set(t time.Time) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if t.After(c.now) {
		c.now = t
	}
}

// pace waits until the virtual time t is due in real time.
func (c *clock) pace(ctx context.Context, t time.Time) error {
	if c.speed <= 0 {
		return ctx.Err()
	}
	due := c.began.Add(time.Duration(float64(t.Sub(c.start)) / c.speed))
	timer := time.NewTimer(time.Until(due))
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

package site

import (
	"context"
	"sync"
	"time"
)

// World is what lives while virtual time passes.
type World interface {
	// Advance lets it live until t.
	Advance(t time.Time) error
	// Scrape lets it live until t and looks at it then.
	Scrape(ctx context.Context, t time.Time) error
}

// ClockOptions are what a clock is made of; Start, World and ScrapeEvery are
// required.
type ClockOptions struct {
	Start time.Time
	World World
	// ScrapeEvery is how often the world is scraped, first at the start.
	ScrapeEvery time.Duration
	// Speed is virtual seconds per real second; 0 does not wait.
	Speed float64
	// End is the end of time, zero if there is none; Reached is called once then.
	End     time.Time
	Reached func()
	// Between is called at every second of virtual time: it does what cannot wait
	// for the next tick. Nil: nothing.
	Between func(context.Context) error
}

// Clock is virtual time. WaitUntil makes it pass: it moves the world forward,
// one scrape after the other, and with a speed it also lets real time pass.
type Clock struct {
	o ClockOptions

	mu  sync.Mutex
	now time.Time

	// began is when real time began to count.
	began time.Time
	// next is when the world is scraped next.
	next  time.Time
	ended bool
}

// NewClock returns a clock that stands at the start.
func NewClock(o ClockOptions) *Clock {
	return &Clock{o: o, now: o.Start, next: o.Start, began: time.Now()}
}

// Begin makes this moment that of the start, for clocks with a speed.
func (c *Clock) Begin() { c.began = time.Now() }

// Now is the virtual time.
func (c *Clock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.now
}

// WaitUntil lets virtual time pass until t. At the end of time it blocks until
// ctx ends.
func (c *Clock) WaitUntil(ctx context.Context, t time.Time) error {
	if c.ended {
		<-ctx.Done()
		return ctx.Err()
	}
	to := t
	if !c.o.End.IsZero() && c.o.End.Before(t) {
		to = c.o.End
	}
	for !c.next.After(to) {
		if err := c.live(ctx, c.next, func() error { return c.o.World.Scrape(ctx, c.next) }); err != nil {
			return err
		}
		c.next = c.next.Add(c.o.ScrapeEvery)
	}
	if err := c.live(ctx, to, func() error { return c.o.World.Advance(to) }); err != nil {
		return err
	}
	if to.Before(t) {
		c.ended = true
		c.o.Reached()
		<-ctx.Done()
		return ctx.Err()
	}
	return nil
}

// live lets the world live until t, when do happens.
func (c *Clock) live(ctx context.Context, t time.Time, do func() error) error {
	for at := c.Now().Add(time.Second); c.o.Between != nil && at.Before(t); at = at.Add(time.Second) {
		if err := c.moment(ctx, at, func() error { return c.o.World.Advance(at) }); err != nil {
			return err
		}
		if err := c.o.Between(ctx); err != nil {
			return err
		}
	}
	return c.moment(ctx, t, do)
}

func (c *Clock) moment(ctx context.Context, t time.Time, do func() error) error {
	if err := c.pace(ctx, t); err != nil {
		return err
	}
	if err := do(); err != nil {
		return err
	}
	c.set(t)
	return nil
}

// set never goes back: the loop may ask for a tick that lies in the past.
func (c *Clock) set(t time.Time) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if t.After(c.now) {
		c.now = t
	}
}

// pace waits until the virtual time t is due in real time.
func (c *Clock) pace(ctx context.Context, t time.Time) error {
	if c.o.Speed <= 0 {
		return ctx.Err()
	}
	due := c.began.Add(time.Duration(float64(t.Sub(c.o.Start)) / c.o.Speed))
	timer := time.NewTimer(time.Until(due))
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

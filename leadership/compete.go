package leadership

import (
	"context"
	"errors"
	"log/slog"
	"math/rand/v2"
	"time"

	"github.com/zeta-scaler/zeta-scaler/backoff"
	"github.com/zeta-scaler/zeta-scaler/state"
	"github.com/zeta-scaler/zeta-scaler/trouble"
)

// Lease is what candidates compete for. It says who is alive; it fences nobody.
// What fences is the epoch in the store, raised after the lease was acquired
// (spec 4.3), and a leader's own clock: it stops acting before anybody else may
// begin. One goroutine at a time uses it.
type Lease interface {
	// Try takes the lease, or renews it, if it may. A reply that was lost counts
	// for nothing: the next try sees what became of the request.
	Try(ctx context.Context) (Attempt, error)
	// GiveUp lets another candidate take over at once, if the lease is ours.
	GiveUp(ctx context.Context) error
}

// Attempt is what became of a try. All times are of the candidate's own clock.
type Attempt struct {
	// Held says that the lease is ours, by a request that was made right after At.
	Held bool
	At   time.Time
	// Lost says that it is certainly another's.
	Lost bool
	// Ends is when the lease of another one ends for us, zero if nobody else is
	// known to hold it.
	Ends time.Time
	// AtLeast is the least epoch that will do, beside that it is a greater one.
	AtLeast uint64
}

// Candidate competes for a lease.
type Candidate struct {
	Lease Lease
	// Store keeps the epoch; all candidates share it.
	Store state.Store
	// Identity names this process and no other, ever.
	Identity string
	// URL says where the others reach this process while it leads; nil says
	// nothing.
	URL    func() string
	Timing Timing
	// Clock tells the time with its monotonic reading.
	Clock  func() time.Time
	Logger *slog.Logger

	trouble *trouble.State
}

// Run competes for the lease until ctx ends. Each time that this process leads
// it raises the epoch and calls lead, with a context that ends the moment
// leadership is lost, and waits until lead has returned before it competes
// again. When ctx ends, lead's context ends too, and the lease is given up once
// lead has returned, so that another replica takes over at once.
//
// If lead returns while it leads, Run gives the lease up and returns lead's
// error. It returns nil when ctx ended.
func (c *Candidate) Run(ctx context.Context, lead func(ctx context.Context, term Term) error) error {
	c.trouble = trouble.New(c.Logger, slog.LevelWarn, "the lease cannot be read or written", "the lease can be read and written again")
	for ctx.Err() == nil {
		if done, err := c.compete(ctx, lead); done {
			return err
		}
		_ = backoff.Wait(ctx, c.Timing.RetryPeriod) // the others first; and a store that is down is left in peace
	}
	return nil
}

// compete waits for the lease, leads, and gives it up.
func (c *Candidate) compete(ctx context.Context, lead func(context.Context, Term) error) (done bool, err error) {
	l := &leading{clock: c.Clock, deadline: c.Timing.RenewDeadline}
	var first Attempt
	for {
		if first = c.try(ctx); first.Held {
			l.renew(first.At)
			break
		}
		if backoff.Wait(ctx, c.pause(first.Ends)) != nil {
			return true, nil
		}
	}
	// The lease is renewed while lead comes to its end too, so that does not stop
	// with ctx.
	renewing, stop := context.WithCancel(context.WithoutCancel(ctx))
	lost := make(chan struct{})
	go func() {
		defer close(lost)
		c.renew(renewing, l)
	}()
	defer func() {
		stop()
		<-lost
		if l.leads() == nil {
			l.end()
			c.giveUp(context.WithoutCancel(ctx))
		}
	}()
	return c.term(ctx, l, first.AtLeast, lost, lead)
}

// pause is how long a candidate waits until its next try: to when the lease of
// the leader ends, if that comes first.
func (c *Candidate) pause(ends time.Time) time.Duration {
	d := c.Timing.RetryPeriod + time.Duration(rand.Float64()*jitter*float64(c.Timing.RetryPeriod)) //nolint:gosec // it spreads load
	if left := ends.Sub(c.Clock()); left > 0 {
		d = min(d, left)
	}
	return d
}

// renew renews the lease until ctx ends or the term is over.
func (c *Candidate) renew(ctx context.Context, l *leading) {
	for backoff.Wait(ctx, c.Timing.RetryPeriod) == nil && l.leads() == nil {
		switch a := c.try(ctx); {
		case a.Held:
			l.renew(a.At)
		case a.Lost:
			return
		}
	}
}

// try bounds a try: two of them fit into the deadline even if the first hangs.
func (c *Candidate) try(ctx context.Context) Attempt {
	ctx, cancel := context.WithTimeout(ctx, c.Timing.RenewDeadline/2)
	defer cancel()
	a, err := c.Lease.Try(ctx)
	if ctx.Err() == nil || errors.Is(ctx.Err(), context.DeadlineExceeded) {
		c.trouble.Note(err)
	}
	return a
}

// giveUp lets another replica take over at once. If it fails the lease ends by
// itself.
func (c *Candidate) giveUp(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, c.Timing.RenewDeadline/2)
	defer cancel()
	if err := c.Lease.GiveUp(ctx); err != nil {
		c.Logger.Warn("the lease was not given up; it ends by itself", "after", c.Timing.LeaseDuration, "err", err)
	}
}

// term raises the epoch and leads.
func (c *Candidate) term(parent context.Context, l *leading, atLeast uint64, lost <-chan struct{},
	lead func(context.Context, Term) error,
) (done bool, err error) {
	ctx, cancel := context.WithCancelCause(parent)
	watched := make(chan struct{})
	go func() {
		defer close(watched)
		l.watch(ctx, cancel, lost)
	}()
	defer func() {
		cancel(nil)
		<-watched
	}()
	since := state.Instant(c.Clock())
	next := NewLeader{Holder: c.Identity, Since: since, AtLeast: atLeast, Leads: l.leads}
	if c.URL != nil {
		next.URL = c.URL()
	}
	epoch, err := Raise(ctx, c.Store, next)
	if err != nil {
		if ctx.Err() == nil {
			c.Logger.Error("cannot lead: the epoch was not raised; giving the lease up", "err", err)
		}
		return false, nil
	}
	c.Logger.Info("this replica leads", "epoch", epoch, "identity", c.Identity)
	err = lead(ctx, NewTerm(epoch, since, l.leads))
	if over := l.leads(); over != nil {
		c.Logger.Warn("this replica leads no longer", "epoch", epoch, "identity", c.Identity, "err", over)
		return false, nil
	}
	c.Logger.Info("this replica gives leadership up", "epoch", epoch, "identity", c.Identity)
	if parent.Err() != nil && errors.Is(err, context.Canceled) {
		err = nil // it says that it was told to stop
	}
	return true, err
}

package kubernetes

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"k8s.io/client-go/tools/leaderelection/resourcelock"

	"github.com/zeta-scaler/zeta-scaler/leadership"
)

// Reasons not to give the lease up.
var (
	errHolding = errors.New("the leader has not come to its end yet")
	errOthers  = errors.New("the lease may be another's by now")
)

// lock notes when the lease was renewed for the last time, by our own clock and
// as of the moment before the request: the others count from when they saw it,
// which is later.
type lock struct {
	resourcelock.Interface
	clock    func() time.Time
	deadline time.Duration

	mu      sync.Mutex
	renewed time.Time
	// over is set once and for all: a lease that was lost and won back is
	// another term.
	over bool
	// holding is true while lead runs.
	holding bool
	// holder is who had the lease when it was read last.
	holder string
}

// Get reads the lease.
func (l *lock) Get(ctx context.Context) (*resourcelock.LeaderElectionRecord, []byte, error) {
	r, raw, err := l.Interface.Get(ctx)
	if err == nil {
		l.mu.Lock()
		defer l.mu.Unlock()
		l.holder = r.HolderIdentity
	}
	return r, raw, err
}

// Create takes a lease that nobody had.
func (l *lock) Create(ctx context.Context, r resourcelock.LeaderElectionRecord) error {
	return l.write(r, func() error { return l.Interface.Create(ctx, r) })
}

// Update takes, renews or gives up the lease.
func (l *lock) Update(ctx context.Context, r resourcelock.LeaderElectionRecord) error {
	return l.write(r, func() error { return l.Interface.Update(ctx, r) })
}

func (l *lock) write(r resourcelock.LeaderElectionRecord, write func() error) error {
	if r.HolderIdentity == "" {
		if err := l.mayRelease(); err != nil {
			return err
		}
		return write()
	}
	before := l.clock()
	if err := l.alive(before); err != nil {
		return err
	}
	if err := write(); err != nil {
		return err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.over {
		return leadership.ErrLost
	}
	l.renewed = before
	return nil
}

// hold begins a term, letGo ends it for the elector.
func (l *lock) hold()  { l.setHeld(true) }
func (l *lock) letGo() { l.setHeld(false) }

func (l *lock) setHeld(held bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.holding = held
}

// mayRelease refuses for client-go, which reads the lease and then clears it
// without a look at whose it is now. A lease that was lost ends by itself.
func (l *lock) mayRelease() error {
	if err := l.leads(); err != nil {
		return err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	switch {
	case l.holding:
		return errHolding
	case l.holder != l.Identity():
		return errOthers
	default:
		return nil
	}
}

// leads answers leadership.Term.Leads.
func (l *lock) leads() error { return l.alive(l.clock()) }

// alive compares the time since the last renewal with the deadline, by the
// monotonic clock and by the wall clock: the first stands still while a machine
// sleeps, the second can be set back.
func (l *lock) alive(now time.Time) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.renewed.IsZero() {
		return nil // it was not acquired yet
	}
	since := max(now.Sub(l.renewed), now.Round(0).Sub(l.renewed.Round(0)))
	if since >= l.deadline {
		l.over = true
	}
	if l.over {
		return fmt.Errorf("%w: the lease was not renewed for %s, a leader stops after %s",
			leadership.ErrLost, since.Round(time.Millisecond), l.deadline)
	}
	return nil
}

// left is how long the leader may go on if the lease is not renewed again.
func (l *lock) left() time.Duration {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.deadline - l.clock().Sub(l.renewed)
}

// watch ends the term's context when the deadline passes or the elector gives
// up.
func (l *lock) watch(ctx context.Context, cancel context.CancelCauseFunc, ended <-chan struct{}) {
	timer := time.NewTimer(l.left())
	defer timer.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-ended:
			l.end()
			cancel(leadership.ErrLost)
			return
		case <-timer.C:
			if err := l.leads(); err != nil {
				cancel(err)
				return
			}
			timer.Reset(max(l.left(), time.Millisecond))
		}
	}
}

// end makes the term over, whatever the time.
func (l *lock) end() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.over = true
}

package leadership

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/zeta-scaler/zeta-scaler/state"
)

// leading is what a leader knows of its own term: when it renewed the lease for
// the last time, by its own clock and as of the moment before the request. The
// others count from when they saw it, which is later.
type leading struct {
	clock    func() time.Time
	deadline time.Duration

	mu      sync.Mutex
	renewed time.Time
	// over is set once and for all: a lease that was lost and won back is
	// another term.
	over bool
}

// renew takes note of a renewal that was asked for at that moment.
func (l *leading) renew(at time.Time) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if !l.over {
		l.renewed = at
	}
}

// leads answers leadership.Term.Leads. It compares the time since the last
// renewal with the deadline, by the monotonic clock and by the wall clock: the
// first stands still while a machine sleeps, the second can be set back.
func (l *leading) leads() error {
	now := l.clock()
	l.mu.Lock()
	defer l.mu.Unlock()
	since := max(now.Sub(l.renewed), now.Round(0).Sub(l.renewed.Round(0)))
	if since >= l.deadline {
		l.over = true
	}
	if l.over {
		return fmt.Errorf("%w: the lease was not renewed for %s, a leader stops after %s",
			state.ErrFenced, since.Round(time.Millisecond), l.deadline)
	}
	return nil
}

// left is how long the leader may go on if the lease is not renewed again.
func (l *leading) left() time.Duration {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.deadline - l.clock().Sub(l.renewed)
}

// watch ends the term's context when the deadline passes or the lease is
// another's.
func (l *leading) watch(ctx context.Context, cancel context.CancelCauseFunc, lost <-chan struct{}) {
	timer := time.NewTimer(l.left())
	defer timer.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-lost:
			l.end()
			cancel(state.ErrFenced)
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
func (l *leading) end() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.over = true
}

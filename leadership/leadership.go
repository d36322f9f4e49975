// Package leadership decides who decides. Every start and every change of
// leader yields a larger epoch, kept in the state store by compare-and-set, so
// that whatever an earlier leader asked for can be told apart and refused
// (spec 4.3).
package leadership

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/zeta-scaler/zeta-scaler/state"
)

// Options say what leadership "none" needs: one process, made sure of by an
// exclusive lock on a file.
type Options struct {
	// Store keeps the epoch.
	Store state.Store
	// LockFile is created if missing, with its folder, and stays behind empty.
	// Without a path no lock is taken: then the caller knows that it is alone.
	LockFile string
	// Clock tells the time of the start.
	Clock func() time.Time
	// Memory says that Store forgets: the epoch is then at least the Unix time
	// in milliseconds, so that it grows over restarts all the same.
	Memory bool
	// Holder names this process for people, such as "host/pid".
	Holder string
}

// Leadership is held from Acquire to Release, or to the end of the process.
type Leadership struct {
	epoch uint64
	since time.Time
	lock  *fileLock
}

// Acquire takes the lock and then raises the epoch. A lock that another
// process holds is an error that names the file and that process.
func Acquire(ctx context.Context, o Options) (*Leadership, error) {
	l := &Leadership{since: state.Instant(o.Clock())}
	if o.LockFile != "" {
		lock, err := lockFile(o.LockFile, o.Holder)
		if err != nil {
			return nil, err
		}
		l.lock = lock
	}
	var err error
	claim := Claim{Holder: o.Holder, Since: l.since}
	if o.Memory {
		claim.AtLeast = uint64(max(l.since.UnixMilli(), 0))
	}
	if l.epoch, err = Raise(ctx, o.Store, claim); err != nil {
		return nil, errors.Join(fmt.Errorf("raising the epoch: %w", err), l.Release())
	}
	return l, nil
}

// Epoch is this leader's epoch, ≥ 1; it does not change.
func (l *Leadership) Epoch() uint64 { return l.epoch }

// Since is when leadership was acquired.
func (l *Leadership) Since() time.Time { return l.since }

// Leads is nil: the lock cannot be lost while the process lives.
func (l *Leadership) Leads() error { return nil }

// Term is this leadership in the words that all kinds share.
func (l *Leadership) Term() Term { return NewTerm(l.epoch, l.since, l.Leads) }

// Run acquires, calls lead once and releases. It returns what lead returned.
func Run(ctx context.Context, o Options, lead func(ctx context.Context, term Term) error) error {
	l, err := Acquire(ctx, o)
	if err != nil {
		return err
	}
	return errors.Join(lead(ctx, l.Term()), l.Release())
}

// Release gives the lock back. It can be called twice. The epoch stays spent.
func (l *Leadership) Release() error {
	if l.lock == nil {
		return nil
	}
	lock := l.lock
	l.lock = nil
	return lock.release()
}

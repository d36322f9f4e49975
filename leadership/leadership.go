// Package leadership decides who decides. Every start and every change of
// leader yields a larger epoch, kept in the state store by compare-and-set, so
// that whatever an earlier leader asked for can be told apart and refused
// (spec 4.3).
package leadership

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"path/filepath"
	"slices"
	"time"

	"github.com/zeta-scaler/zeta-scaler/state"
)

// Options say what leadership "none" needs: one process, made sure of by an
// exclusive lock on a file.
type Options struct {
	// Store keeps the epoch.
	Store state.Store
	// LockFile is created if missing, with its folder, and stays behind empty.
	// Without a path no such lock is taken.
	LockFile string `yaml:"lock_file" check:"path=file"`
	// StateFile is where Store is, empty if it is in no file. A lock beside it
	// keeps two processes with two lock files from one state, and the newest epoch
	// is kept beside it: no term begins below it, whatever became of the state.
	StateFile string
	// Logger gets what an operator should know; nil discards it.
	Logger *slog.Logger
	// Clock tells the time of the start; nil is time.Now.
	Clock func() time.Time
	// Forgets says that Store does: the epoch is then at least the Unix time in
	// milliseconds, so that it grows over restarts all the same.
	Forgets bool
	// Holder names this process for people, such as "host/pid".
	Holder string
}

// Leadership is held from Acquire to Release, or to the end of the process.
type Leadership struct {
	epoch uint64
	since time.Time
	locks []*fileLock
}

// Acquire takes the lock and then raises the epoch. A lock that another
// process holds is an error that names the file and that process.
func Acquire(ctx context.Context, o Options) (*Leadership, error) {
	clock := o.Clock
	if clock == nil {
		clock = time.Now
	}
	l := &Leadership{since: state.Instant(clock())}
	for _, path := range o.lockFiles() {
		if l.holds(path) {
			continue
		}
		lock, err := lockFile(path, o.Holder)
		if err != nil {
			return nil, errors.Join(err, l.Release())
		}
		l.locks = append(l.locks, lock)
	}
	if err := l.raise(ctx, o); err != nil {
		return nil, errors.Join(fmt.Errorf("raising the epoch: %w", err), l.Release())
	}
	return l, nil
}

// lockFiles are all that have to be locked. They may be one file.
func (o *Options) lockFiles() []string {
	var paths []string
	if o.LockFile != "" {
		paths = append(paths, filepath.Clean(o.LockFile))
	}
	if o.StateFile != "" {
		paths = append(paths, filepath.Clean(o.StateFile+".lock"))
	}
	return paths
}

// holds reports whether the file is locked already, whatever leads to it.
func (l *Leadership) holds(path string) bool {
	return slices.ContainsFunc(l.locks, func(held *fileLock) bool {
		same, err := stillAt(held.file, path)
		return err == nil && same
	})
}

// raise raises the epoch above all that state and witness know.
func (l *Leadership) raise(ctx context.Context, o Options) error {
	leader := NewLeader{Holder: o.Holder, Since: l.since}
	if o.Forgets {
		leader.AtLeast = uint64(max(l.since.UnixMilli(), 0))
	}
	if o.StateFile == "" {
		var err error
		l.epoch, err = Raise(ctx, o.Store, leader)
		return err
	}
	beside := witness(o.StateFile + ".epoch")
	last, err := beside.epoch()
	if err != nil {
		return err
	}
	leader.AtLeast = last + 1
	before, err := state.Leaders(o.Store).Get(ctx, state.EpochKey)
	if err != nil {
		return err
	}
	if l.epoch, err = Raise(ctx, o.Store, leader); err != nil {
		return err
	}
	if before.Value.Epoch < last && o.Logger != nil {
		o.Logger.Warn("the state is older than the last leader: was a copy restored, or a file beside it lost? "+
			"Pauses, actions and run-time settings are those of the copy",
			"state", o.StateFile, "epoch_of_the_state", before.Value.Epoch, "epoch_of_the_last_leader", last, "epoch", l.epoch)
	}
	return beside.write(l.epoch)
}

// Epoch is this leader's epoch, ≥ 1; it does not change.
func (l *Leadership) Epoch() uint64 { return l.epoch }

// Since is when leadership was acquired.
func (l *Leadership) Since() time.Time { return l.since }

// Leads is nil: the lock cannot be lost while the process lives.
func (l *Leadership) Leads() error { return nil }

// Term is this leadership in the words that all kinds share.
func (l *Leadership) Term() Term { return NewTerm(l.epoch, l.since, l.Leads) }

// Release gives the lock back. It can be called twice. The epoch stays spent.
func (l *Leadership) Release() error {
	var errs []error
	for _, lock := range l.locks {
		errs = append(errs, lock.release())
	}
	l.locks = nil
	return errors.Join(errs...)
}

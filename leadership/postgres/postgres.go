// Package postgres lets replicas agree on a leader by a row in the database that
// keeps their state. The row says who is alive, by the database's clock and,
// where a replica has watched it, by that replica's own; it fences nobody.
package postgres

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/zeta-scaler/zeta-scaler/database"
	"github.com/zeta-scaler/zeta-scaler/leadership"
	"github.com/zeta-scaler/zeta-scaler/state"
)

// Options say how long the lease lasts.
type Options struct {
	leadership.Timing `yaml:",inline"`
}

// inDatabase is a store that is kept in a database: the lease lies beside it.
type inDatabase interface {
	DatabaseOptions() database.Options
}

// Alone implements leadership.Maker.
func (*Options) Alone() bool { return false }

// Fits implements leadership.Maker.
func (*Options) Fits(store state.Opener) bool {
	_, ok := store.(inDatabase)
	return ok
}

// connections is how many the lease has at most: one, and those that a network
// which answers nothing has not let go yet.
const connections = 4

// Elect implements leadership.Maker.
func (o *Options) Elect(_ context.Context, e leadership.Env) (leadership.Elector, error) {
	store, ok := e.Opened.(inDatabase)
	if !ok {
		return nil, errors.New("the lease lies beside a state store in PostgreSQL, and this store is none: state.type: postgres")
	}
	timing := o.Timing
	if err := timing.Complete(); err != nil {
		return nil, fmt.Errorf("competing for a lease: %w", err)
	}
	if e.Identity == "" {
		return nil, errors.New("competing for a lease: this process has no identity")
	}
	with := store.DatabaseOptions()
	with.Attempts, with.MaxConnections = 1, connections
	with.Timeout = min(with.Timeout, timing.RenewDeadline/2)
	db, err := database.Open(with)
	if err != nil {
		return nil, err
	}
	c := newCandidate(tableIn{db}, timing, e.Identity, time.Now)
	c.Store, c.URL, c.Logger = e.Store, e.URL, e.Logger
	if c.Logger == nil {
		c.Logger = slog.New(slog.DiscardHandler)
	}
	return &contender{c, db}, nil
}

// contender competes for the lease.
type contender struct {
	*leadership.Candidate
	db *database.Database
}

// Release implements leadership.Elector: Run has given the lease up.
func (c *contender) Release() error {
	c.db.Close()
	return nil
}

// table is where the lease's row is.
type table interface {
	// look reads it.
	look(ctx context.Context) (row, error)
	// write puts one of ours in the place of an old one, if that is still there.
	write(ctx context.Context, old row, holder string, duration time.Duration) (now row, done bool, err error)
}

// lease is the row as this process sees and writes it.
type lease struct {
	elector
	table table
	clock func() time.Time
	last  observed
	// current says that last is what the database is believed to have.
	current bool
}

func newCandidate(t table, timing leadership.Timing, identity string, clock func() time.Time) *leadership.Candidate {
	return &leadership.Candidate{
		Lease: &lease{
			elector: elector{identity: identity, duration: timing.LeaseDuration, deadline: timing.RenewDeadline},
			table:   t, clock: clock,
		},
		Identity: identity, Timing: timing, Clock: clock,
	}
}

// Try implements leadership.Lease.
func (l *lease) Try(ctx context.Context) (a leadership.Attempt, err error) {
	if err = l.look(ctx); err == nil {
		a.At = l.clock()
		if l.may(l.last, a.At) {
			a.Held, err = l.write(ctx, l.identity, a.At)
		}
	}
	a.Lost = !a.Held && l.current && l.last.holder != l.identity
	a.Ends = l.ends(l.last, l.clock())
	// A database that was restored, or has lost its last writes in a failover,
	// must not bring an old epoch back.
	a.AtLeast = uint64(max(l.last.millis, 0)) //nolint:gosec // not negative
	return a, err
}

// GiveUp implements leadership.Lease.
func (l *lease) GiveUp(ctx context.Context) error {
	// A renewal that was under way may come between the first look and write.
	for range 2 {
		if err := l.look(ctx); err != nil {
			return err
		}
		if l.last.holder != l.identity {
			return nil
		}
		if given, err := l.write(ctx, "", l.clock()); given || err != nil {
			return err
		}
	}
	return nil
}

// look reads the row, unless we hold the lease and know it.
func (l *lease) look(ctx context.Context) error {
	if l.current && l.last.holder == l.identity && l.clock().Sub(l.last.at) < l.deadline {
		return nil
	}
	r, err := l.table.look(ctx)
	if err != nil {
		return fmt.Errorf("reading the lease: %w", err)
	}
	l.last, l.current = l.last.see(r, l.clock(), l.duration), true
	return nil
}

// write puts a row with this holder in the place of the one that was observed;
// at is now.
func (l *lease) write(ctx context.Context, holder string, at time.Time) (done bool, err error) {
	l.current = false
	r, done, err := l.table.write(ctx, l.last.row, holder, l.duration)
	if err != nil {
		return false, fmt.Errorf("writing the lease: %w", err)
	}
	if !done {
		return false, nil // somebody else was faster: the next try looks
	}
	l.last, l.current = l.last.see(r, l.clock(), l.duration), true
	l.last.wrote, l.last.at = r.turn, at
	return true, nil
}

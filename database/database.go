package database

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/zeta-scaler/zeta-scaler/backoff"
)

// ErrUnknown says that a connection was lost while something was being stored:
// it may have been stored, and may be in a moment.
var ErrUnknown = errors.New("it is not known whether it was stored")

// How long is waited between attempts.
const (
	firstPause = 100 * time.Millisecond
	lastPause  = time.Second
)

const defaultAttempts = 3

// Idle connections are closed after a while, and all are replaced now and then.
const (
	maxIdle     = 5 * time.Minute
	maxLifetime = time.Hour
)

// Database is a bounded number of connections. It is safe for concurrent use.
type Database struct {
	o    Options
	pool *pgxpool.Pool
}

// Open opens no connection yet; those are opened when they are needed.
func Open(o Options) (*Database, error) {
	if o.Attempts == 0 {
		o.Attempts = defaultAttempts
	}
	d := &Database{o: o}
	c, err := o.parse()
	if err != nil {
		return nil, d.explain(err)
	}
	p, err := pgxpool.ParseConfig("")
	if err != nil {
		return nil, d.explain(err)
	}
	p.ConnConfig = c
	p.MaxConns, p.MinConns = int32(o.MaxConnections), 0 //nolint:gosec // at most 100
	p.MaxConnIdleTime, p.MaxConnLifetime = maxIdle, maxLifetime
	p.BeforeConnect = func(_ context.Context, c *pgx.ConnConfig) error {
		fresh, err := o.parse()
		if err == nil {
			*c = *fresh
		}
		return err
	}
	// The pool lives as long as it is not closed.
	if d.pool, err = pgxpool.NewWithConfig(context.Background(), p); err != nil {
		return nil, d.explain(err)
	}
	return d, nil
}

// Close waits for what is under way.
func (d *Database) Close() { d.pool.Close() }

// Query runs do on a connection, without a transaction, and again on another one
// if that fails because of the connection or the server: do only reads, or
// writes what may be written twice.
func (d *Database) Query(ctx context.Context, do func(ctx context.Context, c *pgx.Conn) error) error {
	return d.try(ctx, func(ctx context.Context) error {
		return d.connected(ctx, func(c *pgx.Conn) error {
			takeWarning(c)
			if err := do(ctx, c); err != nil {
				return err
			}
			return confirmed(c)
		})
	})
}

// Transact runs do in one transaction, and again in another one while it is
// certain that nothing of it was stored. It fails with ErrUnknown if that is
// not certain.
func (d *Database) Transact(ctx context.Context, do func(ctx context.Context, tx pgx.Tx) error) error {
	return d.try(ctx, func(ctx context.Context) error {
		return d.connected(ctx, func(c *pgx.Conn) error { return d.transact(ctx, c, do) })
	})
}

func (d *Database) transact(ctx context.Context, c *pgx.Conn, do func(context.Context, pgx.Tx) error) error {
	// Read committed: who waited for a lock sees what its holder has stored.
	tx, err := c.BeginTx(ctx, pgx.TxOptions{IsoLevel: pgx.ReadCommitted})
	if err != nil {
		return err
	}
	if err := do(ctx, tx); err != nil {
		d.rollBack(ctx, c, tx)
		return err
	}
	// From here on nobody can tell any more what was stored if we go away.
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), d.o.Timeout)
	defer cancel()
	takeWarning(c)
	switch err := tx.Commit(ctx); {
	case err == nil:
		return confirmed(c)
	case refused(err):
		return err
	default:
		return fmt.Errorf("%w: %w", ErrUnknown, err)
	}
}

// confirmed fails if the server has stored something, but warns that it is not
// where it should be.
func confirmed(c *pgx.Conn) error {
	if warning := takeWarning(c); warning != "" {
		return fmt.Errorf("%w on the standby: the server warns: %s", ErrUnknown, warning)
	}
	return nil
}

// rollBack ends a transaction. A connection on which that fails is closed, which
// ends it as well.
func (d *Database) rollBack(ctx context.Context, c *pgx.Conn, tx pgx.Tx) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), d.o.Timeout)
	defer cancel()
	if ctx.Err() != nil || tx.Rollback(ctx) != nil {
		_ = c.Close(ctx)
	}
}

// connected runs do on a connection of the pool.
func (d *Database) connected(ctx context.Context, do func(*pgx.Conn) error) error {
	c, err := d.pool.Acquire(ctx)
	if err != nil {
		return err
	}
	defer c.Release()
	err = do(c.Conn())
	if notWritable(err) {
		_ = c.Conn().Close(ctx) // the primary may be another one now
	}
	return err
}

// try calls once until it does well, or fails in a way that trying again does
// not mend.
func (d *Database) try(ctx context.Context, once func(context.Context) error) error {
	for n := 1; ; n++ {
		err := d.attempt(ctx, once)
		if err == nil {
			return nil
		}
		if ctx.Err() != nil {
			return fmt.Errorf("%w: %w", ctx.Err(), d.explain(err))
		}
		if n >= d.o.Attempts || !passing(err) {
			return d.explain(err)
		}
		if backoff.Wait(ctx, backoff.Spread(backoff.Doubled(firstPause, n, lastPause))) != nil {
			return fmt.Errorf("%w: %w", ctx.Err(), d.explain(err))
		}
	}
}

func (d *Database) attempt(ctx context.Context, once func(context.Context) error) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	limited, cancel := context.WithTimeout(ctx, d.o.Timeout)
	defer cancel()
	err := once(limited)
	if err != nil && errors.Is(err, context.DeadlineExceeded) && ctx.Err() == nil {
		return slowError{d.o.Timeout, err}
	}
	return err
}

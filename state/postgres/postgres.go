// Package postgres is the state store in a PostgreSQL database, for several
// replicas without Kubernetes: a row per record, and every batch with its fence
// in one transaction.
package postgres

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync/atomic"

	"github.com/jackc/pgx/v5"

	"github.com/zeta-scaler/zeta-scaler/database"
	"github.com/zeta-scaler/zeta-scaler/state"
)

// Options say which database keeps the state.
type Options struct {
	database.Options `yaml:",inline"`
}

// DatabaseOptions are how the database is reached: a lease lies beside the
// state.
func (o *Options) DatabaseOptions() database.Options { return o.Options }

// Durable implements state.Opener.
func (*Options) Durable() bool { return true }

// Shared implements state.Opener.
func (*Options) Shared() bool { return true }

// Open implements state.Opener.
func (o *Options) Open(ctx context.Context, _ *slog.Logger) (state.Store, error) {
	s, err := Open(ctx, *o)
	if err != nil {
		return nil, err
	}
	return s, nil
}

// Store is safe for concurrent use.
type Store struct {
	db     *database.Database
	closed atomic.Bool
	piled  state.Piles
}

var _ state.Store = (*Store)(nil)

// Open connects, and creates or migrates the tables.
func Open(ctx context.Context, o Options) (*Store, error) {
	db, err := database.Open(o.Options)
	if err != nil {
		return nil, err
	}
	if err := db.Migrate(ctx, steps); err != nil {
		db.Close()
		return nil, err
	}
	return &Store{db: db}, nil
}

// Get reads one record.
func (s *Store) Get(ctx context.Context, kind state.Kind, key string) (state.Record, error) {
	r := state.Record{Kind: kind, Key: key}
	err := s.query(ctx, func(ctx context.Context, c *pgx.Conn) error {
		var value []byte
		err := c.QueryRow(ctx, "SELECT version, value FROM record WHERE kind = $1 AND key = $2", string(kind), short(key)).Scan(&r.Version, &value)
		r.Value = value
		return err
	})
	switch {
	case errors.Is(err, pgx.ErrNoRows):
		return state.Record{}, fmt.Errorf("%s record %q: %w", kind, key, state.ErrNotFound)
	case err != nil:
		return state.Record{}, fmt.Errorf("reading %s record %q: %w", kind, key, err)
	}
	return r, nil
}

// List reads all records of a kind, sorted by key.
func (s *Store) List(ctx context.Context, kind state.Kind) ([]state.Record, error) {
	var out []state.Record
	err := s.query(ctx, func(ctx context.Context, c *pgx.Conn) error {
		rows, err := c.Query(ctx, "SELECT coalesce(whole, key), version, value FROM record WHERE kind = $1 ORDER BY 1", string(kind))
		if err != nil {
			return err
		}
		out, err = pgx.CollectRows(rows, func(row pgx.CollectableRow) (state.Record, error) {
			r := state.Record{Kind: kind}
			var value []byte
			err := row.Scan(&r.Key, &r.Version, &value)
			r.Value = value
			return r, err
		})
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("listing %s records: %w", kind, err)
	}
	return out, nil
}

// Check asks whether the database can be written, and still has our tables.
func (s *Store) Check(ctx context.Context) error {
	return s.query(ctx, func(ctx context.Context, c *pgx.Conn) error {
		format := 0
		if err := c.QueryRow(ctx, database.SelectFormat).Scan(&format); err != nil {
			return err
		}
		if err := database.CheckFormat(format, len(steps)); err != nil {
			return err
		}
		return database.CheckWritable(ctx, c)
	})
}

// Close waits for calls that are under way. It can be called twice.
func (s *Store) Close() error {
	if !s.closed.Swap(true) {
		s.db.Close()
	}
	return nil
}

func (s *Store) query(ctx context.Context, do func(context.Context, *pgx.Conn) error) error {
	if s.closed.Load() {
		return state.ErrClosed
	}
	return s.db.Query(ctx, do)
}

func (s *Store) transact(ctx context.Context, do func(context.Context, pgx.Tx) error) error {
	if s.closed.Load() {
		return state.ErrClosed
	}
	return s.db.Transact(ctx, do)
}

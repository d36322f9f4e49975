package database

import (
	"context"
	"errors"
	"fmt"
	"hash/fnv"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"
)

// migrateWithin is how long a migration may take, and wait for another
// process's.
const migrateWithin = 2 * time.Minute

// Errors of Migrate.
var (
	// ErrNewer says that the schema was written by a later version.
	ErrNewer = errors.New("written by a newer zeta-scaler")
	errOther = errors.New("tables that are none of ours")
)

// Migrate brings the schema to the format that is the number of steps. Step n
// makes format n out of format n−1, and format 0 is an empty schema. It all
// happens in one transaction, and of several processes that begin at once one
// does it while the others wait. A newer format is refused.
func (d *Database) Migrate(ctx context.Context, steps []string) error {
	patient := *d
	patient.o.Timeout = migrateWithin
	var format int
	err := patient.Query(ctx, func(ctx context.Context, c *pgx.Conn) (err error) {
		format, err = d.format(ctx, c)
		return err
	})
	if err == nil && format < len(steps) {
		err = patient.Transact(ctx, func(ctx context.Context, tx pgx.Tx) error { return d.migrate(ctx, tx, steps) })
	}
	if err == nil {
		err = CheckFormat(format, len(steps))
	}
	switch {
	case errors.Is(err, ErrNewer):
		return fmt.Errorf("schema %q of %s was %w: run the newer version, or choose another state.schema to start empty", d.o.Schema, d.o.Place(), err)
	case errors.Is(err, errOther):
		return fmt.Errorf("schema %q of %s has %w: choose another state.schema", d.o.Schema, d.o.Place(), err)
	case err != nil:
		return fmt.Errorf("preparing schema %q: %w", d.o.Schema, err)
	}
	return nil
}

// SelectFormat is the query of the schema's format.
const SelectFormat = "SELECT version FROM format"

// CheckFormat fails with ErrNewer if the format is newer than the newest known.
func CheckFormat(format, known int) error {
	if format > known {
		return fmt.Errorf("%w (format %d, this one knows up to %d)", ErrNewer, format, known)
	}
	return nil
}

// querier is a connection or a transaction.
type querier interface {
	QueryRow(ctx context.Context, sql string, args ...any) pgx.Row
}

// format is 0 if the schema is empty or not there.
func (d *Database) format(ctx context.Context, q querier) (int, error) {
	var marked, filled bool
	err := q.QueryRow(ctx, `SELECT
		EXISTS (SELECT FROM pg_class WHERE relnamespace = to_regnamespace($1) AND relname = 'format'),
		EXISTS (SELECT FROM pg_class WHERE relnamespace = to_regnamespace($1))`,
		pgx.Identifier{d.o.Schema}.Sanitize()).Scan(&marked, &filled)
	switch {
	case err != nil:
		return 0, err
	case !filled:
		return 0, nil
	case !marked:
		return 0, errOther
	}
	var format int
	err = q.QueryRow(ctx, SelectFormat).Scan(&format)
	return format, err
}

func (d *Database) migrate(ctx context.Context, tx pgx.Tx, steps []string) error {
	schema := pgx.Identifier{d.o.Schema}.Sanitize()
	key := fnv.New64a()
	_, _ = key.Write([]byte("zeta-scaler " + d.o.Schema))
	if _, err := tx.Exec(ctx, fmt.Sprintf("SET LOCAL lock_timeout = '%dms'", migrateWithin.Milliseconds())); err != nil {
		return err
	}
	if _, err := tx.Exec(ctx, "SELECT pg_advisory_xact_lock($1)", int64(key.Sum64())); err != nil { //nolint:gosec // any number does
		return err
	}
	format, err := d.format(ctx, tx)
	if err != nil {
		return err
	}
	if err := CheckFormat(format, len(steps)); err != nil || format == len(steps) {
		return err
	}
	var there bool
	if err := tx.QueryRow(ctx, "SELECT to_regnamespace($1) IS NOT NULL", schema).Scan(&there); err != nil {
		return err
	}
	if !there { // IF NOT EXISTS would ask for the right to create one even if it is there
		if _, err := tx.Exec(ctx, "CREATE SCHEMA "+schema); err != nil {
			return err
		}
	}
	todo := steps[format:]
	if format == 0 {
		todo = slices.Insert(slices.Clone(todo), 0, createFormat)
	}
	for _, step := range append(slices.Clip(todo), fmt.Sprintf("UPDATE format SET version = %d", len(steps))) {
		if _, err := tx.Exec(ctx, step); err != nil {
			return fmt.Errorf("migrating from format %d: %w", format, err)
		}
	}
	return nil
}

// createFormat is where a schema keeps its format.
const createFormat = `
CREATE TABLE format (one boolean PRIMARY KEY DEFAULT true CHECK (one), version integer NOT NULL);
INSERT INTO format (version) VALUES (0);
`

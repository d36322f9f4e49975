package postgres

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/jackc/pgx/v5"

	"github.com/zeta-scaler/zeta-scaler/database"
	"github.com/zeta-scaler/zeta-scaler/scaling"
	"github.com/zeta-scaler/zeta-scaler/state"
)

// Apply writes the batch in one transaction: the row of store is locked, what
// is there is compared with what is expected, and everything is written.
func (s *Store) Apply(ctx context.Context, f state.Fence, b state.Batch) ([]uint64, error) {
	if err := b.Validate(); err != nil {
		return nil, err
	}
	if err := validTexts(b); err != nil {
		return nil, err
	}
	if b.Empty() && !s.closed.Load() {
		return []uint64{}, ctx.Err()
	}
	var versions []uint64
	err := s.transact(ctx, func(ctx context.Context, tx pgx.Tx) error {
		found, err := lock(ctx, tx, b.Puts, b.Removes)
		if err != nil {
			return err
		}
		if err := found.allows(f, b); err != nil {
			return err
		}
		versions = make([]uint64, len(b.Puts))
		for i := range versions {
			versions[i] = found.last - uint64(len(versions)-1-i)
		}
		return write(ctx, tx, b, versions)
	})
	if err != nil {
		return nil, err
	}
	s.piled.Grew(b.History)
	return versions, nil
}

// validTexts refuses what no text of PostgreSQL can hold: it would fail however
// often it is tried.
func validTexts(b state.Batch) error {
	check := func(what string, texts ...string) error {
		for _, t := range texts {
			if !utf8.ValidString(t) || strings.ContainsRune(t, 0) {
				return fmt.Errorf("%w: %s has text %.80q, expected UTF-8 without the character 0", state.ErrInvalid, what, t)
			}
		}
		return nil
	}
	for _, p := range b.Puts {
		if err := check(fmt.Sprintf("%s record %q", p.Kind, p.Key), p.Key, string(p.Value)); err != nil {
			return err
		}
	}
	for _, r := range b.Removes {
		if err := check(fmt.Sprintf("%s record %q", r.Kind, r.Key), r.Key); err != nil {
			return err
		}
	}
	for _, e := range b.History {
		if err := check(fmt.Sprintf("history of scope %q", e.Scope), e.Scope, e.Action, e.Kind, string(e.Value)); err != nil {
			return err
		}
	}
	return nil
}

// ref names a record.
type ref struct{ kind, key string }

// found is what there is as long as the row of store is locked.
type found struct {
	// last is the newest of the versions that were reserved.
	last   uint64
	format int
	leader state.Record
	// versions are those of the records that are to be written, without those
	// that do not exist.
	versions map[ref]uint64
}

// lock waits for its turn, reserves a version for each record, and reads what
// has to be compared. All of it is one round trip.
func lock(ctx context.Context, tx pgx.Tx, puts []state.Put, removes []state.Remove) (*found, error) {
	f := &found{versions: map[ref]uint64{}, leader: state.Record{Kind: state.Leader, Key: state.EpochKey}}
	kinds, keys := make([]string, len(puts)), make([]string, len(puts))
	for i, p := range puts {
		kinds[i], keys[i] = string(p.Kind), short(p.Key)
	}
	for _, r := range removes {
		if r.Version > 0 {
			kinds, keys = append(kinds, string(r.Kind)), append(keys, short(r.Key))
		}
	}
	var b pgx.Batch
	b.Queue("UPDATE store SET version = greatest(version, (extract(epoch FROM clock_timestamp()) * 1000000)::bigint) + $1::bigint RETURNING version",
		len(puts)).QueryRow(func(row pgx.Row) error { return row.Scan(&f.last) })
	b.Queue(database.SelectFormat).QueryRow(func(row pgx.Row) error { return row.Scan(&f.format) })
	b.Queue("SELECT version, value FROM record WHERE kind = $1 AND key = $2", string(state.Leader), state.EpochKey).QueryRow(func(row pgx.Row) error {
		var value []byte
		err := row.Scan(&f.leader.Version, &value)
		if errors.Is(err, pgx.ErrNoRows) {
			return nil
		}
		f.leader.Value = value
		return err
	})
	b.Queue("SELECT kind, key, version FROM unnest($1::text[], $2::text[]) AS wanted (kind, key) JOIN record USING (kind, key)", kinds, keys).
		Query(func(rows pgx.Rows) error {
			var r ref
			var version uint64
			_, err := pgx.ForEachRow(rows, []any{&r.kind, &r.key, &version}, func() error {
				f.versions[r] = version
				return nil
			})
			return err
		})
	if err := tx.SendBatch(ctx, &b).Close(); err != nil {
		return nil, fmt.Errorf("reading what is to be changed: %w", err)
	}
	return f, nil
}

// allows compares what there is with what is expected.
func (f *found) allows(fence state.Fence, b state.Batch) error {
	if err := database.CheckFormat(f.format, len(steps)); err != nil {
		return err
	}
	if err := fence.CheckLeader(f.leader); err != nil {
		return err
	}
	expect := func(kind state.Kind, key string, version uint64) error {
		if have := f.versions[ref{string(kind), short(key)}]; have != version {
			return fmt.Errorf("%s record %q has version %d, expected %d: %w", kind, key, have, version, state.ErrConflict)
		}
		return nil
	}
	for _, p := range b.Puts {
		if err := expect(p.Kind, p.Key, p.Version); err != nil {
			return err
		}
	}
	for _, r := range b.Removes {
		if r.Version == 0 {
			continue
		}
		if err := expect(r.Kind, r.Key, r.Version); err != nil {
			return err
		}
	}
	return nil
}

// write stores the batch in one round trip.
func write(ctx context.Context, tx pgx.Tx, b state.Batch, versions []uint64) error {
	var out pgx.Batch
	if n := len(b.Puts); n > 0 {
		kinds, keys, values, whole := make([]string, n), make([]string, n), make([]string, n), make([]*string, n)
		for i, p := range b.Puts {
			kinds[i], values[i] = string(p.Kind), string(p.Value)
			keys[i], whole[i] = indexed(p.Key)
		}
		out.Queue(`INSERT INTO record (kind, key, version, value, whole)
			SELECT kind, key, version, value::json, whole
			FROM unnest($1::text[], $2::text[], $3::bigint[], $4::text[], $5::text[]) AS new (kind, key, version, value, whole)
			ON CONFLICT (kind, key) DO UPDATE SET version = excluded.version, value = excluded.value`, kinds, keys, versions, values, whole)
	}
	if n := len(b.Removes); n > 0 {
		kinds, keys := make([]string, n), make([]string, n)
		for i, r := range b.Removes {
			kinds[i], keys[i] = string(r.Kind), short(r.Key)
		}
		out.Queue("DELETE FROM record USING unnest($1::text[], $2::text[]) AS gone (kind, key) WHERE record.kind = gone.kind AND record.key = gone.key",
			kinds, keys)
	}
	if n := len(b.History); n > 0 {
		scopes, whole, times := make([]string, n), make([]*string, n), make([]time.Time, n)
		actions, kinds, values := make([]string, n), make([]string, n), make([]string, n)
		for i, e := range b.History {
			times[i], actions[i], kinds[i], values[i] = state.Instant(e.At), e.Action, e.Kind, string(e.Value)
			scopes[i], whole[i] = indexed(e.Scope)
		}
		out.Queue(`INSERT INTO history (scope, whole, at, action, kind, value)
			SELECT scope, whole, at, action, kind, value::json
			FROM unnest($1::text[], $2::text[], $3::timestamptz[], $4::text[], $5::text[], $6::text[])
				WITH ORDINALITY AS new (scope, whole, at, action, kind, value, n)
			ORDER BY n`, scopes, whole, times, actions, kinds, values)
	}
	if err := tx.SendBatch(ctx, &out).Close(); err != nil {
		return fmt.Errorf("writing %s and %s of history: %w", scaling.Counted(len(b.Puts)+len(b.Removes), "record"), scaling.Counted(len(b.History), "line"), err)
	}
	return nil
}

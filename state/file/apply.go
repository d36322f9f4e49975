package file

import (
	"context"
	"database/sql"
	"errors"
	"fmt"

	"github.com/zeta-scaler/zeta-scaler/state"
)

// writeStatements are prepared once on the writer.
type writeStatements struct {
	leader, reserve, insert, update, version, remove, append *sql.Stmt
	keys, keep, expire, forget                               *sql.Stmt
}

// prepare readies every statement whose text does not depend on a filter.
func (s *Store) prepare(ctx context.Context) error {
	for _, p := range []struct {
		to   **sql.Stmt
		db   *sql.DB
		text string
	}{
		{&s.get, s.reader, "SELECT version, value FROM record WHERE kind = ? AND key = ?"},
		{&s.list, s.reader, "SELECT key, version, value FROM record WHERE kind = ? ORDER BY key"},
		{&s.write.leader, s.writer, "SELECT version, value FROM record WHERE kind = 'leader' AND key = '" + state.EpochKey + "'"},
		{&s.write.reserve, s.writer, "UPDATE sequence SET version = version + ? RETURNING version"},
		{&s.write.insert, s.writer, "INSERT INTO record (version, value, kind, key) VALUES (?, ?, ?, ?) ON CONFLICT DO NOTHING"},
		{&s.write.update, s.writer, "UPDATE record SET version = ?, value = ? WHERE kind = ? AND key = ? AND version = ?"},
		{&s.write.version, s.writer, "SELECT version FROM record WHERE kind = ? AND key = ?"},
		{&s.write.remove, s.writer, "DELETE FROM record WHERE kind = ?1 AND key = ?2 AND (?3 = 0 OR version = ?3)"},
		{&s.write.append, s.writer, "INSERT INTO history (scope, at, action, kind, value) VALUES (?, ?, ?, ?, ?)"},
		{&s.write.keys, s.writer, "SELECT DISTINCT scope, kind FROM history"},
		{&s.write.keep, s.writer, "DELETE FROM history WHERE scope = ?1 AND kind = ?2 AND id <= " +
			"(SELECT id FROM history WHERE scope = ?1 AND kind = ?2 ORDER BY id DESC LIMIT 1 OFFSET ?3)"},
		{&s.write.expire, s.writer, "DELETE FROM history WHERE id IN (SELECT id FROM history WHERE at < ? LIMIT ?)"},
		{&s.write.forget, s.writer, forgetGone},
	} {
		stmt, err := p.db.PrepareContext(ctx, p.text)
		if err != nil {
			return fmt.Errorf("preparing %q: %w", p.text, err)
		}
		*p.to = stmt
	}
	return nil
}

// Apply writes the batch in one transaction.
func (s *Store) Apply(ctx context.Context, f state.Fence, b state.Batch) ([]uint64, error) {
	if err := b.Validate(); err != nil {
		return nil, err
	}
	if s.closed.Load() {
		return nil, state.ErrClosed
	}
	if err := s.inPlace(ctx); err != nil {
		return nil, err
	}
	if b.Empty() {
		return []uint64{}, ctx.Err()
	}
	var versions []uint64
	err := s.transact(ctx, func(ctx context.Context, tx *sql.Tx) (err error) {
		if err := s.checkFence(ctx, tx, f); err != nil {
			return err
		}
		if versions, err = s.put(ctx, tx, b.Puts); err != nil {
			return err
		}
		if err := s.remove(ctx, tx, b.Removes); err != nil {
			return err
		}
		return s.appendHistory(ctx, tx, b.History)
	})
	if err == nil {
		// A file that went meanwhile took the batch with it.
		err = s.inPlace(ctx)
	}
	if err != nil {
		return nil, err
	}
	s.piled.Grew(b.History)
	return versions, nil
}

// transact waits for the writer under ctx and then runs to its end: a batch
// takes milliseconds, and watching a context would cost a goroutine per
// statement.
func (s *Store) transact(ctx context.Context, do func(context.Context, *sql.Tx) error) error {
	conn, err := s.writer.Conn(ctx)
	if err != nil {
		return explain(s.path, err)
	}
	defer conn.Close() //nolint:errcheck // gives the connection back to the pool
	ctx = context.WithoutCancel(ctx)
	tx, err := conn.BeginTx(ctx, nil)
	if err != nil {
		return explain(s.path, err)
	}
	if err := do(ctx, tx); err != nil {
		rollback := tx.Rollback()
		if errors.Is(err, state.ErrConflict) || errors.Is(err, state.ErrFenced) {
			return err
		}
		return explain(s.path, errors.Join(err, rollback))
	}
	return explain(s.path, tx.Commit())
}

// checkFence holds the stored epoch against the fence of a write.
func (s *Store) checkFence(ctx context.Context, tx *sql.Tx, f state.Fence) error {
	if f == state.NoFence {
		return nil
	}
	r := state.Record{Kind: state.Leader, Key: state.EpochKey}
	var value []byte
	err := tx.StmtContext(ctx, s.write.leader).QueryRowContext(ctx).Scan(&r.Version, &value)
	if err != nil && !errors.Is(err, sql.ErrNoRows) {
		return fmt.Errorf("reading the epoch: %w", err)
	}
	r.Value = value
	return f.CheckLeader(r)
}

func (s *Store) remove(ctx context.Context, tx *sql.Tx, removes []state.Remove) error {
	for _, r := range removes {
		done, err := tx.StmtContext(ctx, s.write.remove).ExecContext(ctx, string(r.Kind), r.Key, r.Version)
		if err != nil {
			return fmt.Errorf("removing %s record %q: %w", r.Kind, r.Key, err)
		}
		if n, err := done.RowsAffected(); err != nil || r.Version > 0 && n == 0 {
			return fmt.Errorf("%s record %q has not version %d any more: %w", r.Kind, r.Key, r.Version, errors.Join(state.ErrConflict, err))
		}
	}
	return nil
}

func (s *Store) put(ctx context.Context, tx *sql.Tx, puts []state.Put) ([]uint64, error) {
	versions := make([]uint64, len(puts))
	if len(puts) == 0 {
		return versions, nil
	}
	var last uint64
	if err := tx.StmtContext(ctx, s.write.reserve).QueryRowContext(ctx, len(puts)).Scan(&last); err != nil {
		return nil, fmt.Errorf("reserving record versions: %w", err)
	}
	insert, update := tx.StmtContext(ctx, s.write.insert), tx.StmtContext(ctx, s.write.update)
	for i, p := range puts {
		versions[i] = last - uint64(len(puts)-1-i)
		stmt, args := insert, []any{int64(versions[i]), string(p.Value), string(p.Kind), p.Key}
		if p.Version != 0 {
			stmt, args = update, append(args, int64(p.Version))
		}
		res, err := stmt.ExecContext(ctx, args...)
		if err != nil {
			return nil, fmt.Errorf("writing %s record %q: %w", p.Kind, p.Key, err)
		}
		n, err := res.RowsAffected()
		if err != nil {
			return nil, fmt.Errorf("writing %s record %q: %w", p.Kind, p.Key, err)
		}
		if n != 1 {
			return nil, s.conflict(ctx, tx, p)
		}
	}
	return versions, nil
}

// conflict says what is there instead of what was expected.
func (s *Store) conflict(ctx context.Context, tx *sql.Tx, p state.Put) error {
	var have uint64
	err := tx.StmtContext(ctx, s.write.version).QueryRowContext(ctx, string(p.Kind), p.Key).Scan(&have)
	if err != nil && !errors.Is(err, sql.ErrNoRows) {
		return fmt.Errorf("reading %s record %q: %w", p.Kind, p.Key, err)
	}
	return fmt.Errorf("%s record %q has version %d, expected %d: %w", p.Kind, p.Key, have, p.Version, state.ErrConflict)
}

func (s *Store) appendHistory(ctx context.Context, tx *sql.Tx, entries []state.Entry) error {
	if len(entries) == 0 {
		return nil
	}
	stmt := tx.StmtContext(ctx, s.write.append)
	for _, e := range entries {
		_, err := stmt.ExecContext(ctx, e.Scope, e.At.UnixMicro(), e.Action, e.Kind, string(e.Value))
		if err != nil {
			return fmt.Errorf("appending history of scope %q: %w", e.Scope, err)
		}
	}
	return nil
}

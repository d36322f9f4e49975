package file

import (
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/zeta-scaler/zeta-scaler/state"
)

// History reads entries, newest first.
func (s *Store) History(ctx context.Context, f state.Filter) ([]state.Entry, error) {
	if err := f.Validate(); err != nil {
		return nil, err
	}
	if s.closed.Load() {
		return nil, state.ErrClosed
	}
	text, args := selectHistory(f)
	stmt, err := s.statement(ctx, text)
	if err != nil {
		return nil, explain(s.path, fmt.Errorf("reading history: %w", err))
	}
	rows, err := stmt.QueryContext(ctx, args...)
	if err != nil {
		return nil, explain(s.path, fmt.Errorf("reading history: %w", err))
	}
	defer rows.Close() //nolint:errcheck // rows.Err says it
	out := []state.Entry{}
	for rows.Next() {
		var e state.Entry
		var at int64
		var value []byte
		if err := rows.Scan(&e.ID, &e.Scope, &at, &e.Action, &e.Kind, &value); err != nil {
			return nil, explain(s.path, fmt.Errorf("reading history: %w", err))
		}
		e.At, e.Value = time.UnixMicro(at).UTC(), json.RawMessage(value)
		out = append(out, e)
	}
	if err := rows.Err(); err != nil {
		return nil, explain(s.path, fmt.Errorf("reading history: %w", err))
	}
	return out, nil
}

// selectHistory builds the query of a filter: one fixed text per combination
// of fields, so that the texts can be prepared once. A period over all scopes
// goes through its own index: SQLite's choice, the newest entries first until
// the page is full, would read the whole table when few are in the period.
func selectHistory(f state.Filter) (text string, args []any) {
	var where []string
	add := func(set bool, condition string, arg any) {
		if set {
			where, args = append(where, condition), append(args, arg)
		}
	}
	add(f.Scope != "", "scope = ?", f.Scope)
	add(f.Kind != "", "kind = ?", f.Kind)
	add(f.Action != "", "action = ?", f.Action)
	add(!f.Since.IsZero(), "at >= ?", state.FirstFrom(f.Since).UnixMicro())
	add(!f.Until.IsZero(), "at <= ?", f.Until.UnixMicro())
	add(f.Before > 0, "id < ?", f.Before)
	const columns = "SELECT id, scope, at, action, kind, value FROM history"
	var condition string
	if len(where) > 0 {
		condition = " WHERE " + strings.Join(where, " AND ")
	}
	args = append(args, f.Limit)
	if f.Scope == "" && (!f.Since.IsZero() || !f.Until.IsZero()) {
		return columns + " WHERE id IN (SELECT id FROM history INDEXED BY history_at" + condition +
			" ORDER BY id DESC LIMIT ?) ORDER BY id DESC", args
	}
	return columns + condition + " ORDER BY id DESC LIMIT ?", args
}

func (s *Store) statement(ctx context.Context, text string) (*sql.Stmt, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if stmt := s.history[text]; stmt != nil {
		return stmt, nil
	}
	stmt, err := s.reader.PrepareContext(ctx, text)
	if err == nil {
		s.history[text] = stmt
	}
	return stmt, err
}

// expiredPerTransaction is how much one transaction of Trim deletes at most: it must
// not hold up the tick's own write.
const expiredPerTransaction = 2000

// Trim deletes in small transactions, so that a write never waits for long.
func (s *Store) Trim(ctx context.Context, keep state.Retention) error {
	if err := keep.Validate(); err != nil {
		return err
	}
	if s.closed.Load() {
		return state.ErrClosed
	}
	oldest := state.FirstFrom(keep.Oldest).UnixMicro()
	if err := s.deleteAll(ctx, "trimming history", s.write.expire, oldest); err != nil {
		return err
	}
	if keep.Gone > 0 {
		if err := s.deleteAll(ctx, "trimming the history of scopes that are gone", s.write.forget, keep.Gone); err != nil {
			return err
		}
	}
	return s.piled.Trim(keep.Records,
		func() ([]state.Pile, error) { return s.piles(ctx) },
		func(piles []state.Pile) error { return s.keepNewest(ctx, piles, keep.Records) })
}

// deleteAll repeats a deletion, whose second parameter is how much it deletes at
// most, until nothing is left.
func (s *Store) deleteAll(ctx context.Context, what string, stmt *sql.Stmt, arg any) error {
	for {
		var n int64
		err := s.transact(ctx, func(ctx context.Context, tx *sql.Tx) error {
			res, err := tx.StmtContext(ctx, stmt).ExecContext(ctx, arg, expiredPerTransaction)
			if err != nil {
				return fmt.Errorf("%s: %w", what, err)
			}
			n, err = res.RowsAffected()
			return err
		})
		if err != nil || n < expiredPerTransaction {
			return err
		}
	}
}

func (s *Store) piles(ctx context.Context) ([]state.Pile, error) {
	rows, err := s.write.keys.QueryContext(ctx)
	if err != nil {
		return nil, explain(s.path, fmt.Errorf("trimming history: %w", err))
	}
	defer rows.Close() //nolint:errcheck // rows.Err says it
	var out []state.Pile
	for rows.Next() {
		var p state.Pile
		if err := rows.Scan(&p.Scope, &p.Kind); err != nil {
			return nil, explain(s.path, fmt.Errorf("trimming history: %w", err))
		}
		out = append(out, p)
	}
	if err := rows.Err(); err != nil {
		return nil, explain(s.path, fmt.Errorf("trimming history: %w", err))
	}
	return out, nil
}

func (s *Store) keepNewest(ctx context.Context, piles []state.Pile, n int) error {
	return s.transact(ctx, func(ctx context.Context, tx *sql.Tx) error {
		stmt := tx.StmtContext(ctx, s.write.keep)
		for _, p := range piles {
			if _, err := stmt.ExecContext(ctx, p.Scope, p.Kind, n); err != nil {
				return fmt.Errorf("trimming history of scope %q: %w", p.Scope, err)
			}
		}
		return nil
	})
}

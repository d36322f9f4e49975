package postgres

import (
	"context"
	"fmt"
	"strings"

	"github.com/jackc/pgx/v5"

	"github.com/zeta-scaler/zeta-scaler/state"
)

// History reads entries, newest first.
func (s *Store) History(ctx context.Context, f state.Filter) ([]state.Entry, error) {
	if err := f.Validate(); err != nil {
		return nil, err
	}
	text, args := selectHistory(f)
	out := []state.Entry{}
	err := s.query(ctx, func(ctx context.Context, c *pgx.Conn) error {
		rows, err := c.Query(ctx, text, args...)
		if err != nil {
			return err
		}
		out, err = pgx.CollectRows(rows, func(row pgx.CollectableRow) (e state.Entry, err error) {
			var value []byte
			err = row.Scan(&e.ID, &e.Scope, &e.At, &e.Action, &e.Kind, &value)
			e.At, e.Value = e.At.UTC(), value
			return e, err
		})
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("reading history: %w", err)
	}
	return out, nil
}

// selectHistory builds the query of a filter: one fixed text per combination
// of fields, so that the texts can be prepared once.
func selectHistory(f state.Filter) (text string, args []any) {
	var where []string
	add := func(set bool, condition string, arg any) {
		if set {
			args = append(args, arg)
			where = append(where, fmt.Sprintf("%s $%d", condition, len(args)))
		}
	}
	add(f.Scope != "", "scope =", short(f.Scope))
	add(f.Kind != "", "kind =", f.Kind)
	add(f.Action != "", "action =", f.Action)
	add(!f.Since.IsZero(), "at >=", state.FirstFrom(f.Since))
	add(!f.Until.IsZero(), "at <=", state.Instant(f.Until))
	add(f.Before > 0, "id <", f.Before)
	text = "SELECT id, coalesce(whole, scope), at, action, kind, value FROM history"
	if len(where) > 0 {
		text += " WHERE " + strings.Join(where, " AND ")
	}
	args = append(args, f.Limit)
	return fmt.Sprintf("%s ORDER BY id DESC LIMIT $%d", text, len(args)), args
}

// expiredPerTransaction is how much one transaction of Trim deletes at most: it must
// not take long.
const expiredPerTransaction = 2000

// Trim deletes in small transactions. A batch does not wait for them: it only
// adds.
func (s *Store) Trim(ctx context.Context, keep state.Retention) error {
	if err := keep.Validate(); err != nil {
		return err
	}
	const expire = "DELETE FROM history WHERE id IN (SELECT id FROM history WHERE at < $1 LIMIT $2)"
	if err := s.deleteAll(ctx, "trimming history", expire, state.FirstFrom(keep.Oldest)); err != nil {
		return err
	}
	if keep.Gone > 0 {
		if err := s.deleteAll(ctx, "trimming the history of scopes that are gone", forgetGone, keep.Gone); err != nil {
			return err
		}
	}
	return s.piled.Trim(keep.Records,
		func() ([]state.Pile, error) { return s.piles(ctx) },
		func(piles []state.Pile) error { return s.keepNewest(ctx, piles, keep.Records) })
}

// deleteAll repeats a deletion, whose second parameter is how much it deletes at
// most, until nothing is left.
func (s *Store) deleteAll(ctx context.Context, what, text string, arg any) error {
	for {
		var n int64
		err := s.transact(ctx, func(ctx context.Context, tx pgx.Tx) error {
			tag, err := tx.Exec(ctx, text, arg, expiredPerTransaction)
			n = tag.RowsAffected()
			return err
		})
		if err != nil {
			return fmt.Errorf("%s: %w", what, err)
		}
		if n < expiredPerTransaction {
			return nil
		}
	}
}

func (s *Store) piles(ctx context.Context) ([]state.Pile, error) {
	var out []state.Pile
	err := s.query(ctx, func(ctx context.Context, c *pgx.Conn) error {
		rows, err := c.Query(ctx, "SELECT DISTINCT scope, kind FROM history")
		if err != nil {
			return err
		}
		out, err = pgx.CollectRows(rows, pgx.RowToStructByPos[state.Pile])
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("trimming history: %w", err)
	}
	return out, nil
}

func (s *Store) keepNewest(ctx context.Context, piles []state.Pile, n int) error {
	scopes, kinds := make([]string, len(piles)), make([]string, len(piles))
	for i, p := range piles {
		scopes[i], kinds[i] = short(p.Scope), p.Kind
	}
	err := s.transact(ctx, func(ctx context.Context, tx pgx.Tx) error {
		_, err := tx.Exec(ctx, keepNewest, scopes, kinds, n)
		return err
	})
	if err != nil {
		return fmt.Errorf("trimming history: %w", err)
	}
	return nil
}

// keepNewest deletes from each pile all but its newest entries.
const keepNewest = `
DELETE FROM history USING (
  SELECT scope, kind, (
    SELECT id FROM history WHERE history.scope = pile.scope AND history.kind = pile.kind ORDER BY id DESC LIMIT 1 OFFSET $3
  ) AS id FROM unnest($1::text[], $2::text[]) AS pile (scope, kind)
) AS last
WHERE history.scope = last.scope AND history.kind = last.kind AND history.id <= last.id
`

// forgetGone deletes a part of the history of the scopes that have no decision
// any more, but for the $1 of them with the newest entries. It steps from scope
// to scope in the index: most of the history is of scopes that are there.
const forgetGone = `
WITH RECURSIVE
scopes (scope) AS (
  SELECT min(scope) FROM history WHERE scope > ''
  UNION ALL
  SELECT (SELECT min(scope) FROM history WHERE scope > scopes.scope) FROM scopes WHERE scope IS NOT NULL
),
gone (scope) AS (
  SELECT scope FROM scopes
  WHERE scope IS NOT NULL AND NOT EXISTS (SELECT FROM record WHERE kind = 'decision' AND key = scopes.scope)
  ORDER BY (SELECT max(id) FROM history WHERE history.scope = scopes.scope) DESC OFFSET $1
)
DELETE FROM history WHERE id IN (SELECT id FROM history WHERE scope IN (SELECT scope FROM gone) LIMIT $2)
`

package file

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
)

// applicationID marks our files among all SQLite files ("ZSC1").
const applicationID = 0x5A534331

// format is the newest schema that this version reads and the one it writes;
// it is kept in the file's user_version. A later schema appends a migration.
const format = 1

// schema creates an empty store of format 1. The sequence hands out record
// versions: they are never reused, not even after a record was removed, so
// that a writer that was away for long cannot mistake a new record for the one
// it knew. Every index of history ends in the rowid, which is the order in
// which entries are read back; history_at covers what a period is filtered by,
// so that the entries themselves are read only for the page that is returned.
const schema = `
CREATE TABLE record (
  kind TEXT NOT NULL, key TEXT NOT NULL, version INTEGER NOT NULL, value TEXT NOT NULL,
  PRIMARY KEY (kind, key)
) STRICT;
CREATE TABLE sequence (one INTEGER PRIMARY KEY CHECK (one = 1), version INTEGER NOT NULL) STRICT;
INSERT INTO sequence VALUES (1, 0);
CREATE TABLE history (
  id INTEGER PRIMARY KEY AUTOINCREMENT, scope TEXT NOT NULL, at INTEGER NOT NULL,
  action TEXT NOT NULL, kind TEXT NOT NULL, value TEXT NOT NULL
) STRICT;
CREATE INDEX history_scope ON history (scope);
CREATE INDEX history_scope_kind ON history (scope, kind);
CREATE INDEX history_action ON history (action);
CREATE INDEX history_at ON history (at, kind, action);
`

// ensureSchema recognises our own file, refuses any other, and fills an empty
// one, in one transaction so that a crash leaves it empty or complete.
func ensureSchema(ctx context.Context, db *sql.DB) error {
	tx, err := db.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	defer tx.Rollback() //nolint:errcheck // after Commit there is nothing to roll back
	var id, version, tables int
	err = errors.Join(
		tx.QueryRowContext(ctx, "PRAGMA application_id").Scan(&id),
		tx.QueryRowContext(ctx, "PRAGMA user_version").Scan(&version),
		tx.QueryRowContext(ctx, "SELECT count(*) FROM sqlite_schema").Scan(&tables),
	)
	switch {
	case err != nil:
		return err
	case id == 0 && version == 0 && tables == 0:
		pragmas := fmt.Sprintf("PRAGMA application_id = %d; PRAGMA user_version = %d;", applicationID, format)
		if _, err := tx.ExecContext(ctx, schema+pragmas); err != nil {
			return err
		}
		return tx.Commit()
	case id != applicationID:
		return errForeign
	case version > format:
		return newerError{version}
	case version < 1:
		return errForeign
	}
	return nil
}

// forgetGone deletes a part of the history of the scopes that have no decision
// any more, but for the ?1 of them with the newest entries. It steps from scope
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
  WHERE scope IS NOT NULL AND NOT EXISTS (SELECT 1 FROM record WHERE kind = 'decision' AND key = scopes.scope)
  ORDER BY (SELECT max(id) FROM history WHERE history.scope = scopes.scope) DESC LIMIT -1 OFFSET ?1
)
DELETE FROM history WHERE id IN (SELECT id FROM history WHERE scope IN (SELECT scope FROM gone) LIMIT ?2)
`

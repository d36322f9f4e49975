package file

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"syscall"

	"modernc.org/sqlite"
	sqlite3 "modernc.org/sqlite/lib"
)

// errForeign marks an SQLite file that is not ours.
var errForeign = errors.New("an SQLite file of another program")

// newerError marks a file of a later format.
type newerError struct{ version int }

func (e newerError) Error() string { return fmt.Sprintf("state format %d", e.version) }

// startEmpty is the way out when a file cannot be used at all.
const startEmpty = "move it away together with its -wal and -shm files to start empty " +
	"(windows are refilled from Prometheus; pauses, runtime limits and history are lost), or restore a copy"

// explain turns a failure into a sentence that says what to do. It keeps err
// in the chain.
func explain(path string, err error) error {
	if err == nil || errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) {
		return err
	}
	var newer newerError
	var dberr *sqlite.Error
	switch {
	case errors.Is(err, errForeign):
		return fmt.Errorf("state file %s is %w: choose another state.path", path, err)
	case errors.As(err, &newer):
		return fmt.Errorf("state file %s was written by a newer zeta-scaler (%w, this one knows up to %d): "+
			"run the newer version, or %s", path, err, format, startEmpty)
	case errors.Is(err, fs.ErrPermission), errors.Is(err, syscall.EROFS):
		return fmt.Errorf("state file %s cannot be written: let this user write to it and to its folder, "+
			"or choose another state.path: %w", path, err)
	case errors.As(err, &dberr):
		return fmt.Errorf("state file %s %s: %w", path, remedy(dberr.Code()), err)
	}
	return fmt.Errorf("state file %s: %w", path, err)
}

// remedy says in words what an SQLite result code asks of the operator.
func remedy(code int) string {
	const primary = 0xff
	switch code & primary {
	case sqlite3.SQLITE_NOTADB:
		return "is not a state file (not SQLite): choose another state.path, or " + startEmpty
	case sqlite3.SQLITE_CORRUPT:
		return "is damaged: " + startEmpty
	case sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED:
		return "is locked by another process: stop it (another zeta-scaler, or an open sqlite3 shell?) and try again"
	case sqlite3.SQLITE_READONLY, sqlite3.SQLITE_PERM, sqlite3.SQLITE_CANTOPEN:
		return "cannot be written: let this user write to it and to its folder, or choose another state.path"
	case sqlite3.SQLITE_FULL:
		return "cannot grow: free space on its disk"
	case sqlite3.SQLITE_IOERR:
		return "cannot be read or written: check its disk"
	case sqlite3.SQLITE_NOMEM:
		return "cannot be used: out of memory"
	}
	return "failed"
}

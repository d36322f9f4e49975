package database

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
)

// The error codes of PostgreSQL that we know, and the first two characters of
// groups of them.
const (
	codeReadOnly      = "25006"
	codeNoSchema      = "3F000"
	codeNoTable       = "42P01"
	codePermission    = "42501"
	codeNoDatabase    = "3D000"
	codePassword      = "28P01"
	codeAuthorization = "28000"
	codeDiskFull      = "53100"
	codeConnections   = "53300"
	codeLockTimeout   = "55P03"
	codeStarting      = "57P03"

	groupConnection   = "08"
	groupRollback     = "40"
	groupIntervention = "57"
)

// slowError is an attempt that took too long. It is not the caller's own
// time-out, so it does not wrap the context's error.
type slowError struct {
	after time.Duration
	err   error
}

func (e slowError) Error() string {
	return fmt.Sprintf("no answer within %s: %v", e.after, e.err)
}

// Is keeps what the lost attempt may have done.
func (e slowError) Is(target error) bool {
	return target == ErrUnknown && errors.Is(e.err, ErrUnknown)
}

// code is that of the server's error, empty if it is none.
func code(err error) string {
	if pg, ok := errors.AsType[*pgconn.PgError](err); ok {
		return pg.Code
	}
	return ""
}

// refused reports whether a COMMIT was certainly not carried out: the server
// says so, and goes on.
func refused(err error) bool {
	var pg *pgconn.PgError
	return errors.Is(err, pgx.ErrTxCommitRollback) || errors.As(err, &pg) && pg.SeverityUnlocalized == "ERROR"
}

// notWritable reports whether the connection leads to a server, or a session,
// that only reads.
func notWritable(err error) bool { return code(err) == codeReadOnly }

// passing reports whether another attempt may do better, and does not do
// anything twice.
func passing(err error) bool {
	if errors.Is(err, ErrUnknown) {
		return false
	}
	if c := code(err); c != "" {
		switch c[:2] {
		case groupConnection, groupRollback, groupIntervention:
			return true
		}
		return c == codeConnections || c == codeLockTimeout || c == codeReadOnly
	}
	var slow slowError
	var network net.Error
	return errors.As(err, &slow) || errors.As(err, &network) || errors.Is(err, errStandby) ||
		errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, net.ErrClosed) || errors.Is(err, pgconn.ErrConnClosed)
}

// explain says where something failed, and what to do. Errors that the caller's
// own function made stay as they are.
func (d *Database) explain(err error) error {
	if err == nil || errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) {
		return err
	}
	if hint := d.remedy(err); hint != "" {
		return fmt.Errorf("%s %s: %w", d.o.Place(), hint, err)
	}
	return err
}

// remedy says in words what a failure asks of the operator, empty if it is none
// of the database's.
func (d *Database) remedy(err error) string {
	if s := d.refusal(code(err)); s != "" {
		return s
	}
	var slow slowError
	var network net.Error
	var connect *pgconn.ConnectError
	var parse *pgconn.ParseConfigError
	switch {
	case errors.Is(err, ErrUnknown):
		return "was lost in the middle of a write"
	case errors.Is(err, errStandby):
		return "has no primary: name every host that may become one in state.hosts, or promote one"
	case errors.Is(err, errReadOnly):
		return "cannot be written by this role: ALTER ROLE … SET default_transaction_read_only = off"
	case errors.Is(err, errEncoding):
		return "cannot hold every text: CREATE DATABASE … ENCODING 'UTF8' TEMPLATE template0"
	case isTLS(err):
		return "cannot be reached with TLS as it is set up: see state.sslmode (" + d.o.SSLMode + "), ca_file, cert_file and key_file"
	case errors.As(err, &parse), errors.As(err, new(*fs.PathError)):
		return "cannot be connected to as it is configured"
	case errors.As(err, &slow):
		return "does not answer"
	case errors.As(err, &network), errors.As(err, &connect):
		return "cannot be reached: is it running, and is state.hosts right?"
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF), errors.Is(err, net.ErrClosed), errors.Is(err, pgconn.ErrConnClosed):
		return "has closed the connection"
	}
	return ""
}

// refusal says what the code of a server's error asks of the operator.
func (d *Database) refusal(code string) string {
	switch code {
	case "":
		return ""
	case codePassword, codeAuthorization:
		return fmt.Sprintf("refuses user %q: see state.user, state.password_file (or PGPASSFILE) and the server's pg_hba.conf", d.o.User)
	case codeNoDatabase:
		return fmt.Sprintf("does not exist: CREATE DATABASE %s, or set state.database", pgx.Identifier{d.o.Database}.Sanitize())
	case codePermission:
		return fmt.Sprintf("does not let user %q do what it must: make it the owner of schema %q and of the tables in it", d.o.User, d.o.Schema)
	case codeReadOnly:
		return "cannot be written: the server is a standby or read-only"
	case codeDiskFull:
		return "cannot grow: free space on its disk"
	case codeConnections:
		return "has no connection left: raise the server's max_connections, or lower state.max_connections"
	case codeLockTimeout:
		return "is held up by another transaction: see pg_stat_activity"
	case codeNoTable, codeNoSchema:
		return fmt.Sprintf("has lost tables of schema %q: restart to create what is missing, or restore a backup", d.o.Schema)
	case codeStarting:
		return "is starting or stopping"
	}
	return "failed"
}

// isTLS reports whether TLS is what fails.
func isTLS(err error) bool {
	var verification *tls.CertificateVerificationError
	var header tls.RecordHeaderError
	var alert tls.AlertError
	return errors.As(err, &verification) || errors.As(err, &header) || errors.As(err, &alert) ||
		errors.As(err, new(x509.UnknownAuthorityError)) || errors.As(err, new(x509.HostnameError)) ||
		strings.Contains(err.Error(), "server refused TLS connection")
}

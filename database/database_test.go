package database

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

func options() Options {
	var o Options
	o.SetDefaults()
	return o
}

func TestHosts(t *testing.T) {
	for entry, want := range map[string][2]string{
		"db":                  {"db", "5432"},
		"db.example.com:5433": {"db.example.com", "5433"},
		"::1":                 {"::1", "5432"},
		"[::1]:5433":          {"::1", "5433"},
		"/var/run/postgresql": {"/var/run/postgresql", "5432"},
		"/run/pg:5433":        {"/run/pg", "5433"},
	} {
		host, port, err := splitHost(entry)
		require.NoError(t, err, entry)
		require.Equal(t, want, [2]string{host, port}, entry)
	}
	for _, entry := range []string{"", ":5432", "db:", "db:0", "db:x", "db:99999", "a,b", "a b", "postgres://u:hunter2@db/x", "it's", "db/x", "/run/pg:x", "/run/a,b"} {
		_, _, err := splitHost(entry)
		require.Error(t, err, entry)
		require.NotContains(t, err.Error(), "hunter2")
	}
}

// What is written into a connection string is read as it was.
func TestConnectionStringsAreQuoted(t *testing.T) {
	for _, key := range []string{"PGPASSWORD", "PGPASSFILE", "PGSERVICE"} {
		t.Setenv(key, "")
	}
	rapid.Check(t, func(t *rapid.T) {
		o := options()
		text := rapid.StringMatching(`[a-zA-Z0-9 '\\=;"日%@:/]{1,20}`)
		o.Database, o.User, o.SSLMode = text.Draw(t, "database"), text.Draw(t, "user"), "disable"
		o.Schema = text.Draw(t, "schema")
		o.Hosts = []string{"db1", "db2:5433"}
		c, err := o.parse()
		require.NoError(t, err)
		require.Equal(t, o.Database, c.Database)
		require.Equal(t, o.User, c.User)
		require.Equal(t, "db1", c.Host)
		require.Len(t, c.Fallbacks, 1)
		require.EqualValues(t, 5433, c.Fallbacks[0].Port)
		require.Equal(t, o.Timeout/2, c.ConnectTimeout)
		require.Equal(t, pgx.Identifier{o.Schema}.Sanitize(), c.RuntimeParams["search_path"])
	})
}

func TestPasswordIsReadAgain(t *testing.T) {
	o := options()
	o.SSLMode = "disable"
	o.PasswordFile = filepath.Join(t.TempDir(), "password")
	for _, password := range []string{"one", "two "} {
		require.NoError(t, os.WriteFile(o.PasswordFile, []byte(password+"\r\n"), 0o600))
		c, err := o.parse()
		require.NoError(t, err)
		require.Equal(t, password, c.Password)
		require.NotContains(t, c.ConnString(), password)
	}
	require.NoError(t, os.Remove(o.PasswordFile))
	_, err := o.parse()
	require.ErrorContains(t, err, "reading the password")
}

func server(code string) error {
	return &pgconn.PgError{Severity: "ERROR", SeverityUnlocalized: "ERROR", Code: code, Message: "words of the server"}
}

// Every failure says what to do, and is tried again only if that may help and
// nothing can have been stored.
func TestErrors(t *testing.T) {
	d := &Database{o: options()}
	for name, tc := range map[string]struct {
		err   error
		again bool
		want  string
	}{
		"password":         {server("28P01"), false, `refuses user "zeta_scaler": see state.user, state.password_file (or PGPASSFILE)`},
		"no database":      {server("3D000"), false, `does not exist: CREATE DATABASE "zeta_scaler"`},
		"no right":         {server("42501"), false, `make it the owner of schema "zeta_scaler"`},
		"disk full":        {server("53100"), false, "cannot grow: free space on its disk"},
		"no connection":    {server("53300"), true, "has no connection left"},
		"lock":             {server("55P03"), true, "is held up by another transaction"},
		"read-only":        {server("25006"), true, "cannot be written: the server is a standby or read-only"},
		"starting":         {server("57P03"), true, "is starting or stopping"},
		"deadlock":         {server("40P01"), true, "failed"},
		"no table":         {server("42P01"), false, "has lost tables"},
		"anything else":    {server("XX001"), false, "failed"},
		"standby":          {fmt.Errorf("x: %w", errStandby), true, "has no primary"},
		"read-only role":   {errReadOnly, false, "default_transaction_read_only = off"},
		"encoding":         {errEncoding, false, "ENCODING 'UTF8'"},
		"refused":          {&net.OpError{Op: "dial", Err: errors.New("connection refused")}, true, "cannot be reached: is it running"},
		"slow":             {slowError{time.Second, context.DeadlineExceeded}, true, "does not answer: no answer within 1s"},
		"closed":           {io.ErrUnexpectedEOF, true, "has closed the connection"},
		"lost at a commit": {fmt.Errorf("%w: %w", ErrUnknown, io.EOF), false, "was lost in the middle of a write"},
		"slow at a commit": {slowError{time.Second, ErrUnknown}, false, "was lost in the middle of a write"},
		"TLS":              {errors.New("server refused TLS connection"), false, "see state.sslmode (verify-full)"},
	} {
		t.Run(name, func(t *testing.T) {
			require.Equal(t, tc.again, passing(tc.err))
			err := d.explain(tc.err)
			require.ErrorIs(t, err, tc.err)
			require.ErrorContains(t, err, `database "zeta_scaler" at localhost `)
			require.ErrorContains(t, err, tc.want)
		})
	}
	ours := errors.New("record was changed by another writer")
	require.False(t, passing(ours))
	require.Equal(t, ours, d.explain(ours), "what the caller's own function says is left alone")
	require.Equal(t, context.Canceled, d.explain(context.Canceled))
	require.NoError(t, d.explain(nil))
	require.True(t, refused(server("40001")))
	require.False(t, refused(&pgconn.PgError{SeverityUnlocalized: "FATAL", Code: "57P01"}), "it may have been carried out before")
	require.False(t, refused(io.EOF))
}

// A database that is not there costs a bounded time, and the caller's own end
// ends it early.
func TestAttemptsAreBounded(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	address := l.Addr().String()
	require.NoError(t, l.Close())
	o := options()
	o.Hosts, o.SSLMode = []string{address}, "disable"
	d, err := Open(o)
	require.NoError(t, err)
	defer d.Close()
	called := 0
	do := func(context.Context, *pgx.Conn) error { called++; return nil }
	require.ErrorContains(t, d.Query(t.Context(), do), "cannot be reached: is it running, and is state.hosts right?")
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	require.ErrorIs(t, d.Query(ctx, do), context.Canceled)
	require.Zero(t, called)
}

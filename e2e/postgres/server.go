//go:build unix

// Package postgres runs real PostgreSQL servers in tests, on loopback and in a
// temporary folder: a primary, standbys that follow it, and what becomes of
// them.
package postgres

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"strconv"
	"syscall"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/zeta-scaler/zeta-scaler/e2e/harness"
)

const (
	// readyWithin covers a start on a busy machine; idle it takes a second.
	readyWithin = time.Minute
	// endsWithin is how long a server may take to end in good order.
	endsWithin = time.Minute
)

// Credentials of the role that owns the database of the same name.
const (
	Role     = "zeta_scaler"
	Password = "only-for-tests-4711"
)

// Server is a PostgreSQL server. It ends with the test.
type Server struct {
	*harness.Process
	// Address is where it listens, host:port; Socket is the folder of its Unix
	// socket, where the superuser needs no password.
	Address, Socket string

	lab      *harness.Lab
	owner    testing.TB
	programs string
	data     string
	port     int
	as       *syscall.Credential
	settings []string
	starts   int
}

// Start makes a server with the role and the database zeta_scaler, and starts it
// with these settings, "name=value". It skips the test where PostgreSQL is not
// installed.
func Start(t testing.TB, lab *harness.Lab, settings ...string) *Server {
	t.Helper()
	s := newServer(t, lab)
	s.settings = settings
	secret := filepath.Join(filepath.Dir(s.data), "password")
	must(t, os.WriteFile(secret, []byte(Password), 0o644)) //nolint:gosec // for initdb, which is another user
	s.run(t, "initdb", "--pgdata="+s.data, "--username=postgres", "--pwfile="+secret, "--encoding=UTF8", "--locale=C",
		"--auth-local=trust", "--auth-host=scram-sha-256", "--no-sync")
	s.Begin(t)
	s.Exec(t, "postgres", "CREATE ROLE "+Role+" LOGIN PASSWORD '"+Password+"'")
	s.Exec(t, "postgres", "CREATE DATABASE "+Role+" OWNER "+Role)
	return s
}

// newServer finds the programs, and makes a folder that the server's user can
// write: the server does not run as root.
func newServer(t testing.TB, lab *harness.Lab) *Server {
	t.Helper()
	found, err := filepath.Glob("/usr/lib/postgresql/*/bin")
	if err != nil || len(found) == 0 {
		harness.Unavailable(t, "no PostgreSQL in /usr/lib/postgresql: apt-get install postgresql")
	}
	dir, err := os.MkdirTemp("", "zeta-pg-") // its path has to fit into a socket's
	must(t, err)
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	s := &Server{lab: lab, owner: t, programs: found[len(found)-1], data: filepath.Join(dir, "data"), Socket: dir, port: harness.FreePorts(t, 1)}
	s.Address = harness.Loopback(s.port)
	if os.Getuid() == 0 {
		s.as = somebody(t)
		must(t, os.Chown(dir, int(s.as.Uid), int(s.as.Gid)))
	}
	return s
}

// somebody is a user other than root.
func somebody(t testing.TB) *syscall.Credential {
	t.Helper()
	for _, name := range []string{"postgres", "nobody"} {
		if u, err := user.Lookup(name); err == nil {
			uid, err := strconv.ParseUint(u.Uid, 10, 32)
			must(t, err)
			gid, err := strconv.ParseUint(u.Gid, 10, 32)
			must(t, err)
			return &syscall.Credential{Uid: uint32(uid), Gid: uint32(gid)}
		}
	}
	t.Fatal("PostgreSQL does not run as root, and there is neither a user postgres nor nobody")
	return nil
}

// Begin starts the server, again if it has ended, and waits until it answers.
func (s *Server) Begin(t testing.TB) {
	t.Helper()
	s.starts++
	args := []string{"-D", s.data, "-p", strconv.Itoa(s.port), "-k", s.Socket, "-c", "listen_addresses=127.0.0.1", "-c", "fsync=off"}
	for _, setting := range s.settings {
		args = append(args, "-c", setting)
	}
	start := func() {
		s.Process = s.lab.Start(s.owner, harness.Command{
			Name: fmt.Sprintf("postgres-%d", s.port), Path: filepath.Join(s.programs, "postgres"), Args: args, As: s.as, Dir: s.Socket,
			Env: []string{"LC_MESSAGES=C"},
		})
	}
	start()
	harness.Wait(t, readyWithin, s.Name+" answers", func(ctx context.Context) error {
		if err := s.Err(); err != nil {
			start() // after a kill, what is left of the old one may take a moment to go
			return err
		}
		c, err := s.connect(ctx, "postgres")
		if err != nil {
			return err
		}
		return c.Close(ctx)
	})
}

// Stop ends the server in good order; connections are closed.
func (s *Server) Stop(t testing.TB) {
	t.Helper()
	must(t, syscall.Kill(s.PID(), syscall.SIGINT))
	select {
	case <-s.Exited():
	case <-time.After(endsWithin):
		t.Fatalf("%s does not end", s.Name)
	}
}

// Give hands the server a file of its own, which nobody else may read.
func (s *Server) Give(t testing.TB, from string) (path string) {
	t.Helper()
	b, err := os.ReadFile(from)
	must(t, err)
	path = filepath.Join(s.Socket, filepath.Base(from))
	must(t, os.WriteFile(path, b, 0o600))
	if s.as != nil {
		must(t, os.Chown(path, int(s.as.Uid), int(s.as.Gid)))
	}
	return path
}

// Authenticate puts lines in front of pg_hba.conf, for the next Begin.
func (s *Server) Authenticate(t testing.TB, lines string) {
	t.Helper()
	path := filepath.Join(s.data, "pg_hba.conf")
	b, err := os.ReadFile(path)
	must(t, err)
	must(t, os.WriteFile(path, append([]byte(lines+"\n"), b...), 0o600))
}

// Run runs one of PostgreSQL's programs to its end, as somebody who has a
// password, and returns its output.
func (s *Server) Run(t testing.TB, password, program string, args ...string) string {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), filepath.Join(s.programs, program), args...)
	cmd.Env = append(os.Environ(), "PGHOST=127.0.0.1", "PGPORT="+strconv.Itoa(s.port), "PGUSER="+Role, "PGPASSWORD="+password)
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%s %v: %v\n%s", program, args, err, out)
	}
	return string(out)
}

// Set changes settings for the next Begin.
func (s *Server) Set(settings ...string) { s.settings = append(s.settings, settings...) }

// Standby makes a server that follows this one, under a name by which it can be
// waited for, and starts it.
func (s *Server) Standby(t testing.TB, name string) *Server {
	t.Helper()
	b := newServer(t, s.lab)
	b.settings = s.settings
	b.run(t, "pg_basebackup", "--pgdata="+b.data, "--host="+s.Socket, "--port="+strconv.Itoa(s.port), "--username=postgres",
		"--wal-method=stream", "--checkpoint=fast", "--no-sync", "--write-recovery-conf", "--dbname=application_name="+name)
	b.Begin(t)
	return b
}

// Promote makes a standby the primary.
func (s *Server) Promote(t testing.TB) {
	t.Helper()
	s.Exec(t, "postgres", "SELECT pg_promote(true, 60)")
}

// Exec runs a statement as the superuser.
func (s *Server) Exec(t testing.TB, database, statement string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), readyWithin)
	defer cancel()
	c, err := s.connect(ctx, database)
	must(t, err)
	defer c.Close(ctx) //nolint:errcheck // nothing is lost
	if _, err := c.Exec(ctx, statement); err != nil {
		t.Fatalf("%s: %v", statement, err)
	}
}

// Ask returns the one text that a query gives, as the superuser.
func (s *Server) Ask(ctx context.Context, database, query string) (string, error) {
	c, err := s.connect(ctx, database)
	if err != nil {
		return "", err
	}
	defer c.Close(ctx) //nolint:errcheck // nothing is lost
	var text string
	err = c.QueryRow(ctx, query).Scan(&text)
	return text, err
}

func (s *Server) connect(ctx context.Context, database string) (*pgx.Conn, error) {
	return pgx.Connect(ctx, fmt.Sprintf("host=%s port=%d user=postgres dbname=%s", s.Socket, s.port, database))
}

// run runs one of PostgreSQL's programs to its end.
func (s *Server) run(t testing.TB, program string, args ...string) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), filepath.Join(s.programs, program), args...)
	cmd.Dir, cmd.SysProcAttr = s.Socket, &syscall.SysProcAttr{Credential: s.as}
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%s: %v\n%s", program, err, out)
	}
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

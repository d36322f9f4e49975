//go:build e2e && unix

package postgres

import (
	"context"
	"crypto/x509/pkix"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/zeta-scaler/zeta-scaler/e2e/harness"
	statepostgres "github.com/zeta-scaler/zeta-scaler/state/postgres"
)

// blocks are the code blocks of a language on the page about high availability,
// in their order.
func blocks(t *testing.T, language string) (out []string) {
	t.Helper()
	page, err := os.ReadFile(filepath.Join(lab.Root, "docs", "high-availability.md"))
	require.NoError(t, err)
	for _, m := range regexp.MustCompile("(?s)```"+language+"\n(.*?)```").FindAllStringSubmatch(string(page), -1) {
		out = append(out, m[1])
	}
	require.NotEmpty(t, out)
	return out
}

// TestOperatorsStart does what docs/high-availability.md says, word for word but
// for names of hosts and files: role and database, configuration with TLS, two
// replicas, a look inside, backup and restore.
func TestOperatorsStart(t *testing.T) {
	t.Parallel()
	binary := lab.Build(t, program)
	s := Start(t, lab)
	certs := t.TempDir()
	ca, err := harness.NewAuthority(certs)
	require.NoError(t, err)
	cert, key, err := ca.Issue("server", pkix.Name{CommonName: "db1"})
	require.NoError(t, err)
	s.Stop(t)
	s.Set("ssl=on", "ssl_cert_file="+s.Give(t, cert), "ssl_key_file="+s.Give(t, key), "ssl_ca_file="+s.Give(t, ca.File()))
	s.Begin(t)
	s.Exec(t, "postgres", "DROP DATABASE "+Role)
	s.Exec(t, "postgres", "DROP ROLE "+Role)
	sql := blocks(t, "sql")
	for statement := range strings.SplitSeq(strings.TrimSpace(sql[0]), "\n") {
		s.Exec(t, "postgres", strings.ReplaceAll(statement, "choose one", Password))
	}

	// The page's configuration, for each of two replicas.
	secret := filepath.Join(certs, "db-password")
	require.NoError(t, os.WriteFile(secret, []byte(Password+"\n"), 0o600))
	section := blocks(t, "yaml")[0]
	for from, to := range map[string]string{
		"db1.example.com, db2.example.com": fmt.Sprintf("%q, %q", s.Address, harness.FreeAddress(t)),
		"/etc/zeta-scaler/db-password":     secret, "/etc/zeta-scaler/db-ca.pem": ca.File(),
	} {
		require.Contains(t, section, from)
		section = strings.ReplaceAll(section, from, to)
	}
	feed := startFeed(t)
	p := &servePair{owner: t}
	for i := range 2 {
		r := newServe(t, fmt.Sprintf("documented-%d", i+1), feed, "unused", s.Address)
		file := strings.TrimPrefix(r.command.Args[1], "--config.file=")
		text, err := os.ReadFile(file)
		require.NoError(t, err)
		head, _, found := strings.Cut(string(text), "state: {")
		require.True(t, found)
		require.NoError(t, os.WriteFile(file, []byte(head+section), 0o600))
		out, err := exec.CommandContext(t.Context(), binary, "check", "config", file).CombinedOutput()
		require.NoError(t, err, "%s", out)
		require.NotContains(t, string(out), Password)
		r.start(t, t)
		p.replicas = append(p.replicas, r)
	}
	leader, follower := p.leader(t)
	var inside string
	harness.Wait(t, patience, "a look inside shows a decision", func(context.Context) error {
		if inside = s.Run(t, Password, "psql", "--dbname="+Role, "--command="+sql[1]); !regexp.MustCompile(`prod +\| SCALE_OUT`).MatchString(inside) {
			return fmt.Errorf("it shows\n%s", inside)
		}
		return nil
	})
	t.Logf("a look inside:\n%s", inside)
	require.Contains(t, inside, fmt.Sprintf("/%d/", leader.PID()))
	p.pause(t, follower)
	require.Contains(t, s.Run(t, Password, "psql", "--dbname="+Role, "--command=SELECT bool_and(ssl) AS encrypted FROM pg_stat_ssl JOIN pg_stat_activity USING (pid) WHERE application_name = 'zeta-scaler'"), " t")

	// Backup and restore, with all replicas stopped.
	dump := filepath.Join(certs, "zeta-scaler.dump")
	command := strings.Fields(blocks(t, "sh")[0])
	require.Equal(t, []string{"pg_dump", "zeta_scaler"}, []string{command[0], command[3]})
	s.Run(t, Password, command[0], append(command[1:4], "--file="+dump)...)
	for _, r := range p.replicas {
		require.NoError(t, r.Terminate(patience))
	}
	before := s.Run(t, Password, "psql", "--dbname="+Role, "--tuples-only", "--command=SELECT value->>'epoch' FROM zeta_scaler.record WHERE kind = 'leader'")
	s.Run(t, Password, "psql", "--dbname="+Role, "--command=DROP SCHEMA zeta_scaler CASCADE")
	s.Run(t, Password, "pg_restore", "--dbname="+Role, dump)
	for _, r := range p.replicas {
		r.start(t, t)
	}
	p.leader(t)
	after := s.Run(t, Password, "psql", "--dbname="+Role, "--tuples-only", "--command=SELECT value->>'epoch' FROM zeta_scaler.record WHERE kind = 'leader'")
	require.Greater(t, after, before)
	p.paused(t)
}

// TLS is held to what is configured: who signed, whose name, and who we are.
func TestTLS(t *testing.T) {
	s := Start(t, lab)
	certs := t.TempDir()
	ca, err := harness.NewAuthority(certs)
	require.NoError(t, err)
	cert, key, err := ca.Issue("server", pkix.Name{CommonName: "db1"})
	require.NoError(t, err)
	s.Stop(t)
	s.Set("ssl=on", "ssl_cert_file="+s.Give(t, cert), "ssl_key_file="+s.Give(t, key), "ssl_ca_file="+s.Give(t, ca.File()))
	s.Authenticate(t, "hostssl "+Role+" "+Role+" 127.0.0.1/32 cert\nhostnossl all all 127.0.0.1/32 reject")
	s.Begin(t)
	other, err := harness.NewAuthority(t.TempDir())
	require.NoError(t, err)
	o := fresh(s.Address)
	o.Password = ""
	check := func() error {
		store, err := statepostgres.Open(t.Context(), *o)
		if err != nil {
			return err
		}
		defer store.Close() //nolint:errcheck // it was only to be opened
		return store.Check(context.WithoutCancel(t.Context()))
	}
	require.ErrorContains(t, check(), "refuses user", "without TLS")
	o.SSLMode = "verify-full"
	require.ErrorContains(t, check(), "cannot be reached with TLS as it is set up", "signed by nobody that the system knows")
	o.CAFile = other.File()
	require.ErrorContains(t, check(), "cannot be reached with TLS as it is set up", "signed by another")
	o.CAFile = ca.File()
	require.ErrorContains(t, check(), "refuses user", "without a certificate of ours")
	o.CertFile, o.KeyFile, err = ca.Issue("client", pkix.Name{CommonName: "somebody else"})
	require.NoError(t, err)
	require.ErrorContains(t, check(), "refuses user", "with that of another user")
	o.CertFile, o.KeyFile, err = ca.Issue("client", pkix.Name{CommonName: Role})
	require.NoError(t, err)
	require.NoError(t, check())
	o.Hosts = []string{strings.Replace(s.Address, "127.0.0.1", "localhost", 1)} // the certificate has the address alone
	require.ErrorContains(t, check(), "cannot be reached with TLS as it is set up")
	o.SSLMode = "verify-ca"
	require.NoError(t, check())
}

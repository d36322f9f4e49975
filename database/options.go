// Package database is a small client of PostgreSQL: a bounded number of
// connections to whichever of several hosts is the primary, transactions that
// end in time, migrations, and errors that say what to do.
package database

import (
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"
	"unicode"

	"github.com/jackc/pgx/v5/pgconn"
	"github.com/prometheus/common/config"
)

// Defaults of Options.
const (
	DefaultName           = "zeta_scaler"
	DefaultTimeout        = 5 * time.Second
	DefaultMaxConnections = 4
	defaultPort           = "5432"
)

// Options say which database is used, and how.
type Options struct {
	// Hosts are those of one logical server, of which one is the primary: host, or
	// the folder of a Unix socket, and :port unless it is 5432. They are tried in
	// their order.
	Hosts []string `yaml:"hosts" check:"required"`
	// Database, User and Schema are "zeta_scaler" by default; all tables are in
	// the schema.
	Database string `yaml:"database" check:"required"`
	User     string `yaml:"user" check:"required"`
	Schema   string `yaml:"schema" check:"required"`
	// Password, or PasswordFile, which is read again for every connection. Without
	// both it is looked up where libpq does: PGPASSWORD, PGPASSFILE, ~/.pgpass.
	Password     config.Secret `yaml:"password"`
	PasswordFile string        `yaml:"password_file" check:"file=line"`
	// SSLMode is one of libpq's that do not depend on what the server offers. A
	// Unix socket has no TLS.
	SSLMode string `yaml:"sslmode" check:"oneof=disable|require|verify-ca|verify-full"`
	// CAFile has the certificates that sign the server's; empty: those of the
	// system. CertFile and KeyFile are what we show. All are read again for every
	// connection.
	CAFile   string `yaml:"ca_file" check:"file=filled"`
	CertFile string `yaml:"cert_file" check:"file=filled"`
	KeyFile  string `yaml:"key_file" check:"file=filled"`
	// Timeout is for one attempt, connecting included.
	Timeout time.Duration `yaml:"timeout" check:"least=100ms"`
	// MaxConnections is how many connections are open at most.
	MaxConnections int `yaml:"max_connections" check:"least=1,most=100"`

	// Attempts is how often something is tried that has left nothing behind; 0
	// means 3.
	Attempts int
}

// SetDefaults implements document.Defaulter.
func (o *Options) SetDefaults() {
	o.Hosts, o.Database, o.User, o.Schema = []string{"localhost"}, DefaultName, DefaultName, DefaultName
	o.SSLMode, o.Timeout, o.MaxConnections = "verify-full", DefaultTimeout, DefaultMaxConnections
}

// maxName is how long the name of a schema may be, in bytes: PostgreSQL would cut
// it.
const maxName = 63

// Check says which of the values do not go together.
func (o *Options) Check(fail func(key, format string, args ...any)) {
	if len(o.Hosts) == 0 {
		fail("hosts", "is empty, expected at least one host")
	}
	for i, h := range o.Hosts {
		if _, _, err := splitHost(h); err != nil {
			fail("hosts", "has something else as number %d, expected host, host:port or the folder of a Unix socket", i+1)
		}
	}
	if o.Password != "" && o.PasswordFile != "" {
		fail("password_file", "is set beside password, expected one of them")
	}
	if (o.CertFile == "") != (o.KeyFile == "") {
		fail("cert_file", "and key_file belong together, expected both or none")
	}
	if o.CAFile != "" && o.SSLMode == "disable" {
		fail("ca_file", "is set, but sslmode is disable: the server's certificate would not even be looked at")
	}
	if o.SSLMode != "disable" && o.CAFile != "" || o.CertFile != "" && o.KeyFile != "" {
		if err := o.checkTLS(); err != nil {
			fail("ca_file", "or cert_file and key_file cannot be used: %v", err)
		}
	}
	if len(o.Schema) > maxName || strings.ContainsFunc(o.Schema, unicode.IsControl) {
		fail("schema", "is no name of a schema, expected at most %d bytes without control characters", maxName)
	}
}

// checkTLS reads the certificates as for a connection.
func (o *Options) checkTLS() error {
	tls := Options{Hosts: []string{"localhost"}, SSLMode: "verify-full", CAFile: o.CAFile, CertFile: o.CertFile, KeyFile: o.KeyFile}
	_, err := tls.parse()
	if parse, ok := errors.AsType[*pgconn.ParseConfigError](err); ok {
		return parse.Unwrap()
	}
	return err
}

// splitHost takes an entry of Hosts apart. Its errors do not quote it: a URL with
// a password may have been written there.
func splitHost(entry string) (host, port string, err error) {
	host, port = entry, defaultPort
	socket := filepath.IsAbs(entry)
	if i := strings.LastIndexByte(entry, ':'); socket && i >= 0 {
		host, port = entry[:i], entry[i+1:]
	}
	if !socket && strings.Contains(entry, ":") && net.ParseIP(entry) == nil {
		if host, port, err = net.SplitHostPort(entry); err != nil {
			return "", "", errors.New("it is not host:port")
		}
	}
	if n, err := strconv.ParseUint(port, 10, 16); err != nil || n == 0 {
		return "", "", errors.New("its port is none")
	}
	if host == "" || strings.ContainsAny(host, ", '\\") || !socket && strings.Contains(host, "/") {
		return "", "", errors.New("its host is none")
	}
	return host, port, nil
}

// Place names the database for people.
func (o *Options) Place() string {
	return fmt.Sprintf("database %q at %s", o.Database, strings.Join(o.Hosts, ", "))
}

// password is that of a new connection, empty if libpq's places are to be looked
// at.
func (o *Options) password() (string, error) {
	if o.PasswordFile == "" {
		return string(o.Password), nil
	}
	b, err := os.ReadFile(o.PasswordFile)
	if err != nil {
		return "", fmt.Errorf("reading the password: %w", err)
	}
	return strings.TrimRight(string(b), "\r\n"), nil
}

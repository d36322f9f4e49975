package database

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
)

// Errors of a server that is no use to us.
var (
	// errStandby is a server that only follows a primary.
	errStandby = errors.New("the server is a standby, which cannot be written")
	// errReadOnly is a session that may not write.
	errReadOnly = errors.New("the session is read-only (default_transaction_read_only)")
	// errEncoding is a database that cannot hold every text.
	errEncoding = errors.New("the database's encoding is not UTF8")
)

// parse makes what a connection is opened with. Certificates and passwords are
// read here, so that each connection has those of the moment.
func (o *Options) parse() (*pgx.ConnConfig, error) {
	hosts, ports := make([]string, len(o.Hosts)), make([]string, len(o.Hosts))
	for i, entry := range o.Hosts {
		var err error
		if hosts[i], ports[i], err = splitHost(entry); err != nil {
			return nil, fmt.Errorf("host %d: %w", i+1, err)
		}
	}
	text := connString(
		"host", strings.Join(hosts, ","), "port", strings.Join(ports, ","), "dbname", o.Database, "user", o.User,
		"sslmode", o.SSLMode, "sslrootcert", o.CAFile, "sslcert", o.CertFile, "sslkey", o.KeyFile,
		"target_session_attrs", "any", // asked by validate, which says more
	)
	c, err := pgx.ParseConfig(text)
	if err != nil {
		return nil, err
	}
	password, err := o.password()
	if err != nil {
		return nil, err
	}
	if password != "" {
		c.Password = password
	}
	c.ConnectTimeout = o.Timeout / time.Duration(len(o.Hosts))
	millis := strconv.FormatInt(o.Timeout.Milliseconds(), 10)
	c.RuntimeParams = map[string]string{
		"application_name": "zeta-scaler",
		"search_path":      pgx.Identifier{o.Schema}.Sanitize(),
		// Who stands still in a transaction, or was cut off, does not hold up the
		// others for longer than he would be waited for.
		"lock_timeout":                        millis,
		"idle_in_transaction_session_timeout": millis,
		// The server must not give up a COMMIT that waits for a standby: it would be
		// reported as done.
		"statement_timeout": "0",
	}
	c.ValidateConnect = validate
	c.OnNotice = noteWarning
	return c, nil
}

// connString writes keywords and values as libpq reads them; empty ones are left
// out.
func connString(pairs ...string) string {
	escape := strings.NewReplacer(`\`, `\\`, `'`, `\'`)
	var b strings.Builder
	for i := 0; i < len(pairs); i += 2 {
		if pairs[i+1] != "" {
			fmt.Fprintf(&b, "%s='%s' ", pairs[i], escape.Replace(pairs[i+1]))
		}
	}
	return b.String()
}

// question asks a server whether it will do. A commit that is acknowledged is to
// be durable, whatever the server's or the role's default is.
const question = `SELECT pg_is_in_recovery(), current_setting('transaction_read_only') = 'on', current_setting('server_encoding') <> 'UTF8',
	CASE WHEN current_setting('synchronous_commit') = 'off' THEN set_config('synchronous_commit', 'on', false) END`

// validate refuses a server that cannot be written, so that the next host is
// tried.
func validate(ctx context.Context, c *pgconn.PgConn) error {
	results, err := c.Exec(ctx, question).ReadAll()
	if err != nil {
		return err
	}
	if len(results) != 1 || len(results[0].Rows) != 1 {
		return errors.New("the server did not say what it is")
	}
	for i, err := range []error{errStandby, errReadOnly, errEncoding} {
		if string(results[0].Rows[0][i]) == "t" {
			return err
		}
	}
	return nil
}

// warningKey is where a connection keeps the last warning of its server.
const warningKey = "warning"

// noteWarning keeps a warning. That a COMMIT no longer waits for the standby is
// told as one.
func noteWarning(c *pgconn.PgConn, n *pgconn.Notice) {
	if n.SeverityUnlocalized == "WARNING" {
		c.CustomData()[warningKey] = n.Message
	}
}

// takeWarning returns the warning that was kept, and forgets it.
func takeWarning(c *pgx.Conn) string {
	data := c.PgConn().CustomData()
	message, _ := data[warningKey].(string)
	delete(data, warningKey)
	return message
}

// CheckWritable fails if what a connection leads to can no longer be written.
func CheckWritable(ctx context.Context, c *pgx.Conn) error { return validate(ctx, c.PgConn()) }

//go:build e2e && unix

package postgres

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"
	"golang.org/x/sync/errgroup"

	"github.com/zeta-scaler/zeta-scaler/database"
	"github.com/zeta-scaler/zeta-scaler/e2e/harness"
	"github.com/zeta-scaler/zeta-scaler/state"
	statepostgres "github.com/zeta-scaler/zeta-scaler/state/postgres"
	"github.com/zeta-scaler/zeta-scaler/state/statetest"
)

// patience is how long something may take on a busy machine.
const patience = time.Minute

// schemas numbers those that nobody has used.
var schemas atomic.Int64

// fresh are the options of an empty store at these hosts.
func fresh(hosts ...string) *statepostgres.Options {
	o := &statepostgres.Options{}
	o.SetDefaults()
	o.Hosts, o.Password, o.SSLMode = hosts, Password, "disable"
	o.Schema = fmt.Sprintf("fresh %d", schemas.Add(1))
	return o
}

func open(t testing.TB, o *statepostgres.Options) *statepostgres.Store {
	t.Helper()
	s, err := statepostgres.Open(t.Context(), *o)
	require.NoError(t, err)
	t.Cleanup(func() { _ = s.Close() })
	return s
}

// TestStore runs the shared store on a real server, and takes that away.
func TestStore(t *testing.T) {
	s := &site{Start(t, lab)}
	t.Run("conformance", func(t *testing.T) {
		statetest.RunConformance(t, func(t testing.TB) state.Store { return open(t, fresh(s.Address)) })
	})
	t.Run("long keys", s.longKeys)
	t.Run("many scopes", s.manyScopes)
	t.Run("many open an empty schema at once", s.openedAtOnce)
	t.Run("migrations", s.migrations)
	t.Run("schemas that are refused", s.refusedSchemas)
	t.Run("passwords", s.passwords)
	t.Run("what is missing is said", s.missing)
	t.Run("read-only", s.readOnly)
	t.Run("a client that stands still", s.standsStill)
	t.Run("a standby that does not answer", s.noStandby)
	t.Run("the path is cut", s.cut)
	t.Run("the server is killed", s.killed)
}

type site struct{ *Server }

// longKeys: a scope's name is not bounded by anybody.
func (s *site) longKeys(t *testing.T) {
	store := open(t, fresh(s.Address))
	long := strings.Repeat("日本", 5000)
	keys := []string{long + "a", long + "b", "short"}
	var b state.Batch
	for _, k := range keys {
		b.Puts = append(b.Puts, state.Put{Kind: state.Decision, Key: k, Value: []byte(`"` + k[len(k)-1:] + `"`)})
		b.History = append(b.History, state.Entry{Scope: k, Kind: state.DecisionEntry, Value: []byte(`{}`)})
	}
	versions, err := store.Apply(t.Context(), state.NoFence, b)
	require.NoError(t, err)
	records, err := store.List(t.Context(), state.Decision)
	require.NoError(t, err)
	require.Len(t, records, len(keys))
	for i, k := range keys {
		r, err := store.Get(t.Context(), state.Decision, k)
		require.NoError(t, err)
		require.Equal(t, versions[i], r.Version)
		h, err := store.History(t.Context(), state.Filter{Scope: k, Limit: 10})
		require.NoError(t, err)
		require.Len(t, h, 1)
		require.Equal(t, k, h[0].Scope)
	}
	_, err = store.Apply(t.Context(), state.NoFence, state.Batch{
		Puts:    []state.Put{{Kind: state.Decision, Key: keys[0], Version: versions[0], Value: []byte(`1`)}},
		Removes: []state.Remove{{Kind: state.Decision, Key: keys[1]}},
	})
	require.NoError(t, err)
	_, err = store.Get(t.Context(), state.Decision, keys[1])
	require.ErrorIs(t, err, state.ErrNotFound)
	_, err = store.Apply(t.Context(), state.NoFence, state.Batch{Puts: []state.Put{{Kind: state.Decision, Key: "a\x00b", Value: []byte(`1`)}}})
	require.ErrorIs(t, err, state.ErrInvalid)
}

func (s *site) manyScopes(t *testing.T) {
	const scopes = 3000
	store := open(t, fresh(s.Address))
	batch := func(versions []uint64) state.Batch {
		var b state.Batch
		for i := range scopes {
			p := state.Put{Kind: state.Decision, Key: fmt.Sprint("cluster-", i), Value: []byte(`"` + strings.Repeat("x", 2000) + `"`)}
			if versions != nil {
				p.Version = versions[i]
			}
			b.Puts = append(b.Puts, p)
			b.History = append(b.History, state.Entry{Scope: p.Key, Kind: state.DecisionEntry, Value: p.Value})
		}
		return b
	}
	versions, err := store.Apply(t.Context(), state.NoFence, batch(nil))
	require.NoError(t, err)
	began := time.Now()
	_, err = store.Apply(t.Context(), state.NoFence, batch(versions))
	require.NoError(t, err)
	t.Logf("a batch over %d scopes: %s", scopes, time.Since(began).Round(time.Millisecond))
	began = time.Now()
	require.NoError(t, store.Trim(t.Context(), state.Retention{Records: 1}))
	t.Logf("trimmed in %s", time.Since(began).Round(time.Millisecond))
	h, err := store.History(t.Context(), state.Filter{Scope: "cluster-7", Limit: 10})
	require.NoError(t, err)
	require.Len(t, h, 1)
}

func (s *site) openedAtOnce(t *testing.T) {
	o := fresh(s.Address)
	g, ctx := errgroup.WithContext(t.Context())
	for range 8 {
		g.Go(func() error {
			store, err := statepostgres.Open(ctx, *o)
			if err != nil {
				return err
			}
			_, err = state.Leaders(store).Change(ctx, state.EpochKey, func(old state.Row[state.LeaderRecord]) (state.LeaderRecord, []state.Entry, bool) {
				return state.LeaderRecord{Epoch: old.Value.Epoch + 1}, nil, true
			})
			return errors.Join(err, store.Close())
		})
	}
	require.NoError(t, g.Wait())
	r, err := state.Leaders(open(t, o)).Get(t.Context(), state.EpochKey)
	require.NoError(t, err)
	require.EqualValues(t, 8, r.Value.Epoch)
}

// migrations: steps are taken once each, all of them or none, whoever comes at
// the same time.
func (s *site) migrations(t *testing.T) {
	o := fresh(s.Address).Options
	steps := []string{
		"CREATE TABLE one (n integer); INSERT INTO one VALUES (1)",
		"ALTER TABLE one ADD m integer; UPDATE one SET m = n + 1",
		"SELECT pg_sleep(0.2); UPDATE one SET m = m * 2",
	}
	migrate := func(ctx context.Context, steps []string) error {
		db, err := database.Open(o)
		if err != nil {
			return err
		}
		defer db.Close()
		return db.Migrate(ctx, steps)
	}
	require.NoError(t, migrate(t.Context(), steps[:1]))
	require.ErrorContains(t, migrate(t.Context(), append(steps[:2:2], "INSERT INTO nowhere VALUES (1)")), "migrating from format 1")
	ask := func(query string) string {
		answer, err := s.Ask(t.Context(), Role, query)
		require.NoError(t, err)
		return answer
	}
	table := pgx.Identifier{o.Schema, "one"}.Sanitize()
	require.Equal(t, "1", ask("SELECT version::text FROM "+pgx.Identifier{o.Schema, "format"}.Sanitize()), "nothing of it is left")
	g, ctx := errgroup.WithContext(t.Context())
	for range 6 {
		g.Go(func() error { return migrate(ctx, steps) })
	}
	require.NoError(t, g.Wait())
	require.Equal(t, "1 4", ask("SELECT n || ' ' || m FROM "+table), "each step once")
	err := migrate(t.Context(), steps[:2])
	require.ErrorIs(t, err, database.ErrNewer)
	require.ErrorContains(t, err, "written by a newer zeta-scaler (format 3, this one knows up to 2): run the newer version")
}

func (s *site) refusedSchemas(t *testing.T) {
	o := fresh(s.Address)
	store := open(t, o)
	s.Exec(t, Role, "UPDATE "+pgx.Identifier{o.Schema, "format"}.Sanitize()+" SET version = 99")
	_, err := statepostgres.Open(t.Context(), *o)
	require.ErrorIs(t, err, database.ErrNewer)
	_, err = store.Apply(t.Context(), state.NoFence, state.Batch{Puts: []state.Put{{Kind: state.Tick, Key: "a", Value: []byte(`1`)}}})
	require.ErrorIs(t, err, database.ErrNewer, "an old process beside a new one writes nothing")
	require.ErrorIs(t, store.Check(t.Context()), database.ErrNewer)

	other := fresh(s.Address)
	s.Exec(t, Role, fmt.Sprintf("CREATE SCHEMA %s AUTHORIZATION %s; CREATE TABLE %[1]s.record (n integer)", pgx.Identifier{other.Schema}.Sanitize(), Role))
	_, err = statepostgres.Open(t.Context(), *other)
	require.ErrorContains(t, err, "has tables that are none of ours: choose another state.schema")
	s.Exec(t, Role, "DROP SCHEMA "+pgx.Identifier{o.Schema}.Sanitize()+" CASCADE")
	_, err = store.List(t.Context(), state.Tick)
	require.ErrorContains(t, err, "has lost tables")
}

func (s *site) passwords(t *testing.T) {
	o := fresh(s.Address)
	o.Password = "wrong-secret-of-the-test"
	refused := func() {
		t.Helper()
		_, err := statepostgres.Open(t.Context(), *o)
		require.ErrorContains(t, err, `refuses user "zeta_scaler": see state.user, state.password_file (or PGPASSFILE)`)
		require.NotContains(t, err.Error(), "wrong-secret")
	}
	refused()
	o.Password = ""
	o.PasswordFile = filepath.Join(t.TempDir(), "password")
	write := func(password string) { require.NoError(t, os.WriteFile(o.PasswordFile, []byte(password+"\n"), 0o600)) }
	write("wrong-secret-of-the-test")
	refused()
	write(Password)
	store := open(t, o)
	require.NoError(t, store.Check(t.Context()))

	// The password is changed, in the file too: new connections have the new one.
	s.Exec(t, "postgres", "ALTER ROLE "+Role+" PASSWORD 'another-only-for-tests'")
	defer s.Exec(t, "postgres", "ALTER ROLE "+Role+" PASSWORD '"+Password+"'")
	write("another-only-for-tests")
	s.Exec(t, "postgres", "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE usename = '"+Role+"'")
	require.NoError(t, store.Check(t.Context()))

	passfile := filepath.Join(t.TempDir(), "pgpass")
	require.NoError(t, os.WriteFile(passfile, []byte("*:*:*:"+Role+":another-only-for-tests\n"), 0o600))
	t.Setenv("PGPASSFILE", passfile)
	o.PasswordFile = ""
	require.NoError(t, open(t, o).Check(t.Context()))
}

// missing: what an operator has forgotten is named.
func (s *site) missing(t *testing.T) {
	_, err := statepostgres.Open(t.Context(), *fresh(harness.FreeAddress(t)))
	require.ErrorContains(t, err, "cannot be reached: is it running, and is state.hosts right?")
	o := fresh(s.Address)
	o.Database = "nowhere"
	_, err = statepostgres.Open(t.Context(), *o)
	require.ErrorContains(t, err, `does not exist: CREATE DATABASE "nowhere", or set state.database`)
	o = fresh(s.Address)
	o.SSLMode = "verify-full"
	_, err = statepostgres.Open(t.Context(), *o)
	require.ErrorContains(t, err, "cannot be reached with TLS as it is set up: see state.sslmode (verify-full)")
	o = fresh(s.Address)
	o.Database = "postgres" // where the role may not create a schema
	_, err = statepostgres.Open(t.Context(), *o)
	require.ErrorContains(t, err, `does not let user "zeta_scaler" do what it must`)
	s.Exec(t, "postgres", "CREATE DATABASE latin OWNER "+Role+" ENCODING 'SQL_ASCII' TEMPLATE template0 LC_COLLATE 'C' LC_CTYPE 'C'")
	o.Database = "latin"
	_, err = statepostgres.Open(t.Context(), *o)
	require.ErrorContains(t, err, "ENCODING 'UTF8'")
}

func (s *site) readOnly(t *testing.T) {
	o := fresh(s.Address)
	store := open(t, o)
	s.Exec(t, "postgres", "ALTER ROLE "+Role+" SET default_transaction_read_only = on")
	defer s.Exec(t, "postgres", "ALTER ROLE "+Role+" RESET default_transaction_read_only")
	_, err := statepostgres.Open(t.Context(), *o)
	require.ErrorContains(t, err, "cannot be written by this role: ALTER ROLE … SET default_transaction_read_only = off")
	require.NoError(t, store.Check(t.Context()), "its session is older")

	b := s.Standby(t, "reader")
	_, err = statepostgres.Open(t.Context(), *fresh(b.Address))
	require.ErrorContains(t, err, "has no primary: name every host that may become one in state.hosts")
	s.Exec(t, "postgres", "ALTER ROLE "+Role+" RESET default_transaction_read_only")
	require.NoError(t, open(t, fresh(b.Address, s.Address)).Check(t.Context()), "the other host is the primary")
}

// standsStill: who stops in the middle of a batch holds up the others for no
// longer than he would be waited for.
func (s *site) standsStill(t *testing.T) {
	o := fresh(s.Address)
	o.Timeout = time.Second
	store := open(t, o)
	c, err := pgx.Connect(t.Context(), fmt.Sprintf("host=%s port=%d user=postgres dbname=%s", s.Socket, s.port, Role))
	require.NoError(t, err)
	defer c.Close(t.Context()) //nolint:errcheck // the test is over
	_, err = c.Exec(t.Context(), fmt.Sprintf("SET idle_in_transaction_session_timeout = '1s'; BEGIN; UPDATE %s SET version = version",
		pgx.Identifier{o.Schema, "store"}.Sanitize()))
	require.NoError(t, err)
	_, err = store.Apply(t.Context(), state.NoFence, state.Batch{Puts: []state.Put{{Kind: state.Tick, Key: "a", Value: []byte(`1`)}}})
	require.NoError(t, err)

	// One who does not go away, as an operator's psql may.
	other, err := pgx.Connect(t.Context(), fmt.Sprintf("host=%s port=%d user=postgres dbname=%s", s.Socket, s.port, Role))
	require.NoError(t, err)
	defer other.Close(t.Context()) //nolint:errcheck // the test is over
	_, err = other.Exec(t.Context(), fmt.Sprintf("BEGIN; UPDATE %s SET version = version", pgx.Identifier{o.Schema, "store"}.Sanitize()))
	require.NoError(t, err)
	began := time.Now()
	_, err = store.Apply(t.Context(), state.NoFence, state.Batch{Puts: []state.Put{{Kind: state.Tick, Key: "b", Value: []byte(`1`)}}})
	require.Error(t, err)
	require.NotErrorIs(t, err, database.ErrUnknown)
	require.Less(t, time.Since(began), 30*time.Second, "attempts are bounded")
}

// noStandby: a batch that waits for a standby which is not there is not
// acknowledged, whoever ends its waiting.
func (s *site) noStandby(t *testing.T) {
	o := fresh(s.Address)
	store := open(t, o)
	s.Exec(t, "postgres", "ALTER SYSTEM SET synchronous_standby_names = 'nobody'")
	s.Exec(t, "postgres", "SELECT pg_reload_conf()")
	defer func() {
		s.Exec(t, "postgres", "ALTER SYSTEM RESET synchronous_standby_names")
		s.Exec(t, "postgres", "SELECT pg_reload_conf()")
	}()
	waits := "SELECT count(*)::text FROM pg_stat_activity WHERE usename = '" + Role + "' AND wait_event = 'SyncRep'"
	put := func(key string) chan error {
		done := make(chan error, 1)
		go func() {
			_, err := store.Apply(context.WithoutCancel(t.Context()), state.NoFence, state.Batch{Puts: []state.Put{{Kind: state.Tick, Key: key, Value: []byte(`1`)}}})
			done <- err
		}()
		return done
	}
	done := put("cancelled")
	harness.Wait(t, patience, "the batch waits for the standby", func(ctx context.Context) error {
		if n, err := s.Ask(ctx, "postgres", waits); err != nil || n != "1" {
			return fmt.Errorf("%s wait: %w", n, err)
		}
		return nil
	})
	s.Exec(t, "postgres", "SELECT pg_cancel_backend(pid) FROM pg_stat_activity WHERE wait_event = 'SyncRep'")
	err := <-done
	require.ErrorIs(t, err, database.ErrUnknown)
	require.NotErrorIs(t, err, state.ErrConflict)

	err = <-put("waits on")
	require.ErrorIs(t, err, database.ErrUnknown, "it waits no longer than the time-out")
}

// cut: a path that answers nothing costs time-outs, and is used again when it is
// back.
func (s *site) cut(t *testing.T) {
	proxy := harness.NewProxy(t, s.Address)
	o := fresh(proxy.Address)
	o.Timeout = 500 * time.Millisecond
	store := open(t, o)
	put := func(key string) error {
		_, err := store.Apply(t.Context(), state.NoFence, state.Batch{Puts: []state.Put{{Kind: state.Tick, Key: key, Value: []byte(`1`)}}})
		return err
	}
	require.NoError(t, put("a"))
	proxy.Refuse()
	require.ErrorContains(t, put("b"), "database \"zeta_scaler\" at "+proxy.Address)
	proxy.Restore()
	require.NoError(t, put("b"))
	proxy.Stall()
	began := time.Now()
	require.Error(t, put("c"))
	require.Less(t, time.Since(began), 30*time.Second)
	require.Error(t, store.Check(t.Context()))
	proxy.Restore()
	harness.Wait(t, patience, "the store is back", store.Check)
	require.NoError(t, put("d"))
}

// killed: kill −9 of the server in the middle of writing. What was acknowledged
// is there when it is back, and the same store goes on.
func (s *site) killed(t *testing.T) {
	o := fresh(s.Address)
	store := open(t, o)
	total := 0
	for round := range 3 {
		acknowledged, stop := make(chan int, 1), make(chan struct{})
		go func() {
			n := 0
			for {
				select {
				case <-stop:
					acknowledged <- n
					return
				default:
				}
				if _, err := increment(t.Context(), store); err == nil {
					n++
				}
			}
		}()
		harness.Wait(t, patience, "it writes", func(ctx context.Context) error {
			if n, err := count(ctx, store); err != nil || n < (round+1)*20 {
				return fmt.Errorf("%d: %w", n, err)
			}
			return nil
		})
		before, err := count(t.Context(), store)
		require.NoError(t, err)
		s.Kill()
		s.Begin(t)
		harness.Wait(t, patience, "it goes on", func(ctx context.Context) error {
			if n, err := count(ctx, store); err != nil || n <= before {
				return fmt.Errorf("%d: %w", n, err)
			}
			return nil
		})
		close(stop)
		total += <-acknowledged
	}
	n, err := count(t.Context(), store)
	require.NoError(t, err)
	require.GreaterOrEqual(t, n, total, "what was acknowledged is there")
	h, err := store.History(t.Context(), state.Filter{Limit: state.MaxHistoryLimit})
	require.NoError(t, err)
	require.Len(t, h, min(n, state.MaxHistoryLimit), "every batch is whole: a line for each step of the counter")
	for i := 1; i < len(h); i++ {
		require.Greater(t, h[i-1].ID, h[i].ID)
	}
}

// increment raises a counter, and writes a line of history with it.
func increment(ctx context.Context, s state.Store) (int, error) {
	n, version, err := state.Load[int](ctx, s, state.Control, "n")
	if err != nil {
		return 0, err
	}
	p, err := state.NewPut(state.Control, "n", version, n+1)
	if err != nil {
		return 0, err
	}
	_, err = s.Apply(ctx, state.NoFence, state.Batch{
		Puts: []state.Put{p}, History: []state.Entry{{Scope: "n", Kind: state.LimitsEntry, Value: []byte(strconv.Itoa(n + 1))}},
	})
	return n + 1, err
}

func count(ctx context.Context, s state.Store) (int, error) {
	n, _, err := state.Load[int](ctx, s, state.Control, "n")
	return n, err
}

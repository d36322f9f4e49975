//go:build e2e && unix

package postgres

import (
	"context"
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/zeta-scaler/zeta-scaler/e2e/harness"
	"github.com/zeta-scaler/zeta-scaler/leadership"
	leaderpostgres "github.com/zeta-scaler/zeta-scaler/leadership/postgres"
	"github.com/zeta-scaler/zeta-scaler/state"
	statepostgres "github.com/zeta-scaler/zeta-scaler/state/postgres"
)

// short is a lease for tests.
var short = leadership.Timing{LeaseDuration: 6 * time.Second, RenewDeadline: 4 * time.Second, RetryPeriod: 300 * time.Millisecond}

// replica is a candidate in a goroutine, with a store of its own.
type replica struct {
	name  string
	store *statepostgres.Store
	terms chan leadership.Term
	ended chan time.Time
	stop  context.CancelFunc
	done  chan error
}

// compete starts a replica.
func compete(t *testing.T, o *statepostgres.Options, timing leadership.Timing, name string) *replica {
	t.Helper()
	r := &replica{name: name, store: open(t, o), terms: make(chan leadership.Term, 10), ended: make(chan time.Time, 10), done: make(chan error, 1)}
	e, err := (&leaderpostgres.Options{Timing: timing}).Elect(t.Context(), leadership.Env{Store: r.store, Opened: o, Identity: name})
	require.NoError(t, err)
	ctx, cancel := context.WithCancel(t.Context())
	r.stop = cancel
	go func() {
		r.done <- e.Run(ctx, func(ctx context.Context, term leadership.Term) error {
			t.Logf("%s leads under epoch %d", name, term.Epoch)
			r.terms <- term
			<-ctx.Done()
			r.ended <- time.Now()
			return ctx.Err()
		})
	}()
	t.Cleanup(func() {
		cancel()
		require.NoError(t, <-r.done)
		require.NoError(t, e.Release())
	})
	return r
}

// term waits for the replica's next term.
func (r *replica) term(t *testing.T) leadership.Term {
	t.Helper()
	select {
	case term := <-r.terms:
		return term
	case <-time.After(patience):
		require.FailNow(t, r.name+" does not lead")
		return leadership.Term{}
	}
}

// put writes a decision under a fence.
func put(t *testing.T, s state.Store, f state.Fence, key string) error {
	t.Helper()
	_, err := s.Apply(t.Context(), f, state.Batch{Puts: []state.Put{{Kind: state.Decision, Key: key, Value: []byte(`{}`)}}})
	return err
}

func TestLeadership(t *testing.T) {
	s := &site{Start(t, lab)}
	t.Run("takeover", s.takeover)
	t.Run("handover", s.handover)
	t.Run("the server is restarted", s.restarted)
}

// takeover: a leader that is cut off has stopped before the next one begins, and
// writes nothing when it is back.
func (s *site) takeover(t *testing.T) {
	o := fresh(s.Address)
	proxy := harness.NewProxy(t, s.Address)
	behind := *o
	behind.Hosts = []string{proxy.Address}
	one := compete(t, &behind, short, "one")
	old := one.term(t)
	require.NoError(t, old.Leads())
	two := compete(t, o, short, "two")
	require.NoError(t, put(t, one.store, state.Fence(old.Epoch), "a"))

	cut := time.Now()
	proxy.Stall()
	over := <-one.ended
	require.ErrorIs(t, old.Leads(), state.ErrFenced)
	now := two.term(t)
	t.Logf("stopped after %s, replaced after %s", over.Sub(cut).Round(time.Millisecond), time.Since(cut).Round(time.Millisecond))
	require.True(t, over.Before(now.Since), "the old leader stopped before the new one began")
	require.Greater(t, now.Epoch, old.Epoch)

	proxy.Restore()
	harness.Wait(t, patience, "the old leader's store is back", one.store.Check)
	require.ErrorIs(t, put(t, one.store, state.Fence(old.Epoch), "b"), state.ErrFenced)
	require.NoError(t, put(t, two.store, state.Fence(now.Epoch), "b"))
	who, err := state.Leaders(one.store).Get(t.Context(), state.EpochKey)
	require.NoError(t, err)
	require.Equal(t, "two", who.Value.Holder)
	two.stop()
	require.Greater(t, one.term(t).Epoch, now.Epoch)
	require.ErrorIs(t, old.Leads(), state.ErrFenced, "a new term does not revive the old one")
}

// handover: nobody waits for a lease that was given up.
func (s *site) handover(t *testing.T) {
	o := fresh(s.Address)
	long := leadership.Timing{LeaseDuration: time.Hour, RenewDeadline: time.Minute, RetryPeriod: 300 * time.Millisecond}
	one := compete(t, o, long, "one")
	first := one.term(t)
	two := compete(t, o, long, "two")
	asked := time.Now()
	one.stop()
	require.Greater(t, two.term(t).Epoch, first.Epoch)
	t.Logf("handed over in %s", time.Since(asked).Round(time.Millisecond))
}

// restarted: kill −9 of the server, which is back before the leader's time is
// over: it goes on.
func (s *site) restarted(t *testing.T) {
	patient := leadership.Timing{LeaseDuration: 50 * time.Second, RenewDeadline: 40 * time.Second, RetryPeriod: 200 * time.Millisecond}
	o := fresh(s.Address)
	one := compete(t, o, patient, "one")
	term := one.term(t)
	two := compete(t, o, patient, "two")
	renewals := func() (n string) {
		n, err := s.Ask(t.Context(), Role, fmt.Sprintf("SELECT turn || ' ' || holder FROM %q.lease", o.Schema))
		require.NoError(t, err)
		return n
	}
	s.Kill()
	s.Begin(t)
	before := renewals()
	harness.Wait(t, patience, "the lease is renewed", func(context.Context) error {
		if renewals() == before {
			return fmt.Errorf("it is %s", before)
		}
		return nil
	})
	require.NoError(t, term.Leads())
	require.Empty(t, one.ended)
	require.Empty(t, two.terms)
	require.NoError(t, put(t, one.store, state.Fence(term.Epoch), "a"))
}

// Replicas whose paths are cut and stall, on a server that is killed, and then on
// the standby that takes its place: never do two lead at once, and every term
// has a greater epoch.
func TestNeverTwoLeaders(t *testing.T) {
	t.Parallel()
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	r := rand.New(rand.NewPCG(seed, 1))
	primary := Start(t, lab)
	standby := primary.Standby(t, "b")
	hasty := leadership.Timing{LeaseDuration: 2 * time.Second, RenewDeadline: time.Second, RetryPeriod: 100 * time.Millisecond}
	o := fresh(primary.Address, standby.Address)
	o.Timeout = 500 * time.Millisecond
	all := &leaders{}
	var paths []*harness.Proxy
	for i := range 3 {
		a, b := harness.NewProxy(t, primary.Address), harness.NewProxy(t, standby.Address)
		paths = append(paths, a, b)
		mine := *o
		mine.Hosts = []string{a.Address, b.Address}
		all.follow(t, compete(t, &mine, hasty, fmt.Sprint("replica-", i)))
	}
	watch := all.watch(t)
	trouble := func(changes int) {
		for range changes {
			p := paths[r.IntN(len(paths))]
			switch r.IntN(4) {
			case 0:
				p.Stall()
			case 1:
				p.Refuse()
			default:
				p.Restore()
			}
			pause(t, time.Duration(100+r.IntN(500))*time.Millisecond)
		}
		for _, p := range paths {
			p.Restore()
		}
		all.somebodyLeads(t)
	}
	trouble(12)
	primary.Kill()
	pause(t, time.Duration(r.IntN(1500))*time.Millisecond)
	primary.Begin(t)
	all.somebodyLeads(t)
	trouble(6)
	primary.Kill()
	standby.Promote(t)
	all.somebodyLeads(t)
	trouble(12)
	watch()
	t.Logf("%d terms", all.count())
}

// pause waits in real time, which is what leases are made of.
func pause(t *testing.T, d time.Duration) {
	t.Helper()
	select {
	case <-time.After(d):
	case <-t.Context().Done():
	}
}

// leaders are the terms of a test.
type leaders struct {
	mu    sync.Mutex
	terms []leadership.Term
}

// follow takes the terms of a replica.
func (l *leaders) follow(t *testing.T, r *replica) {
	go func() {
		for {
			select {
			case term := <-r.terms:
				l.mu.Lock()
				for _, other := range l.terms {
					if other.Epoch >= term.Epoch {
						t.Errorf("%s leads under epoch %d, after %d", r.name, term.Epoch, other.Epoch)
					}
				}
				l.terms = append(l.terms, term)
				l.mu.Unlock()
			case <-r.ended:
			case <-t.Context().Done():
				return
			}
		}
	}()
}

func (l *leaders) now() (n int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, term := range l.terms {
		if term.Leads() == nil {
			n++
		}
	}
	return n
}

func (l *leaders) count() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return len(l.terms)
}

func (l *leaders) somebodyLeads(t *testing.T) {
	t.Helper()
	harness.Wait(t, patience, "somebody leads", func(context.Context) error {
		if l.now() == 0 {
			return fmt.Errorf("nobody does")
		}
		return nil
	})
}

// watch looks all the time, until it is told to stop.
func (l *leaders) watch(t *testing.T) (stop func()) {
	quit, done := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(done)
		ticker := time.NewTicker(5 * time.Millisecond)
		defer ticker.Stop()
		for {
			select {
			case <-quit:
				return
			case <-ticker.C:
				if n := l.now(); n > 1 {
					t.Errorf("%d lead at once", n)
					return
				}
			}
		}
	}()
	return func() {
		close(quit)
		<-done
	}
}

// TestFailover: with a synchronous standby nothing that was acknowledged is lost;
// with an asynchronous one something may be, but no version comes again.
func TestFailover(t *testing.T) {
	for _, synchronous := range []bool{true, false} {
		t.Run(fmt.Sprint("synchronous ", synchronous), func(t *testing.T) {
			t.Parallel()
			primary := Start(t, lab)
			standby := primary.Standby(t, "b")
			if synchronous {
				primary.Exec(t, "postgres", "ALTER SYSTEM SET synchronous_standby_names = 'b'")
				primary.Exec(t, "postgres", "SELECT pg_reload_conf()")
				harness.Wait(t, patience, "the standby is synchronous", func(ctx context.Context) error {
					if s, err := primary.Ask(ctx, "postgres", "SELECT coalesce(max(sync_state), 'none') FROM pg_stat_replication"); err != nil || s != "sync" {
						return fmt.Errorf("it is %s: %w", s, err)
					}
					return nil
				})
			}
			o := fresh(primary.Address, standby.Address)
			o.Timeout = time.Second
			one := compete(t, o, short, "one")
			first := one.term(t)
			store := open(t, o)
			if !synchronous {
				// The standby follows no longer: what is written from now on is lost.
				standby.Exec(t, "postgres", "ALTER SYSTEM SET primary_conninfo = ''")
				standby.Exec(t, "postgres", "SELECT pg_reload_conf()")
				harness.Wait(t, patience, "the standby has stopped to follow", func(ctx context.Context) error {
					if n, err := primary.Ask(ctx, "postgres", "SELECT count(*)::text FROM pg_stat_replication"); err != nil || n != "0" {
						return fmt.Errorf("%s follow: %w", n, err)
					}
					return nil
				})
			}
			turn := func() string {
				n, err := primary.Ask(t.Context(), Role, fmt.Sprintf("SELECT turn::text FROM %q.lease", o.Schema))
				require.NoError(t, err)
				return n
			}
			acknowledged, last := 0, uint64(0)
			for before := turn(); acknowledged < 200 || turn() == before; acknowledged++ {
				_, err := increment(t.Context(), store)
				require.NoError(t, err)
				r, err := store.Get(t.Context(), state.Control, "n")
				require.NoError(t, err)
				last = r.Version
			}
			primary.Kill()
			standby.Promote(t)
			harness.Wait(t, patience, "the store is back", store.Check)
			n, err := count(t.Context(), store)
			require.NoError(t, err)
			t.Logf("%d of %d are there", n, acknowledged)
			if synchronous {
				require.Equal(t, acknowledged, n)
			} else {
				require.Less(t, n, acknowledged, "or the test has lost nothing")
			}
			_, err = increment(t.Context(), store)
			require.NoError(t, err)
			r, err := store.Get(t.Context(), state.Control, "n")
			require.NoError(t, err)
			require.Greater(t, r.Version, last, "no version comes again")

			two := compete(t, o, short, "two")
			if synchronous && first.Leads() == nil {
				// None of its renewals is lost: it goes on, unless the failover took long.
				harness.Wait(t, patience, "the leader goes on", func(context.Context) error {
					if n, err := standby.Ask(t.Context(), Role, fmt.Sprintf("SELECT (server = pg_postmaster_start_time())::text FROM %q.lease", o.Schema)); err != nil || n != "true" {
						return fmt.Errorf("it has not renewed: %w", err)
					}
					return nil
				})
				return
			}
			<-one.ended
			var next leadership.Term
			select {
			case next = <-one.terms:
			case next = <-two.terms:
			case <-time.After(patience):
				require.FailNow(t, "nobody leads after the failover")
			}
			require.Greater(t, next.Epoch, first.Epoch)
			require.ErrorIs(t, first.Leads(), state.ErrFenced)
		})
	}
}

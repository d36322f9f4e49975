package source_test

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/stretchr/testify/require"
	"golang.org/x/sync/errgroup"

	"github.com/zeta-scaler/zeta-scaler/source"
)

// lever is a replica whose behaviour the test switches.
type lever struct {
	value    string
	mode     atomic.Pointer[http.HandlerFunc]
	requests atomic.Int64
}

func newLever(value string) *lever {
	l := &lever{value: value}
	l.up()
	return l
}

func (l *lever) set(h http.HandlerFunc) { l.mode.Store(&h) }
func (l *lever) up()                    { l.set(canned(200, "application/json", vectorOf(l.value))) }
func (l *lever) down()                  { l.set(canned(503, "text/plain", "Service Unavailable")) }

func (l *lever) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	l.requests.Add(1)
	(*l.mode.Load())(w, r)
}

// pair is a source over levers, with what it logs and counts.
type pair struct {
	*source.Remote
	levers []*lever
	urls   []string
	logs   *syncBuffer
	reg    *prometheus.Registry
}

func newPair(t *testing.T, timeout time.Duration, values ...string) *pair {
	t.Helper()
	p := &pair{logs: &syncBuffer{}, reg: prometheus.NewRegistry()}
	for _, v := range values {
		l := newLever(v)
		p.levers = append(p.levers, l)
		p.urls = append(p.urls, serve(t, l))
	}
	p.Remote = newRemote(t, source.RemoteOptions{
		URLs: p.urls, Timeout: timeout, Registerer: p.reg, Logger: slog.New(slog.NewTextHandler(p.logs, nil)),
	})
	return p
}

// ask returns the value, which names the replica that answered.
func (p *pair) ask(t *testing.T, expr string) float64 {
	t.Helper()
	v, err := p.Instant(t.Context(), expr, at(0))
	require.NoError(t, err)
	return v.Samples[0].Value
}

func (p *pair) pinned(t *testing.T, url string) float64 {
	t.Helper()
	return counter(t, p.reg, "zeta_scaler_prometheus_replica", url)
}

// syncBuffer is a log that several goroutines write.
type syncBuffer struct {
	mu sync.Mutex
	b  strings.Builder
}

func (s *syncBuffer) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.b.Write(p)
}

// lines returns what was logged since the last call.
func (s *syncBuffer) lines() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	text := strings.TrimSpace(s.b.String())
	s.b.Reset()
	if text == "" {
		return nil
	}
	return strings.Split(text, "\n")
}

// Instants that are answered while ranges are not, as at a restore that fails
// at every tick: one state, and not a change of it with every query.
func TestRangesThatFailBesideInstantsAreLoggedOnce(t *testing.T) {
	p := newPair(t, 5*time.Second, "1")
	broken := atomic.Bool{}
	broken.Store(true)
	p.levers[0].set(func(w http.ResponseWriter, r *http.Request) {
		switch {
		case !strings.HasSuffix(r.URL.Path, "/query_range"):
			canned(200, "application/json", vectorOf("1"))(w, r)
		case broken.Load():
			canned(500, "text/plain", "boom")(w, r)
		default:
			canned(200, "application/json", `{"status":"success","data":{"resultType":"matrix","result":[]}}`)(w, r)
		}
	})
	window := source.Window{Start: at(0), End: at(60), Step: 30 * time.Second}
	for range 5 {
		require.InDelta(t, 1, p.ask(t, "up"), 0)
		_, err := p.Range(t.Context(), "up", window)
		require.ErrorIs(t, err, source.ErrNoAnswer)
	}
	lines := p.logs.lines()
	require.Len(t, lines, 1, "%v", lines)
	require.Contains(t, lines[0], `msg="prometheus gives no answer"`)

	broken.Store(false)
	_, err := p.Range(t.Context(), "up", window)
	require.NoError(t, err)
	lines = p.logs.lines()
	require.Len(t, lines, 1, "%v", lines)
	require.Contains(t, lines[0], `msg="prometheus answers again"`)
}

func TestReplicaIsKeptUntilItFails(t *testing.T) {
	p := newPair(t, 5*time.Second, "1", "2")
	for range 5 {
		require.InDelta(t, 1, p.ask(t, "up"), 0)
	}
	require.Zero(t, p.levers[1].requests.Load(), "nobody asks the second")
	require.InDelta(t, 1, p.pinned(t, p.urls[0]), 0)
	require.InDelta(t, 0, p.pinned(t, p.urls[1]), 0)
	require.Equal(t, p.urls[0], p.Pinned())

	p.levers[0].down()
	require.InDelta(t, 2, p.ask(t, "up"), 0, "within the same call")
	p.levers[0].up()
	failed := p.levers[0].requests.Load()
	for range 5 {
		require.InDelta(t, 2, p.ask(t, "up"), 0, "it does not go back by itself")
	}
	require.Equal(t, failed, p.levers[0].requests.Load())
	require.InDelta(t, 1, p.pinned(t, p.urls[1]), 0)
	require.InDelta(t, 0, p.pinned(t, p.urls[0]), 0)
	require.InDelta(t, 1, counter(t, p.reg, "zeta_scaler_prometheus_failovers_total"), 0)

	p.levers[1].down()
	require.InDelta(t, 1, p.ask(t, "up"), 0, "round the ring")
}

func TestAnAnsweredErrorKeepsTheReplica(t *testing.T) {
	p := newPair(t, 5*time.Second, "1", "2")
	p.levers[0].set(canned(400, "application/json", `{"status":"error","errorType":"bad_data","error":"no"}`))
	_, err := p.Instant(t.Context(), "sum(", at(0))
	require.EqualError(t, err, "bad_data: no")
	require.Zero(t, p.levers[1].requests.Load())
	require.Empty(t, p.logs.lines())
}

func TestHangingReplicaLeavesTimeForTheNext(t *testing.T) {
	p := newPair(t, time.Second, "1", "2", "3")
	p.levers[0].set(hang)
	p.levers[1].down()
	require.InDelta(t, 3, p.ask(t, "up"), 0)
	require.Equal(t, p.urls[2], p.Pinned())
}

func TestNoReplicaAnswers(t *testing.T) {
	p := newPair(t, 5*time.Second, "1", "2")
	p.levers[0].down()
	p.levers[1].set(canned(401, "text/plain", ""))
	for range 3 {
		_, err := p.Instant(t.Context(), "up", at(0))
		require.ErrorIs(t, err, source.ErrNoAnswer)
		require.ErrorContains(t, err, "none of 2 replicas answers: ")
		require.ErrorContains(t, err, p.urls[0]+": ")
		require.ErrorContains(t, err, p.urls[1]+": ")
		require.NotContains(t, err.Error(), "\n")
	}
	require.Equal(t, p.urls[0], p.Pinned(), "the pin moves only to one that answers")
	require.Len(t, p.logs.lines(), 2, "one line for each replica")
}

func TestAllQueriesMoveTogether(t *testing.T) {
	const queries = 40
	p := newPair(t, 10*time.Second, "1", "2", "3")
	// All queries are in flight at the first replica before it fails them.
	var arrived sync.WaitGroup
	arrived.Add(queries)
	p.levers[0].set(func(w http.ResponseWriter, r *http.Request) {
		arrived.Done()
		arrived.Wait()
		w.WriteHeader(http.StatusBadGateway)
	})
	// The second fails the first query that looks for a replica, and would
	// answer all others: they must not be split between second and third.
	var asked atomic.Int64
	p.levers[1].set(func(w http.ResponseWriter, r *http.Request) {
		if asked.Add(1) == 1 {
			w.WriteHeader(http.StatusBadGateway)
			return
		}
		canned(200, "application/json", vectorOf("2"))(w, r)
	})
	var g errgroup.Group
	for range queries {
		g.Go(func() error {
			v, err := p.Instant(context.WithoutCancel(t.Context()), "up", at(0))
			if err == nil && v.Samples[0].Value != 3 {
				err = errors.New("answered by another replica than the rest")
			}
			return err
		})
	}
	require.NoError(t, g.Wait())
	require.Equal(t, int64(1), asked.Load())
	require.InDelta(t, 1, counter(t, p.reg, "zeta_scaler_prometheus_failovers_total"), 0)
}

func TestWaitingQueriesShareAFailedSearch(t *testing.T) {
	const queries = 20
	p := newPair(t, 10*time.Second, "1", "2")
	var arrived, failed sync.WaitGroup
	arrived.Add(queries)
	failed.Add(queries)
	p.levers[0].set(func(w http.ResponseWriter, _ *http.Request) {
		defer failed.Done()
		arrived.Done()
		arrived.Wait()
		w.WriteHeader(http.StatusBadGateway)
	})
	// The first search goes on until the others have something to wait for.
	p.levers[1].set(func(w http.ResponseWriter, _ *http.Request) {
		failed.Wait()
		w.WriteHeader(http.StatusBadGateway)
	})
	var g errgroup.Group
	for range queries {
		g.Go(func() error {
			_, err := p.Instant(context.WithoutCancel(t.Context()), "up", at(0))
			if !errors.Is(err, source.ErrNoAnswer) {
				return errors.New("expected no answer")
			}
			return nil
		})
	}
	require.NoError(t, g.Wait())
	require.Less(t, p.levers[1].requests.Load(), int64(queries), "not every query searches by itself")
}

func TestOneLinePerChangeOfState(t *testing.T) {
	p := newPair(t, 5*time.Second, "1")
	p.ask(t, "a")
	require.Empty(t, p.logs.lines())

	p.levers[0].down()
	for range 5 {
		for _, expr := range []string{"a", "b"} {
			_, err := p.Instant(t.Context(), expr, at(0))
			require.ErrorIs(t, err, source.ErrNoAnswer)
		}
	}
	lines := p.logs.lines()
	require.Len(t, lines, 1)
	require.Contains(t, lines[0], `level=WARN msg="prometheus gives no answer" url=`+p.urls[0]+` reason=unavailable err=`)

	p.levers[0].up()
	p.ask(t, "a")
	require.Empty(t, p.logs.lines(), "b still fails as far as anyone knows")
	p.ask(t, "b")
	lines = p.logs.lines()
	require.Len(t, lines, 1)
	require.Contains(t, lines[0], `level=INFO msg="prometheus answers again"`)

	// One query that never gets through beside one that does is one state.
	p.levers[0].set(func(w http.ResponseWriter, r *http.Request) {
		if r.FormValue("query") == "heavy" {
			canned(503, "application/json", `{"status":"error","errorType":"timeout","error":"too slow"}`)(w, r)
			return
		}
		canned(200, "application/json", vectorOf("1"))(w, r)
	})
	for range 5 {
		_, err := p.Instant(t.Context(), "heavy", at(0))
		require.ErrorIs(t, err, source.ErrNoAnswer)
		p.ask(t, "a")
	}
	require.Len(t, p.logs.lines(), 1)
}

func TestReloadHandsTheReplicaMetricOver(t *testing.T) {
	reg := prometheus.NewRegistry()
	first, second := newLever("1"), newLever("2")
	a, b := serve(t, first), serve(t, second)
	old := newRemote(t, source.RemoteOptions{URLs: []string{a}, Registerer: reg})
	_, err := old.Instant(t.Context(), "up", at(0))
	require.NoError(t, err)

	next := newRemote(t, source.RemoteOptions{URLs: []string{b}, Registerer: reg})
	require.InDelta(t, 1, counter(t, reg, "zeta_scaler_prometheus_replica", a), 0, "built, not yet used")
	_, err = next.Instant(t.Context(), "up", at(0))
	require.NoError(t, err)
	require.InDelta(t, 1, counter(t, reg, "zeta_scaler_prometheus_replica", b), 0)
	count := 0
	families, err := reg.Gather()
	require.NoError(t, err)
	for _, f := range families {
		if f.GetName() == "zeta_scaler_prometheus_replica" {
			count = len(f.GetMetric())
		}
	}
	require.Equal(t, 1, count, "the old address is gone")
}

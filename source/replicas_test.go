package source_test

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/common/config"
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

func TestCredentialsInURLsAreUsedAndNeverShown(t *testing.T) {
	var user, password, token string
	base := serve(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		user, password, _ = r.BasicAuth()
		token = r.URL.Query().Get("token")
		canned(503, "text/plain", "")(w, r)
	}))
	u, err := url.Parse(base)
	require.NoError(t, err)
	u.User = url.UserPassword("alice", "hunter2")
	u.RawQuery = "token=s3cret"
	reg, logs := prometheus.NewRegistry(), &syncBuffer{}
	remote := newRemote(t, source.RemoteOptions{URLs: []string{u.String()}, Registerer: reg, Logger: slog.New(slog.NewTextHandler(logs, nil))})
	_, err = remote.Instant(t.Context(), "up", at(0))
	require.ErrorIs(t, err, source.ErrNoAnswer)
	require.Equal(t, []string{"alice", "hunter2", "s3cret"}, []string{user, password, token})

	require.InDelta(t, 1, counter(t, reg, "zeta_scaler_prometheus_replica", base), 0, "exported without credentials")
	shown := strings.Join(append(logs.lines(), err.Error(), remote.Pinned()), "\n")
	for _, secret := range []string{"alice", "hunter2", "s3cret"} {
		require.NotContains(t, shown, secret)
	}
}

// A redirect to another server, be it another port of the same host, is followed
// by nobody who has a credential: it would go along.
func TestCredentialsStayWithTheServer(t *testing.T) {
	var asked atomic.Int64
	elsewhere := serve(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked.Add(1)
		canned(200, "application/json", vectorOf("1"))(w, r)
	}))
	var target string
	base := serve(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, target+r.URL.Path+"?token=hunter3", http.StatusPermanentRedirect)
	}))
	httpConfig := func(change func(*config.HTTPClientConfig)) source.RemoteOptions {
		c := config.DefaultHTTPClientConfig
		change(&c)
		return source.RemoteOptions{HTTPClientConfig: &c}
	}
	for name, o := range map[string]source.RemoteOptions{
		"nothing": {},
		"in url":  {URLs: []string{strings.Replace(base, "http://", "http://ann:hunter2@", 1)}},
		"headers": {Headers: map[string]string{"X-Api-Key": "hunter2"}},
		"password": httpConfig(func(c *config.HTTPClientConfig) {
			c.BasicAuth = &config.BasicAuth{Username: "ann", Password: "hunter2"}
		}),
		"token": httpConfig(func(c *config.HTTPClientConfig) {
			c.Authorization = &config.Authorization{Type: "Bearer", Credentials: "hunter2"}
		}),
		"http_headers": httpConfig(func(c *config.HTTPClientConfig) {
			c.HTTPHeaders = &config.Headers{Headers: map[string]config.Header{"X-Api-Key": {Secrets: []config.Secret{"hunter2"}}}}
		}),
	} {
		for _, host := range []string{"127.0.0.1", "localhost"} {
			t.Run(name+" to "+host, func(t *testing.T) {
				asked.Store(0)
				target = strings.Replace(elsewhere, "127.0.0.1", host, 1)
				if o.URLs == nil {
					o.URLs = []string{base}
				}
				_, err := newRemote(t, o).Instant(t.Context(), "up", at(0))
				if name == "nothing" {
					require.NoError(t, err)
					return
				}
				require.Zero(t, asked.Load())
				require.ErrorIs(t, err, source.ErrNoAnswer)
				require.ErrorContains(t, err, "redirected to another server, "+target)
				require.NotContains(t, err.Error(), "hunter")
			})
		}
	}
}

// A server that tells an error by showing the request must not bring our
// credentials into the log or before everybody's eyes.
func TestEchoedCredentialsAreTakenOut(t *testing.T) {
	c := config.DefaultHTTPClientConfig
	c.BasicAuth = &config.BasicAuth{Username: "ann", Password: "hunter2"}
	echoed := func(r *http.Request) string {
		_, password, _ := r.BasicAuth()
		return password + " " + r.Header.Get("Authorization") + " " + r.Header.Get("X-Api-Key")
	}
	for name, answer := range map[string]http.HandlerFunc{
		"status": func(w http.ResponseWriter, r *http.Request) {
			canned(500, "application/json", fmt.Sprintf(`{"status":"error","errorType":"internal","error":%q}`, echoed(r)))(w, r)
		},
		"refused": func(w http.ResponseWriter, r *http.Request) {
			canned(400, "application/json", fmt.Sprintf(`{"status":"error","errorType":%q,"error":%q}`, echoed(r), echoed(r)))(w, r)
		},
		"content type": func(w http.ResponseWriter, r *http.Request) { canned(200, echoed(r), "")(w, r) },
		"unknown status": func(w http.ResponseWriter, r *http.Request) {
			canned(200, "application/json", fmt.Sprintf(`{"status":%q,"data":null}`, echoed(r)))(w, r)
		},
		"unknown type": func(w http.ResponseWriter, r *http.Request) {
			canned(200, "application/json", fmt.Sprintf(`{"status":"success","data":{"resultType":%q,"result":[]}}`, echoed(r)))(w, r)
		},
		"redirect": func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, "http://localhost:1/"+url.PathEscape(echoed(r)), http.StatusPermanentRedirect)
		},
		"no HTTP": func(w http.ResponseWriter, r *http.Request) {
			conn, _, err := w.(http.Hijacker).Hijack()
			if err == nil {
				_, _ = io.WriteString(conn, "HTTP/1.1 "+echoed(r)+"\r\n\r\n")
				_ = conn.Close()
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			logs := &syncBuffer{}
			remote := newRemote(t, source.RemoteOptions{
				URLs: []string{serve(t, answer)}, HTTPClientConfig: &c, Headers: map[string]string{"X-Api-Key": "hunter3"}, Logger: slog.New(slog.NewTextHandler(logs, nil)),
			})
			_, err := remote.Instant(t.Context(), "up", at(0))
			require.Error(t, err)
			shown := strings.Join(append(logs.lines(), err.Error()), "\n")
			for _, secret := range []string{"hunter2", "hunter3", base64.StdEncoding.EncodeToString([]byte("ann:hunter2"))} {
				require.NotContains(t, shown, secret)
			}
			require.Contains(t, shown, "secret")
		})
	}
	remote := newRemote(t, source.RemoteOptions{HTTPClientConfig: &c, URLs: []string{serve(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		canned(200, "application/json", fmt.Sprintf(`{"status":"success","data":{"resultType":"vector","result":[]},"warnings":[%q]}`, echoed(r)))(w, r)
	}))}})
	v, err := remote.Instant(t.Context(), "up", at(0))
	require.NoError(t, err)
	require.Equal(t, []string{"<secret> <secret> "}, v.Warnings)
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

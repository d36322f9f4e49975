package api

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/zeta-scaler/zeta-scaler/evaluator"
	"github.com/zeta-scaler/zeta-scaler/scaling"
	"github.com/zeta-scaler/zeta-scaler/state"
	"github.com/zeta-scaler/zeta-scaler/web/handler"
	"github.com/zeta-scaler/zeta-scaler/web/outgoing"
)

// roles are two replicas on one store: the one leads, the other does not.
type roles struct {
	leader, follower Options
	record           state.LeaderRecord
	// wire is what the follower asks the leader over; nil is the network.
	wire http.RoundTripper
}

func newRoles(t *testing.T) *roles {
	t.Helper()
	r := &roles{leader: options(t), record: state.LeaderRecord{Epoch: 7, Holder: "pod-1/7/A", Since: tick.Add(-time.Hour)}}
	r.follower = options(t)
	r.follower.Store, r.follower.History = r.leader.Store, r.leader.Store
	r.follower.Board, r.follower.Health = evaluator.NewBoard(0), nil
	r.leader.Now, r.follower.Now = time.Now, time.Now
	return r
}

// tell stores who leads, at an address.
func (r *roles) tell(t *testing.T, url string) {
	t.Helper()
	r.record.URL = url
	w := state.NewWrite(r.leader.Store, state.NoFence)
	require.NoError(t, state.Leaders(r.leader.Store).Put(w, state.EpochKey, r.record))
	require.NoError(t, w.Commit(t.Context()))
}

// following is the follower's handler.
func (r *roles) following(t *testing.T) http.Handler {
	t.Helper()
	wire := r.wire
	if wire == nil {
		wire = &http.Transport{}
	}
	client, err := outgoing.New(outgoing.Options{Transport: wire, Key: "web.advertise_url", HTTPKey: "web.leader"})
	require.NoError(t, err)
	r.follower.Forward = &Forward{Self: "pod-2/7/B", Client: client}
	return newHandler(t, r.follower)
}

// wired takes requests to a handler without a network.
type wired struct{ http.Handler }

func (w wired) RoundTrip(req *http.Request) (*http.Response, error) {
	rec := httptest.NewRecorder()
	w.ServeHTTP(rec, req)
	return rec.Result(), nil
}

func TestAFollowersReadsGoToTheLeader(t *testing.T) {
	r := newRoles(t)
	srv := httptest.NewServer(newHandler(t, r.leader))
	defer srv.Close()
	r.tell(t, srv.URL)
	h := r.following(t)

	status := decoded[Status](t, call(h, "GET", "/autoscaler/status"))
	require.Len(t, status.Scopes, 3)
	require.False(t, status.Leader, "the replica that was asked does not")
	require.Equal(t, "pod-1/7/A", status.LeaderName)
	require.Empty(t, status.LeaderError)
	require.Equal(t, healthy().Sources[0].URL, status.Sources[0].URL, "what the leader asks")

	page := call(h, "GET", "/?scope=prod")
	require.Equal(t, http.StatusOK, page.Code)
	require.Contains(t, page.Body.String(), "This replica does not lead; pod-1/7/A decides.")
	require.Contains(t, page.Body.String(), "oldest blocked job 412 s")
	require.Equal(t, []string{pagePolicy}, page.Header().Values("Content-Security-Policy"), "once, and the leader's")
	require.Equal(t, []string{"nosniff"}, page.Header().Values("X-Content-Type-Options"))
	require.Empty(t, page.Header().Get(epochHeader))

	require.Equal(t, scaling.RowShortage, decoded[Explanation](t, call(h, "GET", "/autoscaler/explain?scope=prod")).Recommendation.Row)
	require.Len(t, decoded[MetricsSnapshot](t, call(h, "GET", "/autoscaler/metrics")).Scopes, 3)
	require.Len(t, decoded[DecisionTable](t, call(h, "GET", "/autoscaler/decision-table")).Scopes, 3)
	require.Contains(t, call(h, "GET", "/rules").Body.String(), "zeta-auto")

	// What the leader refuses is refused in its words.
	require.Equal(t, http.StatusNotFound, call(h, "GET", "/autoscaler/status?scope=none").Code)
	bad := call(h, "GET", "/autoscaler/status?a=b;c")
	require.Equal(t, http.StatusBadRequest, bad.Code)
	require.Contains(t, bad.Body.String(), "the query cannot be read")
	require.Empty(t, call(h, "HEAD", "/autoscaler/status").Body.String())
}

// What concerns the replica itself, what the store has, and what changes
// something is never passed on.
func TestWhatAFollowerAnswersItself(t *testing.T) {
	r := newRoles(t)
	var asked atomic.Int64
	r.wire = wired{http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		asked.Add(1)
		w.Header().Set(epochHeader, "7")
	})}
	r.tell(t, "http://leader:9880")
	h := r.following(t)
	for _, route := range queryRoutes() {
		before := asked.Load()
		target := route.Path
		if route.required != "" {
			target += "?" + route.required + "=prod"
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		serve(h, httptest.NewRequestWithContext(ctx, route.Method, target, http.NoBody))
		cancel()
		require.Equal(t, route.ofLeader, asked.Load() > before, "%s %s", route.Method, route.Path) // a notification has a body
	}
	for _, path := range []string{"/metrics", "/-/healthy", "/-/ready", "/openapi.yaml", "/runbook", "/history", "/autoscaler/history", "/autoscaler/config"} {
		require.Equal(t, http.StatusOK, call(h, "GET", path).Code, path)
	}
	require.EqualValues(t, 8, asked.Load())

	// A file of a page is asked of the leader only if it is of another version.
	own, err := newPage()
	require.NoError(t, err)
	link, err := own.link("page.css")
	require.NoError(t, err)
	require.Equal(t, http.StatusOK, call(h, "GET", "/"+link).Code)
	require.EqualValues(t, 8, asked.Load())
	call(h, "GET", "/static/page.css?v=0123456789abcdef")
	require.EqualValues(t, 9, asked.Load())
}

// Alertmanager's notification is taken by the leader, whichever replica gets it;
// if it is not, Alertmanager tries again.
func TestNotificationsGoToTheLeader(t *testing.T) {
	r := newRoles(t)
	var got string
	r.leader.Webhook = http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		body, _ := io.ReadAll(req.Body)
		got = req.Header.Get("Content-Type") + " " + req.Header.Get("Authorization") + " " + string(body)
		_, _ = io.WriteString(w, `{"results":[],"truncatedAlerts":0}`)
	})
	front := httptest.NewServer(newHandler(t, r.leader))
	defer front.Close()
	r.follower.Webhook = http.NotFoundHandler() // it would have to say that it does not lead
	r.tell(t, front.URL)
	h := r.following(t)
	notify := func(body io.Reader) *httptest.ResponseRecorder {
		req := httptest.NewRequest("POST", WebhookPath, body)
		req.Header.Set("Content-Type", "application/json")
		req.Header.Set("Authorization", "Bearer of-alertmanager")
		return serve(h, req)
	}
	rec := notify(strings.NewReader(`{"alerts":[]}`))
	require.Equal(t, http.StatusOK, rec.Code, rec.Body)
	require.Equal(t, `application/json Bearer of-alertmanager {"alerts":[]}`, got)
	require.Equal(t, http.StatusNotFound, notify(strings.NewReader(strings.Repeat(" ", maxNotification+1))).Code, "too large: this replica says so")

	front.Close()
	rec = notify(strings.NewReader(`{"alerts":[]}`))
	require.Equal(t, http.StatusServiceUnavailable, rec.Code, "to try again")
	require.Contains(t, rec.Body.String(), "gives no answer")
}

// The leader gets who asks, the caller's credential, and nothing that it does not
// need.
func TestWhatTheLeaderGets(t *testing.T) {
	r := newRoles(t)
	var got http.Header
	var host, query string
	r.wire = wired{http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		req.Header.Del("User-Agent") // our own
		got, host, query = req.Header.Clone(), req.Host, req.URL.String()
		w.Header().Set(epochHeader, "7")
	})}
	r.tell(t, "http://leader:9880/zeta")
	req := httptest.NewRequest("GET", "http://follower:9880/autoscaler/status?scope=a%2Fb", strings.NewReader("a body"))
	for name, value := range map[string]string{
		"Authorization": "Bearer of-the-caller", "Accept": "application/json", "Cookie": "session=1", "X-Forwarded-For": "6.6.6.6",
		"X-Real-Ip": "6.6.6.6", "Connection": "Upgrade", "Upgrade": "websocket", "Proxy-Authorization": "Basic x",
	} {
		req.Header.Set(name, value)
	}
	require.Equal(t, http.StatusOK, serve(r.following(t), req).Code)
	require.Equal(t, http.Header{
		"Authorization": {"Bearer of-the-caller"}, "Accept": {"application/json"}, "X-Zeta-Scaler-Forwarded-By": {"pod-2/7/B"},
		"X-Forwarded-For": {"192.0.2.1"}, "X-Forwarded-Host": {"follower:9880"}, "X-Forwarded-Proto": {"http"},
	}, got)
	require.Empty(t, host, "that of the URL, which is the leader's")
	require.Equal(t, "http://leader:9880/zeta/autoscaler/status?scope=a%2Fb", query)
}

// Who cannot be asked: the page and the status say why, and what is this
// replica's own is still there; everything else is an error that says it.
func TestLeaderThatCannotBeAsked(t *testing.T) {
	closed := httptest.NewServer(http.NotFoundHandler())
	closed.Close()
	answers := func(status int, header ...string) http.HandlerFunc {
		return func(w http.ResponseWriter, _ *http.Request) {
			for i := 0; i < len(header); i += 2 {
				w.Header().Set(header[i], header[i+1])
			}
			w.WriteHeader(status)
			_, _ = io.WriteString(w, "<script>of a stranger</script>")
		}
	}
	for name, tt := range map[string]struct {
		record  state.LeaderRecord
		url     string
		handler http.Handler
		want    []string
	}{
		"nobody yet":          {state.LeaderRecord{}, "", nil, []string{"nobody has yet"}},
		"this very one":       {state.LeaderRecord{Epoch: 7, Holder: "pod-2/7/B", Since: tick}, "http://me", nil, []string{"This replica led from 2026-03-14T09:26:30Z"}},
		"no address":          {state.LeaderRecord{Epoch: 7, Holder: "pod-1", Since: tick}, "", nil, []string{"the leader pod-1 (since 2026-03-14T09:26:30Z) has not told where", "web.advertise_url"}},
		"no URL":              {state.LeaderRecord{Epoch: 7, Holder: "pod-1"}, "gopher://x", nil, []string{"tells as its address is none"}},
		"a password":          {state.LeaderRecord{Epoch: 7, Holder: "pod-1"}, "http://a:hunter2@x", nil, []string{"tells as its address is none"}},
		"a query":             {state.LeaderRecord{Epoch: 7, Holder: "pod-1"}, "http://x?a=b", nil, []string{"tells as its address is none"}},
		"gone":                {state.LeaderRecord{Epoch: 7, Holder: "pod-1", Since: tick}, closed.URL, nil, []string{"the leader pod-1 (since 2026-03-14T09:26:30Z), at " + closed.URL + ", gives no answer since", "connection refused", "another replica leads soon"}},
		"leads no longer":     {state.LeaderRecord{Epoch: 7, Holder: "pod-1"}, "http://x", answers(503), []string{"503 Service Unavailable, which is no answer of a leader"}},
		"somebody else":       {state.LeaderRecord{Epoch: 7, Holder: "pod-1"}, "http://x", answers(200), []string{"200 OK, which is no answer of a leader"}},
		"leads elsewhere":     {state.LeaderRecord{Epoch: 7, Holder: "pod-1"}, "http://x", answers(302, "Location", "http://y"), []string{"redirected to another server, http://y"}},
		"other credentials":   {state.LeaderRecord{Epoch: 7, Holder: "pod-1"}, "http://x", answers(401), []string{"401 Unauthorized: it has other users or tokens"}},
		"an earlier leader":   {state.LeaderRecord{Epoch: 7, Holder: "pod-1"}, "http://x", answers(200, epochHeader, "6"), []string{"an earlier leader answered"}},
		"a hostile epoch":     {state.LeaderRecord{Epoch: 7, Holder: "pod-1"}, "http://x", answers(200, epochHeader, "-1"), []string{"no answer of a leader"}},
		"a name to break out": {state.LeaderRecord{Epoch: 7, Holder: hostile}, "http://x", answers(200), []string{"no answer of a leader"}},
	} {
		t.Run(name, func(t *testing.T) {
			r := newRoles(t)
			r.record = tt.record
			if tt.handler != nil {
				r.wire = wired{tt.handler}
			}
			r.tell(t, tt.url)
			h := r.following(t)

			rec := call(h, "GET", "/autoscaler/status")
			require.Equal(t, http.StatusOK, rec.Code)
			require.NotContains(t, rec.Body.String(), "stranger")
			require.NotContains(t, rec.Body.String(), "hunter2")
			status := decoded[Status](t, rec)
			require.Equal(t, tt.record.Holder, status.LeaderName)
			require.Empty(t, status.Scopes)
			for _, want := range tt.want {
				require.Contains(t, status.LeaderError, want)
			}
			for _, path := range []string{"/autoscaler/status?scope=prod", "/autoscaler/metrics", "/autoscaler/decision-table", "/autoscaler/explain?scope=prod", "/autoscaler/events"} {
				rec := call(h, "GET", path)
				require.Equal(t, http.StatusServiceUnavailable, rec.Code, path)
				require.Equal(t, handler.ProblemType, rec.Header().Get("Content-Type"), path)
				var p Problem
				require.NoError(t, json.Unmarshal(rec.Body.Bytes(), &p), path)
				require.Equal(t, status.LeaderError, p.Detail, path)
			}
			list := call(h, "GET", "/")
			require.Equal(t, http.StatusOK, list.Code)
			require.Equal(t, 1, strings.Count(list.Body.String(), `class="trouble"`))
			scope := call(h, "GET", "/?scope=prod")
			require.Equal(t, http.StatusServiceUnavailable, scope.Code)
			require.Contains(t, scope.Body.String(), `class="problem"`)
			require.NotContains(t, list.Body.String()+scope.Body.String(), "<script>alert")
			require.Equal(t, []string{pagePolicy}, scope.Header().Values("Content-Security-Policy"))
		})
	}
}

// A replica that gets what another one passed on never passes it on again: two
// that take each other for the leader do not ask each other for ever.
func TestNothingIsPassedOnTwice(t *testing.T) {
	r := newRoles(t)
	var asked atomic.Int64
	var h http.Handler
	r.wire = wired{http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		asked.Add(1)
		h.ServeHTTP(w, req) // the address leads back
	})}
	r.tell(t, "http://leader:9880")
	h = r.following(t)
	status := decoded[Status](t, call(h, "GET", "/autoscaler/status"))
	require.Contains(t, status.LeaderError, "503 Service Unavailable, which is no answer of a leader")
	require.EqualValues(t, 1, asked.Load())
}

// hanging answers nothing until the request is given up.
type hanging struct{ asked atomic.Int64 }

func (w *hanging) RoundTrip(req *http.Request) (*http.Response, error) {
	w.asked.Add(1)
	<-req.Context().Done()
	return nil, req.Context().Err()
}

// A leader that hangs is given up, is not asked again at once by everybody who
// comes, and is asked again then.
func TestLeaderThatHangs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRoles(t)
		wire := &hanging{}
		r.wire = wire
		r.tell(t, "http://leader:9880")
		h := r.following(t)
		began := time.Now()
		status := decoded[Status](t, call(h, "GET", "/autoscaler/status"))
		require.Equal(t, forwardTimeout, time.Since(began))
		require.Contains(t, status.LeaderError, "gives no answer since "+scaling.At(time.Now())+", and never did (no answer within 5s")
		again := decoded[Status](t, call(h, "GET", "/autoscaler/status"))
		require.Equal(t, forwardTimeout, time.Since(began), "nobody waits twice")
		require.Equal(t, status.LeaderError, again.LeaderError)
		require.EqualValues(t, 1, wire.asked.Load())

		time.Sleep(leaderPause)
		began = time.Now()
		require.Equal(t, http.StatusServiceUnavailable, call(h, "GET", "/autoscaler/explain?scope=prod&id=1").Code)
		require.Equal(t, pastTimeout, time.Since(began), "the past has to be computed")
		require.EqualValues(t, 2, wire.asked.Load())

		// Another one leads: it is asked at once.
		r.record = state.LeaderRecord{Epoch: 8, Holder: "pod-3/7/C"}
		r.tell(t, "http://other:9880")
		time.Sleep(leaderKept)
		call(h, "GET", "/autoscaler/status")
		require.EqualValues(t, 3, wire.asked.Load())
	})
}

// While the store does not answer, the leader that was known is asked.
func TestStoreThatIsAway(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRoles(t)
		r.wire = wired{newHandler(t, r.leader)}
		broken := &awayStore{Store: r.leader.Store}
		r.tell(t, "http://leader:9880")
		r.follower.Store = broken
		h := r.following(t)
		broken.away.Store(true)
		require.Contains(t, decoded[Status](t, call(h, "GET", "/autoscaler/status")).LeaderError, "the state store does not say who does")
		broken.away.Store(false)
		time.Sleep(leaderKept)
		require.Len(t, decoded[Status](t, call(h, "GET", "/autoscaler/status")).Scopes, 3)
		broken.away.Store(true)
		time.Sleep(time.Minute)
		require.Len(t, decoded[Status](t, call(h, "GET", "/autoscaler/status")).Scopes, 3)
	})
}

type awayStore struct {
	state.Store
	away atomic.Bool
}

func (s *awayStore) Get(ctx context.Context, kind state.Kind, key string) (state.Record, error) {
	if s.away.Load() {
		return state.Record{}, io.ErrUnexpectedEOF
	}
	return s.Store.Get(ctx, kind, key)
}

// The stream of events comes from the leader, and ends when either replica
// changes its role, so that whoever reads it asks again.
func TestAFollowersEventsAreTheLeaders(t *testing.T) {
	for name, change := range map[string]func(leader, follower *evaluator.Board){
		"the leader leads no longer":  func(leader, _ *evaluator.Board) { leader.Begin(0) },
		"the follower begins to lead": func(_, follower *evaluator.Board) { follower.Begin(8) },
	} {
		t.Run(name, func(t *testing.T) {
			r := newRoles(t)
			leader, follower := evaluator.NewBoard(7), evaluator.NewBoard(0)
			publish(leader, "a")
			r.leader.Board, r.follower.Board = leader, follower
			front := httptest.NewServer(newHandler(t, r.leader))
			defer front.Close()
			r.tell(t, front.URL)
			srv := httptest.NewUnstartedServer(r.following(t))
			// The server's own limits must not end a stream.
			srv.Config.ReadTimeout, srv.Config.WriteTimeout = 100*time.Millisecond, 100*time.Millisecond
			srv.Start()
			defer srv.Close()
			events, status := streamOf(t, srv.Client(), srv.URL+"/autoscaler/events")
			require.Equal(t, http.StatusOK, status)
			require.Equal(t, TickEvent{Scopes: []string{"a"}}, <-events)
			for range 2 { // longer than the server's limits
				publish(leader, "a")
				require.Equal(t, TickEvent{Scopes: []string{"a"}}, <-events)
			}
			change(leader, follower)
			_, more := <-events
			require.False(t, more)
		})
	}
}

// A stream that says nothing any more is one of a leader that is gone.
func TestSilentStreamEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRoles(t)
		r.wire = roundTrip(func(req *http.Request) (*http.Response, error) {
			server, client := net.Pipe()
			context.AfterFunc(req.Context(), func() { _ = server.Close() })
			go func() { _, _ = io.WriteString(server, ": here\n\n") }()
			return &http.Response{
				StatusCode: http.StatusOK, Request: req, Body: client, ContentLength: -1, ProtoMajor: 1,
				Header: http.Header{"Content-Type": {"text/event-stream"}, epochHeader: {"7"}},
			}, nil
		})
		r.tell(t, "http://leader:9880")
		began := time.Now()
		rec := call(r.following(t), "GET", "/autoscaler/events")
		require.Equal(t, ": here\n\n", rec.Body.String())
		require.Equal(t, silentStream, time.Since(began))
	})
}

type roundTrip func(*http.Request) (*http.Response, error)

func (f roundTrip) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// An error names no credential of the caller, and not what a stranger says.
func TestErrorsOfTheWayHaveNoSecrets(t *testing.T) {
	r := newRoles(t)
	const password = "of-the-caller"
	r.wire = roundTrip(func(req *http.Request) (*http.Response, error) {
		require.NotEmpty(t, req.Header.Get("Authorization"))
		return nil, &net.OpError{Op: "dial", Err: &net.AddrError{Err: "cannot send " + req.Header.Get("Authorization"), Addr: "192.0.2.1:80"}}
	})
	r.tell(t, "http://leader:9880")
	req := httptest.NewRequest("GET", "/autoscaler/status", http.NoBody)
	req.SetBasicAuth("ann", password)
	text := serve(r.following(t), req).Body.String()
	require.Contains(t, text, "192.0.2.1", "who asks is no secret")
	require.NotContains(t, text, password)
	require.NotContains(t, text, base64.StdEncoding.EncodeToString([]byte("ann:"+password)))
}

// A scope that was found and is not listed can be paused by any replica: the
// leader keeps what it decides about it in the store.
func TestAFollowerPausesWhatTheLeaderHasFound(t *testing.T) {
	r := newRoles(t)
	w := state.NewWrite(r.leader.Store, state.NoFence)
	require.NoError(t, state.Decisions(r.leader.Store, state.NoFence).Put(w, "found", state.DecisionRecord{Generation: 1}))
	require.NoError(t, w.Commit(t.Context()))
	h := r.following(t)
	pause := func(scope string) int {
		req := httptest.NewRequest("POST", "/autoscaler/pause", strings.NewReader(`{"scope": "`+scope+`", "reason": "upgrade"}`))
		req.Header.Set("Content-Type", "application/json")
		return serve(h, req).Code
	}
	require.Equal(t, http.StatusOK, pause("found"))
	require.Equal(t, http.StatusNotFound, pause("nowhere"))
}

package app

import (
	"bufio"
	"context"
	"io"
	"log/slog"
	"maps"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/stretchr/testify/require"

	"github.com/zeta-scaler/zeta-scaler/api"
	"github.com/zeta-scaler/zeta-scaler/config"
	"github.com/zeta-scaler/zeta-scaler/evaluator"
	"github.com/zeta-scaler/zeta-scaler/scaling"
	"github.com/zeta-scaler/zeta-scaler/state"
	"github.com/zeta-scaler/zeta-scaler/state/memory"
)

// replica is what one process serves, with its own check of credentials.
type replica struct {
	url    string
	tokens string
	board  *evaluator.Board
	asked  atomic.Int64
}

// replicaOn serves a replica on a store until the test ends.
func replicaOn(t *testing.T, store state.Store, name string, epoch uint64, openReads bool) *replica {
	t.Helper()
	r := &replica{board: evaluator.NewBoard(epoch), tokens: filepath.Join(t.TempDir(), "tokens")}
	r.accepts(t, "of-ann")
	web := config.Web{ListenAddress: "127.0.0.1:0", BearerTokensFile: r.tokens, OpenReads: openReads}
	server, err := listen(t.Context(), web, false, slog.New(slog.DiscardHandler))
	require.NoError(t, err)
	r.url = "http://" + server.Addr().String()
	client, err := leaderClient(web)
	require.NoError(t, err)
	ctx, end := context.WithCancel(t.Context())
	h, err := NewHandler(HandlerOptions{
		Options: api.Options{
			Board: r.board, Store: store, Logger: slog.New(slog.DiscardHandler), Stopping: ctx.Done(), Forward: &api.Forward{Self: name, Client: client},
		},
		Gatherer: prometheus.NewRegistry(), Registry: prometheus.NewRegistry(),
	})
	require.NoError(t, err)
	served := make(chan error, 1)
	go func() {
		served <- server.Serve(ctx, http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
			r.asked.Add(1)
			h.ServeHTTP(w, req)
		}))
	}()
	t.Cleanup(func() {
		end()
		require.NoError(t, <-served)
		client.CloseIdleConnections()
	})
	return r
}

func (r *replica) accepts(t *testing.T, token string) {
	t.Helper()
	require.NoError(t, os.WriteFile(r.tokens, []byte(token+"\n"), 0o600))
}

func (r *replica) publish(scope string) {
	r.board.Publish(context.Background(), []scaling.Evaluation{{Scope: scaling.Scope{Key: scope}, Tick: time.Now(), Interval: 30}}, nil)
}

// get asks a replica.
func (r *replica) get(t *testing.T, path, token string) *http.Response {
	t.Helper()
	header := http.Header{}
	if token != "" {
		header.Set("Authorization", "Bearer "+token)
	}
	return r.ask(t, http.MethodGet, path, header)
}

func (r *replica) ask(t *testing.T, method, path string, header http.Header) *http.Response {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), method, r.url+path, http.NoBody)
	require.NoError(t, err)
	maps.Copy(req.Header, header)
	transport := &http.Transport{DisableKeepAlives: true}
	resp, err := transport.RoundTrip(req)
	require.NoError(t, err)
	t.Cleanup(func() { _ = resp.Body.Close() })
	return resp
}

// replicas are two on one store, of which the first leads.
func replicas(t *testing.T, openReads bool) (leader, follower *replica) {
	t.Helper()
	store := memory.New()
	leader, follower = replicaOn(t, store, "pod-1", 7, openReads), replicaOn(t, store, "pod-2", 0, openReads)
	w := state.NewWrite(store, state.NoFence)
	require.NoError(t, state.Leaders(store).Put(w, state.EpochKey, state.LeaderRecord{Epoch: 7, Holder: "pod-1", Since: time.Now(), URL: leader.url}))
	require.NoError(t, w.Commit(t.Context()))
	leader.publish("prod")
	return leader, follower
}

// Each replica asks for the credential itself: the one that was asked before it
// passes anything on, and the leader once more.
func TestEachReplicaAsksForTheCredential(t *testing.T) {
	leader, follower := replicas(t, false)
	for _, token := range []string{"", "wrong"} {
		require.Equal(t, http.StatusUnauthorized, follower.get(t, "/autoscaler/status", token).StatusCode)
	}
	require.Zero(t, leader.asked.Load(), "nothing is passed on without one")
	require.Equal(t, http.StatusOK, follower.get(t, "/-/ready", "").StatusCode)

	resp := follower.get(t, "/autoscaler/status?scope=prod", "of-ann")
	require.Equal(t, http.StatusOK, resp.StatusCode)
	require.EqualValues(t, 1, leader.asked.Load())

	follower.accepts(t, "new") // and the leader has the old one still
	resp = follower.get(t, "/autoscaler/status?scope=prod", "new")
	require.Equal(t, http.StatusServiceUnavailable, resp.StatusCode)
	require.Empty(t, resp.Header.Values("WWW-Authenticate"), "a browser would ask for a password that this replica has taken")
	text, err := io.ReadAll(resp.Body)
	require.NoError(t, err)
	require.Contains(t, string(text), "it has other users or tokens than this replica")
	leader.accepts(t, "new")
	require.Equal(t, http.StatusOK, follower.get(t, "/autoscaler/status?scope=prod", "new").StatusCode, "at once")
}

// What comes through another replica is what the leader says: status, headers and
// body, packed or not, to the byte.
func TestAnswersComeAsTheyAre(t *testing.T) {
	leader, follower := replicas(t, true)
	packed := http.Header{"Accept-Encoding": {"gzip"}}
	for _, tt := range []struct {
		method, path string
		header       http.Header
		want         int
	}{
		{"GET", "/autoscaler/decision-table", nil, http.StatusOK},
		{"GET", "/autoscaler/decision-table", packed, http.StatusOK},
		{"HEAD", "/autoscaler/decision-table", packed, http.StatusOK},
		{"GET", "/autoscaler/decision-table?scope=none", nil, http.StatusNotFound},
		{"GET", "/autoscaler/decision-table?nonsense=1", nil, http.StatusBadRequest},
		{"GET", "/static/page.css?v=0123456789abcdef", packed, http.StatusOK},
		{"GET", "/autoscaler/decision-table", http.Header{"Range": {"bytes=0-9"}}, http.StatusOK},
	} {
		before := leader.asked.Load()
		got, want := follower.ask(t, tt.method, tt.path, tt.header), leader.ask(t, tt.method, tt.path, tt.header)
		require.Equal(t, before+2, leader.asked.Load(), tt.path)
		require.Equal(t, tt.want, got.StatusCode, tt.path)
		for _, r := range []*http.Response{got, want} {
			r.Header.Del("Date")
		}
		require.Equal(t, want.Header, got.Header, "%s %s", tt.method, tt.path)
		require.Equal(t, want.ContentLength, got.ContentLength, tt.path)
		body, err := io.ReadAll(got.Body)
		require.NoError(t, err)
		wanted, err := io.ReadAll(want.Body)
		require.NoError(t, err)
		require.Equal(t, wanted, body, tt.path)
	}
	etag := leader.ask(t, "GET", "/static/page.css?v=0123456789abcdef", nil).Header.Get("Etag")
	require.NotEmpty(t, etag)
	require.Equal(t, http.StatusNotModified, follower.ask(t, "GET", "/static/page.css?v=0123456789abcdef", http.Header{"If-None-Match": {etag}}).StatusCode)
}

// A request that has no room for what we add is refused here: the leader would not
// even read it.
func TestRequestsThatAreTooLargeToPassOn(t *testing.T) {
	leader, follower := replicas(t, true)
	for name, n := range map[string]int{"small": 10_000, "large": 60_000} {
		resp := follower.ask(t, "GET", "/autoscaler/decision-table", http.Header{"Accept": {strings.Repeat("a", n)}})
		if name == "small" {
			require.Equal(t, http.StatusOK, resp.StatusCode)
			continue
		}
		require.Equal(t, http.StatusRequestHeaderFieldsTooLarge, resp.StatusCode)
	}
	require.EqualValues(t, 1, leader.asked.Load())
}

// A browser that follows the page of a replica that does not lead gets every tick
// of the leader, and the stream ends when that leads no longer.
func TestStreamThroughTwoServers(t *testing.T) {
	leader, follower := replicas(t, true)
	resp := follower.get(t, "/autoscaler/events?scope=prod", "")
	require.Equal(t, http.StatusOK, resp.StatusCode)
	lines := bufio.NewScanner(resp.Body)
	next := func() string {
		for lines.Scan() {
			if data, ok := strings.CutPrefix(lines.Text(), "data: "); ok {
				return data
			}
		}
		return ""
	}
	for range 3 {
		require.JSONEq(t, `{"scopes": ["prod"], "all": false}`, next())
		leader.publish("prod")
	}
	leader.board.Begin(0)
	for more := next(); more != ""; more = next() {
		require.JSONEq(t, `{"scopes": ["prod"], "all": false}`, more)
	}
}

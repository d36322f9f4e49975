package api

import (
	"bufio"
	"context"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/zeta-scaler/zeta-scaler/evaluator"
	"github.com/zeta-scaler/zeta-scaler/scaling"
)

// streamOf follows the events of a server.
func streamOf(t *testing.T, client *http.Client, url string) (events <-chan TickEvent, status int) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url, http.NoBody)
	require.NoError(t, err)
	resp, err := client.Do(req) //nolint:bodyclose // closed when the stream ends
	require.NoError(t, err)
	out := make(chan TickEvent)
	go func() {
		defer close(out)
		defer resp.Body.Close()
		lines := bufio.NewScanner(resp.Body)
		lines.Buffer(nil, 1<<20)
		for lines.Scan() {
			data, ok := strings.CutPrefix(lines.Text(), "data: ")
			if !ok {
				continue
			}
			var e TickEvent
			if json.Unmarshal([]byte(data), &e) == nil {
				out <- e
			}
		}
	}()
	return out, resp.StatusCode
}

func publish(b *evaluator.Board, keys ...string) {
	evaluations := make([]scaling.Evaluation, len(keys))
	for i, k := range keys {
		evaluations[i].Scope.Key = k
	}
	b.Publish(context.Background(), evaluations, nil)
}

func TestEventsTellWhatIsNew(t *testing.T) {
	o := options(t)
	board := evaluator.NewBoard(7)
	publish(board, "a", "b")
	stopping := make(chan struct{})
	o.Board, o.Stopping = board, stopping
	srv := httptest.NewUnstartedServer(newHandler(t, o))
	// The server's own limits must not end a stream.
	srv.Config.ReadTimeout, srv.Config.WriteTimeout = 100*time.Millisecond, 100*time.Millisecond
	srv.Start()
	defer srv.Close()
	all, status := streamOf(t, srv.Client(), srv.URL+"/autoscaler/events")
	require.Equal(t, http.StatusOK, status)
	one, _ := streamOf(t, srv.Client(), srv.URL+"/autoscaler/events?scope=b")
	require.Equal(t, TickEvent{Scopes: []string{"a", "b"}}, <-all)
	require.Equal(t, TickEvent{Scopes: []string{"b"}}, <-one)
	for range 2 { // longer than the server's limits
		publish(board, "a")
		require.Equal(t, TickEvent{Scopes: []string{"a"}}, <-all)
	}
	publish(board, "b")
	require.Equal(t, TickEvent{Scopes: []string{"b"}}, <-all)
	require.Equal(t, TickEvent{Scopes: []string{"b"}}, <-one, "the ticks of other scopes are not told")
	close(stopping)
	_, more := <-all
	require.False(t, more, "a stream ends with the service")
	_, more = <-one
	require.False(t, more)
}

func TestEventsListOnlySoMany(t *testing.T) {
	keys := make([]string, maxKeys+1)
	for i := range keys {
		keys[i] = "x"
	}
	for _, tt := range []struct {
		scope string
		keys  []string
		first bool
		want  string
	}{
		{"", nil, true, `data: {"scopes":[],"all":false}`},
		{"", nil, false, `data: {"scopes":[],"all":true}`},
		{"a", nil, false, `data: {"scopes":[],"all":true}`},
		{"", keys, false, `data: {"scopes":[],"all":true}`},
		{"", []string{hostile}, false, `data: {"scopes":["\"\u003e`},
		{"a", nil, true, `data: {"scopes":["a"],"all":false}`},
		{"a", keys, false, ``},
	} {
		rec := httptest.NewRecorder()
		w := stream{out: rec, control: http.NewResponseController(rec)}
		require.NoError(t, w.tick(tt.keys, tt.scope, tt.first))
		if tt.want == "" {
			require.Empty(t, rec.Body.String())
			continue
		}
		require.Contains(t, rec.Body.String(), "event: tick\n"+tt.want)
	}
}

func TestStreamsAreBounded(t *testing.T) {
	o := options(t)
	srv := httptest.NewServer(newHandler(t, o))
	ctx, cancel := context.WithCancel(t.Context())
	defer srv.Close()
	defer cancel()
	open := func() int {
		req, err := http.NewRequestWithContext(ctx, http.MethodGet, srv.URL+"/autoscaler/events", http.NoBody)
		require.NoError(t, err)
		resp, err := srv.Client().Do(req) //nolint:bodyclose // ends with the context
		require.NoError(t, err)
		return resp.StatusCode
	}
	for range maxStreams {
		require.Equal(t, http.StatusOK, open())
	}
	require.Equal(t, http.StatusServiceUnavailable, open())
}

// A stream without news has a comment now and then.
func TestHeartbeats(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		o := options(t)
		stopping := make(chan struct{})
		o.Stopping = stopping
		rec, h := httptest.NewRecorder(), newHandler(t, o)
		done := make(chan struct{})
		go func() {
			defer close(done)
			h.ServeHTTP(rec, httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/autoscaler/events", http.NoBody))
		}()
		<-time.After(3*heartbeat + time.Second) // of the bubble's clock
		close(stopping)
		<-done
		require.Equal(t, 3, strings.Count(rec.Body.String(), ": still here\n\n"))
	})
}

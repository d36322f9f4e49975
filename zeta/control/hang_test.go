package control

import (
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	promconfig "github.com/prometheus/common/config"
	"github.com/stretchr/testify/require"

	"github.com/zeta-scaler/zeta-scaler/zeta"
)

const overview = `{"projectVersion":"2.3.8","totalSlot":"3","unassignedSlot":"3","runningJobs":"0","failedJobs":"0","workers":"1"}`

// server is a node that answers /overview as a real one and the rest as told.
func server(t *testing.T, rest http.HandlerFunc) *httptest.Server {
	t.Helper()
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		if strings.HasSuffix(r.URL.Path, "/overview") {
			_, _ = io.WriteString(w, overview)
			return
		}
		rest(w, r)
	}))
	t.Cleanup(s.Close)
	return s
}

func live(t *testing.T, change func(*zeta.ClusterConfig), urls ...string) *Engine {
	t.Helper()
	c := zeta.ClusterConfig{Name: "c", URLs: urls, EndpointTimeout: 30 * time.Second}
	if change != nil {
		change(&c)
	}
	e, err := New(Options{Cluster: c, Attribute: "worker"})
	require.NoError(t, err)
	t.Cleanup(e.Close)
	return e
}

// A reply that does not come leaves it open whether Zeta did it. Requests that
// hang are not piled up.
func TestHangingMaster(t *testing.T) {
	var hanging atomic.Int64
	free := make(chan struct{})
	s := server(t, func(w http.ResponseWriter, r *http.Request) {
		hanging.Add(1)
		<-free
		_, _ = io.WriteString(w, `{"jobId":"7"}`)
	})
	e := live(t, nil, s.URL)
	_, err := e.Worker(t.Context(), "w1")
	require.NoError(t, err)
	const callers, places = 40, 16
	errs := make([]error, callers)
	var group sync.WaitGroup
	ctx, cancel := context.WithCancel(t.Context())
	for i := range callers {
		group.Go(func() { errs[i] = e.StopWithSavepoint(ctx, "7") })
	}
	require.Eventually(t, func() bool { return hanging.Load() == places }, 30*time.Second, time.Millisecond)
	cancel()
	group.Wait()
	unknown, unsent := 0, 0
	for _, err := range errs {
		require.Error(t, err)
		if strings.Contains(err.Error(), zeta.ErrInFlight.Error()) {
			require.NotErrorIs(t, err, ErrUnknownOutcome)
			unsent++
			continue
		}
		require.ErrorIs(t, err, ErrUnknownOutcome)
		unknown++
	}
	require.Equal(t, places, unknown)
	require.Equal(t, callers-places, unsent)
	require.ErrorIs(t, e.StopWithSavepoint(t.Context(), "7"), zeta.ErrInFlight, "nobody waits for them, and they hang still")
	close(free)
	require.Eventually(t, func() bool { return e.StopWithSavepoint(t.Context(), "7") == nil }, 30*time.Second, time.Millisecond)
}

// What was not sent goes to the next node, and what was sent does not.
func TestNextNode(t *testing.T) {
	var stops atomic.Int64
	count := func(w http.ResponseWriter, _ *http.Request) {
		stops.Add(1)
		_, _ = io.WriteString(w, `{"jobId":"7"}`)
	}
	first, second := server(t, count), server(t, count)
	e := live(t, nil, first.URL, second.URL)
	require.NoError(t, e.StopWithSavepoint(t.Context(), "7"))
	first.Close()
	// The connection that was kept may be found closed only once it is written to.
	require.Eventually(t, func() bool { return e.StopWithSavepoint(t.Context(), "7") == nil }, 30*time.Second, time.Millisecond)
	require.EqualValues(t, 2, stops.Load())

	stops.Store(0)
	breaks := server(t, func(http.ResponseWriter, *http.Request) {
		stops.Add(1)
		panic(http.ErrAbortHandler)
	})
	e = live(t, nil, breaks.URL, second.URL)
	require.ErrorIs(t, e.StopWithSavepoint(t.Context(), "7"), ErrUnknownOutcome)
	require.EqualValues(t, 1, stops.Load())
	second.Close()
	e = live(t, nil, second.URL)
	err := e.StopWithSavepoint(t.Context(), "7")
	require.Error(t, err)
	require.NotErrorIs(t, err, ErrUnknownOutcome, "nobody was there")
}

// A body that does not end is read no further than its bound.
func TestRepliesAreBounded(t *testing.T) {
	s := server(t, func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.WriteString(w, `[{"jobId":"1","jobStatus":"RUNNING","jobName":"`)
		for r.Context().Err() == nil {
			if _, err := io.WriteString(w, strings.Repeat("x", 1<<16)); err != nil {
				return
			}
		}
	})
	e := live(t, func(c *zeta.ClusterConfig) { c.MaxResponse = 1 << 16 }, s.URL)
	_, err := e.Jobs(t.Context())
	require.Error(t, err)
	_, err = e.Job(t.Context(), "1")
	require.Error(t, err)
	require.ErrorIs(t, e.Cancel(t.Context(), "1"), ErrUnknownOutcome)
}

// Hazelcast's port, which nobody has configured where REST v2 is asked, sees no
// credential; the worker does.
func TestWhoSeesCredentials(t *testing.T) {
	var mu sync.Mutex
	seen := map[string]bool{}
	note := func(path string, r *http.Request) {
		mu.Lock()
		defer mu.Unlock()
		_, _, seen[path] = r.BasicAuth()
	}
	stranger := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		note(r.URL.Path, r)
		w.Header().Set("Content-Type", "application/json")
		_, _ = io.WriteString(w, `{"members":[{"address":"`+r.Host+`","liteMember":false}],"clusterSafe":true,"migrationQueueSize":0}`)
	}))
	t.Cleanup(stranger.Close)
	_, port, _ := strings.Cut(strings.TrimPrefix(stranger.URL, "http://"), ":")
	s := server(t, func(w http.ResponseWriter, r *http.Request) {
		note(r.URL.Path, r)
		if r.URL.Path == "/running-threads" {
			_, _ = io.WriteString(w, `[]`)
			return
		}
		_, _ = io.WriteString(w, `[{"isMaster":"true","host":"127.0.0.1","port":"`+port+`"}]`)
	})
	e := live(t, func(c *zeta.ClusterConfig) {
		c.HTTPClientConfig = promconfig.DefaultHTTPClientConfig
		c.HTTPClientConfig.BasicAuth = &promconfig.BasicAuth{Username: "admin", Password: "secret"}
	}, s.URL)
	c, err := e.Cluster(t.Context())
	require.NoError(t, err)
	require.True(t, *c.Settled)
	_, err = e.Placed(t.Context(), c.Members[0].Address)
	require.NoError(t, err)
	mu.Lock()
	defer mu.Unlock()
	require.Equal(t, map[string]bool{
		"/hazelcast/rest/cluster": false, "/hazelcast/health": false, "/system-monitoring-information": true, "/running-threads": true,
	}, seen)
}

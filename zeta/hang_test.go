package zeta

import (
	"context"
	"net/http"
	"net/http/httptrace"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
)

// stuck is a network in which chosen requests are taken in and not answered
// until they are let go, as a master does with a frozen worker. It counts what
// is in flight per path.
type stuck struct {
	next http.RoundTripper

	mu       sync.Mutex
	hangs    func(*http.Request) bool
	let      chan struct{}
	inFlight map[string]int
	most     map[string]int
	taken    int
}

func newStuck(next http.RoundTripper, hangs func(*http.Request) bool) *stuck {
	return &stuck{next: next, hangs: hangs, let: make(chan struct{}), inFlight: map[string]int{}, most: map[string]int{}}
}

func (s *stuck) RoundTrip(req *http.Request) (*http.Response, error) {
	path := req.URL.Path
	s.mu.Lock()
	s.inFlight[path]++
	s.most[path] = max(s.most[path], s.inFlight[path])
	hangs := s.hangs(req)
	if hangs {
		s.taken++
	}
	let := s.let
	s.mu.Unlock()
	defer func() {
		s.mu.Lock()
		s.inFlight[path]--
		s.mu.Unlock()
	}()
	if hangs {
		if trace := httptrace.ContextClientTrace(req.Context()); trace != nil {
			trace.WroteHeaders()
		}
		select {
		case <-let:
		case <-req.Context().Done():
			return nil, req.Context().Err()
		}
	}
	return s.next.RoundTrip(req)
}

func (s *stuck) count() (taken int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.taken
}

func pathIs(path string) func(*http.Request) bool {
	return func(r *http.Request) bool { return strings.HasSuffix(r.URL.Path, path) }
}

// TestHangingEndpointHasOneRequest scrapes through the 190 s for which a master
// waits for a frozen worker.
func TestHangingEndpointHasOneRequest(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		net := newStuck(&replay{dir: "testdata/replies/2.3.8/full"}, pathIs("/system-monitoring-information"))
		c := newTestCollector(t, net, withURLs("http://127.0.0.1:5801"))
		began := time.Now()
		var first, later time.Duration
		for i := range 12 {
			start := time.Now()
			got := page(t, c)
			require.Contains(t, samples(got), "up 1")
			require.Contains(t, samples(got), "workers 2")
			require.NotContains(t, families(got), "worker_cpu_ratio")
			require.Contains(t, samples(got), `scrape_errors_total{endpoint="system-monitoring-information"} `+itoa(i+1))
			if i == 0 {
				first = time.Since(start)
			} else {
				later = max(later, time.Since(start))
			}
			time.Sleep(15 * time.Second)
		}
		require.Equal(t, DefaultEndpointTimeout, first, "the first scrape waits for the endpoint's time-out")
		require.Zero(t, later, "the others do not wait for a request that hangs")
		require.Equal(t, 1, net.count(), "one request in %s", time.Since(began))
		close(net.let)
		net.mu.Lock()
		net.hangs = func(*http.Request) bool { return false }
		net.mu.Unlock()
		synctest.Wait()
		require.Contains(t, families(page(t, c)), "worker_cpu_ratio", "the next scrape asks again")
		require.Equal(t, 1, net.most["/hazelcast/rest/maps/system-monitoring-information"])
	})
}

// TestHangEnds asks again when a request hangs longer than any master waits.
func TestHangEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		net := newStuck(&replay{dir: "testdata/replies/2.3.13/busy"}, pathIs("/pending-jobs"))
		c := newTestCollector(t, net)
		for range 41 { // 10 min
			page(t, c)
			time.Sleep(15 * time.Second)
		}
		require.Equal(t, 3, net.count())
		require.Equal(t, 1, net.most["/pending-jobs"])
	})
}

// TestLostOverviewIsAskedForAgain is a master that took a request and forgot
// it: it answers all others at once.
func TestLostOverviewIsAskedForAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		net := newStuck(&replay{dir: "testdata/replies/2.3.8/busy"}, func(*http.Request) bool { return false })
		c := newTestCollector(t, net, withURLs("http://127.0.0.1:5801"))
		require.Contains(t, samples(page(t, c)), "up 1")
		net.hangs = func(r *http.Request) bool { return net.taken == 0 && pathIs("/overview")(r) }
		var up []bool
		for range 4 {
			up = append(up, slices.Contains(samples(page(t, c)), "up 1"))
			time.Sleep(15 * time.Second)
		}
		require.Equal(t, []bool{false, false, true, true}, up)
		require.Equal(t, 1, net.count())
		require.Equal(t, 1, net.most["/hazelcast/rest/maps/overview"])
	})
}

// TestEverythingHangs answers within the scrape's own time.
func TestEverythingHangs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		net := newStuck(&replay{dir: "testdata/replies/2.3.13/busy"}, func(*http.Request) bool { return false })
		c := newTestCollector(t, net)
		page(t, c)
		net.hangs = func(*http.Request) bool { return true }
		ctx, cancel := context.WithTimeout(t.Context(), 2*time.Second)
		defer cancel()
		start := time.Now()
		got := page(t, c.WithContext(ctx))
		require.LessOrEqual(t, time.Since(start), 2*time.Second)
		require.Equal(t, map[string]bool{"up": true, "scrape_errors_total": true, "scrape_duration_seconds": true}, families(got))
		require.Contains(t, samples(got), "up 0")
	})
}

// TestNoConnectionIsNotInFlight cancels what was never sent, and asks again.
func TestNoConnectionIsNotInFlight(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		asked := 0
		transport := roundTripper(func(req *http.Request) (*http.Response, error) {
			asked++
			<-req.Context().Done()
			return nil, req.Context().Err()
		})
		c := newTestCollector(t, transport)
		for range 3 {
			page(t, c)
			synctest.Wait()
		}
		require.Equal(t, 3, asked)
	})
}

// TestTwoScrapesShareRequests is a pair of Prometheus servers.
func TestTwoScrapesShareRequests(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		net := newStuck(&replay{dir: "testdata/replies/2.3.13/busy"}, pathIs("/overview"))
		c := newTestCollector(t, net)
		pages := make([]string, 2)
		var group sync.WaitGroup
		for i := range pages {
			group.Go(func() { pages[i] = page(t, c) })
		}
		synctest.Wait()
		close(net.let)
		group.Wait()
		require.Equal(t, pages[0], pages[1])
		require.Contains(t, samples(pages[0]), "up 1")
		require.Equal(t, 1, net.count())
	})
}

// TestShortAskerTakesWhatIsThere joins a longer scrape and leaves it earlier.
func TestShortAskerTakesWhatIsThere(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		net := newStuck(&replay{dir: "testdata/replies/2.3.13/dynamic-busy"}, pathIs("/pending-jobs"))
		c := newTestCollector(t, net)
		var group sync.WaitGroup
		group.Go(func() { page(t, c) })
		synctest.Wait()
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		got := families(page(t, c.WithContext(ctx)))
		require.True(t, got["workers"])
		require.False(t, got["slots"], "nothing says yet whether the slots are fixed")
		require.False(t, got["info"])
		group.Wait()
	})
}

// TestFailover keeps the node that answers, and changes when it fails.
func TestFailover(t *testing.T) {
	down := map[string]bool{"a": true}
	var asked []string
	recorded := &replay{dir: "testdata/replies/2.3.13/busy"}
	transport := roundTripper(func(req *http.Request) (*http.Response, error) {
		host := req.URL.Hostname()
		if req.URL.Path == "/overview" {
			asked = append(asked, host)
		}
		if down[host] {
			return response(req, 500, nil, nil), nil
		}
		return recorded.RoundTrip(req)
	})
	c := newTestCollector(t, transport, withURLs("http://a:8080", "http://b:8080", "http://c:8080"))
	require.Contains(t, samples(page(t, c)), "up 1")
	require.Contains(t, samples(page(t, c)), "up 1")
	require.Equal(t, []string{"a", "b", "b"}, asked)
	down = map[string]bool{"b": true, "c": true}
	asked = nil
	require.Contains(t, samples(page(t, c)), "up 1")
	require.Equal(t, []string{"b", "c", "a"}, asked)
	require.Contains(t, samples(page(t, c)), `scrape_errors_total{endpoint="overview"} 0`, "the cluster answered")
	down["a"] = true
	require.Contains(t, samples(page(t, c)), "up 0")
	require.Contains(t, samples(page(t, c)), `scrape_errors_total{endpoint="overview"} 2`)
}

// TestFailoverFromHangingNode gives each node at most one request at a time, and
// the next one when the first is taken for lost.
func TestFailoverFromHangingNode(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		net := newStuck(&replay{dir: "testdata/replies/2.3.13/busy"}, func(r *http.Request) bool { return r.URL.Hostname() == "a" })
		c := newTestCollector(t, net, withURLs("http://a:8080", "http://b:8080"))
		require.Contains(t, samples(page(t, c)), "up 1", "b answers in the same scrape")
		require.Equal(t, 1, net.count())

		net.mu.Lock()
		net.hangs = pathIs("/overview")
		net.mu.Unlock()
		for range 8 { // 2 min
			require.Contains(t, samples(page(t, c)), "up 0")
			time.Sleep(15 * time.Second)
		}
		require.LessOrEqual(t, net.count(), 2*(1+int(2*time.Minute/overviewHangLimit)))
		require.Equal(t, 1, net.most["/overview"])
	})
}

func TestNodesSpeakTheirDialect(t *testing.T) {
	for name, tc := range map[string]struct {
		url, dir string
		overview []string
	}{
		"v2":             {"http://m:8080", "2.3.13/busy", []string{"/overview", "/overview"}},
		"v2 worker":      {"http://w:8081", "2.3.13/busy", []string{"/overview", "/overview"}},
		"v1":             {"http://m:5801", "2.3.8/busy", []string{"/overview", "/hazelcast/rest/maps/overview", "/hazelcast/rest/maps/overview"}},
		"v1 worker":      {"http://w:5802/", "2.3.8/busy", []string{"/overview", "/hazelcast/rest/maps/overview", "/hazelcast/rest/maps/overview"}},
		"v1 by its path": {"http://m:5801/hazelcast/rest/maps", "2.3.8/busy", []string{"/hazelcast/rest/maps/overview", "/hazelcast/rest/maps/overview"}},
	} {
		t.Run(name, func(t *testing.T) {
			transport := &replay{dir: "testdata/replies/" + tc.dir}
			c := newTestCollector(t, transport, withURLs(tc.url))
			first := page(t, c)
			require.Equal(t, families(first), families(page(t, c)))
			require.Contains(t, samples(first), "up 1")
			require.Contains(t, samples(first), "workers 2")
			var overview []string
			for _, path := range transport.asked {
				if strings.HasSuffix(path, "/overview") {
					overview = append(overview, path)
				}
			}
			require.Equal(t, tc.overview, overview)
			require.NotContains(t, transport.asked, "/hazelcast/rest/maps/resource/workers", "it would create a map")
		})
	}
}

func TestContextPath(t *testing.T) {
	recorded := &replay{dir: "testdata/replies/2.3.13/busy"}
	transport := roundTripper(func(req *http.Request) (*http.Response, error) {
		rest, below := strings.CutPrefix(req.URL.Path, "/seatunnel")
		if !below {
			return response(req, 404, nil, nil), nil
		}
		req = req.Clone(req.Context())
		req.URL.Path = rest
		return recorded.RoundTrip(req)
	})
	got := page(t, newTestCollector(t, transport, withURLs("http://m1:8080/seatunnel/")))
	require.Contains(t, samples(got), "up 1")
	require.Contains(t, families(got), "worker_cpu_ratio")
}

package zeta

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus/testutil/promlint"
	"github.com/stretchr/testify/require"
)

func newTestExporter(t testing.TB, opts ExporterOptions) *Exporter {
	t.Helper()
	if opts.Clock == nil {
		opts.Clock = testNow
	}
	e, err := NewExporter(opts)
	require.NoError(t, err)
	t.Cleanup(e.Close)
	return e
}

func get(t testing.TB, e *Exporter, target string, header ...string) *httptest.ResponseRecorder {
	t.Helper()
	req := httptest.NewRequestWithContext(t.Context(), http.MethodGet, target, http.NoBody)
	for i := 0; i < len(header); i += 2 {
		req.Header.Set(header[i], header[i+1])
	}
	w := httptest.NewRecorder()
	e.Handler().ServeHTTP(w, req)
	return w
}

func probeURL(target, cluster string) string {
	q := url.Values{"target": {target}}
	if cluster != "" {
		q.Set("cluster", cluster)
	}
	return "/probe?" + q.Encode()
}

func TestMetricsOfAllClusters(t *testing.T) {
	e := newTestExporter(t, ExporterOptions{
		Clusters: []ClusterConfig{
			{Name: "prod", URLs: []string{"http://m1:8080"}},
			{Name: "down", URLs: []string{"http://m2:9"}},
		},
		Transport: &replay{dir: "testdata/replies/2.3.13/pending"},
	})
	w := get(t, e, "/metrics")
	require.Equal(t, http.StatusOK, w.Code)
	body := w.Body.String()
	require.Contains(t, body, `seatunnel_zeta_up{cluster="prod"} 1`)
	require.Contains(t, body, `seatunnel_zeta_up{cluster="down"} 0`)
	require.NotContains(t, body, `seatunnel_zeta_workers{cluster="down"}`)
	require.Contains(t, body, "go_goroutines")
	problems, err := promlint.New(strings.NewReader(body)).Lint()
	require.NoError(t, err)
	require.Empty(t, problems, "promtool check metrics finds the same")

	w = get(t, e, "/metrics", "Accept", "application/openmetrics-text;version=1.0.0")
	require.Contains(t, w.Header().Get("Content-Type"), "application/openmetrics-text")
	require.True(t, strings.HasSuffix(w.Body.String(), "# EOF\n"))
}

func TestProbe(t *testing.T) {
	e := newTestExporter(t, ExporterOptions{Transport: &replay{dir: "testdata/replies/2.3.13/pending"}})
	w := get(t, e, probeURL("http://m1:8080", "prod"))
	require.Equal(t, http.StatusOK, w.Code)
	require.Contains(t, w.Body.String(), `seatunnel_zeta_workers{cluster="prod"} 2`)
	require.NotContains(t, w.Body.String(), "go_goroutines")

	w = get(t, e, probeURL("http://m1:8080", ""))
	require.Contains(t, w.Body.String(), `seatunnel_zeta_workers{cluster="m1:8080"} 2`, "without a name the target is the cluster")

	w = get(t, e, probeURL("http://m1:9", "prod"))
	require.Equal(t, http.StatusOK, w.Code, "a target that is down is an answer")
	require.Contains(t, w.Body.String(), `seatunnel_zeta_up{cluster="prod"} 0`)
}

func TestProbeRefusesBadRequests(t *testing.T) {
	e := newTestExporter(t, ExporterOptions{Transport: roundTripper(func(*http.Request) (*http.Response, error) {
		t.Error("nobody may be asked")
		return nil, http.ErrAbortHandler
	})})
	for name, target := range map[string]string{
		"no target":         "/probe",
		"empty target":      "/probe?target=",
		"two targets":       "/probe?target=http://a:1&target=http://b:1",
		"file":              probeURL("file:///etc/passwd", "c"),
		"gopher":            probeURL("gopher://a:70", "c"),
		"no scheme":         probeURL("m1:8080", "c"),
		"no host":           probeURL("http:///overview", "c"),
		"credentials":       probeURL("http://admin:secret@m1:8080", "c"),
		"query":             probeURL("http://m1:8080/?a=b", "c"),
		"longer than any":   probeURL("http://m1:8080/"+strings.Repeat("a", 2048), "c"),
		"dots":              probeURL("http://m1:8080/a/../b", "c"),
		"encoded dots":      probeURL("http://m1:8080/a/%2e%2e/b", "c"),
		"not a URL":         probeURL("http://[::1", "c"),
		"control character": probeURL("http://m1:8080", "a\nb"),
		"not UTF-8":         "/probe?target=http://m1:8080&cluster=%ff",
		"empty name":        "/probe?target=http://m1:8080&cluster=",
		"two names":         "/probe?target=http://m1:8080&cluster=a&cluster=b",
		"long name":         probeURL("http://m1:8080", strings.Repeat("a", 129)),
	} {
		w := get(t, e, target)
		require.Equal(t, http.StatusBadRequest, w.Code, "%s: %s", name, w.Body)
		require.NotContains(t, w.Body.String(), "secret")
	}
}

func TestAllowedTargets(t *testing.T) {
	allowed, err := newTargets([]string{"http://m1:8080", "https://zeta.example/ctx/", "http://*.zeta.svc:8080", "http://[::1]:80"})
	require.NoError(t, err)
	for target, want := range map[string]bool{
		"http://m1:8080":                true,
		"http://M1:8080/":               true,
		"http://m1.:8080":               true,
		"http://m1:8080/any/context":    true,
		"https://m1:8080":               false,
		"http://m1:8081":                false,
		"http://m1":                     false,
		"http://m1.evil:8080":           false,
		"https://zeta.example:443/ctx":  true,
		"https://zeta.example/ctx/a":    true,
		"https://zeta.example/ctxx":     false,
		"https://zeta.example":          false,
		"http://a.zeta.svc:8080":        true,
		"http://a.b.zeta.svc:8080":      true,
		"http://zeta.svc:8080":          false,
		"http://evilzeta.svc:8080":      false,
		"http://a.zeta.svc.evil:8080":   false,
		"http://[0:0:0:0:0:0:0:1]":      false, // one spelling, as in the list
		"http://[::1]":                  true,
		"http://a.zeta.svc:8080@evil/x": false,
	} {
		u, err := parseTarget(target)
		require.Equal(t, want, err == nil && allowed.admit(u), target)
	}
	e := newTestExporter(t, ExporterOptions{Probe: ProbeConfig{AllowedTargets: []string{"http://m1:8080"}}})
	require.Equal(t, http.StatusForbidden, get(t, e, probeURL("http://other:8080", "c")).Code)
}

// TestProbeCredentials sends them to listed targets alone.
func TestProbeCredentials(t *testing.T) {
	var mu sync.Mutex
	got := map[string]bool{}
	s := master(t, "2.3.13/busy", httptest.NewServer, func(_ http.ResponseWriter, r *http.Request) bool {
		mu.Lock()
		defer mu.Unlock()
		got[r.Header.Get("Authorization")+r.Header.Get("X-Token")] = true
		return true
	})
	probe := ProbeConfig{HTTPClientConfig: basicAuth("secret")}
	open := newTestExporter(t, ExporterOptions{Probe: probe})
	require.Contains(t, get(t, open, probeURL(s.URL, "c")).Body.String(), `seatunnel_zeta_up{cluster="c"} 1`)
	require.Equal(t, map[string]bool{"": true}, got)

	probe.AllowedTargets = []string{s.URL}
	clear(got)
	listed := newTestExporter(t, ExporterOptions{Probe: probe})
	require.Contains(t, get(t, listed, probeURL(s.URL, "c")).Body.String(), `seatunnel_zeta_up{cluster="c"} 1`)
	require.Equal(t, map[string]bool{"Basic YWRtaW46c2VjcmV0": true}, got)
}

// TestProbeMemory keeps counters per target, up to a bound and for an hour.
func TestProbeMemory(t *testing.T) {
	now := testNow()
	h := &history{failed: "0"}
	e := newTestExporter(t, ExporterOptions{Transport: h, MaxProbeTargets: 2, Clock: func() time.Time { return now }})
	probe := func(host string) string {
		w := get(t, e, probeURL("http://"+host+":8080", "prod"))
		require.Equal(t, http.StatusOK, w.Code)
		return rejectionsOf(w.Body.String())
	}
	require.Equal(t, "0", probe("a"))
	h.failed, h.jobs = "1", []FailedJob{{ID: 1, NoResources: true}}
	require.Equal(t, "1", probe("a"))
	require.Equal(t, "0", probe("b"), "another target has its own memory")
	require.Equal(t, "1", probe("a"))
	require.Equal(t, "0", probe("c"), "b was probed longest ago and goes")
	require.Equal(t, "1", probe("a"))
	require.Equal(t, 2, e.prober.recent.Len())
	now = now.Add(61 * time.Minute)
	require.Equal(t, "0", probe("b"))
	require.Equal(t, 1, e.prober.recent.Len(), "what nobody probed for an hour is gone")
	require.Equal(t, "0", probe("a"))
}

func TestScrapeTimeout(t *testing.T) {
	for header, want := range map[string]time.Duration{
		"": defaultScrapeTimeout, "10": 9500 * time.Millisecond, "1.5": time.Second, "1": 500 * time.Millisecond,
		"0.2": 100 * time.Millisecond, "0": defaultScrapeTimeout, "-3": defaultScrapeTimeout, "NaN": defaultScrapeTimeout,
		"soon": defaultScrapeTimeout, "1e9": maxScrapeTimeout - timeoutOffset, "Inf": maxScrapeTimeout - timeoutOffset,
	} {
		require.Equal(t, want, scrapeTimeout(http.Header{"X-Prometheus-Scrape-Timeout-Seconds": {header}}), header)
	}
}

func TestProbeKeepsPrometheusTimeout(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		net := newStuck(&replay{dir: "testdata/replies/2.3.13/busy"}, pathIs("/pending-jobs"))
		e := newTestExporter(t, ExporterOptions{Transport: net})
		start := time.Now()
		w := get(t, e, probeURL("http://m1:8080", "prod"), "X-Prometheus-Scrape-Timeout-Seconds", "2")
		require.LessOrEqual(t, time.Since(start), 1500*time.Millisecond)
		require.Contains(t, w.Body.String(), `seatunnel_zeta_up{cluster="prod"} 1`)
		require.NotContains(t, w.Body.String(), "pending_job_oldest_seconds{")
	})
}

func TestTooManyRequests(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		net := newStuck(&replay{dir: "testdata/replies/2.3.13/busy"}, pathIs("/overview"))
		e := newTestExporter(t, ExporterOptions{Transport: net, MaxRequests: 2, MaxProbeTargets: 1})
		codes := make(chan int, 2)
		go func() { codes <- get(t, e, probeURL("http://m1:8080", "a")).Code }()
		synctest.Wait()
		require.Equal(t, http.StatusServiceUnavailable, get(t, e, probeURL("http://m1:8080", "b")).Code, "no room for another target")
		go func() { codes <- get(t, e, probeURL("http://m1:8080", "a")).Code }()
		synctest.Wait()
		require.Equal(t, http.StatusServiceUnavailable, get(t, e, "/metrics").Code)
		require.Equal(t, http.StatusOK, get(t, e, "/-/healthy").Code)
		close(net.let)
		require.Equal(t, http.StatusOK, <-codes)
		require.Equal(t, http.StatusOK, <-codes)
		require.Equal(t, http.StatusOK, get(t, e, "/metrics").Code)
	})
}

func TestLandingPageEscapes(t *testing.T) {
	e := newTestExporter(t, ExporterOptions{Clusters: []ClusterConfig{{Name: `<script>alert("x")</script>`, URLs: []string{"http://m1:8080"}}}})
	w := get(t, e, "/")
	require.Equal(t, http.StatusOK, w.Code)
	require.NotContains(t, w.Body.String(), "<script>")
	require.Contains(t, w.Body.String(), "&lt;script&gt;")
	require.Contains(t, w.Body.String(), "http://m1:8080")
	require.Equal(t, http.StatusNotFound, get(t, e, "/nothing").Code)
	req := httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/metrics", http.NoBody)
	rec := httptest.NewRecorder()
	e.Handler().ServeHTTP(rec, req)
	require.Equal(t, http.StatusMethodNotAllowed, rec.Code)
}

// The page says how each cluster answered last; what the cluster sends cannot
// break out of it.
func TestLandingPageSaysHowClustersAnswer(t *testing.T) {
	answer := `{"projectVersion":"2.3.13<script>","workers":"1","totalSlot":"2","unassignedSlot":"1","runningJobs":"0","finishedJobs":"0","failedJobs":"0","cancelledJobs":"0"}`
	fails := false
	e := newTestExporter(t, ExporterOptions{
		Clusters: []ClusterConfig{{Name: "prod", URLs: []string{"http://m1:8080"}}},
		Transport: roundTripper(func(req *http.Request) (*http.Response, error) {
			if fails {
				return nil, errors.New("no route <to> host")
			}
			return response(req, 200, nil, []byte(answer)), nil
		}),
	})
	require.Contains(t, get(t, e, "/").Body.String(), "not asked yet")
	get(t, e, "/metrics")
	page := get(t, e, "/").Body.String()
	require.Contains(t, page, `<td data-label="version">2.3.13&lt;script&gt;</td><td data-label="state" class="up">answers</td>`)
	require.NotContains(t, page, "never")
	fails = true
	get(t, e, "/metrics")
	page = get(t, e, "/").Body.String()
	require.Contains(t, page, `<td data-label="state" class="down">gives no answer: asking http://m1:8080`)
	require.Contains(t, page, "no route &lt;to&gt; host")
	require.Contains(t, page, "2.3.13", "the version that it had")
}

func TestValidateTellsEverything(t *testing.T) {
	bad := ClusterConfig{Name: "a", URLs: []string{"ftp://m1", "http://u:secret@m2", "http://m3", "HTTP://M3:80/"}, EndpointTimeout: -1, MaxResponse: -1}
	bad.HTTPClientConfig = basicAuth("x")
	bad.HTTPClientConfig.BearerToken = "y"
	err := ValidateClusters([]ClusterConfig{bad, {Name: "a", URLs: []string{"http://m1:8080"}}, {}})
	require.Error(t, err)
	for _, want := range []string{
		"clusters[0]: urls[0]: scheme", "clusters[0]: urls[1]: credentials", "clusters[0]: urls[3]: http://m3 is there twice",
		"clusters[0]: endpoint_timeout", "clusters[0]: max_response", "clusters[0]: http_config",
		"clusters[1]: name: \"a\" is also clusters[0]", "clusters[2]: name: it is empty", "clusters[2]: urls: at least one",
	} {
		require.ErrorContains(t, err, want)
	}
	require.NotContains(t, err.Error(), "secret")
	require.NoError(t, ValidateClusters(nil))

	probe := ProbeConfig{AllowedTargets: []string{"m1:8080", "http://ok"}, HTTPClientConfig: bad.HTTPClientConfig}
	require.ErrorContains(t, probe.Validate(), "allowed_targets[0]")
	require.ErrorContains(t, probe.Validate(), "http_config")
	_, err = NewExporter(ExporterOptions{Clusters: []ClusterConfig{{}}, Probe: probe})
	require.ErrorContains(t, err, "clusters[0]: name")
	require.ErrorContains(t, err, "probe: allowed_targets[0]")
}

func TestAStarStandsForOnePlace(t *testing.T) {
	for _, bad := range []string{"http://*", "http://*:8080", "http://*svc:8080", "http://a.*.svc:8080", "http://*.*.svc:8080", "http://m1:8080/*"} {
		require.ErrorContains(t, ProbeConfig{AllowedTargets: []string{bad}}.Validate(), "a star stands for", bad)
	}
	require.NoError(t, ProbeConfig{AllowedTargets: []string{"http://*.svc:8080", "https://*.zeta.example/a"}}.Validate())
}

// TestCollectAfterClose finds nothing and starts nothing.
func TestCollectAfterClose(t *testing.T) {
	c := newTestCollector(t, &replay{dir: "testdata/replies/2.3.13/busy"})
	c.Close()
	require.Contains(t, samples(page(t, c)), "up 0")
	_, err := c.client.Overview(context.Background())
	require.ErrorIs(t, err, errClosed)
}

// benchCluster answers for a cluster of n workers, from memory.
func benchCluster(n int) http.RoundTripper {
	var members, workers []string
	for i := range n {
		members = append(members, fmt.Sprintf(`{"isMaster":"false","host":"10.0.0.%d","port":"5801","processors":"16","physical.memory.total":"23.5G",`+
			`"heap.memory.used":"61.0M","heap.memory.used/total":"76.07%%","heap.memory.used/max":"11.89%%","load.process":"2.27%%","load.system":"100.00%%",`+
			`"load.systemAverage":"11.67","thread.count":"68","executor.q.async.size":"0","operations.completed.count":"181","connection.count":"2"}`, i))
		workers = append(workers, fmt.Sprintf(`{"address":"[10.0.0.%d]:5801","tags":{},"totalSlots":32,"freeSlots":%d,"dynamicSlot":false,`+
			`"cpuUsage":0.41,"memUsage":0.63,"totalCpuCores":16,"availableCpuCores":4,"totalHeapMemoryBytes":8589934592,"availableHeapMemoryBytes":1,`+
			`"runningJobIds":[1179405570449342465,1179405570449539073,1179405570449735681]}`, i, i%32))
	}
	list := "[" + strings.Join(workers, ",") + "]"
	bodies := map[string][]byte{
		"/overview":                      fmt.Appendf(nil, `{"projectVersion":"3.0.0","totalSlot":"1600","unassignedSlot":"400","runningJobs":"40","pendingJobs":"0","failedJobs":"0","workers":"%d"}`, n),
		"/system-monitoring-information": []byte("[" + strings.Join(members, ",") + "]"),
		"/pending-jobs":                  []byte(`{"queueSummary":{"size":0,"scheduleStrategy":"WAIT"},"clusterSnapshot":{"workers":` + list + `},"pendingJobs":[]}`),
		"/resource/workers":              []byte(`{"available":true,"collectedAt":1795957200000,"workers":` + list + `}`),
		"/finished-jobs/FAILED":          []byte("[]"),
	}
	return roundTripper(func(req *http.Request) (*http.Response, error) {
		return response(req, 200, jsonHeader(), bodies[req.URL.Path]), nil
	})
}

// BenchmarkScrape is one page of a cluster of 50 workers, without network and
// without Zeta's own time; at most 5 ms are allowed.
func BenchmarkScrape(b *testing.B) {
	e := newTestExporter(b, ExporterOptions{Clusters: []ClusterConfig{{Name: "prod", URLs: []string{"http://m1:8080"}}}, Transport: benchCluster(50)})
	b.ReportAllocs()
	for b.Loop() {
		w := get(b, e, "/metrics")
		if w.Code != http.StatusOK {
			b.Fatal(w.Code)
		}
	}
}

func TestScrapeOfFiftyWorkers(t *testing.T) {
	got := samples(page(t, newTestCollector(t, benchCluster(50))))
	require.Contains(t, got, `slots{state="assigned"} `+itoa(1600-(32*31/2+18*17/2)))
	require.Contains(t, got, "workers 50")
	require.Greater(t, len(got), 50*12)
}

// TestCloseLetsAScrapeEnd is a reload in the midst of a scrape: the page must
// not say that the cluster is down.
func TestCloseLetsAScrapeEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		release := make(chan struct{})
		recorded := &replay{dir: "testdata/replies/2.3.13/pending"}
		e := newTestExporter(t, ExporterOptions{
			Clusters: []ClusterConfig{{Name: "prod", URLs: []string{"http://m1:8080"}}},
			Transport: roundTripper(func(req *http.Request) (*http.Response, error) {
				<-release
				return recorded.RoundTrip(req)
			}),
		})
		var first *httptest.ResponseRecorder
		go func() { first = get(t, e, "/metrics") }()
		synctest.Wait()
		go e.Close()
		synctest.Wait()
		require.Equal(t, http.StatusServiceUnavailable, get(t, e, "/metrics").Code)
		close(release)
		synctest.Wait()
		require.Contains(t, first.Body.String(), `seatunnel_zeta_up{cluster="prod"} 1`)
		require.Contains(t, first.Body.String(), `seatunnel_zeta_workers{cluster="prod"} 2`)
	})
}

package zeta

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"net/http"
	"net/http/httptrace"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/common/expfmt"
	"github.com/stretchr/testify/require"
)

// testNow is the time of all collectors in tests: shortly after the recordings.
func testNow() time.Time { return time.Date(2026, 11, 29, 13, 0, 0, 0, time.UTC) }

// replay answers from the recorded replies of one state. It stands for the
// network: a port without recordings refuses connections.
type replay struct {
	dir string
	// suffix is part of the names of some recordings, such as "-auth".
	suffix string
	// hang are endpoints (paths without the API's prefix) that never answer.
	hang map[string]bool

	mu    sync.Mutex
	asked []string // paths in the order of the requests
}

func (r *replay) RoundTrip(req *http.Request) (*http.Response, error) {
	r.mu.Lock()
	r.asked = append(r.asked, req.URL.Path)
	r.mu.Unlock()
	port := req.URL.Port()
	api, path := "v2", req.URL.Path
	if rest, isV1 := strings.CutPrefix(path, v1Prefix); isV1 {
		api, path = "v1", rest
	}
	if r.hang[path] {
		if trace := httptrace.ContextClientTrace(req.Context()); trace != nil {
			trace.WroteHeaders()
		}
		<-req.Context().Done()
		return nil, req.Context().Err()
	}
	recorded := func(api string) bool {
		m, _ := filepath.Glob(filepath.Join(r.dir, api+"-"+port+"-*"))
		return len(m) > 0
	}
	if !recorded("v1") && !recorded("v2") {
		return nil, fmt.Errorf("dial tcp %s: %w", req.URL.Host, syscall.ECONNREFUSED)
	}
	if !recorded(api) {
		if api == "v2" {
			// Hazelcast closes the connection without a word.
			return nil, io.EOF
		}
		return response(req, 404, nil, []byte("<html>not found</html>")), nil
	}
	name := api + "-" + port + strings.ReplaceAll(path, "/", "-")
	return r.load(req, filepath.Join(r.dir, name), api)
}

func (r *replay) load(req *http.Request, name, api string) (*http.Response, error) {
	for _, suffix := range []string{r.suffix, "-1", ""} {
		if whole, err := os.ReadFile(name + suffix + ".txt"); err == nil {
			return http.ReadResponse(bufio.NewReader(bytes.NewReader(whole)), req)
		}
	}
	body, errBody := os.ReadFile(name + ".json")
	head, errHead := os.ReadFile(name + ".headers")
	if errBody != nil && errHead != nil {
		return nil, fmt.Errorf("nothing recorded: %w", errBody)
	}
	if errHead == nil {
		return http.ReadResponse(bufio.NewReader(bytes.NewReader(append(head, body...))), req)
	}
	return response(req, statusOf(body, api), nil, body), nil
}

// statusOf is the status with which Zeta sends such a body.
func statusOf(body []byte, api string) int {
	if m := regexp.MustCompile(`HTTP ERROR (\d{3})`).FindSubmatch(body); m != nil {
		code, _ := strconv.Atoi(string(m[1]))
		return code
	}
	switch fail := bytes.HasPrefix(body, []byte(`{"status":"fail"`)); {
	case fail && api == "v1":
		return 400
	case fail:
		return 500
	}
	return 200
}

func response(req *http.Request, code int, header http.Header, body []byte) *http.Response {
	if header == nil {
		header = http.Header{}
	}
	return &http.Response{
		StatusCode: code, Status: strconv.Itoa(code), Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
		Header: header, Body: io.NopCloser(bytes.NewReader(body)), ContentLength: int64(len(body)), Request: req,
	}
}

// roundTripper is a function as a transport.
type roundTripper func(*http.Request) (*http.Response, error)

func (f roundTripper) RoundTrip(req *http.Request) (*http.Response, error) { return f(req) }

// newTestCollector makes a collector of a cluster "prod" that is closed with
// the test.
func newTestCollector(t testing.TB, transport http.RoundTripper, change ...func(*CollectorOptions)) *Collector {
	t.Helper()
	opts := CollectorOptions{
		Cluster:   ClusterConfig{Name: "prod", URLs: []string{"http://m1:8080"}},
		Transport: transport, Clock: testNow,
	}
	for _, f := range change {
		f(&opts)
	}
	c, err := NewCollector(opts)
	require.NoError(t, err)
	t.Cleanup(c.Close)
	return c
}

func withURLs(urls ...string) func(*CollectorOptions) {
	return func(o *CollectorOptions) { o.Cluster.URLs = urls }
}

// page collects once and returns the text that Prometheus would get.
func page(t testing.TB, c prometheus.Collector) string {
	t.Helper()
	registry := prometheus.NewPedanticRegistry()
	require.NoError(t, registry.Register(c))
	families, err := registry.Gather()
	require.NoError(t, err)
	var out bytes.Buffer
	for _, f := range families {
		_, err := expfmt.MetricFamilyToText(&out, f)
		require.NoError(t, err)
	}
	return out.String()
}

// samples are the lines of a page that are no comments, without the family's
// prefix, for short expectations.
func samples(page string) []string {
	var out []string
	for line := range strings.Lines(page) {
		if line = strings.TrimSpace(line); line != "" && line[0] != '#' {
			line = strings.ReplaceAll(line, `cluster="prod",`, "")
			line = strings.ReplaceAll(line, `{cluster="prod"}`, "")
			out = append(out, strings.TrimPrefix(line, "seatunnel_zeta_"))
		}
	}
	return out
}

func itoa(n int) string { return strconv.Itoa(n) }

package control

import (
	"bufio"
	"bytes"
	"io"
	"maps"
	"net/http"
	"net/http/httptrace"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/zeta-scaler/zeta-scaler/zeta"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// recorded answers requests with what a real Zeta answered. Keys are such as
// "GET m:5801/hazelcast/rest/maps/overview?worker=w1"; values are files of
// testdata, or a whole reply after "=".
type recorded struct {
	t       testing.TB
	dir     string
	replies map[string]string

	mu    sync.Mutex
	asked []string
}

func (r *recorded) RoundTrip(req *http.Request) (*http.Response, error) {
	key := req.Method + " " + req.URL.Host + req.URL.RequestURI()
	line := key
	if req.Body != nil {
		body, err := io.ReadAll(req.Body)
		if err != nil {
			return nil, err
		}
		if line = key + " " + string(body); len(body) == 0 {
			line = key
		}
	}
	r.mu.Lock()
	r.asked = append(r.asked, line)
	file, ok := r.replies[key]
	r.mu.Unlock()
	text, literal := strings.CutPrefix(file, "=")
	switch {
	case !ok:
		text = "HTTP/1.1 404\n\n"
		if strings.HasPrefix(req.URL.Path, "/hazelcast") {
			text = "HTTP/1.1 400\n\n"
		}
	case !literal:
		b, err := os.ReadFile(filepath.Join("testdata", r.dir, file+".resp"))
		require.NoError(r.t, err)
		text = string(b)
	}
	sent(req)
	return parsed(req, text)
}

// sent tells the request's trace that its header was written, as the transport
// of net/http does.
func sent(req *http.Request) {
	if trace := httptrace.ContextClientTrace(req.Context()); trace != nil && trace.WroteHeaders != nil {
		trace.WroteHeaders()
	}
}

func parsed(req *http.Request, text string) (*http.Response, error) {
	if strings.HasPrefix(text, "(no reply)") {
		return nil, io.EOF
	}
	head, body, _ := strings.Cut(text, "\n\n")
	line, rest, _ := strings.Cut(head, "\n")
	resp, err := http.ReadResponse(bufio.NewReader(strings.NewReader(line+" x\r\n"+strings.ReplaceAll(rest, "\n", "\r\n")+"\r\nConnection: close\r\n\r\n")), req)
	if err != nil {
		return nil, err
	}
	resp.Body = io.NopCloser(bytes.NewReader([]byte(body)))
	return resp, nil
}

// set changes replies in the middle of a test.
func (r *recorded) set(replies map[string]string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	maps.Copy(r.replies, replies)
}

// last is the last request, with its body.
func (r *recorded) last() string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.asked[len(r.asked)-1]
}

func (r *recorded) all() []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return append([]string(nil), r.asked...)
}

const (
	v1   = "GET m:5801/hazelcast/rest/maps"
	v1do = "POST m:5801/hazelcast/rest/maps"
	v2   = "GET m:8080/app"
	v2do = "POST m:8080/app"
)

// newV1 is a 2.3.8 as it was recorded: a master and three workers.
func newV1(t *testing.T, replies map[string]string) (*Engine, *recorded) {
	t.Helper()
	r := &recorded{t: t, dir: "2.3.8", replies: map[string]string{
		v1 + "/overview":                      "overview",
		v1 + "/system-monitoring-information": "monitoring",
		"GET m:5801/hazelcast/rest/cluster":   "cluster",
		"GET m:5801/hazelcast/health":         "health",
		v1 + "/running-jobs":                  "running-jobs",
		v1 + "/resource/workers":              "resource-workers",
		v1 + "/running-jobs/slot-usage":       "prefix",
		v1 + "/overview?worker=w1":            "overview-w1",
		v1 + "/overview?worker=w3":            "overview-w3",
		v1 + "/overview?worker=w9":            "overview-unknown",
		"GET 127.0.0.1:24101" + v1[len("GET m:5801"):] + "/running-threads": "threads-idle",
		"GET 127.0.0.1:24102" + v1[len("GET m:5801"):] + "/running-threads": "threads-busy",
		"GET 127.0.0.1:24103" + v1[len("GET m:5801"):] + "/running-threads": "threads-no-rest",
	}}
	r.set(replies)
	return engine(t, r, "http://m:5801"), r
}

// newV2 is a 2.3.13 with the recorded replies; the nodes' hosts are their own.
func newV2(t *testing.T, replies map[string]string) (*Engine, *recorded) {
	t.Helper()
	const monitoring = `=HTTP/1.1 200
Content-Type: application/json

[{"isMaster":"true","host":"10.0.0.1","port":"5801"},{"isMaster":"false","host":"10.0.0.2","port":"5801"}]`
	r := &recorded{t: t, dir: "2.3.13", replies: map[string]string{
		v2 + "/overview": `=HTTP/1.1 200

{"projectVersion":"2.3.13","totalSlot":"9","unassignedSlot":"6","runningJobs":"1","failedJobs":"0","pendingJobs":"0","workers":"3"}`,
		v2 + "/overview?worker=w1":            "overview-w1",
		v2 + "/system-monitoring-information": monitoring,
		v2 + "/job-info/2001":                 "job",
		v2 + "/jobs/checkpoints/2001":         "checkpoints",
		v2 + "/pending-jobs?limit=20":         "pending-jobs",
		"GET 10.0.0.1:5801/hazelcast/rest/cluster": `=HTTP/1.1 200

{"members":[{"address":"[10.0.0.1]:5801","liteMember":false},{"address":"[10.0.0.2]:5801","liteMember":true}]}`,
		"GET 10.0.0.1:5801/hazelcast/health": `=HTTP/1.1 200

{"clusterState":"ACTIVE","clusterSafe":true,"migrationQueueSize":0}`,
	}}
	r.set(replies)
	return engine(t, r, "http://m:8080/app"), r
}

func engine(t *testing.T, transport http.RoundTripper, urls ...string) *Engine {
	t.Helper()
	e, err := New(Options{Cluster: zeta.ClusterConfig{Name: "c", URLs: urls}, Attribute: "worker", Transport: transport})
	require.NoError(t, err)
	t.Cleanup(e.Close)
	return e
}

func ok(body string) string { return "=HTTP/1.1 200\nContent-Type: application/json\n\n" + body }

func fails(status, message string) string {
	return "=HTTP/1.1 " + status + "\nContent-Type: application/json\n\n" + `{"status":"fail","message":"` + message + `"}`
}

// asRecorded reads the request line and the body of a recorded request.
func asRecorded(t *testing.T, file string) (line, body string) {
	t.Helper()
	b, err := os.ReadFile(filepath.Join("testdata", file+".req"))
	require.NoError(t, err)
	head, body, _ := strings.Cut(string(b), "\n\n")
	line, _, _ = strings.Cut(head, " HTTP/")
	return line, strings.TrimSpace(body)
}

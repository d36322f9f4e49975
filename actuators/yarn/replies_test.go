package yarn

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/txtar"
	"github.com/stretchr/testify/require"
)

var update = flag.Bool("update", false, "write the golden files anew")

// recorded is a request to a real ResourceManager, and its reply.
type recorded struct {
	name, method string
	path         *url.URL
	// reply is nil if there was none.
	reply *http.Response
}

func replies(t *testing.T) []recorded {
	t.Helper()
	archive, err := txtar.ParseFile(filepath.Join("testdata", "replies.txtar"))
	require.NoError(t, err)
	var out []recorded
	for _, f := range archive.Files {
		request, rest, _ := strings.Cut(string(f.Data), "\n")
		method, path, ok := strings.Cut(request, " ")
		require.True(t, ok, f.Name)
		r := recorded{name: f.Name, method: method}
		r.path, err = url.Parse(path)
		require.NoError(t, err, f.Name)
		if strings.TrimSpace(rest) != "" {
			r.reply, err = http.ReadResponse(bufio.NewReader(strings.NewReader(rest)), nil)
			require.NoError(t, err, f.Name)
			body, err := io.ReadAll(r.reply.Body)
			require.NoError(t, err, f.Name)
			r.reply.Body = io.NopCloser(bytes.NewReader(body))
		}
		out = append(out, r)
	}
	return out
}

// ServeHTTP answers as the ResourceManager did. Where it redirects, so does the
// test's server.
func (r *recorded) ServeHTTP(w http.ResponseWriter, _ *http.Request) {
	if r.reply == nil {
		panic(http.ErrAbortHandler)
	}
	maps.Copy(w.Header(), r.reply.Header)
	w.WriteHeader(r.reply.StatusCode)
	_, _ = io.Copy(w, r.reply.Body)
}

// What every recorded reply means to us.
func TestEveryRecordedReply(t *testing.T) {
	var got bytes.Buffer
	for _, r := range replies(t) {
		server := httptest.NewServer(&r)
		o := (&cluster{url: server.URL}).options()
		c, err := newClient(&o)
		require.NoError(t, err)
		q := call{path: r.path.Path}
		if r.method != http.MethodGet {
			q.body = map[string]any{}
		}
		said := r.meaning(t, c, q)
		said = strings.ReplaceAll(said, strings.TrimPrefix(server.URL, "http://"), "rm:8088")
		fmt.Fprintf(&got, "%s\n\t%s\n", r.name, said)
		server.Close()
	}
	golden := filepath.Join("testdata", "replies.golden")
	if *update {
		require.NoError(t, os.WriteFile(golden, got.Bytes(), 0o644)) //nolint:gosec // it is committed
	}
	want, err := os.ReadFile(golden)
	require.NoError(t, err)
	require.Equal(t, string(want), got.String(), "go test ./actuators/yarn -update writes it anew")
}

var kindNames = map[kind]string{
	ended: "ended", unreached: "unreached", standby: "standby", lost: "lost", odd: "odd",
	denied: "denied", passing: "passing", stored: "stored", gone: "gone",
}

func (r *recorded) meaning(t *testing.T, c *client, q call) string {
	t.Helper()
	reply, err := c.ask(t.Context(), q)
	if err == nil && reply.status/100 != 2 || err == nil && reply.status == http.StatusNoContent {
		err = reply.failure(q)
	}
	if f, ok := errors.AsType[*failure](err); ok {
		return kindNames[f.kind] + ": " + f.Error()
	}
	require.NoError(t, err)
	if m := updating.FindStringSubmatch(reply.text); m != nil {
		return "taken; the definition had " + m[1]
	}
	var s service
	if q.method() != http.MethodGet || !strings.HasPrefix(q.path, "/app/v1/services/z") || strings.HasSuffix(q.path, "instances") {
		return "taken " + reply.text
	}
	require.NoError(t, json.Unmarshal(reply.body, &s))
	said := "service " + s.State
	if !s.runs() {
		return said + ", no numbers"
	}
	for i := range s.Components {
		k := &s.Components[i]
		var running []string
		for _, w := range k.running() {
			running = append(running, w.name())
		}
		said += fmt.Sprintf(", %s %s: %d wanted, %d ready of %v, at least %d", k.Name, k.State, k.Wanted, k.ready(), running, k.least())
		if k.RestartPolicy != "ALWAYS" {
			said += ", restarts " + k.RestartPolicy
		}
		if len(k.Decommissioned) > 0 {
			said += fmt.Sprintf(", decommissioned %v", k.Decommissioned)
		}
	}
	return said
}

// The figures of a recorded cluster that is full.
func TestFiguresOfQueueAndNodes(t *testing.T) {
	byName := map[string]*recorded{}
	for _, r := range replies(t) {
		byName[r.name] = &r
	}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		name := "65-nodes-beyond-capacity"
		if strings.HasSuffix(req.URL.Path, "scheduler") {
			name = "64-scheduler-beyond-capacity"
		}
		byName[name].ServeHTTP(w, req)
	}))
	t.Cleanup(server.Close)
	a := (&cluster{url: server.URL}).actuator(t, nil)
	a.queue = "root.default"
	require.Equal(t, "queue root.default uses 2048 of at most 2048 MB (100% of at most 100% of the cluster), 16 containers wait there", a.queueFigures(t.Context()))
	require.Equal(t, "2 nodes have 0 MB free, at most 0 MB on one", a.nodeFigures(t.Context()))
}

// Some versions leave out the brackets around one element.
func TestAListMayBeOneObject(t *testing.T) {
	for text, want := range map[string]int{`[]`: 0, `null`: 0, `{"name":"a"}`: 1, ` [{"name":"a"},{"name":"b"}]`: 2} {
		var l list[component]
		require.NoError(t, json.Unmarshal([]byte(text), &l), text)
		require.Len(t, l, want, text)
	}
	var l list[component]
	require.Error(t, json.Unmarshal([]byte(`"text"`), &l))
}

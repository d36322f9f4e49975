// Package kubetest plays an API server in tests, in memory, so that it can be
// used under the clock of testing/synctest: resource versions and conflicts,
// merge patches, preconditions, label selectors, and requests or replies that
// get lost. The real one is used in e2e.
package kubetest

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/zeta-scaler/zeta-scaler/kube"
)

// ErrLost is what a client sees of a request whose fate it does not learn.
var ErrLost = errors.New("connection reset by peer")

// Fate is what becomes of a request.
type Fate int

// Fates of a request.
const (
	// Pass executes and answers it.
	Pass Fate = iota
	// Lost does not execute it, and Unanswered does; the client sees ErrLost.
	Lost
	Unanswered
	// Late executes it when Flush is called; the client sees ErrLost.
	Late
)

// Server keeps objects. The zero value is not ready: use New.
type Server struct {
	mu       sync.Mutex
	revision int
	objects  map[string]object
	late     []func()
}

type object = map[string]any

// New makes a server without objects.
func New() *Server { return &Server{objects: map[string]object{}} }

// Client asks the server, over its own connection: fate, if not nil, decides
// about each of its requests, and may delay them.
func (s *Server) Client(t testing.TB, fate func(r *http.Request) Fate) *kube.Client {
	t.Helper()
	return Client(t, s.Connection(fate))
}

// Connection is one client's way to the server.
func (s *Server) Connection(fate func(r *http.Request) Fate) http.RoundTripper {
	return connection{s, fate}
}

// Client asks whatever server is behind a connection.
func Client(t testing.TB, connection http.RoundTripper) *kube.Client {
	t.Helper()
	c, err := kube.Open(kube.Options{
		Kubeconfig: Kubeconfig(t, "http://kube.test"),
		Transport:  func(http.RoundTripper) http.RoundTripper { return connection },
	})
	require.NoError(t, err)
	return c
}

// Kubeconfig writes one for the server at url, with the namespace "test", and
// returns its path.
func Kubeconfig(t testing.TB, url string) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "kubeconfig")
	text := fmt.Sprintf(`apiVersion: v1
kind: Config
clusters: [{name: c, cluster: {server: %q}}]
contexts: [{name: c, context: {cluster: c, namespace: test}}]
current-context: c
`, url)
	require.NoError(t, os.WriteFile(file, []byte(text), 0o600))
	return file
}

// Flush executes what is late.
func (s *Server) Flush() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, execute := range s.late {
		execute()
	}
	s.late = nil
}

// Object decodes the object at a path such as
// "/api/v1/namespaces/test/configmaps/x" into v; false if there is none.
func (s *Server) Object(t testing.TB, path string, v any) bool {
	t.Helper()
	s.mu.Lock()
	defer s.mu.Unlock()
	o, ok := s.objects[path]
	if ok {
		b, err := json.Marshal(o)
		require.NoError(t, err)
		require.NoError(t, json.Unmarshal(b, v))
	}
	return ok
}

// connection is one client's way to the server.
type connection struct {
	server *Server
	fate   func(r *http.Request) Fate
}

// RoundTrip plays the network.
func (c connection) RoundTrip(r *http.Request) (*http.Response, error) {
	if err := r.Context().Err(); err != nil {
		return nil, err
	}
	body := []byte{}
	if r.Body != nil {
		var err error
		if body, err = io.ReadAll(r.Body); err != nil {
			return nil, err
		}
	}
	fate := Pass
	if c.fate != nil {
		fate = c.fate(r) // it may take its time
	}
	s := c.server
	s.mu.Lock()
	defer s.mu.Unlock()
	switch fate {
	case Lost:
		return nil, ErrLost
	case Late:
		s.late = append(s.late, func() { s.serve(r.WithContext(context.Background()), body) })
		return nil, ErrLost
	}
	code, reply := s.serve(r, body)
	if fate == Unanswered {
		return nil, ErrLost
	}
	content, err := json.Marshal(reply)
	if err != nil {
		return nil, err
	}
	return &http.Response{
		StatusCode: code, Status: http.StatusText(code), Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
		Header: http.Header{"Content-Type": {"application/json"}}, Request: r,
		Body: io.NopCloser(bytes.NewReader(content)), ContentLength: int64(len(content)),
	}, nil
}

// serve executes a request.
func (s *Server) serve(r *http.Request, body []byte) (code int, reply any) {
	var sent object
	if len(body) > 0 {
		if err := json.Unmarshal(body, &sent); err != nil {
			return refusal(http.StatusBadRequest, "BadRequest", err.Error())
		}
	}
	at := r.URL.Path
	if r.Method == http.MethodPost {
		at = path.Join(at, text(sent, "name"))
	}
	have, found := s.objects[at]
	switch {
	case r.Method == http.MethodPost && found:
		return refusal(http.StatusConflict, "AlreadyExists", at+" already exists")
	case r.Method == http.MethodPost:
		meta(sent)["uid"] = "uid-" + strconv.Itoa(s.revision+1)
		return http.StatusCreated, s.store(at, sent)
	case r.Method == http.MethodGet && isCollection(at):
		return http.StatusOK, s.list(r)
	case !found:
		return refusal(http.StatusNotFound, "NotFound", at+" not found")
	case r.Method == http.MethodGet:
		return http.StatusOK, have
	case r.Method == http.MethodDelete:
		if p, ok := sent["preconditions"].(object); ok && !agrees(p, meta(have)) {
			return conflict(at)
		}
		s.revision++
		delete(s.objects, at)
		return http.StatusOK, object{"kind": "Status", "status": "Success"}
	case !agrees(meta(sent), meta(have)):
		return conflict(at)
	case r.Method == http.MethodPatch:
		return http.StatusOK, s.store(at, merge(have, sent))
	default:
		meta(sent)["uid"] = meta(have)["uid"]
		return http.StatusOK, s.store(at, sent)
	}
}

func (s *Server) store(at string, o object) object {
	s.revision++
	meta(o)["resourceVersion"] = strconv.Itoa(s.revision)
	s.objects[at] = o
	return o
}

func (s *Server) list(r *http.Request) object {
	items := []object{}
	for _, at := range slices.Sorted(maps.Keys(s.objects)) {
		if path.Dir(at) == r.URL.Path && selects(r.URL.Query().Get("labelSelector"), s.objects[at]) {
			items = append(items, s.objects[at])
		}
	}
	return object{"kind": "List", "metadata": object{"resourceVersion": strconv.Itoa(s.revision)}, "items": items}
}

// isCollection reports whether a path ends behind the namespace's resource.
func isCollection(at string) bool {
	_, rest, _ := strings.Cut(at, "/namespaces/")
	return strings.Count(rest, "/") == 1
}

// selects knows selectors such as "a=b,c=d".
func selects(selector string, o object) bool {
	labels, _ := meta(o)["labels"].(object)
	for term := range strings.SplitSeq(selector, ",") {
		if key, value, ok := strings.Cut(term, "="); ok && labels[key] != value {
			return false
		}
	}
	return true
}

// agrees compares the resource version and the UID, where given.
func agrees(sent, have object) bool {
	for _, key := range []string{"resourceVersion", "uid"} {
		if v, ok := sent[key]; ok && v != have[key] {
			return false
		}
	}
	return true
}

// merge is that of RFC 7386, into a new object.
func merge(have, patch object) object {
	next := maps.Clone(have)
	if next == nil {
		next = object{}
	}
	for key, value := range patch {
		switch v := value.(type) {
		case nil:
			delete(next, key)
		case object:
			old, _ := next[key].(object)
			next[key] = merge(old, v)
		default:
			next[key] = v
		}
	}
	return next
}

func meta(o object) object {
	m, _ := o["metadata"].(object)
	if m == nil {
		m = object{}
		o["metadata"] = m
	}
	return m
}

func text(o object, key string) string {
	v, _ := meta(o)[key].(string)
	return v
}

func conflict(at string) (int, any) {
	return refusal(http.StatusConflict, "Conflict", at+" has been modified")
}

func refusal(code int, reason, message string) (int, any) {
	return code, object{"kind": "Status", "apiVersion": "v1", "status": "Failure", "code": code, "reason": reason, "message": message}
}

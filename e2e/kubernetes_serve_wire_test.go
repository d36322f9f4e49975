//go:build e2e && unix

package e2e

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"

	kubeactuator "github.com/zeta-scaler/zeta-scaler/actuators/kubernetes"
	"github.com/zeta-scaler/zeta-scaler/state"
	statekubernetes "github.com/zeta-scaler/zeta-scaler/state/kubernetes"
)

// Steps of an action as the API server sees them. A stored step is named by the
// state that the action enters with it.
const (
	// stepRead is when the actuator reads the workload.
	stepRead = "read"
	// stepScale is the one PATCH that changes the number of replicas.
	stepScale = "scale"
)

// step is one request that is a step of an action; zero if it is none.
type step struct {
	name   string
	target int
}

// trap stops a request that is a certain step.
type trap struct {
	is func(step) bool
	// executed says that the request is executed first, and only its reply stopped.
	executed bool
	// sprung is called once, with the request held; the reply goes on if it
	// returns true.
	sprung func() bool
}

// wire is one replica's way to the API server.
type wire struct {
	*httptest.Server
	kubeconfig string
	trap       atomic.Pointer[trap]

	mu sync.Mutex
	// changed counts writes of spec.replicas that were executed, by
	// recommendation.
	changed map[string]int
	// refused are the requests that were not executed, by status code.
	refused map[int][]string
}

func (p *pair) newWire(t *testing.T) *wire {
	t.Helper()
	config, err := clientcmd.BuildConfigFromFlags("", p.Kubeconfig(t, p.account))
	require.NoError(t, err)
	transport, err := rest.TransportFor(config)
	require.NoError(t, err)
	w := &wire{changed: map[string]int{}, refused: map[int][]string{}}
	to := httputil.NewSingleHostReverseProxy(&url.URL{Scheme: "https", Host: p.Address})
	to.Transport = transport
	to.ErrorHandler = func(http.ResponseWriter, *http.Request, error) { panic(http.ErrAbortHandler) }
	w.Server = httptest.NewServer(http.HandlerFunc(func(out http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			panic(http.ErrAbortHandler)
		}
		r.Body = io.NopCloser(bytes.NewReader(body))
		w.pass(out, r, body, to)
	}))
	t.Cleanup(w.Close)
	w.kubeconfig = filepath.Join(t.TempDir(), "kubeconfig")
	text := fmt.Sprintf("apiVersion: v1\nkind: Config\nclusters: [{name: c, cluster: {server: %q}}]\ncontexts: [{name: c, context: {cluster: c}}]\ncurrent-context: c\n", w.URL)
	require.NoError(t, os.WriteFile(w.kubeconfig, []byte(text), 0o600))
	return w
}

func (w *wire) pass(out http.ResponseWriter, r *http.Request, body []byte, to http.Handler) {
	s := stepOf(r, body)
	k := w.trap.Load()
	stop := k != nil && s.name != "" && k.is(s) && w.trap.CompareAndSwap(k, nil)
	if stop && !k.executed && !k.sprung() {
		panic(http.ErrAbortHandler)
	}
	reply := httptest.NewRecorder()
	to.ServeHTTP(reply, r)
	w.count(r, s, body, reply.Code)
	if stop && k.executed && !k.sprung() {
		panic(http.ErrAbortHandler)
	}
	maps.Copy(out.Header(), reply.Header())
	out.WriteHeader(reply.Code)
	_, _ = out.Write(reply.Body.Bytes())
}

// count notes a request and how it was answered.
func (w *wire) count(r *http.Request, s step, body []byte, code int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	switch {
	case code >= http.StatusBadRequest:
		w.refused[code] = append(w.refused[code], r.Method+" "+r.URL.Path)
	case s.name == stepScale:
		var patch struct {
			Metadata struct{ Annotations map[string]string }
		}
		_ = json.Unmarshal(body, &patch) // it was decoded before
		w.changed[patch.Metadata.Annotations[kubeactuator.RecommendationAnnotation]]++
	}
}

func (w *wire) scaled() map[string]int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return maps.Clone(w.changed)
}

// refusedFor are the requests that were answered with one of the status codes.
func (w *wire) refusedFor(codes ...int) []string {
	w.mu.Lock()
	defer w.mu.Unlock()
	var out []string
	for _, code := range codes {
		out = append(out, w.refused[code]...)
	}
	return out
}

// stepOf says which step of an action a request is.
func stepOf(r *http.Request, body []byte) step {
	switch {
	case strings.HasSuffix(r.URL.Path, "/statefulsets/"+workerName) && r.Method == http.MethodGet:
		return step{name: stepRead}
	case strings.HasSuffix(r.URL.Path, "/statefulsets/"+workerName) && r.Method == http.MethodPatch:
		var patch struct{ Spec *struct{ Replicas int } }
		if json.Unmarshal(body, &patch) == nil && patch.Spec != nil {
			return step{stepScale, patch.Spec.Replicas}
		}
	case strings.HasSuffix(r.URL.Path, "/configmaps/"+statekubernetes.DefaultName) && r.Method == http.MethodPut:
		return storedStep(body)
	}
	return step{}
}

// storedStep finds an action's record in a commit of package state/kubernetes.
func storedStep(body []byte) step {
	var cm corev1.ConfigMap
	if json.Unmarshal(body, &cm) != nil || len(cm.BinaryData["commit"]) == 0 {
		return step{}
	}
	text, err := gzip.NewReader(bytes.NewReader(cm.BinaryData["commit"]))
	if err != nil {
		return step{}
	}
	for d := json.NewDecoder(text); ; {
		var delta struct {
			Puts []struct {
				Kind  state.Kind
				Value string
			}
		}
		if d.Decode(&delta) != nil {
			return step{}
		}
		for _, put := range delta.Puts {
			var r state.ExecutionRecord
			if put.Kind != state.Execution || json.Unmarshal([]byte(put.Value), &r) != nil {
				continue
			}
			switch {
			case r.Held != nil:
				return step{string(r.Held.State), r.Held.Target}
			case r.Action != nil:
				return step{string(r.Action.State), r.Action.Target}
			}
		}
	}
}

package kubernetes

import (
	"encoding/json"
	"log/slog"
	"maps"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/zeta-scaler/zeta-scaler/actuators"
	"github.com/zeta-scaler/zeta-scaler/kube/kubetest"
	"github.com/zeta-scaler/zeta-scaler/scaling"
)

const workloadPath = "/apis/apps/v1/namespaces/st/statefulsets/worker"

// platform plays an API server with one workload, st/worker, a StatefulSet unless
// kind says otherwise, with its pods and the two lists of other writers. It keeps
// the promise on which fencing rests: a patch with an old resource version is a
// conflict.
type platform struct {
	*httptest.Server

	kind     string
	start    int
	policy   string
	rollout  bool // not all pods are up to date
	pods     []*fakePod
	lastPod  int
	podCalls []string // methods of requests about one pod
	// controls says that controllers are at work: what is asked for is there at
	// once.
	controls bool

	mu          sync.Mutex
	uid         string
	version     int
	replicas    int
	ready       int
	generation  int64
	observed    int64
	labels      map[string]string
	podLabels   map[string]string
	annotations map[string]string
	managers    []map[string]any
	deleted     bool
	// lists by their path; a path without one answers 404.
	lists map[string][]map[string]any
	// patches that were carried out.
	patches []patch
	// before may answer a request in the platform's place; it then returns true.
	before func(w http.ResponseWriter, r *http.Request) bool
}

const (
	hpaPath  = "/apis/autoscaling/v2/namespaces/st/horizontalpodautoscalers"
	kedaPath = "/apis/keda.sh/v1alpha1/namespaces/st/scaledobjects"
)

func newPlatform(t testing.TB, replicas int) *platform {
	t.Helper()
	p := &platform{
		kind: StatefulSet, uid: "u-1", version: 1, replicas: replicas, ready: replicas, generation: 1, observed: 1,
		annotations: map[string]string{}, lists: map[string][]map[string]any{hpaPath: {}},
	}
	p.Server = httptest.NewServer(http.HandlerFunc(p.serve))
	t.Cleanup(p.Close)
	return p
}

func (p *platform) serve(w http.ResponseWriter, r *http.Request) {
	if p.before != nil && p.before(w, r) {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	switch {
	case r.URL.Path == p.workloadPath() && r.Method == http.MethodGet:
		reply(w, http.StatusOK, p.object())
	case r.URL.Path == p.workloadPath() && r.Method == http.MethodPatch:
		p.patch(w, r)
	case strings.HasPrefix(r.URL.Path, podsPath):
		p.servePods(w, r)
	case p.lists[r.URL.Path] != nil && r.Method == http.MethodGet:
		reply(w, http.StatusOK, map[string]any{"apiVersion": "v1", "kind": "List", "metadata": map[string]any{}, "items": p.lists[r.URL.Path]})
	default:
		status(w, http.StatusNotFound)
	}
}

func (p *platform) patch(w http.ResponseWriter, r *http.Request) {
	var sent patch
	if err := json.NewDecoder(r.Body).Decode(&sent); err != nil {
		status(w, http.StatusBadRequest)
		return
	}
	if sent.Metadata.ResourceVersion != strconv.Itoa(p.version) {
		status(w, http.StatusConflict)
		return
	}
	maps.Copy(p.annotations, sent.Metadata.Annotations)
	if sent.Spec != nil {
		p.replicas = sent.Spec.Replicas
		p.generation++
	}
	p.version++
	p.patches = append(p.patches, sent)
	if p.controls {
		p.control()
	}
	reply(w, http.StatusOK, p.object())
}

func (p *platform) object() map[string]any {
	meta := map[string]any{
		"name": "worker", "namespace": "st", "uid": p.uid, "resourceVersion": strconv.Itoa(p.version), "generation": p.generation,
		"annotations": p.annotations, "labels": p.labels, "managedFields": p.managers,
	}
	if p.deleted {
		meta["deletionTimestamp"] = "2026-01-01T00:00:00Z"
	}
	return map[string]any{
		"apiVersion": "apps/v1", "kind": p.kind, "metadata": meta,
		"spec": map[string]any{
			"replicas": p.replicas,
			"selector": map[string]any{"matchLabels": map[string]any{"app": "worker"}},
			"ordinals": map[string]any{"start": p.start}, "podManagementPolicy": p.policy,
			"template": map[string]any{"metadata": map[string]any{"labels": p.podLabels, "creationTimestamp": nil}},
		},
		"status": p.status(),
	}
}

// change is what somebody else does to the workload.
func (p *platform) change(f func()) {
	p.mu.Lock()
	defer p.mu.Unlock()
	f()
	p.version++
}

func reply(w http.ResponseWriter, code int, body any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(code)
	_ = json.NewEncoder(w).Encode(body)
}

func status(w http.ResponseWriter, code int) {
	reply(w, code, map[string]any{
		"apiVersion": "v1", "kind": "Status", "status": "Failure", "code": code, "message": http.StatusText(code),
	})
}

// actuator is one of the workload st/worker.
func (p *platform) actuator(t testing.TB, logger *slog.Logger) *Actuator {
	t.Helper()
	a, err := New(p.options(t, logger))
	require.NoError(t, err)
	a.pause = time.Microsecond
	return a
}

func (p *platform) options(t testing.TB, logger *slog.Logger) Options {
	t.Helper()
	return Options{
		Namespace: "st", Kind: p.kind, Name: "worker",
		Kubeconfig: kubetest.Kubeconfig(t, p.URL), Timeout: 5 * time.Second, Logger: logger,
	}
}

func quiet() *slog.Logger { return slog.New(slog.DiscardHandler) }

var target = actuators.Target{Scope: scaling.Scope{Key: "prod"}, Name: "kubernetes/st/statefulset/worker"}

func fence(epoch, generation uint64) actuators.Fence {
	id := scaling.RecommendationID(epoch, generation, "prod")
	return actuators.Fence{Epoch: epoch, Generation: generation, RecommendationID: id, ActionID: id}
}

package kubernetes

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"
)

const podsPath = "/api/v1/namespaces/st/pods"

// fakePod is one pod of the platform.
type fakePod struct {
	name, uid, ip string
	version       int
	labels        map[string]string
	annotations   map[string]string
	owner         map[string]any
	phase         string
	unready       bool
	leaving       bool
	ready         time.Time
}

// newPods is a platform whose controllers are at work, with pods that are ready.
func newPods(t testing.TB, kind string, replicas int) *platform {
	t.Helper()
	p := newPlatform(t, replicas)
	p.kind, p.controls = kind, true
	p.control()
	return p
}

func (p *platform) workloadPath() string {
	return "/apis/apps/v1/namespaces/st/" + strings.ToLower(p.kind) + "s/worker"
}

// status is that of the workload.
func (p *platform) status() map[string]any {
	out := map[string]any{"observedGeneration": p.observed, "readyReplicas": p.ready}
	if p.controls {
		out["replicas"], out["updatedReplicas"] = len(p.pods), len(p.pods)
		if p.rollout {
			out["updatedReplicas"] = len(p.pods) - 1
		}
	}
	return out
}

// control does what the workload's controller does.
func (p *platform) control() {
	p.observed = p.generation
	if p.kind == StatefulSet {
		p.pods = slices.DeleteFunc(p.pods, func(q *fakePod) bool { return p.ordinalOf(q) >= p.start+p.replicas })
		for i := range p.replicas {
			if name := fmt.Sprintf("worker-%d", p.start+i); p.pod(name) == nil {
				p.addPod(name)
			}
		}
	} else {
		for len(p.pods) > p.replicas {
			last := slices.MinFunc(p.pods, cheapest)
			p.pods = slices.DeleteFunc(p.pods, func(q *fakePod) bool { return q == last })
		}
		for len(p.pods) < p.replicas {
			p.addPod(fmt.Sprintf("worker-7f9c-%c", 'a'+p.lastPod))
		}
	}
	p.ready = len(p.pods)
}

// cheapest compares pods as a ReplicaSet's controller does.
func cheapest(x, y *fakePod) int {
	cost := func(q *fakePod) int {
		n, _ := strconv.Atoi(q.annotations[DeletionCostAnnotation])
		return n
	}
	switch {
	case x.unready != y.unready && x.unready:
		return -1
	case x.unready != y.unready:
		return 1
	case cost(x) != cost(y):
		return cost(x) - cost(y)
	}
	return y.ready.Compare(x.ready)
}

func (p *platform) ordinalOf(q *fakePod) int {
	n, err := strconv.Atoi(strings.TrimPrefix(q.name, "worker-"))
	if err != nil {
		return -1
	}
	return n
}

func (p *platform) addPod(name string) *fakePod {
	p.lastPod++
	owner := map[string]any{"apiVersion": "apps/v1", "kind": "StatefulSet", "name": "worker", "uid": p.uid, "controller": true}
	if p.kind == Deployment {
		owner = map[string]any{"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": "worker-7f9c", "uid": "rs-1", "controller": true}
	}
	q := &fakePod{
		name: name, uid: fmt.Sprint("pod-", p.lastPod), ip: fmt.Sprintf("10.0.0.%d", p.lastPod), version: 1,
		labels: map[string]string{"app": "worker", templateHashLabel: "7f9c"}, annotations: map[string]string{},
		owner: owner, phase: "Running", ready: time.Date(2026, 1, 1, 0, p.lastPod, 0, 0, time.UTC),
	}
	p.pods = append(p.pods, q)
	return q
}

func (p *platform) pod(name string) *fakePod {
	i := slices.IndexFunc(p.pods, func(q *fakePod) bool { return q.name == name })
	if i < 0 {
		return nil
	}
	return p.pods[i]
}

// names of the pods that are there.
func (p *platform) names() []string {
	p.mu.Lock()
	defer p.mu.Unlock()
	out := []string{}
	for _, q := range p.pods {
		out = append(out, q.name)
	}
	return out
}

func (q *fakePod) object() map[string]any {
	meta := map[string]any{
		"name": q.name, "namespace": "st", "uid": q.uid, "resourceVersion": strconv.Itoa(q.version),
		"labels": q.labels, "annotations": q.annotations, "ownerReferences": []any{q.owner},
	}
	if q.leaving {
		meta["deletionTimestamp"] = "2026-01-01T10:20:30Z"
	}
	ready := "True"
	if q.unready {
		ready = "False"
	}
	return map[string]any{
		"apiVersion": "v1", "kind": "Pod", "metadata": meta, "spec": map[string]any{"nodeName": "node-1"},
		"status": map[string]any{
			"phase": q.phase, "podIP": q.ip,
			"conditions": []any{map[string]any{"type": "Ready", "status": ready, "lastTransitionTime": q.ready.Format(time.RFC3339)}},
		},
	}
}

// servePods answers requests about pods, two a page.
func (p *platform) servePods(w http.ResponseWriter, r *http.Request) {
	name := strings.TrimPrefix(strings.TrimPrefix(r.URL.Path, podsPath), "/")
	switch q := p.pod(name); {
	case name == "" && r.Method == http.MethodGet:
		p.listPods(w, r)
	case q == nil:
		status(w, http.StatusNotFound)
	case r.Method == http.MethodPatch:
		p.podCalls = append(p.podCalls, r.Method)
		var sent patch
		if err := json.NewDecoder(r.Body).Decode(&sent); err != nil || sent.Spec != nil {
			status(w, http.StatusBadRequest)
			return
		}
		if sent.Metadata.ResourceVersion != strconv.Itoa(q.version) {
			status(w, http.StatusConflict)
			return
		}
		q.version++
		maps.Copy(q.annotations, sent.Metadata.Annotations)
		reply(w, http.StatusOK, q.object())
	default:
		status(w, http.StatusMethodNotAllowed)
	}
}

func (p *platform) listPods(w http.ResponseWriter, r *http.Request) {
	if r.URL.Query().Get("labelSelector") != "app=worker" {
		status(w, http.StatusBadRequest)
		return
	}
	from, _ := strconv.Atoi(r.URL.Query().Get("continue"))
	to := min(from+2, len(p.pods))
	items, meta := []any{}, map[string]any{}
	for _, q := range p.pods[from:to] {
		items = append(items, q.object())
	}
	if to < len(p.pods) {
		meta["continue"] = strconv.Itoa(to)
	}
	reply(w, http.StatusOK, map[string]any{"apiVersion": "v1", "kind": "PodList", "metadata": meta, "items": items})
}

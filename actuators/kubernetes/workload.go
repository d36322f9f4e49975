package kubernetes

import (
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/zeta-scaler/zeta-scaler/actuators"
)

// Annotations that a write records on the workload.
const (
	// EpochAnnotation has the epoch of the leader that wrote last: an older one
	// must not write any more.
	EpochAnnotation = "zeta-scaler.io/epoch"
	// GenerationAnnotation, RecommendationAnnotation and ActionAnnotation say
	// what was carried out last.
	GenerationAnnotation     = "zeta-scaler.io/generation"
	RecommendationAnnotation = "zeta-scaler.io/recommendation-id"
	ActionAnnotation         = "zeta-scaler.io/action-id"
	// ReplicasAnnotation has the number that we wrote last: where
	// spec.replicas differs from it, somebody else has written.
	ReplicasAnnotation = "zeta-scaler.io/replicas"
)

// applicationLabel marks what belongs to a Zeta Application Mode cluster.
const applicationLabel = "seatunnel.apache.org/application-id"

// group is the API group of both kinds of workloads.
const group = "apps"

// workload is what StatefulSets and Deployments have in common.
type workload struct {
	metav1.ObjectMeta `json:"metadata"`

	Spec struct {
		Replicas *int32 `json:"replicas"`
		Template struct {
			metav1.ObjectMeta `json:"metadata"`
		} `json:"template"`
	} `json:"spec"`
	Status struct {
		ObservedGeneration int64 `json:"observedGeneration"`
		ReadyReplicas      int32 `json:"readyReplicas"`
	} `json:"status"`
}

// replicas is the number that is asked for; the API's default is 1.
func (w *workload) replicas() int {
	if w.Spec.Replicas == nil {
		return 1
	}
	return int(*w.Spec.Replicas)
}

// ready is how many pods are ready, 0 as long as the status speaks of an older
// spec.
func (w *workload) ready() int {
	if w.Status.ObservedGeneration < w.Generation {
		return 0
	}
	return int(w.Status.ReadyReplicas)
}

// applicationID is that of the Application Mode cluster of which the workload
// or its pods are part.
func (w *workload) applicationID() (string, bool) {
	if id, ok := w.Labels[applicationLabel]; ok {
		return id, true
	}
	id, ok := w.Spec.Template.Labels[applicationLabel]
	return id, ok
}

// fence is what our last write recorded, zero if there was none. A number that
// cannot be read is an error: it may hide a newer epoch.
func (w *workload) fence() (f actuators.Fence, err error) {
	if f.Epoch, err = w.number(EpochAnnotation); err != nil {
		return f, err
	}
	if f.Generation, err = w.number(GenerationAnnotation); err != nil {
		return f, err
	}
	f.RecommendationID = w.Annotations[RecommendationAnnotation]
	f.ActionID = w.Annotations[ActionAnnotation]
	return f, nil
}

func (w *workload) number(annotation string) (uint64, error) {
	text, ok := w.Annotations[annotation]
	if !ok {
		return 0, nil
	}
	n, err := strconv.ParseUint(text, 10, 64)
	if err != nil {
		return 0, fmt.Errorf("annotation %s is %q, which is no number; remove it once no other zeta-scaler writes here", annotation, text)
	}
	return n, nil
}

// drift reports whether somebody else has changed spec.replicas since our last
// write, and names them. A workload that we never wrote has no drift.
func (w *workload) drift() (writer, detail string, found bool) {
	recorded, ok := w.Annotations[ReplicasAnnotation]
	if !ok || recorded == strconv.Itoa(w.replicas()) {
		return "", "", false
	}
	detail = fmt.Sprintf("spec.replicas is %d, and we last wrote %s; resume the scope to accept it", w.replicas(), recorded)
	return w.replicasManager(), detail, true
}

// replicasManager names the field manager, other than us, that wrote
// spec.replicas last.
func (w *workload) replicasManager() string {
	var owners []metav1.ManagedFieldsEntry
	for _, e := range w.ManagedFields {
		if e.Manager != FieldManager && ownsReplicas(e.FieldsV1) {
			owners = append(owners, e)
		}
	}
	if len(owners) == 0 {
		return "unknown field manager"
	}
	last := slices.MaxFunc(owners, func(a, b metav1.ManagedFieldsEntry) int { return timeOf(a).Compare(timeOf(b)) })
	if last.Subresource != "" {
		return "field manager " + last.Manager + " (" + last.Subresource + ")"
	}
	return "field manager " + last.Manager
}

func timeOf(e metav1.ManagedFieldsEntry) time.Time {
	if e.Time == nil {
		return time.Time{}
	}
	return e.Time.Time
}

func ownsReplicas(fields *metav1.FieldsV1) bool {
	if fields == nil {
		return false
	}
	var set struct {
		Spec map[string]json.RawMessage `json:"f:spec"`
	}
	if err := json.Unmarshal(fields.GetRawBytes(), &set); err != nil {
		return false
	}
	_, ok := set.Spec["f:replicas"]
	return ok
}

// patch is a JSON merge patch of a workload. The resource version makes it
// conditional.
type patch struct {
	Metadata patchMeta  `json:"metadata"`
	Spec     *patchSpec `json:"spec,omitempty"`
}

type patchMeta struct {
	ResourceVersion string            `json:"resourceVersion"`
	Annotations     map[string]string `json:"annotations"`
}

type patchSpec struct {
	Replicas int `json:"replicas"`
}

// scaled is the patch that asks for want replicas, nil if exactly that has been
// written before.
func (w *workload) scaled(want int, f actuators.Fence) *patch {
	annotations := map[string]string{
		EpochAnnotation:          strconv.FormatUint(f.Epoch, 10),
		GenerationAnnotation:     strconv.FormatUint(f.Generation, 10),
		RecommendationAnnotation: f.RecommendationID,
		ActionAnnotation:         f.ActionID,
		ReplicasAnnotation:       strconv.Itoa(want),
	}
	if w.replicas() == want && w.has(annotations) {
		return nil
	}
	return &patch{Metadata: w.patchMeta(annotations), Spec: &patchSpec{Replicas: want}}
}

// claimed is the patch that records an epoch, nil if it is there already.
func (w *workload) claimed(f actuators.Fence) *patch {
	annotations := map[string]string{EpochAnnotation: strconv.FormatUint(f.Epoch, 10)}
	if f.AcceptPresent {
		annotations[ReplicasAnnotation] = strconv.Itoa(w.replicas())
	}
	if w.has(annotations) {
		return nil
	}
	return &patch{Metadata: w.patchMeta(annotations)}
}

func (w *workload) has(annotations map[string]string) bool {
	for k, v := range annotations {
		if have, ok := w.Annotations[k]; !ok || have != v {
			return false
		}
	}
	return true
}

func (w *workload) patchMeta(annotations map[string]string) patchMeta {
	return patchMeta{ResourceVersion: w.ResourceVersion, Annotations: annotations}
}

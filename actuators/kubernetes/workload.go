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
	// ReleaseAnnotation is the action that removed a worker last. Unlike
	// ActionAnnotation it outlives later ones: a release that is repeated late must
	// not remove who has come back under the same name.
	ReleaseAnnotation = "zeta-scaler.io/release-id"
	// ReplicasAnnotation has the number that we wrote last: where
	// spec.replicas differs from it, somebody else has written.
	ReplicasAnnotation = "zeta-scaler.io/replicas"
	// UIDAnnotation has the UID of the workload that we wrote: on one with
	// another UID the annotations are copies, and say nothing about it.
	UIDAnnotation = "zeta-scaler.io/uid"
)

// applicationLabel marks what belongs to a Zeta Application Mode cluster.
const applicationLabel = "seatunnel.apache.org/application-id"

// workload is what StatefulSets and Deployments have in common.
type workload struct {
	metav1.ObjectMeta `json:"metadata"`

	Spec struct {
		Replicas *int32                `json:"replicas"`
		Selector *metav1.LabelSelector `json:"selector"`
		Template struct {
			metav1.ObjectMeta `json:"metadata"`
		} `json:"template"`
		// Ordinals and PodManagementPolicy are a StatefulSet's.
		Ordinals struct {
			Start int `json:"start"`
		} `json:"ordinals"`
		PodManagementPolicy string `json:"podManagementPolicy"`
	} `json:"spec"`
	Status struct {
		ObservedGeneration int64 `json:"observedGeneration"`
		Replicas           int32 `json:"replicas"`
		ReadyReplicas      int32 `json:"readyReplicas"`
		UpdatedReplicas    int32 `json:"updatedReplicas"`
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
	if !w.observed() {
		return 0
	}
	return int(w.Status.ReadyReplicas)
}

// observed reports whether the status speaks of the spec as it is.
func (w *workload) observed() bool { return w.Status.ObservedGeneration >= w.Generation }

// applicationID is that of the Application Mode cluster of which the workload
// or its pods are part.
func (w *workload) applicationID() (string, bool) {
	if id, ok := w.Labels[applicationLabel]; ok {
		return id, true
	}
	id, ok := w.Spec.Template.Labels[applicationLabel]
	return id, ok
}

// fence is what our last write recorded, zero if there was none on this very
// object. A number that cannot be read is an error: it may hide a newer epoch.
func (w *workload) fence() (f actuators.Fence, err error) {
	if _, ok := w.copied(); ok {
		return f, nil
	}
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

// copied returns the UID of the object that our annotations were written on, if
// that is another one: they came with a manifest or out of a backup.
func (w *workload) copied() (from string, ok bool) {
	uid, known := w.Annotations[UIDAnnotation]
	return uid, known && uid != string(w.UID)
}

// lostFence says what of our last write is there no more, or on another object;
// empty if nothing is missing. Where nothing at all is left, only who remembers
// the write can tell (actuators.Fence.Fenced).
func (w *workload) lostFence() string {
	if from, ok := w.copied(); ok {
		return fmt.Sprintf("its annotations were written on an object with UID %s, and its own is %s", from, w.UID)
	}
	has := func(name string) bool { return w.Annotations[name] != "" }
	switch acted := has(ActionAnnotation); {
	case acted && !has(ReplicasAnnotation):
		return "annotation " + ReplicasAnnotation + " is gone"
	case (acted || has(ReplicasAnnotation)) && !has(EpochAnnotation):
		return "annotation " + EpochAnnotation + " is gone"
	default:
		return ""
	}
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
	annotations := w.annotationsOf(want, f)
	if w.replicas() == want && w.has(annotations) {
		return nil
	}
	return &patch{Metadata: w.patchMeta(annotations), Spec: &patchSpec{Replicas: want}}
}

// released is the patch that asks for one replica less.
func (w *workload) released(f actuators.Fence) *patch {
	want := w.replicas() - 1
	annotations := w.annotationsOf(want, f)
	annotations[ReleaseAnnotation] = f.ActionID
	return &patch{Metadata: w.patchMeta(annotations), Spec: &patchSpec{Replicas: want}}
}

// annotationsOf are those of a write of want replicas.
func (w *workload) annotationsOf(want int, f actuators.Fence) map[string]string {
	return map[string]string{
		EpochAnnotation:          strconv.FormatUint(f.Epoch, 10),
		GenerationAnnotation:     strconv.FormatUint(f.Generation, 10),
		RecommendationAnnotation: f.RecommendationID,
		ActionAnnotation:         f.ActionID,
		ReplicasAnnotation:       strconv.Itoa(want),
		UIDAnnotation:            string(w.UID),
	}
}

// claimed is the patch that records an epoch, nil if it is there already. A
// fence that is lost is left as it is: nobody writes there until an operator has
// accepted what is there.
func (w *workload) claimed(f actuators.Fence) *patch {
	annotations := map[string]string{EpochAnnotation: strconv.FormatUint(f.Epoch, 10), UIDAnnotation: string(w.UID)}
	if f.AcceptPresent {
		annotations[ReplicasAnnotation] = strconv.Itoa(w.replicas())
	} else if w.lostFence() != "" {
		return nil
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

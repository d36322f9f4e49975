package kubernetes

import (
	"cmp"
	"context"
	"fmt"
	"net/http"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/zeta-scaler/zeta-scaler/actuators"
	"github.com/zeta-scaler/zeta-scaler/kube"
)

// scaler is a kind of object that makes the platform scale a workload by
// itself.
type scaler struct {
	kind    string
	right   string
	objects kube.Objects[scalerObject]
	// targetKind is that of a scaleTargetRef that names none.
	targetKind string
	// forbidden remembers that the log has said so.
	forbidden *once
}

// scalerObject is what such objects have in common.
type scalerObject struct {
	metav1.ObjectMeta `json:"metadata"`

	Spec struct {
		ScaleTargetRef targetRef `json:"scaleTargetRef"`
	} `json:"spec"`
}

// targetRef says what is scaled.
type targetRef struct {
	APIVersion string `json:"apiVersion"`
	Kind       string `json:"kind"`
	Name       string `json:"name"`
}

// newScalers lists them in the order in which they are named: KEDA makes a
// HorizontalPodAutoscaler of each ScaledObject, and an operator wants to hear
// of the latter.
func newScalers(client *kube.Client, namespace string) []scaler {
	return []scaler{
		{
			kind: "ScaledObject", right: "list scaledobjects.keda.sh", targetKind: Deployment,
			objects: kube.In[scalerObject](client, kube.ScaledObjects, namespace), forbidden: new(once),
		},
		{
			kind: "HorizontalPodAutoscaler", right: "list horizontalpodautoscalers.autoscaling",
			objects: kube.In[scalerObject](client, kube.HorizontalPodAutoscalers, namespace), forbidden: new(once),
		},
	}
}

// otherWriter looks for whoever else scales the workload; nil if nobody is
// known. A number that somebody else has written is no finding when it was
// accepted; an object that will write again always is.
func (a *Actuator) otherWriter(ctx context.Context, w *workload, f actuators.Fence) (*actuators.OtherWriterError, error) {
	for _, s := range a.scalers {
		name, err := a.find(ctx, s)
		if err != nil {
			return nil, err
		}
		if name != "" {
			return &actuators.OtherWriterError{
				Writer: s.kind + " " + a.namespace + "/" + name,
				Detail: fmt.Sprintf("it scales %s; delete one of the two writers, then resume the scope", a),
			}, nil
		}
	}
	if f.AcceptPresent {
		return nil, nil
	}
	lost := w.lostFence()
	if lost == "" && f.Fenced && w.Annotations[ActionAnnotation] == "" {
		lost = "annotation " + ActionAnnotation + " is gone"
	}
	if lost != "" {
		return &actuators.OtherWriterError{Writer: actuators.LostFence, Detail: a.String() + ": " + lost + "; resume the scope to accept it as it is"}, nil
	}
	if writer, detail, found := w.drift(); found {
		return &actuators.OtherWriterError{Writer: writer, Detail: a.String() + ": " + detail}, nil
	}
	return nil, nil
}

// find returns the name of an object that scales the workload. Without the
// right to look it says so once and finds nothing: that right is optional.
func (a *Actuator) find(ctx context.Context, s scaler) (string, error) {
	list, err := s.objects.List(ctx, kube.Select{})
	switch kube.StatusCode(err) {
	case http.StatusNotFound: // such objects do not exist in this cluster
		return "", nil
	case http.StatusForbidden:
		if s.forbidden.first() {
			a.logger.WarnContext(ctx, "not allowed to look for other writers of this kind; one that exists is found only when it changes the workload",
				"kind", s.kind, "missing_right", s.right, "namespace", a.namespace)
		}
		return "", nil
	}
	if err != nil {
		return "", fmt.Errorf("looking for a %s that scales %s: %w", s.kind, a, err)
	}
	for i := range list.Items {
		if o := &list.Items[i]; a.isTargetOf(o.Spec.ScaleTargetRef, s.targetKind) {
			return o.Name, nil
		}
	}
	return "", nil
}

// isTargetOf compares group, kind and name of what is scaled.
func (a *Actuator) isTargetOf(ref targetRef, defaultKind string) bool {
	if cmp.Or(ref.Kind, defaultKind) != a.kind || ref.Name != a.name {
		return false
	}
	// A version that cannot be read says nothing against kind and name.
	version, err := schema.ParseGroupVersion(ref.APIVersion)
	return err != nil || version.Empty() || version.Group == kube.StatefulSets.Group
}

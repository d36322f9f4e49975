package kubernetes

import (
	"cmp"
	"context"
	"fmt"
	"net/http"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"

	"github.com/zeta-scaler/zeta-scaler/actuators"
)

// scaler is a kind of object that makes the platform scale a workload by
// itself.
type scaler struct {
	kind    string
	right   string
	objects dynamic.ResourceInterface
	// targetKind is that of a scaleTargetRef that names none.
	targetKind string
	// forbidden remembers that the log has said so.
	forbidden *once
}

// newScalers lists them in the order in which they are named: KEDA makes a
// HorizontalPodAutoscaler of each ScaledObject, and an operator wants to hear
// of the latter.
func newScalers(client dynamic.Interface, namespace string) []scaler {
	objects := func(group, version, resource string) dynamic.ResourceInterface {
		return client.Resource(schema.GroupVersionResource{Group: group, Version: version, Resource: resource}).Namespace(namespace)
	}
	return []scaler{
		{
			kind: "ScaledObject", right: "list scaledobjects.keda.sh", targetKind: Deployment,
			objects: objects("keda.sh", "v1alpha1", "scaledobjects"), forbidden: new(once),
		},
		{
			kind: "HorizontalPodAutoscaler", right: "list horizontalpodautoscalers.autoscaling",
			objects: objects("autoscaling", "v2", "horizontalpodautoscalers"), forbidden: new(once),
		},
	}
}

// otherWriter looks for whoever else scales the workload; nil if nobody is
// known. A number that somebody else has written is no finding when it was
// accepted; an object that will write again always is.
func (a *Actuator) otherWriter(ctx context.Context, w *workload, accepted bool) (*actuators.OtherWriterError, error) {
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
	if accepted {
		return nil, nil
	}
	if writer, detail, found := w.drift(); found {
		return &actuators.OtherWriterError{Writer: writer, Detail: a.String() + ": " + detail}, nil
	}
	return nil, nil
}

// find returns the name of an object that scales the workload. Without the
// right to look it says so once and finds nothing: that right is optional.
func (a *Actuator) find(ctx context.Context, s scaler) (string, error) {
	list, err := s.objects.List(ctx, metav1.ListOptions{})
	switch statusCode(err) {
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
		if a.isTargetOf(list.Items[i].Object, s.targetKind) {
			return list.Items[i].GetName(), nil
		}
	}
	return "", nil
}

// isTargetOf compares group, kind and name with an object's scaleTargetRef.
func (a *Actuator) isTargetOf(object map[string]any, defaultKind string) bool {
	ref := func(field string) string {
		s, _, _ := unstructured.NestedString(object, "spec", "scaleTargetRef", field)
		return s
	}
	if cmp.Or(ref("kind"), defaultKind) != a.kind || ref("name") != a.name {
		return false
	}
	// A version that cannot be read says nothing against kind and name.
	version, err := schema.ParseGroupVersion(ref("apiVersion"))
	return err != nil || version.Empty() || version.Group == group
}

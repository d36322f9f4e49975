package kubernetes

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/zeta-scaler/zeta-scaler/actuators"
	"github.com/zeta-scaler/zeta-scaler/kube"
)

const (
	// DeletionCostAnnotation says of a pod how much it would be missed: the
	// ReplicaSet controller removes those with the lowest number first, as long as
	// nothing else tells its pods apart.
	DeletionCostAnnotation = "controller.kubernetes.io/pod-deletion-cost"
	// templateHashLabel has what the name of a pod's ReplicaSet ends with.
	templateHashLabel = "pod-template-hash"
	// podsPerReply bounds one reply to a request for pods.
	podsPerReply = 500
	// parallel is the policy of a StatefulSet whose pods do not wait for each other.
	parallel = "Parallel"
)

// pod is what of a pod matters here.
type pod struct {
	metav1.ObjectMeta `json:"metadata"`

	Spec struct {
		NodeName string `json:"nodeName"`
	} `json:"spec"`
	Status struct {
		Phase      string `json:"phase"`
		PodIP      string `json:"podIP"`
		Conditions []struct {
			Type               string      `json:"type"`
			Status             string      `json:"status"`
			LastTransitionTime metav1.Time `json:"lastTransitionTime"`
		} `json:"conditions"`
	} `json:"status"`
}

// leaving reports whether the pod is being deleted.
func (p *pod) leaving() bool { return p.DeletionTimestamp != nil }

// over reports whether the pod has ended and only its object is left.
func (p *pod) over() bool { return p.Status.Phase == "Succeeded" || p.Status.Phase == "Failed" }

// ready reports whether the pod runs and is ready, and since when.
func (p *pod) ready() (since metav1.Time, ok bool) {
	for _, c := range p.Status.Conditions {
		if c.Type == "Ready" && c.Status == "True" && p.Status.Phase == "Running" && p.Spec.NodeName != "" {
			return c.LastTransitionTime, true
		}
	}
	return metav1.Time{}, false
}

// cost is the pod's deletion cost, 0 if it has none that can be read.
func (p *pod) cost() int {
	n, err := strconv.ParseInt(p.Annotations[DeletionCostAnnotation], 10, 32)
	if err != nil {
		return 0
	}
	return int(n)
}

// ordinal is the number of a StatefulSet's pod; false if its name has none.
func (w *workload) ordinal(p *pod) (int, bool) {
	digits, ok := strings.CutPrefix(p.Name, w.Name+"-")
	n, err := strconv.Atoi(digits)
	return n, ok && err == nil && n >= 0 && strconv.Itoa(n) == digits
}

// podOf is the name of a StatefulSet's pod.
func (w *workload) podOf(ordinal int) string { return w.Name + "-" + strconv.Itoa(ordinal) }

// owns reports whether the pod is the workload's: a StatefulSet's own, or that of
// a ReplicaSet which bears a Deployment's name.
func (a *Actuator) owns(w *workload, p *pod) bool {
	owner := metav1.GetControllerOf(p)
	switch {
	case owner == nil:
		return false
	case a.kind == StatefulSet:
		return owner.UID == w.UID
	default:
		return owner.Kind == "ReplicaSet" && owner.Name == w.Name+"-"+p.Labels[templateHashLabel]
	}
}

// podsOf lists the pods of a workload that have not ended, in the order in which
// the platform would remove them.
func (a *Actuator) podsOf(ctx context.Context, w *workload) ([]pod, error) {
	selector, err := metav1.LabelSelectorAsSelector(w.Spec.Selector)
	if err != nil {
		return nil, a.refused("listing the pods of %s: its selector: %w", a, err)
	}
	var pods []pod
	for page := (kube.Select{Labels: selector.String(), Limit: podsPerReply}); ; {
		list, err := a.pods.List(ctx, page)
		if err != nil {
			return nil, a.callFailed("list", "pods of "+a.String(), err, false)
		}
		for _, p := range list.Items {
			if a.owns(w, &p) && !p.over() {
				pods = append(pods, p)
			}
		}
		if page.Continue = list.Metadata.Continue; page.Continue == "" {
			break
		}
	}
	slices.SortFunc(pods, func(x, y pod) int {
		if a.kind == StatefulSet {
			i, _ := w.ordinal(&x)
			j, _ := w.ordinal(&y)
			return cmp.Or(j-i, cmp.Compare(y.Name, x.Name))
		}
		return byDeletion(&x, &y)
	})
	return pods, nil
}

// byDeletion compares two pods of a ReplicaSet as its controller does, as far as
// one pod alone tells: one that is not ready goes first, then the lower cost,
// then whoever has been ready for less time.
func byDeletion(x, y *pod) int {
	xSince, xReady := x.ready()
	ySince, yReady := y.ready()
	if xReady != yReady {
		if xReady {
			return 1
		}
		return -1
	}
	return cmp.Or(cmp.Compare(x.cost(), y.cost()), ySince.Compare(xSince.Time), cmp.Compare(x.Name, y.Name))
}

// Workers are the pods, those that would go first first. The address is the IP of
// the pod alone: on which port Zeta listens there is not for Kubernetes to say.
func (a *Actuator) Workers(ctx context.Context, _ actuators.Target) ([]actuators.Worker, error) {
	w, err := a.read(ctx)
	if err != nil {
		return nil, err
	}
	pods, err := a.podsOf(ctx, w)
	if err != nil {
		return nil, err
	}
	out := make([]actuators.Worker, len(pods))
	for i := range pods {
		out[i] = actuators.Worker{Name: pods[i].Name, Address: pods[i].Status.PodIP, Leaving: pods[i].leaving()}
	}
	return out, nil
}

// named finds a pod by its name.
func named(pods []pod, name string) (*pod, bool) {
	i := slices.IndexFunc(pods, func(p pod) bool { return p.Name == name })
	if i < 0 {
		return nil, false
	}
	return &pods[i], true
}

// namesOf are the names of pods, for people.
func namesOf(pods []pod) string {
	if len(pods) == 0 {
		return "none"
	}
	names := make([]string, len(pods))
	for i := range pods {
		names[i] = pods[i].Name
		if pods[i].leaving() {
			names[i] += fmt.Sprintf(" (leaves since %s)", pods[i].DeletionTimestamp.UTC().Format("15:04:05"))
		}
	}
	return strings.Join(names, ", ")
}

//go:build unix

package kube

import (
	"context"
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
)

const (
	nodeName = "e2e-node"
	// lookEvery is how often pods are listed: that outlives every interruption
	// of the API server, which a watch would have to be told.
	lookEvery = 100 * time.Millisecond
)

// Kubelet plays one node with room for 200 pods: what the scheduler puts there
// is running at once, and ready unless told otherwise; what is deleted is gone.
type Kubelet struct {
	client kubernetes.Interface
	// unready keeps pods from becoming ready.
	unready atomic.Bool
	// addresses counts the pods' addresses.
	addresses int
}

// startKubelet registers the node and plays it until the test ends.
func startKubelet(t testing.TB, client kubernetes.Interface) *Kubelet {
	t.Helper()
	k := &Kubelet{client: client}
	must(t, k.register(t.Context()), "registering the node")
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() {
		defer close(done)
		k.run(ctx)
	}()
	t.Cleanup(func() {
		cancel()
		<-done
	})
	t.Logf("node %s is played by the test: no container runs", nodeName)
	return k
}

// SetReady says whether running pods become ready; those that are not yet do
// so once it is true again.
func (k *Kubelet) SetReady(ready bool) { k.unready.Store(!ready) }

func (k *Kubelet) register(ctx context.Context) error {
	node, err := k.client.CoreV1().Nodes().Create(ctx, &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: nodeName}}, metav1.CreateOptions{})
	if err != nil {
		return fmt.Errorf("creating the node: %w", err)
	}
	node.Status.Capacity = corev1.ResourceList{
		corev1.ResourceCPU: resource.MustParse("64"), corev1.ResourceMemory: resource.MustParse("256Gi"),
		corev1.ResourcePods: resource.MustParse("200"),
	}
	node.Status.Allocatable = node.Status.Capacity
	now := metav1.Now()
	node.Status.Conditions = []corev1.NodeCondition{{
		Type: corev1.NodeReady, Status: corev1.ConditionTrue, Reason: "Played", LastHeartbeatTime: now, LastTransitionTime: now,
	}}
	if _, err := k.client.CoreV1().Nodes().UpdateStatus(ctx, node, metav1.UpdateOptions{}); err != nil {
		return fmt.Errorf("saying that the node is ready: %w", err)
	}
	return nil
}

func (k *Kubelet) run(ctx context.Context) {
	ticker := time.NewTicker(lookEvery)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
		pods, err := k.client.CoreV1().Pods(metav1.NamespaceAll).List(ctx, metav1.ListOptions{FieldSelector: "spec.nodeName=" + nodeName})
		if err != nil {
			continue // the API server is away: look again
		}
		for i := range pods.Items {
			// A pod that has changed meanwhile is looked at again.
			_ = k.treat(ctx, &pods.Items[i])
		}
	}
}

// treat does what a kubelet does about one pod.
func (k *Kubelet) treat(ctx context.Context, pod *corev1.Pod) error {
	pods := k.client.CoreV1().Pods(pod.Namespace)
	if pod.DeletionTimestamp != nil {
		return pods.Delete(ctx, pod.Name, metav1.DeleteOptions{
			GracePeriodSeconds: new(int64), Preconditions: &metav1.Preconditions{UID: &pod.UID},
		})
	}
	ready := !k.unready.Load()
	if pod.Status.Phase == corev1.PodRunning && (isReady(pod) || !ready) {
		return nil
	}
	if pod.Status.PodIP == "" {
		k.addresses++
		pod.Status.PodIP = fmt.Sprintf("10.1.%d.%d", k.addresses/250, k.addresses%250+1)
		pod.Status.PodIPs = []corev1.PodIP{{IP: pod.Status.PodIP}}
	}
	setRunning(&pod.Status, pod.Spec.Containers, ready)
	_, err := pods.UpdateStatus(ctx, pod, metav1.UpdateOptions{})
	return err
}

func isReady(pod *corev1.Pod) bool {
	for _, c := range pod.Status.Conditions {
		if c.Type == corev1.PodReady {
			return c.Status == corev1.ConditionTrue
		}
	}
	return false
}

func setRunning(s *corev1.PodStatus, containers []corev1.Container, ready bool) {
	now := metav1.Now()
	s.Phase, s.StartTime = corev1.PodRunning, &now
	status := corev1.ConditionFalse
	if ready {
		status = corev1.ConditionTrue
	}
	conditions := []corev1.PodCondition{
		{Type: corev1.PodReady, Status: status, LastTransitionTime: now},
		{Type: corev1.ContainersReady, Status: status, LastTransitionTime: now},
		{Type: corev1.PodInitialized, Status: corev1.ConditionTrue, LastTransitionTime: now},
	}
	for _, c := range s.Conditions {
		if c.Type == corev1.PodScheduled {
			conditions = append(conditions, c)
		}
	}
	s.Conditions = conditions
	s.ContainerStatuses = nil
	for _, c := range containers {
		s.ContainerStatuses = append(s.ContainerStatuses, corev1.ContainerStatus{
			Name: c.Name, Image: c.Image, ImageID: "played", Ready: ready, Started: &ready,
			State: corev1.ContainerState{Running: &corev1.ContainerStateRunning{StartedAt: now}},
		})
	}
}

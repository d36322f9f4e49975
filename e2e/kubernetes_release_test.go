//go:build e2e && unix

package e2e

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	autoscalingv2 "k8s.io/api/autoscaling/v2"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/zeta-scaler/zeta-scaler/actuators"
	kubeactuator "github.com/zeta-scaler/zeta-scaler/actuators/kubernetes"
	"github.com/zeta-scaler/zeta-scaler/e2e/harness"
	"github.com/zeta-scaler/zeta-scaler/e2e/kube"
)

// drain is the fence of a release.
func (s *site) drain(epoch uint64, n int) actuators.Fence {
	f := s.fence(epoch, 9)
	f.ActionID = fmt.Sprint("drain-", n)
	return f
}

// workers are those that the actuator names, once all is at rest.
func (s *site) workers(t *testing.T, a *kubeactuator.Actuator) []actuators.Worker {
	t.Helper()
	s.settle(t)
	workers, err := a.Workers(t.Context(), s.target())
	require.NoError(t, err)
	for _, w := range workers {
		require.NotEmpty(t, w.Address, w.Name)
		require.False(t, w.Leaving, w.Name)
	}
	return workers
}

func namesOf(workers []actuators.Worker) []string {
	out := make([]string, len(workers))
	for i, w := range workers {
		out[i] = w.Name
	}
	return out
}

// patchPod changes a pod as somebody else.
func (s *site) patchPod(t *testing.T, name, patch string) {
	t.Helper()
	_, err := s.Admin.CoreV1().Pods(s.namespace).Patch(t.Context(), name, types.MergePatchType, []byte(patch), metav1.PatchOptions{})
	require.NoError(t, err)
}

// unready makes a pod of the played kubelet not ready, for as long as nobody
// asks it to become so again.
func (s *site) unready(t *testing.T, name string) {
	t.Helper()
	s.Kubelet.SetReady(false)
	t.Cleanup(func() { s.Kubelet.SetReady(true) })
	pods := s.Admin.CoreV1().Pods(s.namespace)
	pod, err := pods.Get(t.Context(), name, metav1.GetOptions{})
	require.NoError(t, err)
	for i := range pod.Status.Conditions {
		if c := &pod.Status.Conditions[i]; c.Type == corev1.PodReady {
			c.Status = corev1.ConditionFalse
		}
	}
	_, err = pods.UpdateStatus(t.Context(), pod, metav1.UpdateOptions{})
	require.NoError(t, err)
}

func releaseOfOrdinals(t *testing.T, c *kube.Cluster) {
	s := newSiteOf(t, c, kubeactuator.StatefulSet, 3)
	s.patch(t, "gitops", `{"spec": {"ordinals": {"start": 4}}}`)
	a := s.actuator(t)
	workers := s.workers(t, a)
	require.Equal(t, []string{"worker-6", "worker-5", "worker-4"}, namesOf(workers))
	err := a.Release(t.Context(), s.target(), workers[2:], s.drain(1, 1))
	require.ErrorIs(t, err, actuators.ErrRefused)
	require.ErrorContains(t, err, "with 3 replicas worker-6 goes first")
	require.NoError(t, a.Release(t.Context(), s.target(), workers[:1], s.drain(1, 1)))
	require.Equal(t, []string{"worker-5", "worker-4"}, namesOf(s.workers(t, a)))
}

// releaseByPolicy shows that an ordered StatefulSet removes nobody while another
// pod is not ready, and that a parallel one does.
func releaseByPolicy(t *testing.T, c *kube.Cluster) {
	s := newSiteOf(t, c, kubeactuator.StatefulSet, 3)
	a := s.actuator(t)
	workers := s.workers(t, a)
	s.unready(t, "worker-0")
	err := a.Release(t.Context(), s.target(), workers[:1], s.drain(1, 1))
	require.ErrorContains(t, err, "worker-0 is not ready, and nothing is removed before it is")
	require.NotErrorIs(t, err, actuators.ErrRefused, "that passes")
	s.Kubelet.SetReady(true)
	require.Equal(t, namesOf(workers), namesOf(s.workers(t, a)))
	require.NoError(t, a.Release(t.Context(), s.target(), workers[:1], s.drain(1, 1)))
	require.Equal(t, []string{"worker-1", "worker-0"}, namesOf(s.workers(t, a)))

	// The policy cannot be changed: it is another StatefulSet.
	p := newSiteWith(t, c, kubeactuator.StatefulSet, 3, appsv1.ParallelPodManagement)
	b := p.actuator(t)
	workers = p.workers(t, b)
	p.unready(t, "worker-0")
	require.NoError(t, b.Release(t.Context(), p.target(), workers[:1], p.drain(1, 1)))
	harness.Wait(t, podsWithin, "the last pod is gone although another one is not ready", func(ctx context.Context) error {
		left, err := b.Workers(ctx, p.target())
		if err == nil && len(left) != 2 {
			err = fmt.Errorf("%v are there", namesOf(left))
		}
		return err
	})
}

// releaseOfOthers has a pod that is not there, and one that only looks like one
// of the workload's.
func releaseOfOthers(t *testing.T, c *kube.Cluster) {
	s := newSiteOf(t, c, kubeactuator.StatefulSet, 3)
	a := s.actuator(t)
	workers := s.workers(t, a)
	pods := s.Admin.CoreV1().Pods(s.namespace)
	_, err := pods.Create(t.Context(), &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: "worker-9", Labels: map[string]string{"app": "other"}},
		Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "zeta", Image: "seatunnel"}}},
	}, metav1.CreateOptions{})
	require.NoError(t, err)
	again, err := a.Workers(t.Context(), s.target())
	require.NoError(t, err)
	require.Equal(t, workers, again)
	require.NoError(t, pods.Delete(t.Context(), "worker-9", metav1.DeleteOptions{}))

	// A finalizer keeps a pod that is being deleted.
	s.patchPod(t, "worker-1", `{"metadata": {"finalizers": ["zeta-scaler.io/e2e"]}}`)
	require.NoError(t, pods.Delete(t.Context(), "worker-1", metav1.DeleteOptions{}))
	err = a.Release(t.Context(), s.target(), workers[:1], s.drain(1, 1))
	require.ErrorContains(t, err, "worker-1 (leaves since ")
	require.NotErrorIs(t, err, actuators.ErrRefused, "that passes")
	require.Equal(t, 3, s.replicas(t))
	s.patchPod(t, "worker-1", `{"metadata": {"finalizers": null}}`)
	s.workers(t, a)
	require.NoError(t, a.Release(t.Context(), s.target(), workers[:1], s.drain(1, 1)))
	require.Equal(t, []string{"worker-1", "worker-0"}, namesOf(s.workers(t, a)))
}

func releaseOfAnother(t *testing.T, c *kube.Cluster) {
	s := newSiteOf(t, c, kubeactuator.StatefulSet, 2)
	a := s.actuator(t)
	drained := s.workers(t, a)[:1]
	require.NoError(t, s.Admin.CoreV1().Pods(s.namespace).Delete(t.Context(), "worker-1", metav1.DeleteOptions{}))
	harness.Wait(t, podsWithin, "worker-1 is another pod", func(ctx context.Context) error {
		workers, err := a.Workers(ctx, s.target())
		if err == nil && (len(workers) != 2 || workers[0].Address == "" || workers[0].Address == drained[0].Address) {
			err = fmt.Errorf("there are %+v", workers)
		}
		return err
	})
	err := a.Release(t.Context(), s.target(), drained, s.drain(1, 1))
	require.ErrorIs(t, err, actuators.ErrRefused)
	require.ErrorContains(t, err, "it is another one by now")
	require.Equal(t, 2, s.replicas(t))
}

// releaseOfWrongPod has somebody give another pod a lower cost at the moment of
// the write.
func releaseOfWrongPod(t *testing.T, c *kube.Cluster) {
	s := newSiteOf(t, c, kubeactuator.Deployment, 3)
	g, a := s.gateway(t, 5*time.Second)
	workers := s.workers(t, a)
	disturb := func() {
		s.patchPod(t, workers[2].Name, `{"metadata": {"annotations": {"`+kubeactuator.DeletionCostAnnotation+`": "-100"}}}`)
	}
	g.before.Store(&disturb)
	var other *actuators.OtherWorkerError
	require.ErrorAs(t, a.Release(t.Context(), s.target(), workers[:1], s.drain(1, 1)), &other)
	require.Equal(t, &actuators.OtherWorkerError{Named: workers[0].Name, Gone: workers[2].Name}, other)
	require.Len(t, s.workers(t, a), 2)
	require.ErrorAs(t, a.Release(t.Context(), s.target(), workers[:1], s.drain(1, 1)), &other, "asked again, it is still so")
	require.Equal(t, 2, s.replicas(t), "and nobody else is removed")
	require.NoError(t, a.Release(t.Context(), s.target(), workers[:1], s.drain(1, 2)), "the next drain may have it")
	require.Equal(t, []string{workers[1].Name}, namesOf(s.workers(t, a)))
}

func releaseOfTwoLeaders(t *testing.T, c *kube.Cluster) {
	for _, kind := range []string{kubeactuator.StatefulSet, kubeactuator.Deployment} {
		s := newSiteOf(t, c, kind, 3)
		young := s.actuator(t)
		g, old := s.gateway(t, 5*time.Second)
		workers := s.workers(t, young)
		// The old leader has looked, and only then does the new one take over, and
		// goes on with the same drain.
		takeOver := func() {
			require.NoError(t, young.Claim(t.Context(), s.target(), actuators.Fence{Epoch: 2}))
			require.NoError(t, young.Release(t.Context(), s.target(), workers[:1], s.drain(2, 1)))
		}
		g.before.Store(&takeOver)
		require.ErrorIs(t, old.Release(t.Context(), s.target(), workers[:1], s.drain(1, 1)), actuators.ErrStale)
		require.Equal(t, 2, s.replicas(t))
		require.NoError(t, young.Release(t.Context(), s.target(), workers[:1], s.drain(2, 1)))
		require.NotContains(t, namesOf(s.workers(t, young)), workers[0].Name)
		require.Equal(t, 2, s.replicas(t))

		fence := s.fence(2, 10)
		fence.Fenced = true
		require.NoError(t, young.Scale(t.Context(), s.target(), 3, fence), "a release is our own write")
		require.Len(t, s.workers(t, young), 3)
		require.NoError(t, young.Release(t.Context(), s.target(), workers[:1], s.drain(2, 1)))
		require.Equal(t, 3, s.replicas(t), "and what is repeated removes nobody who came later")
	}
}

// releaseThenKilled is the last of its cluster: a scheduler that has missed how a
// pod went and came back under its name ends itself.
func releaseThenKilled(t *testing.T, c *kube.Cluster) {
	s := newSiteOf(t, c, kubeactuator.StatefulSet, 3)
	g, a := s.gateway(t, 5*time.Second)
	workers := s.workers(t, a)
	kill := func() { c.KillAPIServer(t) }
	g.after.Store(&kill)
	require.ErrorIs(t, a.Release(t.Context(), s.target(), workers[:1], s.drain(1, 1)), actuators.ErrUnknownOutcome)
	c.StartAPIServer(t)
	require.NoError(t, a.Release(t.Context(), s.target(), workers[:1], s.drain(1, 1)))
	require.Equal(t, int32(1), g.patches.Load(), "nothing is written twice")
	require.Equal(t, []string{"worker-1", "worker-0"}, namesOf(s.workers(t, a)))
	state, err := a.Observe(t.Context(), s.target())
	require.NoError(t, err)
	require.Equal(t, s.drain(1, 1), state.Fence)
	require.Empty(t, state.OtherWriter)
}

func releaseWithoutRights(t *testing.T, c *kube.Cluster) {
	s := newSiteOf(t, c, kubeactuator.StatefulSet, 2, mayScale)
	a := s.actuator(t)
	_, err := a.Workers(t.Context(), s.target())
	require.ErrorIs(t, err, actuators.ErrRefused)
	require.ErrorContains(t, err, "not allowed to list pods of StatefulSet "+s.namespace+"/worker")
	err = a.Release(t.Context(), s.target(), []actuators.Worker{{Name: "worker-1"}}, s.drain(1, 1))
	require.ErrorIs(t, err, actuators.ErrRefused)
	require.ErrorContains(t, err, "not allowed to list pods")

	readPods := mayDrain
	readPods.Verbs = []string{"list"}
	d := newSiteOf(t, c, kubeactuator.Deployment, 2, mayScale, readPods)
	b := d.actuator(t)
	workers := d.workers(t, b)
	err = b.Release(t.Context(), d.target(), workers[:1], d.drain(1, 1))
	require.ErrorIs(t, err, actuators.ErrRefused)
	require.ErrorContains(t, err, "not allowed to patch pod "+d.namespace+"/"+workers[0].Name)
	require.Equal(t, 2, d.replicas(t))
	t.Logf("refused: %v", err)

	// For a StatefulSet it is enough.
	f := newSiteOf(t, c, kubeactuator.StatefulSet, 2, mayScale, readPods)
	e := f.actuator(t)
	require.NoError(t, e.Release(t.Context(), f.target(), f.workers(t, e)[:1], f.drain(1, 1)))
}

func releaseBesideAutoscaler(t *testing.T, c *kube.Cluster) {
	s := newSite(t, c, kubeactuator.StatefulSet)
	a := s.actuator(t)
	workers := s.workers(t, a)
	least := int32(2)
	_, err := c.Admin.AutoscalingV2().HorizontalPodAutoscalers(s.namespace).Create(t.Context(), &autoscalingv2.HorizontalPodAutoscaler{
		ObjectMeta: metav1.ObjectMeta{Name: "by-cpu"},
		Spec: autoscalingv2.HorizontalPodAutoscalerSpec{
			ScaleTargetRef: autoscalingv2.CrossVersionObjectReference{APIVersion: "apps/v1", Kind: s.kind, Name: workerName},
			MinReplicas:    &least, MaxReplicas: 9,
		},
	}, metav1.CreateOptions{})
	require.NoError(t, err)
	requireOtherWriter(t, a.Release(t.Context(), s.target(), workers[:1], s.drain(1, 1)), "HorizontalPodAutoscaler "+s.namespace+"/by-cpu")
	require.Equal(t, 2, s.replicas(t))
}

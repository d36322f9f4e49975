//go:build e2e && unix

package e2e

import (
	"context"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	autoscalingv2 "k8s.io/api/autoscaling/v2"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/zeta-scaler/zeta-scaler/actuators"
	"github.com/zeta-scaler/zeta-scaler/actuators/actuatortest"
	kubeactuator "github.com/zeta-scaler/zeta-scaler/actuators/kubernetes"
	"github.com/zeta-scaler/zeta-scaler/e2e/harness"
	"github.com/zeta-scaler/zeta-scaler/e2e/kube"
	kubeevents "github.com/zeta-scaler/zeta-scaler/events/kubernetes"
	"github.com/zeta-scaler/zeta-scaler/scaling"
)

// The Kubernetes actuator against a real control plane. Its service account
// has the rights of the shipped role and no others.
func TestKubernetesActuator(t *testing.T) {
	c := kube.Start(t, lab, kube.Options{Workloads: true})
	for _, kind := range []string{kubeactuator.StatefulSet, kubeactuator.Deployment} {
		t.Run(kind+" scales out to convergence", func(t *testing.T) { scalesOut(t, newSite(t, c, kind)) })
	}
	for _, kind := range []string{kubeactuator.StatefulSet, kubeactuator.Deployment} {
		t.Run("conformance of a "+kind, func(t *testing.T) {
			actuatortest.RunConformance(t, func(t *testing.T) actuatortest.Fixture { return conforming(t, c, kind) })
		})
	}
	for _, test := range []struct {
		name string
		run  func(*testing.T, *kube.Cluster)
	}{
		{"an older epoch is refused", olderEpoch},
		{"a conflict is decided again", conflictDecidedAgain},
		{"a HorizontalPodAutoscaler on the target", autoscalerOnTarget},
		{"a second field manager", secondFieldManager},
		{"a workload that is replaced", replaced},
		{"rights that are too small", rightsTooSmall},
		{"an Application Mode cluster is never scaled", applicationMode},
		{"pods that never become ready", podsNeverReady},
		{"the API server ends before it is asked", serverAway},
		{"the API server freezes in mid-action", serverFrozen},
		{"the API server is killed after it acted", serverKilledAfterItActed},
		{"events of the workload", eventsOfTheWorkload},
		{"a release where ordinals do not begin at 0", releaseOfOrdinals},
		{"a release by podManagementPolicy", releaseByPolicy},
		{"a release from pods that do not match", releaseOfOthers},
		{"a pod that came back under its name", releaseOfAnother},
		{"a Deployment that removes another pod", releaseOfWrongPod},
		{"two leaders release", releaseOfTwoLeaders},
		{"a release without rights", releaseWithoutRights},
		{"a release beside an autoscaler", releaseBesideAutoscaler},
		{"a drain removes the pod that it has emptied", drainsAPod},
		{"the API server is killed after a release", releaseThenKilled},
	} {
		t.Run(test.name, func(t *testing.T) { test.run(t, c) })
	}
}

func scalesOut(t *testing.T, s *site) {
	a, log := s.loggingActuator(t)
	before, err := a.Observe(t.Context(), s.target())
	require.NoError(t, err)
	require.Equal(t, 2, before.Desired)
	require.Empty(t, before.OtherWriter, "a workload that was never written is taken as it is")
	require.Empty(t, log.String(), "the shipped role is enough, and a cluster without KEDA is no fault")
	require.NoError(t, a.Claim(t.Context(), s.target(), actuators.Fence{Epoch: 3}))
	require.NoError(t, a.Scale(t.Context(), s.target(), 5, s.fence(3, 8)))
	state := s.converge(t, a, 5)
	require.Equal(t, s.fence(3, 8), state.Fence)
	require.Empty(t, state.OtherWriter)

	meta, _ := s.workload(t)
	require.NoError(t, a.Scale(t.Context(), s.target(), 5, s.fence(3, 8)))
	again, _ := s.workload(t)
	require.Equal(t, meta.Generation, again.Generation, "asking twice changes nothing")
	require.Equal(t, "5", again.Annotations[kubeactuator.ReplicasAnnotation])
	owned := false
	for _, m := range again.ManagedFields {
		owned = owned || m.Manager == kubeactuator.FieldManager && strings.Contains(m.FieldsV1.GetRawString(), `"f:replicas"`)
	}
	require.True(t, owned, "the managed fields name us")

	require.ErrorIs(t, a.Scale(t.Context(), s.target(), 4, s.fence(3, 9)), actuators.ErrRefused)
	require.Equal(t, 5, s.replicas(t))
}

func olderEpoch(t *testing.T, c *kube.Cluster) {
	s := newSite(t, c, kubeactuator.StatefulSet)
	old, young := s.actuator(t), s.actuator(t)
	require.NoError(t, old.Claim(t.Context(), s.target(), actuators.Fence{Epoch: 1}))
	require.NoError(t, young.Claim(t.Context(), s.target(), actuators.Fence{Epoch: 2}))
	require.ErrorIs(t, old.Scale(t.Context(), s.target(), 5, s.fence(1, 4)), actuators.ErrStale)
	require.ErrorIs(t, old.Claim(t.Context(), s.target(), actuators.Fence{Epoch: 1}), actuators.ErrStale)
	require.Equal(t, 2, s.replicas(t))
	require.NoError(t, young.Scale(t.Context(), s.target(), 3, s.fence(2, 1)))

	// The old leader has read, and only then does the new one take over.
	g, frozen := s.gateway(t, 5*time.Second)
	takeOver := func() { require.NoError(t, young.Claim(t.Context(), s.target(), actuators.Fence{Epoch: 3})) }
	g.before.Store(&takeOver)
	require.ErrorIs(t, frozen.Scale(t.Context(), s.target(), 6, s.fence(2, 2)), actuators.ErrStale)
	require.Equal(t, int32(1), g.patches.Load(), "its one write was refused by the platform")
	require.Equal(t, 3, s.replicas(t))
}

func conflictDecidedAgain(t *testing.T, c *kube.Cluster) {
	s := newSite(t, c, kubeactuator.Deployment)
	g, a := s.gateway(t, 5*time.Second)
	label := func() { s.patch(t, "somebody", `{"metadata": {"labels": {"team": "data"}}}`) }
	g.before.Store(&label)
	require.NoError(t, a.Scale(t.Context(), s.target(), 3, s.fence(1, 1)))
	require.Equal(t, int32(2), g.patches.Load(), "one that was refused, and another")
	meta, replicas := s.workload(t)
	require.Equal(t, 3, replicas)
	require.Equal(t, "data", meta.Labels["team"], "what the other one wrote is kept")

	scale := func() { s.patch(t, "somebody", `{"spec": {"replicas": 8}}`) }
	g.before.Store(&scale)
	requireOtherWriter(t, a.Scale(t.Context(), s.target(), 5, s.fence(1, 2)), "field manager somebody")
	require.Equal(t, 8, s.replicas(t))
}

func requireOtherWriter(t *testing.T, err error, writer string) {
	t.Helper()
	var other *actuators.OtherWriterError
	require.ErrorAs(t, err, &other)
	require.Equal(t, writer, other.Writer)
	t.Logf("refused: %v", err)
}

func autoscalerOnTarget(t *testing.T, c *kube.Cluster) {
	s := newSite(t, c, kubeactuator.Deployment)
	a := s.actuator(t)
	require.NoError(t, a.Scale(t.Context(), s.target(), 3, s.fence(1, 1)))
	hpas := c.Admin.AutoscalingV2().HorizontalPodAutoscalers(s.namespace)
	least := int32(4)
	_, err := hpas.Create(t.Context(), &autoscalingv2.HorizontalPodAutoscaler{
		ObjectMeta: metav1.ObjectMeta{Name: "by-cpu"},
		Spec: autoscalingv2.HorizontalPodAutoscalerSpec{
			ScaleTargetRef: autoscalingv2.CrossVersionObjectReference{APIVersion: "apps/v1", Kind: s.kind, Name: workerName},
			MinReplicas:    &least, MaxReplicas: 9,
		},
	}, metav1.CreateOptions{})
	require.NoError(t, err)
	requireOtherWriter(t, a.Scale(t.Context(), s.target(), 6, s.fence(1, 2)), "HorizontalPodAutoscaler "+s.namespace+"/by-cpu")
	harness.Wait(t, podsWithin, "the autoscaler has raised the workload to its minimum", func(context.Context) error {
		if n := s.replicas(t); n != 4 {
			return fmt.Errorf("%d replicas", n)
		}
		return nil
	})

	require.NoError(t, hpas.Delete(t.Context(), "by-cpu", metav1.DeleteOptions{}))
	requireOtherWriter(t, a.Scale(t.Context(), s.target(), 6, s.fence(1, 2)), "field manager kube-controller-manager (scale)")
	resumed := s.fence(1, 2)
	resumed.AcceptPresent = true
	require.NoError(t, a.Scale(t.Context(), s.target(), 6, resumed))
	s.converge(t, a, 6)
}

func secondFieldManager(t *testing.T, c *kube.Cluster) {
	s := newSite(t, c, kubeactuator.StatefulSet)
	a := s.actuator(t)
	require.NoError(t, a.Scale(t.Context(), s.target(), 4, s.fence(1, 1)))
	s.patch(t, "gitops", `{"spec": {"replicas": 3}}`)
	state, err := a.Observe(t.Context(), s.target())
	require.NoError(t, err)
	require.Equal(t, "field manager gitops", state.OtherWriter)
	requireOtherWriter(t, a.Scale(t.Context(), s.target(), 5, s.fence(1, 2)), "field manager gitops")
	require.Equal(t, 3, s.replicas(t))
}

// replaced deletes the workload and makes it again from its manifest, as
// `kubectl replace --force` and a restore from a backup do: with what we wrote.
func replaced(t *testing.T, c *kube.Cluster) {
	s := newSite(t, c, kubeactuator.StatefulSet)
	a := s.actuator(t)
	require.NoError(t, a.Scale(t.Context(), s.target(), 4, s.fence(1, 1)))
	sets := c.Admin.AppsV1().StatefulSets(s.namespace)
	set, err := sets.Get(t.Context(), workerName, metav1.GetOptions{})
	require.NoError(t, err)
	require.NoError(t, sets.Delete(t.Context(), workerName, metav1.DeleteOptions{}))
	set.ObjectMeta = metav1.ObjectMeta{Name: set.Name, Namespace: set.Namespace, Labels: set.Labels, Annotations: set.Annotations}
	harness.Wait(t, podsWithin, "it is made again", func(ctx context.Context) error {
		_, err := sets.Create(ctx, set, metav1.CreateOptions{})
		return err
	})
	state, err := a.Observe(t.Context(), s.target())
	require.NoError(t, err)
	require.Equal(t, actuators.LostFence, state.OtherWriter)
	require.Zero(t, state.Fence)
	requireOtherWriter(t, a.Scale(t.Context(), s.target(), 5, s.fence(1, 2)), actuators.LostFence)
	resumed := s.fence(1, 2)
	resumed.AcceptPresent = true
	require.NoError(t, a.Scale(t.Context(), s.target(), 5, resumed))
	require.NoError(t, a.Scale(t.Context(), s.target(), 6, s.fence(1, 3)))
}

func rightsTooSmall(t *testing.T, c *kube.Cluster) {
	readOnly := mayScale
	readOnly.Verbs = []string{"get"}
	s := newSite(t, c, kubeactuator.StatefulSet, readOnly)
	a, log := s.loggingActuator(t)
	_, err := a.Observe(t.Context(), s.target())
	require.NoError(t, err, "the right to look for other writers is optional")
	require.Contains(t, log.String(), `missing_right="list horizontalpodautoscalers.autoscaling"`)
	require.Contains(t, log.String(), `missing_right="list scaledobjects.keda.sh"`)
	err = a.Scale(t.Context(), s.target(), 4, s.fence(1, 1))
	require.ErrorIs(t, err, actuators.ErrRefused)
	require.ErrorContains(t, err, "not allowed to patch StatefulSet "+s.namespace+"/worker")
	t.Logf("refused: %v", err)
	require.Equal(t, 2, s.replicas(t))

	nobody, err := kubeactuator.New(s.options(c.Kubeconfig(t, "nobody")))
	require.NoError(t, err)
	_, err = nobody.Observe(t.Context(), s.target())
	require.ErrorIs(t, err, actuators.ErrRefused)
	require.ErrorContains(t, err, "not allowed to get")

	o := s.options(c.Kubeconfig(t, s.account, "system:masters"))
	o.Name = "misspelt"
	missing, err := kubeactuator.New(o)
	require.NoError(t, err)
	err = missing.Scale(t.Context(), s.target(), 4, s.fence(1, 1))
	require.ErrorIs(t, err, actuators.ErrRefused)
	require.ErrorContains(t, err, "misspelt does not exist")
}

func applicationMode(t *testing.T, c *kube.Cluster) {
	s := newSite(t, c, kubeactuator.Deployment)
	s.patch(t, "seatunnel", `{"metadata": {"labels": {"seatunnel.apache.org/application-id": "orders-1"}}}`)
	err := s.actuator(t).Scale(t.Context(), s.target(), 4, s.fence(1, 1))
	require.ErrorIs(t, err, actuators.ErrRefused)
	require.ErrorContains(t, err, `Application Mode cluster "orders-1"`)
	require.Equal(t, 2, s.replicas(t))
}

func podsNeverReady(t *testing.T, c *kube.Cluster) {
	s := newSite(t, c, kubeactuator.Deployment)
	a := s.actuator(t)
	c.Kubelet.SetReady(false)
	t.Cleanup(func() { c.Kubelet.SetReady(true) })
	require.NoError(t, a.Scale(t.Context(), s.target(), 4, s.fence(1, 1)))
	harness.Wait(t, podsWithin, "4 pods run, of which 2 are not ready", func(ctx context.Context) error {
		list, err := c.Admin.CoreV1().Pods(s.namespace).List(ctx, metav1.ListOptions{FieldSelector: "status.phase=Running"})
		if err == nil && len(list.Items) != 4 {
			err = fmt.Errorf("%d pods run", len(list.Items))
		}
		return err
	})
	harness.Wait(t, podsWithin, "the platform says 2 of 4", func(ctx context.Context) error {
		state, err := a.Observe(ctx, s.target())
		if err == nil && (state.Desired != 4 || state.Ready != 2) {
			err = fmt.Errorf("%d of %d", state.Ready, state.Desired)
		}
		return err
	})
	c.Kubelet.SetReady(true)
	s.converge(t, a, 4)
}

func serverAway(t *testing.T, c *kube.Cluster) {
	s := newSite(t, c, kubeactuator.StatefulSet)
	a := s.actuator(t)
	require.NoError(t, a.Scale(t.Context(), s.target(), 3, s.fence(1, 1)))
	c.StopAPIServer(t)
	err := a.Scale(t.Context(), s.target(), 4, s.fence(1, 2))
	require.Error(t, err)
	require.NotErrorIs(t, err, actuators.ErrUnknownOutcome, "nothing was asked")
	require.NotErrorIs(t, err, actuators.ErrRefused)
	t.Logf("while it is away: %v", err)
	c.StartAPIServer(t)
	state, err := a.Observe(t.Context(), s.target())
	require.NoError(t, err)
	require.Equal(t, s.fence(1, 1), state.Fence)
	require.NoError(t, a.Scale(t.Context(), s.target(), 4, s.fence(1, 2)))
	s.converge(t, a, 4)
}

func serverFrozen(t *testing.T, c *kube.Cluster) {
	s := newSite(t, c, kubeactuator.StatefulSet)
	g, a := s.gateway(t, 2*time.Second)
	freeze := func() { require.NoError(t, c.APIServer.Freeze()) }
	g.before.Store(&freeze)
	err := a.Scale(t.Context(), s.target(), 4, s.fence(1, 1))
	require.NoError(t, c.APIServer.Thaw())
	require.ErrorIs(t, err, actuators.ErrUnknownOutcome)
	t.Logf("while it is frozen: %v", err)
	harness.Wait(t, podsWithin, "the platform can be read again", func(ctx context.Context) error {
		state, err := a.Observe(ctx, s.target())
		t.Logf("asked for: %d, action recorded: %q, %v", state.Desired, state.Fence.ActionID, err)
		if err == nil {
			require.Equal(t, state.Desired == 4, state.Fence.ActionID == s.fence(1, 1).ActionID, "number and fence come together")
		}
		return err
	})
	require.NoError(t, a.Scale(t.Context(), s.target(), 4, s.fence(1, 1)))
	s.converge(t, a, 4)
}

func serverKilledAfterItActed(t *testing.T, c *kube.Cluster) {
	s := newSite(t, c, kubeactuator.Deployment)
	g, a := s.gateway(t, 5*time.Second)
	kill := func() { c.KillAPIServer(t) }
	g.after.Store(&kill)
	require.ErrorIs(t, a.Scale(t.Context(), s.target(), 4, s.fence(1, 1)), actuators.ErrUnknownOutcome)
	c.StartAPIServer(t)
	state, err := a.Observe(t.Context(), s.target())
	require.NoError(t, err)
	require.Equal(t, 4, state.Desired)
	require.Equal(t, s.fence(1, 1), state.Fence, "the platform tells that the action was carried out")
	require.NoError(t, a.Scale(t.Context(), s.target(), 4, s.fence(1, 1)))
	require.Equal(t, int32(1), g.patches.Load(), "and nothing is written twice")
	s.converge(t, a, 4)
}

func eventsOfTheWorkload(t *testing.T, c *kube.Cluster) {
	s := newSite(t, c, kubeactuator.StatefulSet)
	h, err := kubeevents.New(kubeevents.Options{
		Object: func(string) (kubeevents.Object, bool) {
			return kubeevents.Object{Namespace: s.namespace, Kind: s.kind, Name: workerName}, true
		},
		Kubeconfig: s.Kubeconfig(t, s.account), Instance: "zeta-scaler-0", Logger: slog.New(slog.DiscardHandler),
	})
	require.NoError(t, err)
	failed := scaling.Event{
		Kind: scaling.EventScalingException, Severity: scaling.Warning, Scope: scaling.Scope{Key: s.namespace}, At: time.Now(),
		Message: "FAILED: 1 of 3 workers came", Execution: &scaling.Execution{ID: "1-1-x", State: scaling.ActionFailed},
	}
	require.NoError(t, h.Handle(t.Context(), failed))
	require.NoError(t, h.Handle(t.Context(), failed))

	// What `kubectl describe` asks for.
	meta, _ := s.workload(t)
	list, err := c.Admin.CoreV1().Events(s.namespace).List(t.Context(), metav1.ListOptions{
		FieldSelector: fmt.Sprintf("involvedObject.uid=%s,involvedObject.name=%s,reportingComponent=%s", meta.UID, workerName, kubeevents.Controller),
	})
	require.NoError(t, err)
	require.Len(t, list.Items, 1)
	require.Equal(t, "ScalingException", list.Items[0].Reason)
	require.Equal(t, corev1.EventTypeWarning, list.Items[0].Type)
	require.Contains(t, list.Items[0].Message, "1 of 3 workers came")
}

//go:build e2e && unix

package e2e

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/yaml"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/restmapper"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/zeta-scaler/zeta-scaler/e2e/harness"
	"github.com/zeta-scaler/zeta-scaler/e2e/kube"
)

// serviceMonitorCRD stands for the Prometheus operator: only the kind has to
// exist, with the fields that are used.
const serviceMonitorCRD = `
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: servicemonitors.monitoring.coreos.com}
spec:
  group: monitoring.coreos.com
  names: {kind: ServiceMonitor, listKind: ServiceMonitorList, plural: servicemonitors, singular: servicemonitor}
  scope: Namespaced
  versions:
    - name: v1
      served: true
      storage: true
      schema:
        openAPIV3Schema:
          type: object
          properties:
            spec:
              type: object
              properties:
                selector: {type: object, properties: {matchLabels: {type: object, additionalProperties: {type: string}}}}
                endpoints:
                  type: array
                  items:
                    type: object
                    properties: {port: {type: string}, interval: {type: string}, scrapeTimeout: {type: string}, honorLabels: {type: boolean}}
`

// seatunnel is the workload that the active overlay names.
const seatunnel = `
apiVersion: v1
kind: Namespace
metadata: {name: seatunnel}
---
apiVersion: apps/v1
kind: StatefulSet
metadata: {name: seatunnel-worker, namespace: seatunnel}
spec:
  replicas: 2
  serviceName: seatunnel
  selector: {matchLabels: {app: seatunnel}}
  template:
    metadata: {labels: {app: seatunnel}}
    spec: {containers: [{name: worker, image: "apache/seatunnel:2.3.13"}]}
---
apiVersion: apps/v1
kind: StatefulSet
metadata: {name: other, namespace: seatunnel}
spec:
  replicas: 2
  serviceName: other
  selector: {matchLabels: {app: other}}
  template:
    metadata: {labels: {app: other}}
    spec: {containers: [{name: other, image: "other:1.0.0"}]}
`

// applier applies manifests as kubectl apply --server-side --validate=strict.
type applier struct {
	discovery discovery.DiscoveryInterface
	dynamic   dynamic.Interface
}

func newApplier(t *testing.T, kubeconfig string) *applier {
	t.Helper()
	config, err := clientcmd.BuildConfigFromFlags("", kubeconfig)
	require.NoError(t, err)
	config.QPS = -1
	d, err := discovery.NewDiscoveryClientForConfig(config)
	require.NoError(t, err)
	c, err := dynamic.NewForConfig(config)
	require.NoError(t, err)
	return &applier{discovery: d, dynamic: c}
}

// apply applies every document, in order.
func (a *applier) apply(t *testing.T, text []byte) int {
	t.Helper()
	groups, err := restmapper.GetAPIGroupResources(a.discovery)
	require.NoError(t, err)
	mapper := restmapper.NewDiscoveryRESTMapper(groups)
	decoder := yaml.NewYAMLOrJSONDecoder(bytes.NewReader(text), 4096)
	for n := 0; ; n++ {
		var u unstructured.Unstructured
		err := decoder.Decode(&u.Object)
		if errors.Is(err, io.EOF) {
			return n
		}
		require.NoError(t, err)
		kind := u.GroupVersionKind()
		mapping, err := mapper.RESTMapping(kind.GroupKind(), kind.Version)
		require.NoError(t, err, "%s %s", u.GetKind(), u.GetName())
		body, err := u.MarshalJSON()
		require.NoError(t, err)
		_, err = a.dynamic.Resource(mapping.Resource).Namespace(u.GetNamespace()).Patch(t.Context(), u.GetName(), types.ApplyPatchType, body,
			metav1.PatchOptions{FieldManager: "e2e", FieldValidation: metav1.FieldValidationStrict})
		require.NoError(t, err, "%s %s", u.GetKind(), u.GetName())
	}
}

// The manifests are taken by a real API server, strictly, and the rights of
// the active overlay are enough and no more.
func TestManifestsOnARealAPIServer(t *testing.T) {
	c := kube.Start(t, lab, kube.Options{})
	a := newApplier(t, c.Kubeconfig(t, "e2e-admin", "system:masters"))
	a.apply(t, []byte(serviceMonitorCRD))
	waitForKind(t, a, "servicemonitors")
	a.apply(t, []byte(seatunnel))
	render := lab.Build(t, harness.Program{Name: "render", Module: "e2e/deploy", Package: "./render"})
	for _, overlay := range []string{"advisory", "active"} {
		dir := filepath.Join("deploy", "kubernetes", "overlays", overlay)
		text := run(t, ".", render, dir)
		n := a.apply(t, []byte(text))
		require.Greater(t, n, 10)
		require.Equal(t, n, a.apply(t, []byte(text)), "again, as after a change")
		t.Logf("%s: %d objects applied twice", overlay, n)
	}
	checkPods(t, a)
	checkRights(t, newApplier(t, c.Kubeconfig(t, "system:serviceaccount:zeta-scaler:zeta-scaler")).dynamic)
	t.Run("Helm", func(t *testing.T) {
		installChart(t, a, c.Kubeconfig(t, "e2e-admin", "system:masters"), func(account string) *applier { return newApplier(t, c.Kubeconfig(t, account)) })
	})
}

// waitForKind waits until the API server knows a kind of the Prometheus operator.
func waitForKind(t *testing.T, a *applier, plural string) {
	t.Helper()
	harness.Wait(t, time.Minute, plural+" are known", func(context.Context) error {
		list, err := a.discovery.ServerResourcesForGroupVersion("monitoring.coreos.com/v1")
		if err != nil {
			return err
		}
		for i := range list.APIResources {
			if list.APIResources[i].Name == plural {
				return nil
			}
		}
		return fmt.Errorf("%s are not among %d kinds", plural, len(list.APIResources))
	})
}

// checkPods asks whether the pods of the Deployments would be let in by the
// restricted standard, which the namespace enforces, and whether it is enforced.
func checkPods(t *testing.T, a *applier) {
	t.Helper()
	pods := a.dynamic.Resource(schema.GroupVersionResource{Version: "v1", Resource: "pods"}).Namespace("zeta-scaler")
	deployments := a.dynamic.Resource(schema.GroupVersionResource{Group: "apps", Version: "v1", Resource: "deployments"}).Namespace("zeta-scaler")
	for _, name := range []string{"zeta-scaler", "zeta-scaler-exporter"} {
		d, err := deployments.Get(t.Context(), name, metav1.GetOptions{})
		require.NoError(t, err)
		spec, found, err := unstructured.NestedMap(d.Object, "spec", "template", "spec")
		require.NoError(t, err)
		require.True(t, found)
		pod := &unstructured.Unstructured{Object: map[string]any{
			"apiVersion": "v1", "kind": "Pod", "metadata": map[string]any{"name": name}, "spec": spec,
		}}
		dryRun := metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}}
		_, err = pods.Create(t.Context(), pod, dryRun)
		require.NoError(t, err, name)
		require.NoError(t, unstructured.SetNestedField(pod.Object, true, "spec", "hostNetwork"))
		_, err = pods.Create(t.Context(), pod, dryRun)
		require.ErrorContains(t, err, "violates PodSecurity", name)
	}
}

// checkRights does what the service does, and what it must not.
func checkRights(t *testing.T, client dynamic.Interface) {
	t.Helper()
	resource := func(group, version, name string) schema.GroupVersionResource {
		return schema.GroupVersionResource{Group: group, Version: version, Resource: name}
	}
	statefulSets, configMaps := resource("apps", "v1", "statefulsets"), resource("", "v1", "configmaps")
	forbidden := func(err error) { t.Helper(); require.True(t, apierrors.IsForbidden(err), "%v", err) }
	ctx := t.Context()

	workloads := client.Resource(statefulSets).Namespace("seatunnel")
	_, err := workloads.Get(ctx, "seatunnel-worker", metav1.GetOptions{})
	require.NoError(t, err)
	scaled, err := workloads.Patch(ctx, "seatunnel-worker", types.MergePatchType, []byte(`{"spec":{"replicas":3}}`), metav1.PatchOptions{})
	require.NoError(t, err)
	replicas, _, err := unstructured.NestedInt64(scaled.Object, "spec", "replicas")
	require.NoError(t, err)
	require.EqualValues(t, 3, replicas)
	_, err = client.Resource(resource("autoscaling", "v2", "horizontalpodautoscalers")).Namespace("seatunnel").List(ctx, metav1.ListOptions{})
	require.NoError(t, err)

	_, err = workloads.Get(ctx, "other", metav1.GetOptions{})
	forbidden(err)
	_, err = workloads.Patch(ctx, "other", types.MergePatchType, []byte(`{"spec":{"replicas":0}}`), metav1.PatchOptions{})
	forbidden(err)
	forbidden(workloads.Delete(ctx, "seatunnel-worker", metav1.DeleteOptions{}))
	_, err = client.Resource(configMaps).Namespace("seatunnel").List(ctx, metav1.ListOptions{})
	forbidden(err)
	_, err = client.Resource(resource("", "v1", "secrets")).Namespace("zeta-scaler").List(ctx, metav1.ListOptions{})
	forbidden(err)

	own := client.Resource(configMaps).Namespace("zeta-scaler")
	object := func(version, kind, name string) *unstructured.Unstructured {
		return &unstructured.Unstructured{Object: map[string]any{"apiVersion": version, "kind": kind, "metadata": map[string]any{"name": name}}}
	}
	_, err = own.Create(ctx, object("v1", "ConfigMap", "state"), metav1.CreateOptions{})
	require.NoError(t, err)
	_, err = own.List(ctx, metav1.ListOptions{})
	require.NoError(t, err)
	require.NoError(t, own.Delete(ctx, "state", metav1.DeleteOptions{}))
	_, err = client.Resource(resource("coordination.k8s.io", "v1", "leases")).Namespace("zeta-scaler").
		Create(ctx, object("coordination.k8s.io/v1", "Lease", "leader"), metav1.CreateOptions{})
	require.NoError(t, err)
}

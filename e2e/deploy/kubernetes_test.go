package deploy

import (
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
	"sigs.k8s.io/kustomize/api/krusty"
	"sigs.k8s.io/kustomize/api/resource"
	"sigs.k8s.io/kustomize/kyaml/filesys"
)

func objects(t *testing.T, overlay string) []*resource.Resource {
	t.Helper()
	m, err := krusty.MakeKustomizer(krusty.MakeDefaultOptions()).Run(filesys.MakeFsOnDisk(),
		filepath.Join(root, "deploy", "kubernetes", "overlays", overlay))
	require.NoError(t, err)
	return m.Resources()
}

func kinds(list []*resource.Resource) map[string]int {
	n := map[string]int{}
	for _, o := range list {
		n[o.GetKind()]++
	}
	return n
}

func TestOverlays(t *testing.T) {
	advisory := kinds(objects(t, "advisory"))
	require.Equal(t, map[string]int{
		"Namespace": 1, "ServiceAccount": 1, "Deployment": 2, "Service": 2, "ConfigMap": 2, "PersistentVolumeClaim": 1,
		"PodDisruptionBudget": 1, "NetworkPolicy": 2, "ServiceMonitor": 1,
	}, advisory, "and no right to anything")
	active := kinds(objects(t, "active"))
	require.Equal(t, map[string]int{
		"Namespace": 1, "ServiceAccount": 1, "Deployment": 2, "Service": 2, "ConfigMap": 2, "Role": 2, "RoleBinding": 2,
		"PodDisruptionBudget": 1, "NetworkPolicy": 2, "ServiceMonitor": 1,
	}, active)
	require.Equal(t, map[string]int{"Role": 1, "RoleBinding": 1, "NetworkPolicy": 1}, kinds(objects(t, "active/drain")), "what a drain needs is applied apart")
}

// A drain may see the pods of the workload's namespace, and change none.
func TestRightsOfADrain(t *testing.T) {
	for _, o := range objects(t, "active/drain") {
		if o.GetKind() == "NetworkPolicy" { // of the service's own pods: it asks Zeta
			require.Equal(t, "zeta-scaler", o.GetNamespace())
			continue
		}
		require.Equal(t, "seatunnel", o.GetNamespace())
		if o.GetKind() != "Role" {
			continue
		}
		m, err := o.Map()
		require.NoError(t, err)
		require.Equal(t, []any{map[string]any{"apiGroups": []any{""}, "resources": []any{"pods"}, "verbs": []any{"list"}}}, m["rules"])
	}
}

// Replicas that act know their own address, and get to each other: one that does
// not lead has reads answered by the one that does.
func TestReplicasReachEachOther(t *testing.T) {
	seen := 0
	for _, o := range objects(t, "active") {
		if o.GetName() != "zeta-scaler" {
			continue
		}
		text, err := o.AsYAML()
		require.NoError(t, err)
		switch o.GetKind() {
		case "Deployment":
			require.Contains(t, string(text), "fieldPath: status.podIP")
			require.Contains(t, string(text), "name: POD_IP")
			require.Contains(t, string(text), "name: GOMEMLIMIT")
			seen++
		case "NetworkPolicy":
			m, err := o.Map()
			require.NoError(t, err)
			spec := m["spec"].(map[string]any)
			self := map[string]any{"app.kubernetes.io/name": "zeta-scaler", "app.kubernetes.io/component": "scaler"}
			peers := []any{map[string]any{"podSelector": map[string]any{"matchLabels": self}}}
			ports := []any{map[string]any{"port": "http", "protocol": "TCP"}}
			require.Contains(t, spec["ingress"], map[string]any{"from": peers, "ports": ports})
			require.Contains(t, spec["egress"], map[string]any{"to": peers, "ports": ports})
			seen++
		}
	}
	require.Equal(t, 2, seen)
}

// No rule is wider than it has to be: no wildcard, nothing of the cluster, no secrets, no pods.
func TestRightsAreFew(t *testing.T) {
	for _, o := range objects(t, "active") {
		if o.GetKind() != "Role" {
			continue
		}
		m, err := o.Map()
		require.NoError(t, err)
		rules, ok := m["rules"].([]any)
		require.True(t, ok)
		for _, r := range rules {
			rule, ok := r.(map[string]any)
			require.True(t, ok)
			for _, key := range []string{"apiGroups", "resources", "verbs"} {
				require.NotContains(t, rule[key], "*", o.GetName())
			}
			for _, resource := range []string{"secrets", "pods", "deployments"} {
				require.NotContains(t, rule["resources"], resource, o.GetName())
			}
			if list, ok := rule["resources"].([]any); ok && list[0] == "statefulsets" {
				require.Equal(t, []any{"seatunnel-worker"}, rule["resourceNames"])
				require.Equal(t, []any{"get", "patch"}, rule["verbs"])
			}
		}
	}
}

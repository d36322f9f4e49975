//go:build e2e && unix

package e2e

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/zeta-scaler/zeta-scaler/e2e/harness"
)

var helm = harness.Program{Name: "helm", Module: "e2e/helm", Package: "helm.sh/helm/v3/cmd/helm", LDFlags: "-s -w"}

// ruleCRD stands for the Prometheus operator, as serviceMonitorCRD does.
const ruleCRD = `
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: prometheusrules.monitoring.coreos.com}
spec:
  group: monitoring.coreos.com
  names: {kind: PrometheusRule, listKind: PrometheusRuleList, plural: prometheusrules, singular: prometheusrule}
  scope: Namespaced
  versions:
    - name: v1
      served: true
      storage: true
      schema: {openAPIV3Schema: {type: object, properties: {spec: {type: object, x-kubernetes-preserve-unknown-fields: true}}}}
`

const chartClusters = "clusters: [{name: prod, urls: [\"http://seatunnel-master.seatunnel.svc:8080\"]}]\n"

// chartValues are ways in which the chart is used.
func chartValues() map[string]string {
	return map[string]string{
		"advisory": chartClusters,
		"embedded": chartClusters + "embedded: {enabled: true, retention: 2d}\n",
		"active": chartClusters + `active: {enabled: true, drain: true}
config:
  scopes:
    - match: {cluster: prod}
      bounds: {min_workers: 2, max_workers: 20}
      mode: webhook
      actuator: {kubernetes: {namespace: seatunnel, kind: StatefulSet, name: seatunnel-worker}}
      drain: {enabled: true}
extraVolumes: [{name: jobs, configMap: {name: zeta-jobs}}]
extraVolumeMounts: [{name: jobs, mountPath: /etc/zeta-scaler-jobs, readOnly: true}]
serviceMonitor: {enabled: true, labels: {release: kube-prometheus-stack}}
prometheusRule: {enabled: true}
dashboards: {enabled: true}
ingress: {enabled: true, host: scaler.example.com}
networkPolicy: {extraIngress: [{from: [{ipBlock: {cidr: 10.0.0.0/8}}]}]}
`,
	}
}

// runHelm runs Helm itself.
func runHelm(t *testing.T, kubeconfig string, args ...string) (stdout string, err error) {
	t.Helper()
	var out, errs bytes.Buffer
	cmd := exec.CommandContext(t.Context(), lab.Build(t, helm), args...)
	cmd.Dir = filepath.Join(lab.Root, "deploy", "chart")
	cmd.Env = append(os.Environ(), "KUBECONFIG="+kubeconfig, "HELM_CACHE_HOME="+lab.Dir, "HELM_CONFIG_HOME="+lab.Dir, "HELM_DATA_HOME="+lab.Dir)
	cmd.Stdout, cmd.Stderr = &out, &errs
	if err = cmd.Run(); err != nil {
		t.Logf("helm %v: %v\n%s", args, err, errs.String())
	}
	return out.String() + errs.String(), err
}

// What the chart writes is a configuration that the program takes.
func TestChartWritesConfigurations(t *testing.T) {
	scaler := lab.Build(t, harness.ZetaScaler)
	for name, values := range chartValues() {
		file := filepath.Join(t.TempDir(), "values.yaml")
		require.NoError(t, os.WriteFile(file, []byte(values), 0o600))
		out, err := runHelm(t, "", "template", "zs", ".", "-n", "zeta-scaler", "--kube-version=1.33.0", "-f", file, "-s", "templates/config.yaml")
		require.NoError(t, err, out)
		_, text, found := strings.Cut(out, "zeta-scaler.yml: |")
		require.True(t, found, out)
		text, _, _ = strings.Cut(text, "\n---")
		var config strings.Builder
		for line := range strings.Lines(text) {
			config.WriteString(strings.TrimPrefix(line, "    "))
		}
		// Paths of the container are those of a folder here.
		dir := t.TempDir()
		require.NoError(t, os.WriteFile(filepath.Join(dir, "tokens"), []byte("0123456789abcdef0123456789abcdef\n"), 0o600))
		local := strings.NewReplacer("/var/lib/zeta-scaler-samples", dir, "/var/lib/zeta-scaler", dir, "/etc/zeta-scaler-tokens", dir).Replace(config.String())
		written := filepath.Join(dir, "zeta-scaler.yml")
		require.NoError(t, os.WriteFile(written, []byte(local), 0o600))
		cmd := exec.CommandContext(t.Context(), scaler, "check", "config", written)
		cmd.Env = append(os.Environ(), "KUBERNETES_SERVICE_HOST=127.0.0.1", "KUBERNETES_SERVICE_PORT=1")
		answer, err := cmd.CombinedOutput()
		require.NoError(t, err, "%s: %s\n%s", name, answer, local)
	}
	// Replicas that act know their own address, and get to each other.
	for flags, n := range map[string]int{"active.enabled=true": 1, "active.enabled=false": 0} {
		out, err := runHelm(t, "", "template", "zs", ".", "--kube-version=1.33.0", "--set", flags, "-s", "templates/scaler.yaml", "-s", "templates/network.yaml")
		require.NoError(t, err, out)
		require.Equal(t, n, strings.Count(out, "name: POD_IP, valueFrom: {fieldRef: {fieldPath: status.podIP}}"), out)
		require.Equal(t, 2*n, strings.Count(out, "- podSelector:"), out)
	}
	_, err := runHelm(t, "", "lint", "--strict", ".")
	require.NoError(t, err)
	// Prometheus raises the alerts about scopes where the service does not push them.
	for url, scopes := range map[string]int{"http://alertmanager:9093": 0, "": 1} {
		out, err := runHelm(t, "", "template", "zs", ".", "--kube-version=1.33.0", "-s", "templates/monitoring.yaml",
			"--set", "prometheusRule.enabled=true,prometheus.url=http://p:9090,clusters[0].name=a,clusters[0].urls[0]=http://m,alertmanager.url="+url)
		require.NoError(t, err, out)
		require.Equal(t, 1, strings.Count(out, "name: zeta-scaler-service\n"), out)
		require.Equal(t, scopes, strings.Count(out, "name: zeta-scaler-scopes\n"), out)
	}
	for bad, says := range map[string]string{
		"activ.enabled=true": "activ",
		"embedded.enabled=true,active.enabled=true,clusters[0].name=a,clusters[0].urls[0]=http://m": "one writer",
		"embedded.enabled=true":    "needs clusters",
		"prometheus.url=localhost": "prometheus",
	} {
		out, err := runHelm(t, "", "template", "zs", ".", "--kube-version=1.33.0", "--set", bad)
		require.Error(t, err, bad)
		require.Contains(t, out, says)
	}
}

// installChart has Helm install the chart, upgrade it to what acts, and go back,
// on a real API server; the rights of what acts are enough and no more.
func installChart(t *testing.T, a *applier, kubeconfig string, as func(serviceAccount string) *applier) {
	t.Helper()
	a.apply(t, []byte(ruleCRD))
	waitForKind(t, a, "prometheusrules")
	values := chartValues()
	for i, name := range []string{"advisory", "active", "embedded"} {
		file := filepath.Join(t.TempDir(), "values.yaml")
		require.NoError(t, os.WriteFile(file, []byte(values[name]), 0o600))
		out, err := runHelm(t, kubeconfig, "upgrade", "--install", "--create-namespace", "-n", "charted", "zeta-scaler", ".", "-f", file)
		require.NoError(t, err, out)
		t.Logf("revision %d: %s", i+1, name)
		deployments := schema.GroupVersionResource{Group: "apps", Version: "v1", Resource: "deployments"}
		list, err := a.dynamic.Resource(deployments).Namespace("charted").List(t.Context(), metav1.ListOptions{})
		require.NoError(t, err)
		require.Len(t, list.Items, map[string]int{"advisory": 2, "active": 2, "embedded": 1}[name])
		roles := schema.GroupVersionResource{Group: "rbac.authorization.k8s.io", Version: "v1", Resource: "roles"}
		bound, err := a.dynamic.Resource(roles).List(t.Context(), metav1.ListOptions{LabelSelector: "app.kubernetes.io/managed-by=Helm"})
		require.NoError(t, err)
		require.Len(t, bound.Items, map[string]int{"advisory": 0, "active": 2, "embedded": 0}[name], "what does not act has no rights")
		if name != "active" {
			continue
		}
		pods := schema.GroupVersionResource{Version: "v1", Resource: "pods"}
		workloads := schema.GroupVersionResource{Group: "apps", Version: "v1", Resource: "statefulsets"}
		service := as("system:serviceaccount:charted:zeta-scaler").dynamic
		_, err = service.Resource(pods).Namespace("seatunnel").List(t.Context(), metav1.ListOptions{})
		require.NoError(t, err)
		_, err = service.Resource(workloads).Namespace("seatunnel").Get(t.Context(), "seatunnel-worker", metav1.GetOptions{})
		require.NoError(t, err)
		_, err = service.Resource(workloads).Namespace("seatunnel").Get(t.Context(), "other", metav1.GetOptions{})
		require.Error(t, err)
	}
}

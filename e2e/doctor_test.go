//go:build e2e && unix

package e2e

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/zeta-scaler/zeta-scaler/doctor"
	"github.com/zeta-scaler/zeta-scaler/e2e/harness"
	"github.com/zeta-scaler/zeta-scaler/e2e/zeta"
)

// chainFile is the configuration of the whole chain; each fault is one change
// of it, or of a program of the chain.
const chainFile = `web: {listen_address: %q, bearer_tokens_file: %q}
prometheus: {urls: [%q], timeout: 5s}
clusters: [{name: %s, urls: [%q]}]
rule_sets: [{file: %q}]
scopes:
  - match: {cluster: %s}
    rule_set: e2e
    bounds: {min_workers: 1, max_workers: 2}
    mode: webhook
    actuator: {log: {}}
scope_defaults: {rule_set: e2e}
state: {path: %q}
leadership: {lock_file: %q}
alerting: {alertmanagers: [{url: %q}]}
`

// healthyChain is everything from Zeta to the actuator, as a user has it.
type healthyChain struct {
	config, tokens string
	// zeta and prometheus are their addresses.
	zeta, prometheus string
	exporter         *scaler
	am               *manager
	service          *scaler
}

func newHealthyChain(t *testing.T) *healthyChain {
	t.Helper()
	lab.Build(t, harness.ZetaScaler)
	cluster := zeta.Start(t, lab, 2)
	cluster.StartWorkers(t, 1)
	h := &healthyChain{tokens: tokenFile(t), zeta: cluster.URL}
	h.exporter = newScaler(t, "exporter", "doctor-exporter", fmt.Sprintf("web: {listen_address: \"%%s\"}\nclusters: [{name: %s, urls: [%q]}]\n", clusterName, cluster.URL))
	h.exporter.start(t)
	prom := lab.StartPrometheus(t, harness.PrometheusOptions{Name: "doctor-prometheus", Config: fmt.Sprintf(
		"global: {scrape_interval: 1s, scrape_timeout: 1s}\nscrape_configs:\n  - {job_name: zeta-scaler-exporter, static_configs: [{targets: [%q]}]}\n", h.exporter.address)})
	h.prometheus = prom.URL
	prom.WaitFor(t, appearsWithin, `seatunnel_zeta_up{cluster="`+clusterName+`"}`, 1)
	address := harness.FreeAddress(t)
	h.am = newManager(t, "doctor-alertmanager", harness.URL(address)+"/webhook/alertmanager")
	h.am.start(t)
	h.config = fmt.Sprintf(chainFile, address, h.tokens, prom.URL, clusterName, cluster.URL,
		filepath.Join(lab.Root, "e2e", "testdata", "rules.yaml"), clusterName,
		filepath.Join(lab.Dir, "doctor.db"), filepath.Join(lab.Dir, "doctor.lock"), h.am.url)
	h.service = newScaler(t, "serve", "doctor", "# %s\n"+h.config)
	h.service.address = address
	h.service.start(t)
	h.service.waitFor(t, appearsWithin, "1 worker", func(d decision) bool { return d.Current == "1" })
	harness.Wait(t, appearsWithin, "all metrics are there", func(ctx context.Context) error { // an increase needs two scrapes
		st, err := h.service.status(ctx)
		if err == nil && !st.Recommendation.MetricsValid {
			err = errors.New(st.Recommendation.Reason)
		}
		return err
	})
	return h
}

// examine runs doctor with a configuration and returns what it finds broken, by
// link, with what it says to do.
func (h *healthyChain) examine(t *testing.T, config string, args ...string) map[string]string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "zeta-scaler.yml")
	require.NoError(t, os.WriteFile(file, []byte(config), 0o600))
	args = append([]string{"doctor", "-o", "json", "--config.file=" + file, "--callback-token-file=" + h.tokens}, args...)
	var stderr strings.Builder
	cmd := exec.CommandContext(t.Context(), lab.Build(t, harness.ZetaScaler), args...)
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	var findings []doctor.Finding
	require.NoError(t, json.Unmarshal(out, &findings), "%s%s", out, stderr.String())
	broken := map[string]string{}
	for _, f := range findings {
		if f.Verdict == doctor.Broken {
			require.NotEmpty(t, f.Next, "%+v", f)
			broken[f.Link] = f.Found + " → " + f.Next
		}
	}
	require.Equal(t, len(broken) > 0, err != nil, "exit code and findings differ: %v %s", err, out)
	t.Logf("broken: %v", broken)
	return broken
}

// kubeconfigTo is a kubeconfig file for an API server.
func kubeconfigTo(t *testing.T, url string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "kubeconfig")
	require.NoError(t, os.WriteFile(path, fmt.Appendf(nil, "apiVersion: v1\nkind: Config\ncurrent-context: c\ncontexts: [{name: c, context: {cluster: c, user: u}}]\nclusters: [{name: c, cluster: {server: %q}}]\nusers: [{name: u, user: {token: t}}]\n", url), 0o600))
	return path
}

// Each of these faults is found at its link, with what to do, and none of a
// healthy chain.
func TestDoctorFindsFaults(t *testing.T) {
	t.Parallel()
	h := newHealthyChain(t)
	require.Empty(t, h.examine(t, h.config), "the chain is healthy")

	nowhere := harness.URL(harness.FreeAddress(t)) // nobody listens there
	wrongToken := filepath.Join(t.TempDir(), "token")
	require.NoError(t, os.WriteFile(wrongToken, []byte("another\n"), 0o600))
	for _, fault := range []struct {
		name     string
		from, to string
		args     []string
		link     string
		says     string
	}{
		{name: "Zeta is at another port", from: h.zeta, to: nowhere, link: "zeta", says: "REST port"},
		{name: "Prometheus is at another port", from: h.prometheus, to: nowhere, link: "prometheus", says: "prometheus.urls"},
		{name: "Prometheus speaks plain HTTP", from: h.prometheus, to: strings.Replace(h.prometheus, "http:", "https:", 1), link: "prometheus", says: "write http://"},
		{name: "the address of Prometheus is that of Alertmanager", from: h.prometheus, to: h.am.url, link: "prometheus", says: "something answers there"},
		{name: "a scope is misspelt", from: "match: {cluster: " + clusterName, to: "match: {cluster: " + clusterName + "x", link: "scope", says: "spell"},
		{name: "the rule set is not there", from: "rules.yaml", to: "no-rules.yaml", link: "configuration", says: "no-rules.yaml"},
		{name: "Alertmanager is at another port", from: h.am.url, to: nowhere, link: "alertmanager", says: "alerting.alertmanagers"},
		{name: "Alertmanager has another token", args: []string{"--callback-token-file=" + wrongToken}, link: "callback", says: "bearer_tokens_file"},
		{name: "the actuator's API server is away", from: "actuator: {log: {}}", to: "actuator: {kubernetes: {namespace: st, kind: StatefulSet, name: worker, kubeconfig: " + kubeconfigTo(t, nowhere) + "}}", link: "actuator", says: "scopes[].actuator.kubernetes"},
		{name: "the state cannot be written", from: filepath.Join(lab.Dir, "doctor.db"), to: filepath.Join(wrongToken, "state.db"), link: "configuration", says: "cannot be written"},
	} {
		t.Run(fault.name, func(t *testing.T) {
			config := h.config
			if fault.from != "" {
				require.Contains(t, config, fault.from)
				config = strings.Replace(config, fault.from, fault.to, 1)
			}
			broken := h.examine(t, config, fault.args...)
			require.Contains(t, broken, fault.link)
			require.Contains(t, broken[fault.link], fault.says)
		})
	}

	h.am.Kill()
	file := filepath.Join(lab.Dir, "doctor-alertmanager.yml")
	require.NoError(t, os.WriteFile(file, []byte("route: {receiver: people}\nreceivers: [{name: people}]\n"), 0o600))
	h.am.start(t)
	t.Run("Alertmanager's routes do not come back", func(t *testing.T) {
		require.Contains(t, h.examine(t, h.config)["callback"], "never come back")
	})
	t.Run("the exporter is gone", func(t *testing.T) {
		h.exporter.Kill()
		harness.Wait(t, appearsWithin, "Prometheus has noticed, a scrape later", func(context.Context) error {
			if found := h.examine(t, h.config)["series"]; !strings.Contains(found, "zeta-scaler exporter running") {
				return fmt.Errorf("series: %q", found)
			}
			return nil
		})
	})
	t.Run("the service is gone", func(t *testing.T) {
		h.service.Kill()
		require.NotContains(t, h.examine(t, h.config), "service", "a service that was not started yet is no fault")
	})
}

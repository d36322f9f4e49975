//go:build e2e && unix

package e2e

import (
	"context"
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/zeta-scaler/zeta-scaler/e2e/harness"
	"github.com/zeta-scaler/zeta-scaler/e2e/yarn"
	"github.com/zeta-scaler/zeta-scaler/e2e/zeta"
	"github.com/zeta-scaler/zeta-scaler/scaling"
)

// The whole chain on YARN: a real Zeta whose workers are instances of a YARN
// service, Prometheus, rule set, decision, Alertmanager, webhook, flex, a worker
// that joins the master, SUCCEEDED.
func TestYARNClosesTheLoop(t *testing.T) {
	t.Parallel()
	lab.Build(t, harness.ZetaScaler) // what does not compile is known before a cluster is there
	lab.Build(t, harness.Prometheus)
	address := harness.FreeAddress(t)
	am := newManager(t, "yarn-alertmanager", harness.URL(address)+"/webhook/alertmanager")
	am.start(t)
	s := &story{t: t, zeta: zeta.Start(t, lab, 2)}
	install, err := zeta.Install(t.Context())
	require.NoError(t, err)
	c := yarn.Start(t, lab, yarn.Options{Memory: 1536})
	worker, port := c.ZetaWorker(t, install, s.zeta.Address(0), 2)
	worker.Instances = 1
	c.Create(t, worker)
	s.zeta.WaitForFreeSlots(t, patience, 2)

	s.exporter = newScaler(t, "exporter", "yarn-exporter", fmt.Sprintf(`
web: {listen_address: "%%s"}
clusters: [{name: %s, urls: ["%s"], endpoint_timeout: 1s}]
`, clusterName, s.zeta.URL))
	s.exporter.start(t)
	s.prom = lab.StartPrometheus(t, harness.PrometheusOptions{Name: "yarn-prometheus", Config: fmt.Sprintf(`
global: {scrape_interval: 2s, scrape_timeout: 2s}
scrape_configs: [{job_name: zeta, static_configs: [{targets: ["%s"]}]}]
`, s.exporter.address)})
	acting := newScaler(t, "serve", "yarn-loop", fmt.Sprintf(`# %%s
web: {listen_address: %q, bearer_tokens_file: %q}
prometheus: {urls: ["http://%s"], timeout: 1s, lookback_delta: %s}
rule_sets: [{file: %q}]
scopes:
  - match: {cluster: %s}
    rule_set: e2e
    bounds: {min_workers: 1, max_workers: 2}
    mode: webhook
    actuator: {yarn: {urls: [%q], service: %s, component: %s, user: %s, worker_port: %d}}
state: {path: %q}
leadership: {lock_file: %q}
alerting: {alertmanagers: [{url: %q}], resend_delay: 2s}
`, address, tokenFile(t), s.prom.Address, lookback, filepath.Join(lab.Root, "e2e", "testdata", "rules.yaml"), clusterName,
		c.URL, yarn.ServiceName, yarn.Component, yarn.User, port, filepath.Join(lab.Dir, "yarn-loop.db"), filepath.Join(lab.Dir, "yarn-loop.lock"), am.url))
	acting.address = address
	acting.start(t)

	s.submit(t, 1)
	s.zeta.WaitForFreeSlots(t, patience, 0)
	stop := s.stream(t)
	acting.waitForAction(t, patience, "an action that YARN has taken", inState(2, scaling.ActionConverging))
	stop()
	done := acting.waitForAction(t, patience, "an action that succeeded", inState(2, scaling.ActionSucceeded))
	require.Equal(t, succeeded(), statesOf(&done))
	require.Equal(t, "yarn", done.Actuator)
	now := c.Stable(t, 2)
	require.Equal(t, []string{"worker-0", "worker-1"}, now.Names())
	harness.Wait(t, patience, "Zeta knows the new worker by the instance's name", func(ctx context.Context) error {
		body, err := harness.Get(ctx, s.zeta.URL+"/hazelcast/rest/maps/overview?worker=worker-1")
		if err == nil && !strings.Contains(body, `"workers":"1"`) {
			err = fmt.Errorf("%s", body)
		}
		return err
	})
	n, err := c.Definition()
	require.NoError(t, err)
	require.Equal(t, 2, n)
	s.submit(t, 1) // what could not run before runs now

	page, err := harness.Get(t.Context(), harness.URL(address)+"/metrics")
	require.NoError(t, err)
	require.Regexp(t, `zeta_scaler_actuator_calls_total\{actuator="yarn",result="ok",verb="scale"\} 1\n`, page)
	require.WithinDuration(t, time.Now(), done.Transitions[len(done.Transitions)-1].At, 5*time.Minute)
	c.Destroy(t)
}

//go:build e2e && unix

package e2e

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/zeta-scaler/zeta-scaler/api"
	"github.com/zeta-scaler/zeta-scaler/e2e/harness"
	"github.com/zeta-scaler/zeta-scaler/e2e/yarn"
	"github.com/zeta-scaler/zeta-scaler/e2e/zeta"
	"github.com/zeta-scaler/zeta-scaler/scaling"
)

// A drain on YARN: a real Zeta whose workers are instances of a YARN service, and a
// job on one of them. That one is named: its job is stopped with a savepoint and
// restored on the other, the instance is decommissioned, and the process that ends
// is its own. No row is lost or written twice.
func TestYARNDrain(t *testing.T) {
	t.Parallel()
	const slots = 6
	lab.Build(t, harness.ZetaScaler)
	z := zeta.Start(t, lab, slots)
	install, err := zeta.Install(t.Context())
	require.NoError(t, err)
	c := yarn.Start(t, lab, yarn.Options{Memory: 1536})
	worker, port := c.ZetaWorker(t, install, z.Address(0), slots)
	worker.Instances = 1
	c.Create(t, worker)
	z.WaitForFreeSlots(t, patience, slots)

	// With one worker there, it is known who has the job.
	folder := filepath.Join(lab.Dir, "yarn-drain-jobs")
	require.NoError(t, os.MkdirAll(folder, 0o750))
	job := zeta.Counted{ID: "8101", Name: "orders", Table: "yarndrain", Parallelism: 1, Rows: 40, Every: 500 * time.Millisecond}
	require.NoError(t, os.WriteFile(filepath.Join(folder, job.ID+".json"), z.Config(job), 0o600))
	require.NoError(t, z.SubmitCounted(t.Context(), job))
	z.WaitForFreeSlots(t, patience, slots-3)
	c.Flex(t, 2)
	z.WaitForFreeSlots(t, patience, 2*slots-3)
	before := c.Stable(t, 2)

	serve := newScaler(t, "serve", "yarn-drain", fmt.Sprintf(`web: {listen_address: "%%s", bearer_tokens_file: %q}
embedded: {path: %q, retention: 1h}
clusters: [{name: %s, urls: ["%s"]}]
rule_sets: [{file: %q}]
scopes:
  - match: {cluster: %s}
    rule_set: e2e
    bounds: {min_workers: 1, max_workers: 2}
    drain: {enabled: true}
    actuator: {yarn: {urls: [%q], service: %s, component: %s, user: %s, worker_port: %d}}
jobs: {folder: %q}
state: {path: %q}
leadership: {lock_file: %q}
`, tokenFile(t), filepath.Join(lab.Dir, "yarn-drain-tsdb"), clusterName, z.URL, filepath.Join(lab.Root, "e2e", "testdata", "rules.yaml"), clusterName,
		c.URL, yarn.ServiceName, yarn.Component, yarn.User, port, folder, filepath.Join(lab.Dir, "yarn-drain.db"), filepath.Join(lab.Dir, "yarn-drain.lock")))
	serve.start(t)
	client := api.Client{BaseURL: serve.url(""), Token: token}
	var begun api.Drain
	harness.Wait(t, patience, "a drain of the worker with the job", func(ctx context.Context) (err error) {
		begun, err = client.Drain(ctx, api.DrainRequest{Scope: clusterName, Worker: api.Some("worker-0"), Reason: "a test"})
		return err
	})
	drained := serve.waitForDrain(t, "a worker that is gone", func(d *scaling.Drain) bool { return d.State.Over() })
	t.Log(summaryOf(&drained))
	require.Equal(t, scaling.DrainDecommissioned, drained.State)
	require.Equal(t, begun.ID, drained.ID)
	require.Equal(t, "worker-0", drained.Worker)
	require.Empty(t, drained.Harm)
	require.Len(t, drained.Jobs, 1)
	require.Equal(t, job.ID, drained.Jobs[0].ID)

	after := c.Stable(t, 1)
	require.Equal(t, before.Ready["worker-1"], after.Ready["worker-1"], "nobody named it")
	n, err := c.Definition()
	require.NoError(t, err)
	require.Equal(t, 1, n)
	require.False(t, c.KillInstance(before.Ready["worker-0"]), "its process has ended")
	o, err := z.Overview(t.Context())
	require.NoError(t, err)
	require.Equal(t, 1, o.Workers)
	harness.Wait(t, patience, "every row is written", func(context.Context) error {
		rows, err := z.Written(job)
		if err == nil && rows < job.Rows {
			err = fmt.Errorf("%d of %d", rows, job.Rows)
		}
		return err
	})
	rows, err := z.Written(job)
	require.NoError(t, err)
	require.Equal(t, job.Rows, rows, "none twice")
	status, err := z.JobStatus(t.Context(), job.ID)
	require.NoError(t, err)
	require.Equal(t, "RUNNING", status)
	c.Destroy(t)
}

//go:build e2e && unix

package e2e

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/zeta-scaler/zeta-scaler/e2e/harness"
	"github.com/zeta-scaler/zeta-scaler/e2e/zeta"
	zetaclient "github.com/zeta-scaler/zeta-scaler/zeta"
	"github.com/zeta-scaler/zeta-scaler/zeta/control"
)

// newEngine is the drain's view of a real cluster.
func newEngine(t *testing.T, c *zeta.Cluster) *control.Engine {
	t.Helper()
	e, err := control.New(control.Options{
		Cluster:   zetaclient.ClusterConfig{Name: "real", URLs: []string{c.URL}, EndpointTimeout: 20 * time.Second},
		Attribute: zeta.Attribute,
	})
	require.NoError(t, err)
	t.Cleanup(e.Close)
	return e
}

// What a drain sees of a real Zeta and does there: who runs where, a stop with a
// savepoint, a worker that is held, a restore that lands elsewhere, a worker that
// goes without anybody noticing; no row is lost or read twice.
func TestControlOfRealZeta(t *testing.T) {
	t.Parallel()
	const slots = 3
	cluster := zeta.Start(t, lab, slots)
	cluster.StartWorkers(t, 1, 2, 3)
	ctx := t.Context()
	e := newEngine(t, cluster)

	c, err := e.Cluster(ctx)
	require.NoError(t, err)
	require.Equal(t, "2.3.8", c.Version)
	require.Equal(t, control.Slots{Workers: 3, Total: 3 * slots}, c.Slots)
	require.Len(t, c.Members, 4)
	for _, m := range c.Members {
		require.Equal(t, m.Master, m.Address == cluster.Address(0))
		require.Equal(t, !m.Master, m.Lite)
	}
	require.True(t, *c.Settled)

	job := zeta.Counted{ID: "4501", Name: `it's "one" & ü`, Table: "counted", Parallelism: 1, Rows: 20, Every: 250 * time.Millisecond}
	require.NoError(t, cluster.SubmitCounted(ctx, job))
	awaitJob(t, e, job.ID, control.Running)
	got, err := e.Job(ctx, job.ID)
	require.NoError(t, err)
	require.Equal(t, job.Name, got.Name)
	require.Equal(t, control.Streaming, got.Mode)
	require.Equal(t, []string{"FakeSource"}, got.Sources)
	require.Equal(t, []string{"LocalFile"}, got.Sinks)
	awaitRows(t, cluster, job, 5)

	groups := map[control.TaskGroup]bool{}
	for n := 1; n <= 3; n++ {
		s, err := e.Worker(ctx, zeta.Name(n))
		require.NoError(t, err)
		placed, err := e.Placed(ctx, cluster.Address(n))
		require.NoError(t, err)
		require.Equal(t, 1, s.Workers)
		require.Len(t, placed, s.Used)
		for _, g := range placed {
			require.Equal(t, job.ID, g.Job)
			groups[g] = true
		}
	}
	require.Len(t, groups, 3, "enumerator, reader and committer")
	gone, err := e.Worker(ctx, "w9")
	require.NoError(t, err)
	require.Equal(t, control.Slots{}, gone)
	_, err = e.Job(ctx, "4999")
	require.ErrorIs(t, err, control.ErrNoJob)

	require.NoError(t, e.StopWithSavepoint(ctx, job.ID))
	awaitJob(t, e, job.ID, control.SavepointDone)
	harness.Wait(t, time.Minute, "no job runs", func(ctx context.Context) error {
		jobs, err := e.Jobs(ctx)
		if err == nil && len(jobs) > 0 {
			err = fmt.Errorf("%+v", jobs)
		}
		return err
	})
	require.NoError(t, e.Hold(ctx, "4601", "w1", slots))
	awaitJob(t, e, "4601", control.Running)
	harness.Wait(t, time.Minute, "w1 is held", func(ctx context.Context) error {
		s, err := e.Worker(ctx, "w1")
		if err != nil {
			return err
		}
		placed, err := e.Placed(ctx, cluster.Address(1))
		if err == nil && (s.Used != slots || len(placed) != slots) {
			err = fmt.Errorf("%+v, %d task groups", s, len(placed))
		}
		return err
	})
	hold, err := e.Job(ctx, "4601")
	require.NoError(t, err)
	require.Equal(t, zetaclient.HoldPrefix+"w1", hold.Name)

	require.NoError(t, e.Restore(ctx, job.ID, job.Name, control.Config{Format: "json", Text: cluster.Config(job)}))
	awaitJob(t, e, job.ID, control.Running)
	require.NoError(t, cluster.StopWorker(1))
	harness.Wait(t, time.Minute, "w1 is gone", func(ctx context.Context) error {
		s, err := e.Worker(ctx, "w1")
		if err == nil && s.Workers != 0 {
			err = fmt.Errorf("%+v", s)
		}
		return err
	})
	awaitJob(t, e, "4601", control.Failed)
	harness.Wait(t, 2*time.Minute, "every row is read and written once", func(context.Context) error { return cluster.Whole(job) })

	require.NoError(t, e.Hold(ctx, "4602", "w2", slots+1))
	awaitJob(t, e, "4602", control.Failed)
	require.ErrorIs(t, e.Restore(ctx, "4603", "broken", control.Config{Text: []byte(`{"env":{`)}), control.ErrRefused)
	require.NoError(t, e.Cancel(ctx, job.ID))
	awaitJob(t, e, job.ID, control.Canceled)
}

func awaitJob(t *testing.T, e *control.Engine, id string, want control.Status) {
	t.Helper()
	harness.Wait(t, 2*time.Minute, fmt.Sprintf("job %s is %s", id, want), func(ctx context.Context) error {
		j, err := e.Job(ctx, id)
		if err == nil && j.Status != want {
			err = fmt.Errorf("is %s", j.Status)
		}
		return err
	})
}

// awaitEnd waits until a job that was cancelled is over: on a busy machine a real
// Zeta 2.3.8 has ended one as FAILED.
func awaitEnd(t *testing.T, e *control.Engine, id string) {
	t.Helper()
	harness.Wait(t, 2*time.Minute, fmt.Sprintf("job %s is over", id), func(ctx context.Context) error {
		j, err := e.Job(ctx, id)
		if err == nil && !j.Status.Ended() {
			err = fmt.Errorf("is %s", j.Status)
		}
		return err
	})
}

// awaitRows waits until a job has read so many rows.
func awaitRows(t *testing.T, c *zeta.Cluster, j zeta.Counted, want int) {
	t.Helper()
	harness.Wait(t, 2*time.Minute, fmt.Sprintf("%s has read %d rows", j.Table, want), func(context.Context) error {
		read, err := c.Read(j)
		if err == nil && len(read) < want {
			err = fmt.Errorf("%d rows", len(read))
		}
		return err
	})
}

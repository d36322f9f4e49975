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
)

// The facts about a real Zeta 2.3.8 on which the scenario rests.
func TestRealZeta(t *testing.T) {
	t.Parallel()
	cluster := zeta.Start(t, lab, 2)
	cluster.StartWorkers(t, 1)
	ctx := t.Context()
	job, err := cluster.Submit(ctx, "one", 1)
	require.NoError(t, err)
	cluster.WaitForFreeSlots(t, time.Minute, 0)
	waitForStatus(t, cluster, job, "RUNNING")

	rejected, err := cluster.Submit(ctx, "too-much", 1)
	require.NoError(t, err)
	waitForStatus(t, cluster, rejected, "FAILED")
	require.NoError(t, cluster.StopJob(ctx, job))
	cluster.WaitForFreeSlots(t, time.Minute, 2)

	require.NoError(t, cluster.Workers[1].Freeze())
	require.NoError(t, cluster.Workers[1].Thaw())
	cluster.KillWorker(1)
	harness.Wait(t, time.Minute, "the killed worker is gone", func(ctx context.Context) error {
		o, err := cluster.Overview(ctx)
		if err == nil && o.Workers != 0 {
			err = fmt.Errorf("%+v", o)
		}
		return err
	})
}

func waitForStatus(t *testing.T, cluster *zeta.Cluster, job, want string) {
	t.Helper()
	harness.Wait(t, 2*time.Minute, fmt.Sprintf("job %s is %s", job, want), func(ctx context.Context) error {
		got, err := cluster.JobStatus(ctx, job)
		if err == nil && got != want {
			err = fmt.Errorf("is %s", got)
		}
		return err
	})
}

//go:build e2e && unix

package e2e

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/zeta-scaler/zeta-scaler/drain"
	"github.com/zeta-scaler/zeta-scaler/e2e/harness"
	"github.com/zeta-scaler/zeta-scaler/e2e/zeta"
	"github.com/zeta-scaler/zeta-scaler/scaling"
	"github.com/zeta-scaler/zeta-scaler/zeta/control"
)

// The drain on a real Zeta: a master and three workers, whose every row is
// counted. No row is lost or read twice, whatever happens in between.
func TestDrainOfRealZeta(t *testing.T) {
	t.Parallel()
	const slots = 9
	b := newDrainBed(t, zeta.Options{Slots: slots}, 1, 2, 3)

	// A worker on which nothing runs.
	d := b.gone(b.request("w3"))
	require.Empty(t, d.Jobs)
	require.Equal(t, []string{"w3"}, b.yard.gone())
	b.c.StartWorkers(t, 3)

	// Three streaming jobs, and a fourth that comes in the middle.
	one, two, three, four := b.job(`one "1"`, 45), b.job("two", 45), b.job("three", 45), b.job("four", 30)
	three.NoFile, three.Parallelism = true, 2
	b.placed(1, one, two, three)
	b.h.at("after stop", func() {
		b.texts.set(four.ID, b.c.Config(four))
		if err := b.c.SubmitCounted(context.Background(), four); err != nil {
			t.Errorf("submitting a job in the middle: %v", err)
		}
	})
	d = b.gone(b.request("w1"))
	for _, j := range []zeta.Counted{one, two, three} {
		require.Equal(t, scaling.JobRestored, steps(d)[j.ID])
	}
	for i := range d.Jobs {
		if j := &d.Jobs[i]; j.Step == scaling.JobRestored {
			require.Positive(t, j.Downtime())
		}
	}
	b.c.StartWorkers(t, 1)

	// A job in batch mode is waited for, in vain and then not.
	batch := b.job("batch", 12)
	batch.Batch = true
	b.placed(1, batch)
	b.configure(func(c *drain.ScopeConfig) { c.Timeout = 3 * time.Second })
	d = b.stays(b.request("w1"), "did not end within 3s")
	require.Equal(t, scaling.JobWaiting, steps(d)[batch.ID])
	b.configure(func(c *drain.ScopeConfig) { c.Timeout = 3 * time.Minute })
	d = b.gone(b.request("w1"))
	require.Equal(t, scaling.JobFinished, steps(d)[batch.ID])
	b.whole(batch)
	b.c.StartWorkers(t, 1)
	b.whole(one, two, three, four)
}

// A drain is killed before and after every step, and goes on.
func TestDrainThatIsKilled(t *testing.T) {
	t.Parallel()
	b := newDrainBed(t, zeta.Options{Slots: 4}, 1, 2)
	job := b.job("killed", 40)
	b.placed(1, job)
	at := []string{"before stop", "after stop", "before hold", "after hold", "before restore", "after restore", "before release", "after release"}
	for _, step := range at {
		b.h.at(step, func() {
			t.Logf("killed %s", step)
			b.die()
		})
	}
	d := b.gone(b.request("w1"))
	require.Equal(t, scaling.JobRestored, steps(d)[job.ID])
	require.Empty(t, b.h.left())
	require.Equal(t, len(at)+1, b.livesSoFar())
	require.Equal(t, []string{"w1"}, b.yard.gone())

	// Cancelled where a savepoint was taken, and where the worker is held.
	b.c.StartWorkers(t, 1)
	b.whole(job)
	job = b.job("cancelled", 15)
	b.placed(1, job)
	for _, step := range []string{"after stop", "after hold"} {
		b.h.at(step, func() {
			if _, err := b.drainer().Cancel(context.Background(), drainScope, "the test", step); err != nil {
				t.Errorf("cancelling %s: %v", step, err)
			}
		})
		// Where it is: a restored job lands on any worker.
		d = b.stays(b.request(b.workerOf(job)), "cancelled by the test: "+step)
		require.Equal(t, scaling.JobRestored, steps(d)[job.ID])
		onlyJob(t, b, job)
		b.h.at("after hold", nil)
	}
	b.whole(job)
}

// onlyJob waits until nothing but a job runs.
func onlyJob(t *testing.T, b *drainBed, job zeta.Counted) {
	t.Helper()
	harness.Wait(t, patience, "only "+job.Name+" runs", func(ctx context.Context) error {
		jobs, err := b.e.Jobs(ctx)
		if err == nil && (len(jobs) != 1 || jobs[0].ID != job.ID || jobs[0].Status != control.Running) {
			err = fmt.Errorf("%+v", jobs)
		}
		return err
	})
}

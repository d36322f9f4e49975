//go:build e2e && unix

package e2e

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/zeta-scaler/zeta-scaler/drain"
	"github.com/zeta-scaler/zeta-scaler/e2e/harness"
	"github.com/zeta-scaler/zeta-scaler/e2e/zeta"
	"github.com/zeta-scaler/zeta-scaler/scaling"
	"github.com/zeta-scaler/zeta-scaler/zeta/control"
)

// A drain whose restore fails goes back and keeps what it needs to restore: no
// worker is removed, and in the end every row was read once.
func TestDrainWhoseRestoreFails(t *testing.T) {
	t.Parallel()
	b := newDrainBed(t, zeta.Options{Slots: 4}, 1, 2)

	// The config is broken, and after that the savepoint.
	job := b.job("broken", 25)
	b.placed(1, job)
	var whole map[string][]byte
	b.h.at("after stop", func() { b.texts.set(job.ID, []byte(`{"env":{`)) })
	b.h.at("after restore", func() {
		b.texts.set(job.ID, b.c.Config(job))
		whole = damage(t, b.c.Checkpoints(job))
	})
	id := b.request("w1")
	b.goesBack(id)
	onlyStopped(t, b, job)
	for path, content := range whole {
		require.NoError(t, os.WriteFile(path, content, 0o600))
	}
	d := b.stays(id, "could not be restored")
	require.Equal(t, scaling.JobRestored, steps(d)[job.ID])
	require.Greater(t, d.Jobs[0].Attempts, 2)
	b.whole(job)

	// Somebody else takes the slots that the job needs.
	job = b.job("crowded out", 20)
	b.placed(1, job)
	other := b.job("other", 1)
	other.NoFile, other.Parallelism = true, 2
	b.h.at("after hold", func() {
		b.soonUsed("w1", 4) // else the other job may be there first
		if err := b.c.SubmitCounted(context.Background(), other); err != nil {
			t.Errorf("submitting another job: %v", err)
		}
	})
	b.h.at("before restore", func() { b.soonUsed("w2", 3) })
	d = b.stays(b.request("w1"), "could not be restored")
	require.Equal(t, scaling.JobRestored, steps(d)[job.ID])
	b.whole(job)
	require.Empty(t, b.yard.gone())
}

// The worker or the master is lost in the middle of a drain.
func TestDrainThatLosesNodes(t *testing.T) {
	t.Parallel()
	b := newDrainBed(t, zeta.Options{Slots: 4}, 1, 2)
	job := b.job("left behind", 12)
	b.placed(1, job)
	b.h.at("before restore", func() { b.c.KillWorker(1) })
	d := b.over(b.request("w1"))
	require.Equal(t, scaling.JobRestored, steps(d)[job.ID])
	require.Empty(t, b.yard.gone(), "nobody asked the platform to remove it")
	b.whole(job)
	b.c.StartWorkers(t, 1)

	// A savepoint is done and the only master dies, which ends the workers, too.
	job = b.job("orphaned", 12)
	b.placed(1, job)
	dead := make(chan struct{})
	b.h.at("before hold", func() {
		b.c.Master.Kill()
		close(dead)
	})
	id := b.request("w1")
	select {
	case <-dead:
	case <-time.After(patience):
		t.Fatalf("the master was to die before the slots are held; at last: %+v", b.record().Open)
	}
	harness.Wait(t, patience, "the workers end without a master", func(context.Context) error {
		if up := b.c.Up(); len(up) > 0 {
			return fmt.Errorf("%v", up)
		}
		return nil
	})
	b.c.StartMaster(t)
	b.c.StartWorkers(t, 1, 2)
	d = b.over(id)
	require.Equal(t, scaling.JobRestored, steps(d)[job.ID])
	b.whole(job)
}

// The storage of savepoints is gone: Zeta shows DOING_SAVEPOINT for ever, while
// the job has begun again from its last checkpoint. The drain goes back, and asks
// again until the storage is there; the sink has every row once.
func TestDrainWithoutSavepointStorage(t *testing.T) {
	t.Parallel()
	b := newDrainBed(t, zeta.Options{Slots: 4}, 1, 2)
	job := b.job("stuck", 30)
	job.Checkpoints = 10 * time.Minute // else it fails with those
	b.placed(1, job)
	dir := b.c.Checkpoints(job)
	require.NoError(t, os.WriteFile(dir, []byte("no folder"), 0o600))
	id := b.request("w1")
	b.goesBack(id)
	j, err := b.e.Job(t.Context(), job.ID)
	require.NoError(t, err)
	require.Equal(t, control.DoingSavepoint, j.Status)
	require.NoError(t, os.Remove(dir))
	d := b.stays(id, "and has none")
	require.Equal(t, scaling.JobRestored, steps(d)[job.ID])
	awaitRows(t, b.c, job, job.Rows)
	require.NoError(t, b.e.StopWithSavepoint(t.Context(), job.ID))
	awaitJob(t, b.e, job.ID, control.SavepointDone)
	written, err := b.c.Written(job)
	require.NoError(t, err)
	require.Equal(t, job.Rows, written)
}

// Every node of a hybrid cluster holds a part of Zeta's state: none is drained
// unless that is allowed, never the master, and never two at once.
func TestDrainOfHybridCluster(t *testing.T) {
	t.Parallel()
	b := newDrainBed(t, zeta.Options{Slots: 4, Hybrid: true}, 1, 2)
	stays, job := b.job("on the master", 4), b.job("hybrid", 15)
	b.placed(0, stays)
	b.placed(1, job)
	d := b.stays(b.request("w1"), "allow_state_members")
	require.Empty(t, d.Jobs)
	b.configure(func(c *drain.ScopeConfig) { c.AllowStateMembers = true })
	id := b.request("w1")
	_, err := b.drainer().Request(t.Context(), drainScope, "w2", "the test", "two at once")
	require.ErrorIs(t, err, drain.ErrRefused)
	d = b.gone(id)
	require.Equal(t, scaling.JobRestored, steps(d)[job.ID])
	harness.Wait(t, patience, "the state has its backups again", func(ctx context.Context) error {
		c, err := b.e.Cluster(ctx)
		if err == nil && (c.Settled == nil || !*c.Settled) {
			err = errors.New("it has not")
		}
		return err
	})
	b.whole(stays, job)
}

// goesBack waits until a drain has given up what it wanted.
func (b *drainBed) goesBack(id string) {
	b.t.Helper()
	harness.Wait(b.t, 5*time.Minute, "the drain goes back", func(context.Context) error {
		r := b.record()
		if r.Open == nil || r.Open.ID != id || r.Open.GivenUp == "" {
			return fmt.Errorf("%+v", r.Open)
		}
		return nil
	})
}

// onlyStopped makes sure that a job is stopped, and its worker there.
func onlyStopped(t *testing.T, b *drainBed, job zeta.Counted) {
	t.Helper()
	j, err := b.e.Job(t.Context(), job.ID)
	require.NoError(t, err)
	require.Equal(t, control.SavepointDone, j.Status)
	require.Contains(t, b.upNames(), "w1")
}

// damage makes the files of a folder unreadable and returns what they were.
func damage(t *testing.T, dir string) map[string][]byte {
	files, err := filepath.Glob(filepath.Join(dir, "*"))
	hidden, hiddenErr := filepath.Glob(filepath.Join(dir, ".*"))
	if err != nil || hiddenErr != nil || len(files) == 0 {
		t.Errorf("no checkpoints in %s: %v, %v", dir, err, hiddenErr)
	}
	whole := map[string][]byte{}
	for _, path := range append(files, hidden...) {
		content, err := os.ReadFile(path)
		if err == nil {
			whole[path] = content
			err = os.WriteFile(path, []byte("this is no savepoint"), 0o600)
		}
		if err != nil {
			t.Errorf("damaging %s: %v", path, err)
		}
	}
	return whole
}

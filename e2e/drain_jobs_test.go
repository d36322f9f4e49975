//go:build e2e && unix

package e2e

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/zeta-scaler/zeta-scaler/e2e/harness"
	"github.com/zeta-scaler/zeta-scaler/e2e/zeta"
	"github.com/zeta-scaler/zeta-scaler/scaling"
	"github.com/zeta-scaler/zeta-scaler/state"
	"github.com/zeta-scaler/zeta-scaler/zeta/control"
)

// request asks for a drain and returns its id.
func (b *drainBed) request(worker string) string {
	b.t.Helper()
	d, err := b.drainer().Request(b.t.Context(), drainScope, worker, "the test", "because")
	require.NoError(b.t, err)
	b.t.Logf("=== drain of %s", worker)
	return d.ID
}

func (b *drainBed) record() state.DrainRecord {
	b.t.Helper()
	r, _, err := state.Load[state.DrainRecord](b.t.Context(), b.store, state.Drain, drainScope)
	require.NoError(b.t, err)
	return r
}

// over waits until a drain is over and returns it.
func (b *drainBed) over(id string) *scaling.Drain {
	b.t.Helper()
	var last *scaling.Drain
	harness.Wait(b.t, 5*time.Minute, "the drain is over", func(context.Context) error {
		r := b.record()
		if r.Open != nil || r.Last == nil || r.Last.ID != id {
			return fmt.Errorf("%+v", r.Open)
		}
		last = r.Last
		return nil
	})
	b.t.Logf("%s: %s", last.State, summaryOf(last))
	return last
}

func summaryOf(d *scaling.Drain) string {
	text := ""
	for _, tr := range d.Transitions {
		text += fmt.Sprintf("%s %s (%s); ", tr.At.Format("15:04:05.0"), tr.State, tr.Reason)
	}
	for i := range d.Jobs {
		j := &d.Jobs[i]
		text += fmt.Sprintf("%s %s %s; ", j.Name, j.Step, j.Downtime().Round(time.Millisecond))
	}
	return text
}

// gone is over for a drain that removes its worker and harms nobody.
func (b *drainBed) gone(id string) *scaling.Drain {
	b.t.Helper()
	d := b.over(id)
	require.Equal(b.t, scaling.DrainDecommissioned, d.State, d.Error)
	require.Empty(b.t, d.Harm)
	require.NotContains(b.t, b.upNames(), d.Worker)
	return d
}

// stays is over for a drain that leaves its worker where it is.
func (b *drainBed) stays(id, why string) *scaling.Drain {
	b.t.Helper()
	d := b.over(id)
	require.Equal(b.t, scaling.DrainActive, d.State)
	require.Contains(b.t, d.Transitions[len(d.Transitions)-1].Reason+d.Error, why)
	require.Contains(b.t, b.upNames(), d.Worker)
	return d
}

func (b *drainBed) upNames() []string {
	var names []string
	for _, n := range b.c.Up() {
		names = append(names, zeta.Name(n))
	}
	return names
}

// job makes up a job that nobody else has.
func (b *drainBed) job(name string, rows int) zeta.Counted {
	b.jobs++
	n := b.jobs
	return zeta.Counted{
		ID: strconv.Itoa(5000 + n), Name: name, Table: fmt.Sprintf("t%d", 5000+n), Parallelism: 1, Rows: rows, Every: 500 * time.Millisecond,
	}
}

// submit registers a job, submits it and waits until it reads.
func (b *drainBed) submit(jobs ...zeta.Counted) {
	b.t.Helper()
	for _, j := range jobs {
		b.texts.set(j.ID, b.c.Config(j))
		require.NoError(b.t, b.c.SubmitCounted(b.t.Context(), j))
	}
	for _, j := range jobs {
		awaitRows(b.t, b.c, j, 1)
	}
}

// placed is submit for jobs that are to run on one node: the slots of all the
// others are held meanwhile.
func (b *drainBed) placed(worker int, jobs ...zeta.Counted) {
	b.t.Helper()
	var holds []string
	for _, n := range b.c.WithSlots() {
		if n == worker {
			continue
		}
		if id := b.hold(n); id != "" {
			holds = append(holds, id)
		}
	}
	b.submit(jobs...)
	for _, id := range holds {
		require.NoError(b.t, b.e.Cancel(b.t.Context(), id))
	}
	for _, id := range holds {
		awaitEnd(b.t, b.e, id)
	}
	groups, err := b.e.Placed(b.t.Context(), b.c.Address(worker))
	require.NoError(b.t, err)
	for _, j := range jobs {
		require.True(b.t, slices.ContainsFunc(groups, func(g control.TaskGroup) bool { return g.Job == j.ID }), "%s is not on w%d: %v", j.Name, worker, groups)
	}
}

// hold holds the free slots of a node and returns the job that does, none if a job
// would not fit there anyway. What Zeta's master says about slots may be some
// seconds old: it is believed where the node itself says the same, and if it has
// led us wrong, the job that was to hold them fails and another one does it.
func (b *drainBed) hold(n int) (id string) {
	b.t.Helper()
	name := zeta.Name(n)
	harness.Wait(b.t, patience, "the slots of "+name+" are held", func(ctx context.Context) error {
		s, err := b.e.Worker(ctx, name)
		if err != nil {
			return err
		}
		groups, err := b.e.Placed(ctx, b.c.Address(n))
		if err != nil {
			return err
		}
		if len(groups) != s.Used {
			return fmt.Errorf("%d slots are in use, by %v", s.Used, groups)
		}
		if id != "" {
			j, err := b.e.Job(ctx, id)
			if err != nil {
				return err
			}
			if j.Status.Ended() {
				id = ""
			}
		}
		switch {
		case s.Free() < 2:
			return nil
		case id != "":
			return fmt.Errorf("job %s has not all of them: %+v", id, s)
		}
		b.jobs++
		id = strconv.Itoa(6000 + b.jobs)
		return errors.Join(errors.New("job "+id+" is to hold them"), b.e.Hold(ctx, id, name, s.Free()))
	})
	return id
}

// workerOf is a worker that a job runs on.
func (b *drainBed) workerOf(job zeta.Counted) (name string) {
	b.t.Helper()
	harness.Wait(b.t, patience, job.Name+" is on a worker", func(ctx context.Context) error {
		for _, n := range b.c.Up() {
			groups, err := b.e.Placed(ctx, b.c.Address(n))
			if err != nil {
				return err
			}
			if slices.ContainsFunc(groups, func(g control.TaskGroup) bool { return g.Job == job.ID }) {
				name = zeta.Name(n)
				return nil
			}
		}
		return errors.New("it is on none")
	})
	return name
}

// whole waits until every row of the jobs was read once, and ends them.
func (b *drainBed) whole(jobs ...zeta.Counted) {
	b.t.Helper()
	for _, j := range jobs {
		harness.Wait(b.t, 5*time.Minute, "every row of "+j.Name+" is read and written once", func(context.Context) error { return b.c.Whole(j) })
		if !j.Batch {
			require.NoError(b.t, b.e.Cancel(b.t.Context(), j.ID))
			awaitEnd(b.t, b.e, j.ID)
		}
	}
}

// steps are how far the jobs of a drain are, by id.
func steps(d *scaling.Drain) map[string]scaling.DrainStep {
	out := map[string]scaling.DrainStep{}
	for i := range d.Jobs {
		out[d.Jobs[i].ID] = d.Jobs[i].Step
	}
	return out
}

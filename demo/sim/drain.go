package sim

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"time"

	"github.com/zeta-scaler/zeta-scaler/zeta"
	"github.com/zeta-scaler/zeta-scaler/zeta/control"
)

// What a drain asks of a cluster and does there, as a real Zeta whose workers
// bear the names of their platform. It is answered from the simulation itself,
// and not by way of REST.

const (
	// savepointTook is how long a job takes to stop with a savepoint, leaveTook how
	// long the platform takes to end a worker.
	savepointTook = time.Second
	leaveTook     = 4 * time.Second
	// rowsPerSecond is what each of a job's readers reads.
	rowsPerSecond = 10
)

// WorkerNames are the names of the registered workers, the youngest first: the
// order in which the platform would remove them. Leaving are those that it does.
func (c *Cluster) WorkerNames() (names []string, leaving map[string]bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	leaving = map[string]bool{}
	for _, m := range slices.Backward(c.workers) {
		names = append(names, m.name())
		if !m.leavesAt.IsZero() {
			leaving[m.name()] = true
		}
	}
	return names, leaving
}

// AddressOf is where the worker of that name listens, "" if there is none.
func (c *Cluster) AddressOf(name string) string {
	c.mu.Lock()
	defer c.mu.Unlock()
	if m := c.named(name); m != nil {
		return m.hostPort()
	}
	return ""
}

// Release has the platform end a worker; whatever runs there is lost with it.
func (c *Cluster) Release(name string) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	m := c.named(name)
	if m == nil {
		return fmt.Errorf("there is no worker %s", name)
	}
	if m.leavesAt.IsZero() {
		m.leavesAt = c.now.Add(leaveTook)
	}
	return nil
}

// named finds a worker by its name.
func (c *Cluster) named(name string) *member {
	for _, m := range c.workers {
		if m.name() == name {
			return m
		}
	}
	return nil
}

// name is the platform's for a worker: worker-3 is at 10.20.1.3.
func (m *member) name() string { return "worker-" + strconv.Itoa(m.number) }

// dropLeaving ends the workers whose time has come.
func (c *Cluster) dropLeaving() {
	for i := 0; i < len(c.workers); i++ {
		if m := c.workers[i]; !m.leavesAt.IsZero() && !c.now.Before(m.leavesAt) {
			c.lose(m)
			i--
		}
	}
}

// Cluster implements drain.Engine, as do the methods of View below.
func (v View) Cluster(context.Context) (control.Cluster, error) {
	c := v.cluster()
	c.mu.Lock()
	defer c.mu.Unlock()
	total, free := c.slotTotals()
	out := control.Cluster{
		Version: c.opt.Version, Slots: control.Slots{Workers: len(c.workers), Total: total, Used: total - free},
		Running: len(c.jobs) - len(c.pending()), Pending: len(c.pending()), Failed: c.ended(statusFailed),
		Members: []control.Member{{Address: c.master.hostPort(), Master: true}}, Settled: new(true),
	}
	for _, m := range c.workers {
		out.Members = append(out.Members, control.Member{Address: m.hostPort(), Lite: true})
	}
	return out, nil
}

// View is the cluster that a drain sees: whichever is there at the moment.
type View struct{ Current func() *Cluster }

func (v View) cluster() *Cluster { return v.Current() }

// Worker reads the master's book on one worker.
func (v View) Worker(_ context.Context, name string) (control.Slots, error) {
	c := v.cluster()
	c.mu.Lock()
	defer c.mu.Unlock()
	m := c.named(name)
	if m == nil {
		return control.Slots{}, nil
	}
	total, free := c.slotsOf(m)
	return control.Slots{Workers: 1, Total: total, Used: total - free}, nil
}

// Tagged has no worker: those of the simulation bear no attribute but their name.
func (v View) Tagged(context.Context, map[string]string, string) (control.Slots, error) {
	return control.Slots{}, nil
}

// Placed names the task groups of the worker at an address.
func (v View) Placed(_ context.Context, address string) ([]control.TaskGroup, error) {
	c := v.cluster()
	c.mu.Lock()
	defer c.mu.Unlock()
	var out []control.TaskGroup
	for _, m := range c.workers {
		if m.hostPort() != address {
			continue
		}
		for _, j := range c.jobs {
			for i := range m.slots[j] {
				out = append(out, control.TaskGroup{Job: strconv.FormatInt(j.id, 10), Pipeline: 1, ID: int64(10000 * (i + 1))})
			}
		}
		return out, nil
	}
	return nil, fmt.Errorf("no member listens on %s", address)
}

// Jobs are all that run or wait.
func (v View) Jobs(context.Context) ([]control.Job, error) {
	c := v.cluster()
	c.mu.Lock()
	defer c.mu.Unlock()
	var out []control.Job
	for _, j := range c.jobs {
		out = append(out, c.told(j))
	}
	return out, nil
}

// Job is one job, ended or not: the latest of its id.
func (v View) Job(_ context.Context, id string) (control.Job, error) {
	c := v.cluster()
	c.mu.Lock()
	defer c.mu.Unlock()
	if j := c.byID(id); j != nil {
		return c.told(j), nil
	}
	return control.Job{}, fmt.Errorf("job %s: %w", id, control.ErrNoJob)
}

func (c *Cluster) byID(id string) *job {
	for _, jobs := range [][]*job{c.jobs, c.history} {
		for _, j := range slices.Backward(jobs) {
			if strconv.FormatInt(j.id, 10) == id {
				return j
			}
		}
	}
	return nil
}

// told is what Zeta says of a job.
func (c *Cluster) told(j *job) control.Job {
	env := j.env()
	out := control.Job{
		ID: strconv.FormatInt(j.id, 10), Name: j.spec.Name, Status: control.Status(j.status), Mode: control.Mode(env.JobMode),
		Env:     map[string]string{"job.mode": env.JobMode, "checkpoint.interval": env.Checkpoint, "parallelism": env.Parallelism},
		Sources: []string{"FakeSource"}, Sinks: []string{"Console"}, Created: j.enqueued, Received: j.readBefore,
	}
	if j.isHold() { // as control submits it
		out.Env["checkpoint.interval"], out.Env["job.retry.times"] = "3600000", "0"
	}
	if !j.started.IsZero() && !c.now.Before(j.started) {
		out.Received += int64(c.now.Sub(j.started).Seconds()) * rowsPerSecond * int64(j.spec.Parallelism)
	}
	return out
}

// StopWithSavepoint says yes to any id, as Zeta does.
func (v View) StopWithSavepoint(_ context.Context, id string) error {
	c := v.cluster()
	c.mu.Lock()
	defer c.mu.Unlock()
	if j := c.byID(id); j != nil && j.status == statusRunning {
		j.status, j.stopping = statusSaving, c.now
	}
	return nil
}

// Restore submits a stopped job again; one that has not ended is left alone, as
// Zeta does.
func (v View) Restore(_ context.Context, id, _ string, _ control.Config) error {
	c := v.cluster()
	c.mu.Lock()
	defer c.mu.Unlock()
	old := c.byID(id)
	if old == nil || !control.Status(old.status).Ended() {
		return nil
	}
	again := &job{id: old.id, spec: old.spec, status: statusPending, enqueued: c.now, checked: c.now, readBefore: c.told(old).Received}
	c.jobs = append(c.jobs, again)
	c.try(again)
	return nil
}

// Hold has a job that does nothing take the free slots of a worker, if those are
// all that were asked for.
func (v View) Hold(_ context.Context, id, worker string, slots int) error {
	c := v.cluster()
	c.mu.Lock()
	defer c.mu.Unlock()
	n, err := strconv.ParseInt(id, 10, 64)
	m := c.named(worker)
	if err != nil || m == nil {
		return fmt.Errorf("holding worker %s: %w", worker, control.ErrRefused)
	}
	j := &job{id: n, spec: JobSpec{Name: zeta.HoldPrefix + worker, Parallelism: slots - 1}, status: statusRunning, enqueued: c.now, checked: c.now, started: c.now}
	c.jobs = append(c.jobs, j)
	if _, free := c.slotsOf(m); free < slots {
		c.end(j, statusFailed, noResourceError)
		return nil
	}
	m.take(j, slots)
	return nil
}

// Cancel ends a job.
func (v View) Cancel(_ context.Context, id string) error {
	if n, err := strconv.ParseInt(id, 10, 64); err == nil {
		v.cluster().Cancel(n)
	}
	return nil
}

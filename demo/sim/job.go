package sim

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/zeta-scaler/zeta-scaler/zeta"
)

// Zeta's words for where a job is.
const (
	statusPending  = "PENDING"
	statusRunning  = "RUNNING"
	statusFinished = "FINISHED"
	statusFailed   = "FAILED"
	statusCanceled = "CANCELED"
	statusSaving   = "DOING_SAVEPOINT"
	statusSaved    = "SAVEPOINT_DONE"
)

// What a real master writes into errorMsg, without the frames below.
const (
	noResourceError = "org.apache.seatunnel.engine.server.resourcemanager.NoEnoughResourceException\n" +
		"\tat org.apache.seatunnel.engine.server.dag.physical.ResourceUtils.applyResourceForPipeline(ResourceUtils.java:68)\n" +
		"\tat org.apache.seatunnel.engine.server.dag.physical.SubPlan.stateProcess(SubPlan.java:628)\n"
	lostWorkerError = "org.apache.seatunnel.engine.common.exception.SeaTunnelEngineException: The taskGroup is lost with its worker\n" +
		"\tat org.apache.seatunnel.engine.server.CoordinatorService.failedTaskOnMemberRemoved(CoordinatorService.java:801)\n"
)

// JobSpec is what a user submits.
type JobSpec struct {
	Name string
	// Parallelism P ≥ 1: the job needs 1 + P slots.
	Parallelism int
	// Slots is what it needs in place of 1 + P; 0 leaves it at that.
	Slots int
	// RunTime is how long it runs once it has its slots; 0 is a streaming job
	// that runs until it is cancelled.
	RunTime time.Duration
	// Streaming is a streaming job that is cancelled after RunTime.
	Streaming bool
	// CPUPerSlot and HeapPerSlot are what one slot adds to its worker's load,
	// as ratios.
	CPUPerSlot, HeapPerSlot float64
	// Failure, if not empty, is the error with which it ends after RunTime.
	Failure string
}

// job is a submitted job.
type job struct {
	id     int64
	spec   JobSpec
	status string
	// shown as RUNNING although it has no slot (2.3.8 only).
	retrying    bool
	enqueued    time.Time
	started     time.Time // zero until it has its slots
	ended       time.Time
	checked     time.Time
	checks      int
	errorMsg    string
	lastAttempt time.Time
	// stopping is since when it makes a savepoint to stop with; readBefore is how
	// many rows it had read before it was restored.
	stopping   time.Time
	readBefore int64
	// late is how much longer it runs because its workers were overloaded.
	late time.Duration
}

// need is how many slots the job has to get at once.
func (j *job) need() int {
	if j.spec.Slots > 0 {
		return j.spec.Slots
	}
	return 1 + j.spec.Parallelism
}

// isHold reports whether it is a drain's, and nobody's work.
func (j *job) isHold() bool { return strings.HasPrefix(j.spec.Name, zeta.HoldPrefix) }

// Submit hands a job to the cluster and returns its id.
func (c *Cluster) Submit(spec JobSpec) int64 {
	c.mu.Lock()
	defer c.mu.Unlock()
	spec.Parallelism = max(spec.Parallelism, 1)
	if spec.Name == "" {
		spec.Name = fmt.Sprintf("job-%d", c.nextJob+1)
	}
	j := &job{
		id:       c.jobID(),
		spec:     spec,
		status:   statusPending,
		enqueued: c.now,
		checked:  c.now,
	}
	c.nextJob++
	if c.opt.Version == V238 {
		j.status, j.retrying = statusRunning, true
	}
	c.jobs = append(c.jobs, j)
	if c.opt.Strategy == Reject || c.head() == j {
		c.try(j)
	}
	return j.id
}

// jobID grows with time and count, as Zeta's ids do, so that a cluster that is
// started later never reuses one.
func (c *Cluster) jobID() int64 {
	return firstJobID + (c.opt.Start.Unix()-jobEpoch)*jobIDsPerSecond + int64(c.nextJob)*jobIDStep
}

// Cancel ends a job; it is false if the job is not waiting or running.
func (c *Cluster) Cancel(id int64) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, j := range c.jobs {
		if j.id == id {
			c.end(j, statusCanceled, "")
			return true
		}
	}
	return false
}

// CancelAll ends every job and empties the queue.
func (c *Cluster) CancelAll() {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, j := range append([]*job(nil), c.jobs...) {
		c.end(j, statusCanceled, "")
	}
}

// SetLoad changes what every job's slots cost from now on.
func (c *Cluster) SetLoad(cpuPerSlot, heapPerSlot float64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, j := range c.jobs {
		j.spec.CPUPerSlot, j.spec.HeapPerSlot = cpuPerSlot, heapPerSlot
	}
	for _, m := range c.workers {
		m.changed = true
	}
}

// pending is the waiting queue, head first.
func (c *Cluster) pending() []*job {
	var q []*job
	for _, j := range c.jobs {
		if j.status == statusPending {
			q = append(q, j)
		}
	}
	return q
}

// end moves a job to the history and gives its slots back.
func (c *Cluster) end(j *job, status, errorMsg string) {
	j.status, j.errorMsg, j.ended = status, errorMsg, c.now
	for _, m := range c.workers {
		m.giveUp(j)
	}
	if i := slices.Index(c.jobs, j); i >= 0 {
		c.jobs = slices.Delete(c.jobs, i, i+1)
	}
	c.history = append(c.history, j)
	c.endedAs[status]++
	switch {
	case j.isHold():
	case errorMsg == noResourceError:
		c.rejections++
	case errorMsg == lostWorkerError:
		c.lost++
	}
}

// endJobs ends what has run for long enough, and what 2.3.8 gives up on.
func (c *Cluster) endJobs() {
	for i := 0; i < len(c.jobs); {
		j := c.jobs[i]
		switch {
		case j.status == statusSaving && c.now.Sub(j.stopping) >= savepointTook:
			c.end(j, statusSaved, "")
		case j.status == statusSaving:
			i++
		case j.retrying && c.now.Sub(j.enqueued) >= RejectAfter:
			c.end(j, statusFailed, noResourceError)
		case j.started.IsZero() || j.spec.RunTime == 0 || c.now.Sub(j.started) < j.spec.RunTime+j.late:
			i++
		case j.spec.Failure != "":
			c.end(j, statusFailed, j.spec.Failure)
		case j.spec.Streaming:
			c.end(j, statusCanceled, "")
		default:
			c.end(j, statusFinished, "")
		}
	}
}

// slowDown lets the jobs of overloaded workers fall behind: each goes at the pace
// of its slowest worker.
func (c *Cluster) slowDown() {
	if !c.opt.Contention {
		return
	}
	busy := false
	for _, m := range c.workers {
		busy = busy || m.asks(c) > 1
	}
	if !busy {
		return
	}
	for _, j := range c.jobs {
		if j.spec.Streaming || j.spec.RunTime == 0 {
			continue // it ends when it is cancelled, whatever it has done
		}
		most := 1.0
		for _, m := range c.workers {
			if m.slots[j] > 0 {
				most = max(most, m.asks(c))
			}
		}
		j.late += time.Duration((1 - 1/most) * float64(step))
	}
}

// schedule tries the head of the queue every 3 s as Zeta's single scheduling
// thread does, so a big head job holds up every smaller one behind it. 2.3.8
// retries each job by itself.
func (c *Cluster) schedule() {
	if c.opt.Version == V238 {
		for _, j := range append([]*job(nil), c.jobs...) {
			if j.retrying && c.now.Sub(j.lastAttempt) >= scheduleEvery {
				c.try(j)
			}
		}
		return
	}
	for head := c.head(); head != nil; head = c.head() {
		if c.now.Sub(head.lastAttempt) < scheduleEvery || !c.try(head) {
			return
		}
	}
}

// head is the first of the queue, nil if nothing waits.
func (c *Cluster) head() *job {
	for _, j := range c.jobs {
		if j.status == statusPending {
			return j
		}
	}
	return nil
}

// try gives a job its slots, all of them or none.
func (c *Cluster) try(j *job) bool {
	j.lastAttempt, j.checked = c.now, c.now
	j.checks++
	if !c.fits(j.need()) {
		if c.opt.Strategy == Reject && c.opt.Version != V238 {
			c.rejected = true
			c.end(j, statusFailed, noResourceError)
		}
		return false
	}
	for range j.need() {
		c.place().take(j, 1)
	}
	j.status, j.retrying, j.started = statusRunning, false, c.now.Add(jobBatchPause)
	return true
}

// fits reports whether n slots are free. Dynamic workers always have room.
func (c *Cluster) fits(n int) bool {
	if c.opt.DynamicSlots {
		return len(c.usable()) > 0
	}
	free := 0
	for _, m := range c.workers {
		if m.frozenAt.IsZero() {
			free += c.opt.SlotsPerWorker - m.assigned()
		}
	}
	return free >= n
}

// place is where the next slot is taken.
func (c *Cluster) place() *member {
	if c.opt.Placement != RandomPlacement {
		return c.emptiest()
	}
	us := c.usable()
	if !c.opt.DynamicSlots {
		us = slices.DeleteFunc(us, func(m *member) bool { return m.assigned() >= c.opt.SlotsPerWorker })
	}
	return us[c.places.IntN(len(us))]
}

// usable are the workers that answer a slot request.
func (c *Cluster) usable() []*member {
	var us []*member
	for _, m := range c.workers {
		if m.frozenAt.IsZero() {
			us = append(us, m)
		}
	}
	return us
}

// emptiest is the worker with the fewest slots in use, the oldest of them.
func (c *Cluster) emptiest() *member {
	var best *member
	for _, m := range c.usable() {
		if best == nil || m.assigned() < best.assigned() {
			best = m
		}
	}
	return best
}

// slotTotals counts slots as /overview does: dynamic workers have just those
// that are in use.
func (c *Cluster) slotTotals() (total, free int) {
	for _, m := range c.workers {
		t, f := c.slotsOf(m)
		total, free = total+t, free+f
	}
	return total, free
}

func (c *Cluster) slotsOf(m *member) (total, free int) {
	if c.opt.DynamicSlots {
		return m.assigned(), 0
	}
	return c.opt.SlotsPerWorker, c.opt.SlotsPerWorker - m.assigned()
}

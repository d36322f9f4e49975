package sim

import (
	"slices"
	"time"
)

// Look is what the cluster is like at a moment, in numbers.
type Look struct {
	Workers, Booting int
	// SlotsUsed are held by jobs.
	SlotsUsed int
	// Waiting jobs need SlotsWaiting together; HeadLacking is what the first of
	// them lacks and OldestWait how long it has waited.
	Waiting, SlotsWaiting, HeadLacking int
	OldestWait                         time.Duration
	// Running jobs hold slots.
	Running int
	// Idle says of every worker without a job for how long it has had none, the
	// longest first.
	Idle []time.Duration
	// CPU is the mean over the workers, as shown.
	CPU float64
	// Rejected jobs found too few slots; Lost went with a worker.
	Rejected, Lost int
}

// Look looks at the cluster as it is now.
func (c *Cluster) Look() Look {
	c.mu.Lock()
	defer c.mu.Unlock()
	total, free := c.slotTotals()
	l := Look{Workers: len(c.workers), Booting: len(c.booting), SlotsUsed: total - free, Rejected: c.rejections, Lost: c.lost}
	for _, j := range c.jobs {
		switch {
		case j.status != statusPending:
			if !j.started.IsZero() {
				l.Running++
			}
			continue
		case l.Waiting == 0:
			l.OldestWait, l.HeadLacking = c.now.Sub(j.enqueued), max(0, j.need()-free)
			if c.opt.DynamicSlots {
				l.HeadLacking = j.need()
			}
		}
		l.Waiting++
		l.SlotsWaiting += j.need()
	}
	for _, m := range c.workers {
		l.CPU += m.shownCPU / float64(len(c.workers))
		if m.held == 0 {
			l.Idle = append(l.Idle, c.now.Sub(m.idleSince))
		}
	}
	slices.SortFunc(l.Idle, func(a, b time.Duration) int { return int(b - a) })
	return l
}

// HasNoQueue reports whether the cluster shows nobody what waits.
func (c *Cluster) HasNoQueue() bool { return c.opt.Version == V238 }

// Unfinished counts the jobs whose end is of interest: those that wait, and those
// that end by themselves.
func (c *Cluster) Unfinished() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	n := 0
	for _, j := range c.jobs {
		if !j.isHold() && (j.started.IsZero() || j.spec.RunTime > 0 && !j.spec.Streaming) {
			n++
		}
	}
	return n
}

// Totals are what the cluster has cost and done since its start, in seconds.
type Totals struct {
	// Worker and Booting count workers that had registered, and that had not. Idle
	// are those of the former that held no slot of a job.
	Worker, Booting, Idle float64
	// Slots were offered, and SlotsUsed held by jobs. With dynamic slots a worker
	// offers one, and used is the part of its CPU that jobs asked for.
	Slots, SlotsUsed float64
}

// Totals are the sums so far.
func (c *Cluster) Totals() Totals {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.totals
}

// count adds the step that is over.
func (c *Cluster) count() {
	t := &c.totals
	t.Worker += float64(len(c.workers))
	t.Booting += float64(len(c.booting))
	for _, m := range c.workers {
		if m.held == 0 {
			t.Idle++
		}
		if c.opt.DynamicSlots {
			t.Slots++
			t.SlotsUsed += min(1, m.asks(c)-idleCPU)
		} else {
			t.Slots += float64(c.opt.SlotsPerWorker)
			t.SlotsUsed += float64(m.held)
		}
	}
}

// Fate is how a job ended, or where it is.
type Fate string

// The fates.
const (
	FateWaiting  Fate = "waiting"
	FateRunning  Fate = "running"
	FateDone     Fate = "done" // a stream's cancellation included
	FateRejected Fate = "rejected"
	FateLost     Fate = "lost" // with a worker
	FateFailed   Fate = "failed"
)

// JobRecord is what became of a submitted job.
type JobRecord struct {
	ID        int64
	Slots     int
	Submitted time.Time
	// Started is when it got its slots for the first time, Ended when it ended;
	// zero if it has not.
	Started, Ended time.Time
	// Late is how much longer it ran because its workers were overloaded.
	Late time.Duration
	// Moves is how often it was stopped and restored.
	Moves int
	Fate  Fate
}

// Records are all jobs that were ever submitted, in that order; what holds slots
// for a drain is no job.
func (c *Cluster) Records() []JobRecord {
	c.mu.Lock()
	defer c.mu.Unlock()
	byID := map[int64]int{}
	var out []JobRecord
	for _, jobs := range [][]*job{c.history, c.jobs} {
		for _, j := range jobs {
			if j.isHold() {
				continue
			}
			i, known := byID[j.id]
			if !known {
				i = len(out)
				byID[j.id] = i
				out = append(out, JobRecord{ID: j.id, Slots: j.need(), Submitted: j.enqueued})
			} else {
				out[i].Moves++
			}
			c.record(&out[i], j)
		}
	}
	slices.SortFunc(out, func(a, b JobRecord) int { return int(a.ID - b.ID) })
	return out
}

// record takes in one life of a job, which has several if it was restored.
func (c *Cluster) record(r *JobRecord, j *job) {
	if r.Started.IsZero() && !j.started.IsZero() {
		r.Started = j.started.Add(-jobBatchPause)
	}
	r.Ended = j.ended
	r.Late += j.late
	switch {
	case j.ended.IsZero() && j.started.IsZero():
		r.Fate = FateWaiting
	case j.ended.IsZero():
		r.Fate = FateRunning
	case j.errorMsg == noResourceError:
		r.Fate = FateRejected
	case j.errorMsg == lostWorkerError:
		r.Fate = FateLost
	case j.status == statusFailed:
		r.Fate = FateFailed
	default:
		r.Fate = FateDone
	}
}

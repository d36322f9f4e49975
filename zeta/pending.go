package zeta

import (
	"fmt"
	"io"
)

// PendingJobs is the reply of /pending-jobs (2.3.13+): the waiting queue and,
// beside it, the workers.
type PendingJobs struct {
	Size     int64  // jobs waiting
	Strategy string // WAIT or REJECT, "" when not said
	Jobs     []PendingJob
	// Workers is nil when the reply has no list of workers.
	Workers []Worker
}

// PendingJob is one waiting job. Times are Unix milliseconds of the master.
type PendingJob struct {
	ID                Text   `json:"jobId"`
	EnqueueTimestamp  Moment `json:"enqueueTimestamp"`
	CheckTime         Moment `json:"checkTime"`
	WaitDurationMs    Count  `json:"waitDurationMs"`
	TotalTaskGroups   Count  `json:"totalTaskGroups"`   // slots it needs
	LackingTaskGroups Count  `json:"lackingTaskGroups"` // slots it still lacks
	FailureReason     Text   `json:"failureReason"`
}

// DecodePendingJobs reads a body of /pending-jobs.
func DecodePendingJobs(r io.Reader) (PendingJobs, error) {
	var body struct {
		failure
		Summary *struct {
			Size     Count `json:"size"`
			Strategy Text  `json:"scheduleStrategy"`
		} `json:"queueSummary"`
		Snapshot *struct {
			Workers []Worker `json:"workers"`
		} `json:"clusterSnapshot"`
		Jobs []PendingJob `json:"pendingJobs"`
	}
	if err := decodeWhole(r, &body); err != nil {
		return PendingJobs{}, err
	}
	if body.Jobs == nil && (body.Summary == nil || !body.Summary.Size.Known) {
		return PendingJobs{}, body.orElse("neither the size of the queue nor its jobs in it")
	}
	p := PendingJobs{Size: int64(len(body.Jobs)), Jobs: body.Jobs}
	if s := body.Summary; s != nil {
		p.Strategy = string(s.Strategy)
		// The summary knows of jobs that a limited reply leaves out.
		p.Size = max(p.Size, s.Size.Value)
	}
	if body.Snapshot != nil && body.Snapshot.Workers != nil {
		workers, err := nameWorkers(body.Snapshot.Workers)
		if err != nil {
			return PendingJobs{}, fmt.Errorf("reading clusterSnapshot: %w", err)
		}
		p.Workers = workers
	}
	return p, nil
}

// Head is the job that Zeta tries to place: the one with the smallest enqueue
// time. Those behind it are not even tried, so only its needs are proven. ok
// is false when no job says when it was enqueued.
func (p PendingJobs) Head() (head PendingJob, ok bool) {
	for _, job := range p.Jobs {
		if t := job.EnqueueTimestamp; t.Known && (!ok || t.Value < head.EnqueueTimestamp.Value) {
			head, ok = job, true
		}
	}
	return head, ok
}

// OldestWait is how long the head has waited, in milliseconds, on the master's
// clock wherever the reply tells it: checkTime of any job (the head's own
// stands still while Zeta is busy with it), and sent, the time of the reply.
// now, our own clock, is used only when the reply tells no time at all. sent
// may be 0; both are Unix milliseconds. ok is false when there is no head, and
// when nothing but an enqueue time that lies ahead tells of its wait.
func (p PendingJobs) OldestWait(sent, now int64) (wait int64, ok bool) {
	head, ok := p.Head()
	if !ok {
		return 0, false
	}
	latest := sent
	for _, job := range p.Jobs {
		if t := job.CheckTime; t.Known && (sent == 0 || t.Value <= sent+maxAhead) {
			latest = max(latest, t.Value)
		}
	}
	if latest == 0 && !head.WaitDurationMs.Known {
		latest = now
	}
	wait = latest - head.EnqueueTimestamp.Value
	if wait < -maxAhead && head.WaitDurationMs.Value == 0 {
		return 0, false
	}
	return max(0, head.WaitDurationMs.Value, wait), true
}

// maxAhead is how far ahead of the clock that it is compared with a time may
// lie, in milliseconds, and still count as just now.
const maxAhead = 120_000

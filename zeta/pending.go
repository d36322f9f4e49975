package zeta

import (
	"encoding/json"
	"errors"
	"io"
)

// PendingJobs is the reply of /pending-jobs (2.3.13+): the waiting queue and,
// beside it, the workers.
type PendingJobs struct {
	Size     int64  // jobs waiting
	Strategy string // WAIT or REJECT, "" when not said
	// Oldest is when the head was enqueued, as the summary has it: also of a head
	// that is not among Jobs.
	Oldest Moment
	// Jobs are those that were read, the head first among them.
	Jobs []PendingJob
	// Cut is why the list of jobs was not read to its end, nil if it was or if it
	// held no more that matters.
	Cut error
	// Workers is nil when the reply has no list of workers.
	Workers []Worker
	// jobBytes is how long one job of the list was, on average.
	jobBytes int64
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

// How much of the queue is asked for. Zeta sorts the jobs by the time at which
// they were enqueued.
const (
	// headJobs are enough to know the head: more than one of them tell the time,
	// where the head's own check time stands still.
	headJobs = 3
	// firstJobs are asked for until it is known how long a job is in the reply.
	firstJobs = 20
	// queueJobs and queueBytes bound how long a queue is read whole, for what it
	// needs in all: each job names all that run, so a long one is heavy for Zeta.
	queueJobs  = 100
	queueBytes = 1 << 20
)

// jobsToAskFor is how many jobs are asked for when one is so long; 0 is not known.
func jobsToAskFor(jobBytes int64) int {
	if jobBytes <= 0 {
		return firstJobs
	}
	return int(max(headJobs, min(queueJobs, queueBytes/jobBytes)))
}

// queueSummary is what the reply says about the whole queue, whether or not it
// lists all jobs.
type queueSummary struct {
	Size     Count  `json:"size"`
	Strategy Text   `json:"scheduleStrategy"`
	Oldest   Moment `json:"oldestEnqueueTimestamp"`
}

// DecodePendingJobs reads a body of /pending-jobs job by job: a long queue has
// all running jobs in each of its jobs. Once the summary, the workers and the
// head are known, what is left of a list that is too long to be read whole is not
// read. A list that ends
// before its time counts as far as it goes.
func DecodePendingJobs(r io.Reader) (PendingJobs, error) {
	var p PendingJobs
	var failed failure
	var size Count
	listed := false
	err := eachKey(r, func(key string, v values) error {
		switch key {
		case "status":
			return v.read(&failed.Status)
		case "message":
			return v.read(&failed.Message)
		case "queueSummary":
			var s queueSummary
			err := v.read(&s)
			size, p.Strategy, p.Oldest = s.Size, string(s.Strategy), s.Oldest
			return err
		case "clusterSnapshot":
			return p.readSnapshot(v)
		case "pendingJobs":
			var err error
			listed, err = p.readJobs(v, size)
			return err
		}
		return v.read(new(skipped))
	})
	switch {
	case errors.Is(err, errEnough):
	case err != nil && len(p.Jobs) == 0:
		return PendingJobs{}, err
	case err != nil:
		p.Cut = err
	}
	if !listed && !size.Known {
		return PendingJobs{}, failed.orElse("neither the size of the queue nor its jobs in it")
	}
	// The summary knows of jobs that a limited reply leaves out.
	p.Size = max(int64(len(p.Jobs)), size.Value)
	return p, nil
}

// readJobs reads the list of jobs; listed is false if there is null in its place.
func (p *PendingJobs) readJobs(v values, size Count) (listed bool, err error) {
	p.Jobs = nil
	begin := v.InputOffset()
	return v.elements(func(read ReadValue) error {
		var job PendingJob
		if err := read(&job); err != nil {
			return err
		}
		job.ID, job.FailureReason = short(job.ID), short(job.FailureReason)
		p.Jobs = append(p.Jobs, job)
		length := v.InputOffset() - begin
		p.jobBytes = length / int64(len(p.Jobs))
		tooLong := size.Value > queueJobs || length > queueBytes
		if tooLong && len(p.Jobs) > headJobs && size.Known && p.Workers != nil && p.Oldest.Known {
			if _, ok := p.Head(); ok {
				return errEnough
			}
		}
		return nil
	})
}

// short is a text that can be a label value, "" in place of any other: a long
// list keeps all of its texts in memory.
func short(t Text) Text {
	if len(t) > maxWord {
		return ""
	}
	return t
}

func (p *PendingJobs) readSnapshot(v values) error {
	var raw json.RawMessage
	var snapshot struct {
		Workers []Worker `json:"workers"`
	}
	if err := v.read(&raw); err != nil {
		return err
	}
	if err := decodeBytes(raw, &snapshot); err != nil {
		return err
	}
	if snapshot.Workers == nil {
		return nil
	}
	workers, err := nameWorkers(snapshot.Workers)
	p.Workers = workers
	return err
}

// Head is the job that Zeta tries to place: the one with the smallest enqueue
// time. Those behind it are not even tried, so only its needs are proven. ok
// is false when no job says when it was enqueued, and when the queue has an
// older one that is not listed.
func (p PendingJobs) Head() (head PendingJob, ok bool) {
	for _, job := range p.Jobs {
		if t := job.EnqueueTimestamp; t.Known && (!ok || t.Value < head.EnqueueTimestamp.Value) {
			head, ok = job, true
		}
	}
	if ok && p.Oldest.Known && p.Oldest.Value < head.EnqueueTimestamp.Value {
		return PendingJob{}, false
	}
	return head, ok
}

// Lacking is how many slots all waiting jobs lack. Those behind the head are not
// tried: this is what they would need. ok is false when the reply does not list
// all of them, or one of them without what it lacks.
func (p PendingJobs) Lacking() (slots Count, ok bool) {
	if p.Cut != nil || int64(len(p.Jobs)) != p.Size {
		return Count{}, false
	}
	slots.Known = true
	for _, job := range p.Jobs {
		if !job.LackingTaskGroups.Known {
			return Count{}, false
		}
		slots.Value += job.LackingTaskGroups.Value
	}
	return slots, true
}

// OldestWait is how long the head has waited, in milliseconds, on the master's
// clock wherever the reply tells it: checkTime of any job (the head's own
// stands still while Zeta is busy with it), and sent, the time of the reply.
// now, our own clock, is used only when the reply tells no time at all. sent
// may be 0; both are Unix milliseconds. ok is false when the reply does not say
// when the head was enqueued, and when nothing but an enqueue time that lies
// ahead tells of its wait.
func (p PendingJobs) OldestWait(sent, now int64) (wait int64, ok bool) {
	head, ok := p.Head()
	if !ok {
		head = PendingJob{EnqueueTimestamp: p.Oldest}
	}
	if !head.EnqueueTimestamp.Known {
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

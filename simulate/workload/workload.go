// Package workload says which jobs come to a simulated cluster, and what the
// cluster is like.
package workload

import (
	"cmp"
	"fmt"
	"slices"
	"time"
)

// Kind is what Zeta calls job.mode.
type Kind string

// The kinds of jobs.
const (
	Batch  Kind = "batch"
	Stream Kind = "stream"
)

// Job is one submission.
type Job struct {
	// At is when it is submitted, since the beginning, ≥ 0.
	At time.Duration
	// Run is how long it runs once it has its slots, on workers that are not
	// overloaded, > 0. A stream is cancelled after it; 0 is a stream that nobody
	// cancels.
	Run time.Duration
	// Slots are what it needs at once, ≥ 1.
	Slots int
	Kind  Kind
	// CPU is what each of its slots takes of a worker's CPU, as a ratio. Where a
	// worker's jobs ask for more than 1 together, they all run longer.
	CPU float64
}

// Strategy is what Zeta does with a job that finds too few free slots.
type Strategy string

// The strategies.
const (
	Wait   Strategy = "wait"
	Reject Strategy = "reject"
)

// Conditions are what the cluster and the way to its numbers are like.
type Conditions struct {
	// SlotsPerWorker ≥ 1 has no meaning with DynamicSlots, where a worker takes
	// every job and its CPU is what runs short.
	SlotsPerWorker int
	DynamicSlots   bool
	// Strategy is always Reject with DynamicSlots, as in Zeta; nothing is rejected
	// there while there is a worker.
	Strategy Strategy
	// BootMin and BootMax bound how long a new worker takes to register, evenly
	// distributed.
	BootMin, BootMax time.Duration
	// ScrapeLoss is the part of scrapes that get no answer, in [0, 1).
	ScrapeLoss float64
	// HeapGarbage is how far garbage raises a worker's heap between two
	// collections, as a ratio of the heap, in [0, 1).
	HeapGarbage float64
	// MinWorkers and MaxWorkers are the bounds that suit the workload, 0 ≤ min ≤
	// max, max ≥ 1. It begins with MinWorkers.
	MinWorkers, MaxWorkers int
}

// Workload is a list of jobs for a cluster.
type Workload struct {
	Name string
	// Summary says in a line what it is.
	Summary string
	// Jobs are in order of At.
	Jobs []Job
	// Length is when the last job can come; what runs or waits then is not waited
	// for longer than the simulation's own limit.
	Length     time.Duration
	Conditions Conditions
}

// DefaultConditions are 4 slots a worker, 30 s to 180 s to boot, a queue, between
// 1 and 16 workers.
func DefaultConditions() Conditions {
	return Conditions{SlotsPerWorker: 4, Strategy: Wait, BootMin: 30 * time.Second, BootMax: 180 * time.Second, MinWorkers: 1, MaxWorkers: 16}
}

// Check says what is wrong with a workload.
func (w *Workload) Check() error {
	if err := w.Conditions.Check(); err != nil {
		return fmt.Errorf("workload %s: %w", w.Name, err)
	}
	if w.Length <= 0 {
		return fmt.Errorf("workload %s: its length is %s, expected more than 0", w.Name, w.Length)
	}
	if !slices.IsSortedFunc(w.Jobs, func(a, b Job) int { return cmp.Compare(a.At, b.At) }) {
		return fmt.Errorf("workload %s: its jobs are not in order of the time they come", w.Name)
	}
	for i := range w.Jobs {
		if err := w.Jobs[i].Check(); err != nil {
			return fmt.Errorf("workload %s: job %d: %w", w.Name, i+1, err)
		}
		if w.Jobs[i].At >= w.Length {
			return fmt.Errorf("workload %s: job %d comes at %s, expected it before the end at %s", w.Name, i+1, w.Jobs[i].At, w.Length)
		}
	}
	return nil
}

// Check says what is wrong with a job.
func (j *Job) Check() error {
	switch {
	case j.Kind != Batch && j.Kind != Stream:
		return fmt.Errorf("its kind is %q, expected %s or %s", j.Kind, Batch, Stream)
	case j.At < 0:
		return fmt.Errorf("it comes at %s, expected 0 or later", j.At)
	case j.Run < 0, j.Run == 0 && j.Kind == Batch:
		return fmt.Errorf("it runs for %s, expected more than 0", j.Run)
	case j.Slots < 1:
		return fmt.Errorf("it needs %d slots, expected 1 or more", j.Slots)
	case !(j.CPU >= 0 && j.CPU <= 1):
		return fmt.Errorf("each slot takes %v of a worker's CPU, expected 0 to 1", j.CPU)
	}
	return nil
}

// MaxWorkers bounds the workers of a cluster: every one is simulated.
const MaxWorkers = 10_000

// Check says what is wrong with conditions.
func (c *Conditions) Check() error {
	switch {
	case c.SlotsPerWorker < 1 && !c.DynamicSlots:
		return fmt.Errorf("slots per worker is %d, expected 1 or more", c.SlotsPerWorker)
	case c.SlotsPerWorker > maxSlots:
		return fmt.Errorf("slots per worker is %d, expected at most %d", c.SlotsPerWorker, maxSlots)
	case c.Strategy != Wait && c.Strategy != Reject:
		return fmt.Errorf("strategy is %q, expected %s or %s", c.Strategy, Wait, Reject)
	case c.BootMin < 0 || c.BootMax < c.BootMin:
		return fmt.Errorf("workers take %s to %s to boot, expected 0 or more, the smaller first", c.BootMin, c.BootMax)
	case !(c.ScrapeLoss >= 0 && c.ScrapeLoss < 1):
		return fmt.Errorf("%v of the scrapes are lost, expected 0 or more and less than 1", c.ScrapeLoss)
	case !(c.HeapGarbage >= 0 && c.HeapGarbage < 1):
		return fmt.Errorf("garbage takes %v of the heap, expected 0 or more and less than 1", c.HeapGarbage)
	case c.MinWorkers < 0 || c.MaxWorkers < 1 || c.MaxWorkers < c.MinWorkers:
		return fmt.Errorf("between %d and %d workers, expected 0 or more and 1 or more, the smaller first", c.MinWorkers, c.MaxWorkers)
	case c.MaxWorkers > MaxWorkers:
		return fmt.Errorf("up to %d workers, expected at most %d", c.MaxWorkers, MaxWorkers)
	}
	return nil
}

package simulate

import (
	"math"
	"slices"
	"time"

	"github.com/zeta-scaler/zeta-scaler/demo/sim"
	"github.com/zeta-scaler/zeta-scaler/simulate/workload"
)

// bound is what nobody can better: workers are there at the second they are
// needed and gone at the next, and jobs move between them at no cost, so that the
// slots of all workers are one heap. Jobs wait only where max_workers are too few,
// in the order in which they came. Whoever lets jobs wait no longer needs at least
// its worker-hours; who lets them wait longer may need fewer. Streams
// beside batch jobs get their CPU, too, though slow streams make nobody wait:
// there, somebody may be a little below it.
type bound struct {
	o *Options
	w *workload.Workload

	upcoming []workload.Job
	queue    []pendingJob
	running  []*runningJob
	out      *Outcome
	waits    []JobWait
	slots    float64 // offered slot-seconds, used below
	used     float64
}

type pendingJob struct {
	workload.Job
	index int
}

type runningJob struct {
	pendingJob
	left time.Duration
}

func computeBound(o *Options, w *workload.Workload) *Outcome {
	b := &bound{o: o, w: w, upcoming: w.Jobs, out: &Outcome{Workload: w.Name, Controller: BoundName}}
	end := limit(w)
	at := time.Duration(0)
	for ; at < end; at += time.Second {
		b.come(at)
		b.begin(at)
		if at >= w.Length && !b.unfinished() {
			break
		}
		b.pass(at)
	}
	b.out.Bounded = at >= end
	b.out.Ended = at.Seconds()
	for _, p := range b.queue {
		b.waits[p.index].Fate, b.waits[p.index].Wait = sim.FateWaiting, at-p.At
	}
	for _, r := range b.running {
		b.waits[r.index].Fate = sim.FateRunning
	}
	for i := range b.waits {
		b.out.Jobs.add(b.waits[i].Fate)
	}
	if b.slots > 0 {
		b.out.Use = b.used / b.slots
	}
	b.out.wait(b.waits, o.Details)
	return b.out
}

// come queues what has been submitted.
func (b *bound) come(at time.Duration) {
	for len(b.upcoming) > 0 && b.upcoming[0].At < at+time.Second {
		j := b.upcoming[0]
		b.upcoming = b.upcoming[1:]
		b.queue = append(b.queue, pendingJob{j, len(b.waits)})
		b.waits = append(b.waits, JobWait{At: j.At, Slots: j.Slots})
	}
}

// begin starts jobs from the head of the queue, as far as all workers have slots.
func (b *bound) begin(at time.Duration) {
	c := &b.w.Conditions
	held := b.held()
	for len(b.queue) > 0 {
		p := b.queue[0]
		fits := c.DynamicSlots || held+p.Slots <= c.MaxWorkers*c.SlotsPerWorker
		if !fits && c.Strategy == workload.Wait {
			return
		}
		b.queue = b.queue[1:]
		if !fits {
			b.waits[p.index].Fate = sim.FateRejected
			continue
		}
		b.waits[p.index].Wait = max(0, at-p.At.Truncate(time.Second))
		held += p.Slots
		b.running = append(b.running, &runningJob{p, p.Run})
	}
}

func (b *bound) held() int {
	n := 0
	for i := range b.running {
		n += b.running[i].Slots
	}
	return n
}

// pass lets a second pass.
func (b *bound) pass(at time.Duration) {
	c := &b.w.Conditions
	held, cpu, needed := b.held(), 0.0, 0.0
	for i := range b.running {
		cpu += float64(b.running[i].Slots) * b.running[i].CPU
	}
	if b.batch() {
		needed = math.Ceil(cpu - 1e-9) // streams alone end at their time, however slow they are
	}
	if !c.DynamicSlots {
		needed = max(needed, math.Ceil(float64(held)/float64(c.SlotsPerWorker)))
	}
	workers := min(max(needed, float64(c.MinWorkers)), float64(c.MaxWorkers))
	b.out.WorkerHours += workers / 3600
	b.out.IdleHours += max(0, workers-needed) / 3600
	if c.DynamicSlots {
		b.slots, b.used = b.slots+workers, b.used+min(cpu, workers)
	} else {
		b.slots, b.used = b.slots+workers*float64(c.SlotsPerWorker), b.used+float64(held)
	}
	if b.o.Details && at%b.o.ScrapeInterval == 0 {
		p := Point{At: at, Workers: int(workers), Busy: min(int(workers), held), JobsWaiting: len(b.queue), SlotsUsed: held}
		for _, q := range b.queue {
			p.SlotsWaiting += q.Slots
		}
		b.out.Points = append(b.out.Points, p)
	}
	b.work(min(1, workers/max(cpu, 1e-9)))
}

// work lets every job run for a second, at a pace of 1 or less.
func (b *bound) work(pace float64) {
	b.running = slices.DeleteFunc(b.running, func(r *runningJob) bool {
		worked := time.Second
		if r.Kind == workload.Batch { // a stream is cancelled at its time, whatever it has done
			worked = time.Duration(pace * float64(time.Second))
		}
		b.waits[r.index].Wait += time.Second - worked
		r.left -= worked
		if r.Run == 0 || r.left > 0 {
			return false
		}
		b.waits[r.index].Fate = sim.FateDone
		return true
	})
}

// unfinished reports whether a job waits, or will end by itself.
func (b *bound) unfinished() bool {
	return len(b.queue) > 0 || b.batch()
}

// batch reports whether a batch job runs.
func (b *bound) batch() bool {
	return slices.ContainsFunc(b.running, func(r *runningJob) bool { return r.Kind == workload.Batch })
}

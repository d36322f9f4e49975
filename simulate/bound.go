package simulate

import (
	"context"
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
// its worker-hours; who lets them wait longer may need fewer. Two things somebody may
// do a little better: streams beside batch jobs get their CPU, too, though slow streams
// make nobody wait; and where jobs ask for more CPU than max_workers have all are slowed
// alike, while a worker slows only its own.
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

// computeBound works the bound out; a part of it comes with the context's error.
func computeBound(ctx context.Context, o *Options, w *workload.Workload) (*Outcome, error) {
	b := &bound{o: o, w: w, upcoming: w.Jobs, out: &Outcome{Workload: w.Name, Controller: BoundName}}
	end := limit(w)
	at := time.Duration(0)
	for ; at < end && ctx.Err() == nil; at += time.Second {
		b.come(at)
		b.begin(at)
		if at >= w.Length && (!b.unfinished() || b.stuck()) {
			break
		}
		b.pass(at)
	}
	b.out.Bounded, b.out.Partial = at >= end || b.stuck(), ctx.Err() != nil
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
	return b.out, ctx.Err()
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
// Where there is no queue each job is tried by itself, for as long as Zeta tries it.
func (b *bound) begin(at time.Duration) {
	c := &b.w.Conditions
	held := b.held()
	var left []pendingJob
	for i, p := range b.queue {
		switch {
		case c.DynamicSlots || held+p.Slots <= b.most():
			b.waits[p.index].Wait = max(0, at-p.At.Truncate(time.Second))
			held += p.Slots
			b.running = append(b.running, &runningJob{p, p.Run})
		case c.Strategy == workload.Wait:
			b.queue = b.queue[i:]
			return
		case at-p.At.Truncate(time.Second) >= sim.RejectAfter:
			b.waits[p.index].Fate = sim.FateRejected
		default:
			left = append(left, p)
		}
	}
	b.queue = left
}

// most is how many slots all workers have.
func (b *bound) most() int { return b.w.Conditions.MaxWorkers * b.w.Conditions.SlotsPerWorker }

// stuck reports whether nothing runs and the first of the queue fits into no number
// of workers.
func (b *bound) stuck() bool {
	return len(b.running) == 0 && len(b.queue) > 0 && b.w.Conditions.Strategy == workload.Wait && b.queue[0].Slots > b.most()
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

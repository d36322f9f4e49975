package simulate

import (
	"math/rand/v2"
	"time"

	"github.com/zeta-scaler/zeta-scaler/demo/sim"
	"github.com/zeta-scaler/zeta-scaler/simulate/workload"
)

const clusterName = "simulated"

// heapPerSlot is what a slot's job keeps of its worker's heap.
const heapPerSlot = 0.06

// start is when every simulation begins, so that two print the same.
func start() time.Time { return time.Date(2026, time.January, 1, 0, 0, 0, 0, time.UTC) }

// stage is a cluster with the jobs that come to it, and the book of what was done
// to its number of workers.
type stage struct {
	o       *Options
	w       *workload.Workload
	cluster *sim.Cluster
	// upcoming are the jobs that have not come.
	upcoming []workload.Job
	// losses decides which scrapes get no answer: the same ones for everybody.
	losses *rand.Rand
	steps  []Step
	points []Point
	// tellAt is when it is next said how far this is.
	tellAt time.Duration
	// over is true once nothing is left to wait for; bounded if the limit has
	// ended it.
	over, bounded bool
}

// newStage begins with a number of workers that are there already.
func newStage(o *Options, w *workload.Workload, workers int) (*stage, error) {
	c := &w.Conditions
	so := sim.Options{
		Name: clusterName, Version: sim.V2313, Start: start(), Workers: workers,
		SlotsPerWorker: c.SlotsPerWorker, DynamicSlots: c.DynamicSlots, Strategy: sim.Wait,
		BootDelay: max(c.BootMin, time.Second), BootDelayMax: c.BootMax,
		Placement: sim.RandomPlacement, Contention: true, HeapGarbage: c.HeapGarbage, Seed: o.Seed,
	}
	if c.Strategy == workload.Reject && !c.DynamicSlots {
		// 2.3.13 tells nobody of its rejections: its history fails after the first.
		so.Version, so.Strategy = sim.V238, sim.Reject
	}
	cluster, err := sim.New(so)
	if err != nil {
		return nil, err
	}
	return &stage{o: o, w: w, cluster: cluster, upcoming: w.Jobs, losses: rand.New(rand.NewPCG(o.Seed, 0x1055))}, nil
}

// since is the time since the beginning.
func since(t time.Time) time.Duration { return t.Sub(start()) }

// Advance implements site.World: jobs come at their second.
func (s *stage) Advance(t time.Time) error {
	for len(s.upcoming) > 0 {
		j := &s.upcoming[0]
		at := start().Add(j.At.Truncate(time.Second))
		if at.After(t) {
			break
		}
		s.cluster.Advance(at)
		s.cluster.Submit(sim.JobSpec{
			Slots: j.Slots, Parallelism: max(1, j.Slots-1), RunTime: j.Run, Streaming: j.Kind == workload.Stream,
			CPUPerSlot: j.CPU, HeapPerSlot: heapPerSlot,
		})
		s.upcoming = s.upcoming[1:]
	}
	s.cluster.Advance(t)
	return nil
}

// lost says whether the next scrape gets no answer. It is asked once for each.
func (s *stage) lost() bool { return s.losses.Float64() < s.w.Conditions.ScrapeLoss }

// look notes what there is at a scrape, and whether the simulation is over.
func (s *stage) look(t time.Time) sim.Look {
	l := s.cluster.Look()
	if s.o.Details {
		s.points = append(s.points, Point{
			At: since(t), Workers: l.Workers, Booting: l.Booting, Busy: l.Workers - len(l.Idle), JobsWaiting: l.Waiting, SlotsWaiting: l.SlotsWaiting, SlotsUsed: l.SlotsUsed,
		})
	}
	switch at := since(t); {
	case at < s.w.Length:
	case at >= limit(s.w):
		s.over, s.bounded = true, true
	default:
		s.over = s.settled(&l)
	}
	return l
}

// settled reports whether no job is left whose time would still count: all have
// started, and those that end by themselves have ended.
func (s *stage) settled(l *sim.Look) bool {
	if c := &s.w.Conditions; l.Waiting > 0 && l.Running == 0 && !c.DynamicSlots && l.HeadLacking+l.Workers*c.SlotsPerWorker > c.MaxWorkers*c.SlotsPerWorker {
		s.bounded = true // the first of the queue fits into no number of workers
		return true
	}
	return l.Waiting == 0 && s.cluster.Unfinished() == 0
}

// tellHourly says once in an hour of virtual time how far this is, whatever the
// interval at which it is asked to.
func (s *stage) tellHourly(at time.Duration, tell func(time.Duration)) {
	if at >= s.tellAt {
		tell(at)
		s.tellAt = at.Truncate(time.Hour) + time.Hour
	}
}

// step notes that the number of workers was changed.
func (s *stage) step(change int) {
	if change != 0 {
		s.steps = append(s.steps, Step{At: since(s.cluster.Now()), Change: change})
	}
}

// add starts workers.
func (s *stage) add(n int) {
	if n > 0 {
		s.cluster.AddWorkers(n)
		s.step(n)
	}
}

// remove ends up to n workers: those first that have not registered, then those
// that hold no job, and with kill whatever there is.
func (s *stage) remove(n int, kill bool) {
	if n <= 0 {
		return
	}
	gone := s.cluster.CancelBooting(n)
	if rest := n - gone; kill {
		before, _ := s.cluster.Workers()
		s.cluster.KillYoungest(rest)
		after, _ := s.cluster.Workers()
		gone += before - after
	} else {
		gone += s.cluster.RemoveIdleWorkers(rest)
	}
	s.step(-gone)
}

package simulate

import (
	"cmp"
	"slices"
	"time"

	"github.com/zeta-scaler/zeta-scaler/demo/sim"
	"github.com/zeta-scaler/zeta-scaler/simulate/workload"
)

// Kind is what has decided about the number of workers.
type Kind string

// The kinds.
const (
	KindRuleSet Kind = "rule set"
	KindPeer    Kind = "model"
	KindStatic  Kind = "static"
	KindBound   Kind = "bound"
)

// Step is a change of the number of workers, Change of them at once.
type Step struct {
	At     time.Duration
	Change int
}

// Point is what the cluster was like at a moment.
type Point struct {
	At time.Duration
	// Busy workers hold slots of a job.
	Workers, Booting, Busy    int
	JobsWaiting, SlotsWaiting int
	SlotsUsed                 int
}

// JobWait is how long one job waited.
type JobWait struct {
	// At is when it came, Wait by how much later it ended than with a worker at
	// hand for it alone: its time in the queue, and what overloaded workers cost.
	At, Wait time.Duration
	Slots    int
	Fate     sim.Fate
}

// Outcome is what one controller made of one workload.
type Outcome struct {
	Workload   string `json:"workload"`
	Controller string `json:"controller"`
	// WaitMean, WaitP95 and WaitMax are over the jobs that were not rejected, in
	// seconds: their time in the queue, and by how much longer they ran because
	// their workers were overloaded. JobHours is the sum, in hours.
	WaitMean float64 `json:"waitMeanSeconds"`
	WaitP95  float64 `json:"waitP95Seconds"`
	WaitMax  float64 `json:"waitMaxSeconds"`
	JobHours float64 `json:"waitJobHours"`
	// WorkerHours are paid from the moment a worker is asked for; IdleHours are
	// those of workers that had registered and held no job.
	WorkerHours float64 `json:"workerHours"`
	IdleHours   float64 `json:"idleWorkerHours"`
	// Use is the part of the slots of registered workers that jobs held; with
	// dynamic slots the part of their CPU that jobs asked for.
	Use float64 `json:"use"`
	// Actions are changes of the number of workers, Flaps those of them that were
	// undone soon.
	Actions int `json:"actions"`
	Flaps   int `json:"flaps"`
	// Jobs counts what came by what became of it; Moved were stopped and restored
	// by a drain, some of them more than once (Moves).
	Jobs  Jobs `json:"jobs"`
	Moved int  `json:"moved"`
	Moves int  `json:"moves"`
	// Ended is when the simulation was over, in seconds since the beginning.
	Ended float64 `json:"endedAtSeconds"`
	// Bounded is true if jobs were left that would not have ended, and Partial if
	// the simulation was interrupted.
	Bounded bool `json:"bounded,omitempty"`
	Partial bool `json:"partial,omitempty"`

	// Points, Steps and Waits are the whole story, in order of time, if details were
	// asked for; the bound has no Steps.
	Points []Point   `json:"-"`
	Steps  []Step    `json:"-"`
	Waits  []JobWait `json:"-"`
}

// Jobs counts jobs by what became of them.
type Jobs struct {
	Total    int `json:"total"`
	Done     int `json:"done"`
	Running  int `json:"running"`
	Waiting  int `json:"waiting"`
	Rejected int `json:"rejected"`
	// Lost went with a worker that was ended.
	Lost   int `json:"lost"`
	Failed int `json:"failed"`
}

func (j *Jobs) add(f sim.Fate) {
	j.Total++
	switch f {
	case sim.FateDone:
		j.Done++
	case sim.FateRunning:
		j.Running++
	case sim.FateWaiting:
		j.Waiting++
	case sim.FateRejected:
		j.Rejected++
	case sim.FateLost:
		j.Lost++
	case sim.FateFailed:
		j.Failed++
	}
}

// rejected reports whether the job never ran.
func (w *JobWait) rejected() bool { return w.Fate == sim.FateRejected }

// outcome reads the stage's books.
func (s *stage) outcome(controller string) *Outcome {
	now := s.cluster.Now()
	t := s.cluster.Totals()
	out := &Outcome{
		Workload: s.w.Name, Controller: controller,
		WorkerHours: (t.Worker + t.Booting) / 3600, IdleHours: t.Idle / 3600,
		Actions: len(s.steps), Flaps: flaps(s.steps, s.o.FlapWithin),
		Ended: since(now).Seconds(), Bounded: s.bounded, Partial: !s.over,
		Points: s.points, Steps: s.steps,
	}
	if t.Slots > 0 {
		out.Use = t.SlotsUsed / t.Slots
	}
	var waits []JobWait
	for _, r := range s.cluster.Records() {
		out.Jobs.add(r.Fate)
		if r.Moves > 0 {
			out.Moved++
			out.Moves += r.Moves
		}
		w := JobWait{At: since(r.Submitted), Slots: r.Slots, Fate: r.Fate, Wait: r.Late}
		if r.Started.IsZero() {
			w.Wait += now.Sub(r.Submitted)
		} else {
			w.Wait += r.Started.Sub(r.Submitted)
		}
		waits = append(waits, w)
	}
	out.wait(waits, s.o.Details)
	return out
}

// wait sums up how long jobs waited.
func (out *Outcome) wait(waits []JobWait, details bool) {
	if details {
		out.Waits = waits
	}
	var counted []time.Duration
	var sum time.Duration
	for _, w := range waits {
		if !w.rejected() {
			counted = append(counted, w.Wait)
			sum += w.Wait
		}
	}
	if len(counted) == 0 {
		return
	}
	slices.Sort(counted)
	out.WaitMean = sum.Seconds() / float64(len(counted))
	out.WaitP95 = counted[(len(counted)*95+99)/100-1].Seconds()
	out.WaitMax = counted[len(counted)-1].Seconds()
	out.JobHours = sum.Hours()
}

// flaps counts the steps of which at least one worker was given back, or asked for
// again, within a time. Each step undoes the newest opposite ones, worker by
// worker.
func flaps(steps []Step, within time.Duration) int {
	type pending struct {
		Step
		left   int
		undone bool
	}
	n := 0
	var before []pending
	for _, s := range steps {
		left := max(s.Change, -s.Change)
		for i := len(before) - 1; i >= 0 && left > 0 && s.At-before[i].At <= within; i-- {
			p := &before[i]
			if p.left == 0 || cmp.Compare(p.Change, 0) == cmp.Compare(s.Change, 0) {
				continue
			}
			took := min(left, p.left)
			p.left, left = p.left-took, left-took
			if !p.undone {
				p.undone = true
				n++
			}
		}
		before = append(before, pending{Step: s, left: max(s.Change, -s.Change)})
	}
	return n
}

// class is the kind of cluster: what is added up has to be alike.
func class(w *workload.Workload) string {
	switch {
	case w.Conditions.DynamicSlots:
		return "dynamic slots"
	case w.Conditions.Strategy == workload.Reject:
		return "fixed slots, REJECT"
	}
	return "fixed slots, WAIT"
}

package workload

import (
	"context"
	"fmt"
	"math"
	"strconv"
	"time"

	"github.com/zeta-scaler/zeta-scaler/scaling"
	"github.com/zeta-scaler/zeta-scaler/source"
)

// Ranger answers range queries: a source.
type Ranger interface {
	Range(ctx context.Context, expr string, w source.Window) (source.Matrix, error)
}

// maxSteps bounds the points of a series.
const maxSteps = 1_000_000

// figures are the exporter's metrics from which jobs are estimated, at each step;
// NaN where there is no value, or one that no count of jobs has.
type figures struct {
	step time.Duration
	// running counts jobs that run or wait, pending those that wait, ended those that
	// Zeta's history has (it forgets them), assigned the slots that they hold.
	running, pending, ended, assigned []float64
}

// FromPrometheus estimates a cluster's workload from the exporter's metrics between
// two instants. They count jobs and do not name them, so what comes out has as many
// jobs at the same times as there were, to a step, with the same slots and lengths
// together; which job was how long is guessed. The notes say so, and what is
// missing.
func FromPrometheus(ctx context.Context, r Ranger, cluster string, w source.Window) (*Workload, []string, error) {
	if w.Step < time.Millisecond || w.End.Sub(w.Start) < w.Step || w.End.Sub(w.Start)/w.Step >= maxSteps {
		return nil, nil, fmt.Errorf("from %s to %s in steps of %s: expected 2 to %d steps", w.Start.Format(time.RFC3339), w.End.Format(time.RFC3339), w.Step, maxSteps)
	}
	steps := int(w.End.Sub(w.Start)/w.Step) + 1
	f := figures{step: w.Step}
	selector := `{cluster=` + strconv.Quote(cluster) + `}`
	with := func(state string) string { return `{cluster=` + strconv.Quote(cluster) + `,` + state + `}` }
	for _, q := range []struct {
		into *[]float64
		expr string
	}{
		{&f.running, `max(seatunnel_zeta_jobs` + with(`status="running"`) + `)`},
		{&f.pending, `max(seatunnel_zeta_pending_jobs` + selector + `)`},
		{&f.ended, `sum(max by (status) (seatunnel_zeta_jobs` + with(`status=~"finished|failed|canceled"`) + `))`},
		{&f.assigned, `max(seatunnel_zeta_slots` + with(`state="assigned"`) + `) or sum(max by (worker) (seatunnel_zeta_worker_assigned_slots` + selector + `))`},
	} {
		values, err := series(ctx, r, q.expr, w, steps)
		if err != nil {
			return nil, nil, fmt.Errorf("estimating the workload of cluster %s: %w", cluster, err)
		}
		*q.into = values
	}
	return f.workload(cluster)
}

// series asks for one series.
func series(ctx context.Context, r Ranger, expr string, w source.Window, steps int) ([]float64, error) {
	values := make([]float64, steps)
	for i := range values {
		values[i] = math.NaN()
	}
	m, err := r.Range(ctx, expr, w)
	if err != nil {
		return nil, fmt.Errorf("asking for %s: %w", expr, err)
	}
	for _, s := range m.Series {
		for _, p := range s.Points {
			i := (p.T - w.Start.UnixMilli()) / w.Step.Milliseconds()
			if i >= 0 && int(i) < steps && p.V >= 0 && p.V <= maxJobs {
				values[i] = p.V
			}
		}
	}
	return values, nil
}

// workload lets the jobs that came wait for their slots and end in the order in
// which they came.
func (f *figures) workload(cluster string) (*Workload, []string, error) {
	var notes []string
	note := func(format string, args ...any) { notes = append(notes, fmt.Sprintf(format, args...)) }
	q := fifo{step: f.step}
	missing, seen := 0, -1
	for i := range f.running {
		if math.IsNaN(f.running[i]) || math.IsNaN(f.ended[i]) {
			missing++
			continue
		}
		pending := zero(f.pending[i])
		if seen < 0 {
			q.begin(whole(f.running[i]-pending), whole(pending))
		} else {
			// What Zeta's history forgets between two steps cannot be told from what
			// ended there: then fewer jobs came than there were.
			ended := whole(math.Max(0, f.ended[i]-f.ended[seen]))
			came := ended + whole(f.running[i]) - whole(f.running[seen])
			if came < 0 {
				ended, came = ended-came, 0
			}
			q.advance(i, came, came-(whole(pending)-whole(zero(f.pending[seen]))), ended)
		}
		seen = i
		if len(q.jobs) > maxJobs {
			return nil, nil, fmt.Errorf("estimating the workload of cluster %s: more than %d jobs", cluster, maxJobs)
		}
	}
	q.end(len(f.running) - 1)
	if len(q.jobs) == 0 {
		return nil, nil, fmt.Errorf("estimating the workload of cluster %s: no jobs, or no seatunnel_zeta_jobs of it: is the exporter scraped?", cluster)
	}
	slots := f.slots()
	share(q.jobs, slots)
	note("%s by the exporter's counts, every %s", scaling.Counted(len(q.jobs), "job"), f.step)
	note("a job's length is estimated as if jobs ended in the order in which they began: the sum is right, the longest are too short")
	note("each has the %.2g slots that jobs held on average", slots)
	note("what failed or ended within a step, or left Zeta's history within one, is not seen; nor what kind a job was: all count as batch")
	if missing > 0 {
		note("%d of %s %s no value", missing, scaling.Counted(len(f.running), "step"), scaling.Plural(missing, "has", "have"))
	}
	return &Workload{
		Name: cluster, Summary: "about " + scaling.Counted(len(q.jobs), "job") + ", estimated from metrics", Jobs: q.jobs,
		Length: time.Duration(len(f.running)) * f.step, Conditions: DefaultConditions(),
	}, notes, nil
}

// slots are those that a job held on average, at least 1.
func (f *figures) slots() float64 {
	held, jobs := 0.0, 0.0
	for i := range f.running {
		if n := f.running[i] - zero(f.pending[i]); n > 0 && !math.IsNaN(f.assigned[i]) {
			held, jobs = held+f.assigned[i], jobs+n
		}
	}
	if jobs == 0 {
		return 1
	}
	return min(max(1, held/jobs), maxSlots)
}

// share gives jobs whole numbers of slots that are right together.
func share(jobs []Job, mean float64) {
	for i := range jobs {
		jobs[i].Slots = max(1, int(float64(i+1)*mean)-int(float64(i)*mean))
	}
}

func whole(v float64) int { return int(math.Round(max(v, 0))) }

// zero is 0 for no value.
func zero(v float64) float64 {
	if math.IsNaN(v) {
		return 0
	}
	return v
}

// fifo follows jobs that begin and end in order.
type fifo struct {
	step time.Duration
	jobs []Job
	// starts are when those began that have begun; the first over of them have
	// ended.
	starts []time.Duration
	over   int
}

// begin has jobs that run and that wait at the beginning.
func (q *fifo) begin(running, waiting int) { q.advance(0, running+waiting, running, 0) }

// advance takes what happened up to a step.
func (q *fifo) advance(step, came, began, ended int) {
	at := time.Duration(step) * q.step
	for range came {
		q.jobs = append(q.jobs, Job{At: at, Slots: 1, Kind: Batch, CPU: defaultCPU})
	}
	for range began {
		if len(q.starts) < len(q.jobs) {
			q.starts = append(q.starts, at)
		}
	}
	for range ended {
		if q.over == len(q.starts) { // it began and ended within the step
			if len(q.starts) == len(q.jobs) {
				return
			}
			q.starts = append(q.starts, at)
		}
		q.finish(at)
	}
}

// finish ends the job that began first. One that lived less than a step is taken to
// have lived half of one.
func (q *fifo) finish(at time.Duration) {
	q.jobs[q.over].Run = max(at-q.starts[q.over], q.step/2)
	q.over++
}

// end lets what still runs or waits go on for as long as others did.
func (q *fifo) end(step int) {
	at := time.Duration(step) * q.step
	var sum time.Duration
	for _, j := range q.jobs[:q.over] {
		sum += j.Run / time.Duration(q.over)
	}
	for i := q.over; i < len(q.jobs); i++ {
		q.jobs[i].Run = max(sum, q.step)
		if i < len(q.starts) {
			q.jobs[i].Run = max(q.jobs[i].Run, at-q.starts[i])
		}
	}
}

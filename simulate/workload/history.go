package workload

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/zeta-scaler/zeta-scaler/scaling"
	"github.com/zeta-scaler/zeta-scaler/zeta"
)

// DefaultSlotsPerPipeline is what a pipeline of parallelism 1 needs: a slot for the
// enumerator of its source, and one for its tasks.
const DefaultSlotsPerPipeline = 2

// History is where jobs that have ended are asked for: a [zeta.Client].
type History interface {
	Overview(ctx context.Context) (zeta.Overview, error)
	EndedJobs(ctx context.Context, status zeta.EndedStatus) (zeta.EndedJobs, error)
}

// FromZeta reads a cluster's own workload from the history that Zeta keeps of it
// (/finished-jobs, a day unless history-job-expire-minutes says otherwise). The
// history tells when a job was submitted and when it ended, and no more: the notes
// say what was estimated, and what is missing. slots are those of a pipeline, ≥ 1.
func FromZeta(ctx context.Context, h History, name string, slots int) (w *Workload, notes []string, err error) {
	if slots < 1 || slots > maxSlots {
		return nil, nil, fmt.Errorf("a pipeline needs %d slots, expected 1 to %d", slots, maxSlots)
	}
	overview, err := h.Overview(ctx)
	if err != nil {
		return nil, nil, fmt.Errorf("reading the history of %s: %w", name, err)
	}
	past := past{slots: slots}
	for _, status := range []zeta.EndedStatus{zeta.Finished, zeta.Canceled, zeta.Failed} {
		ended, err := h.EndedJobs(ctx, status)
		switch {
		case err != nil && status == zeta.Finished:
			return nil, nil, fmt.Errorf("reading the history of %s: %w", name, err)
		case err != nil:
			past.note("%s: they are missing", err)
		}
		past.add(ended)
	}
	if running := overview.RunningJobs; running.Known && running.Value > 0 {
		past.note("%s now %s not ended, and %s missing", scaling.Plural(running.Value, "1 job that runs or waits", fmt.Sprintf("%d jobs that run or wait", running.Value)),
			scaling.Plural(running.Value, "has", "have"), scaling.Plural(running.Value, "is", "are"))
	}
	w, err = past.workload(name)
	return w, past.notes, err
}

// past gathers jobs that have ended.
type past struct {
	slots              int
	jobs               []zeta.EndedJob
	odd, rejected, all int
	notes              []string
}

func (p *past) note(format string, args ...any) {
	p.notes = append(p.notes, fmt.Sprintf(format, args...))
}

func (p *past) add(ended zeta.EndedJobs) {
	p.odd += ended.Odd
	for _, j := range ended.Jobs {
		if p.all++; j.Rejected {
			p.rejected++
		} else {
			p.jobs = append(p.jobs, j)
		}
	}
	if ended.Cut != nil {
		p.note("the reply was cut off after %s: %s", scaling.Counted(len(ended.Jobs), "job"), ended.Cut)
	}
}

func (p *past) workload(name string) (*Workload, error) {
	if p.odd > 0 {
		p.note("%s %s no time that can be read, and %s missing", scaling.Counted(p.odd, "job"), scaling.Plural(p.odd, "has", "have"), scaling.Plural(p.odd, "is", "are"))
	}
	if p.rejected > 0 {
		p.note("%s found no slots: how long %s would have run is not known, and %s missing", scaling.Counted(p.rejected, "job"),
			scaling.Plural(p.rejected, "it", "they"), scaling.Plural(p.rejected, "it is", "they are"))
	}
	if len(p.jobs) == 0 {
		return nil, fmt.Errorf("reading the history of %s: %w", name, errNoHistory)
	}
	slices.SortStableFunc(p.jobs, func(a, b zeta.EndedJob) int {
		return cmp.Or(a.Created.Compare(b.Created), a.Finished.Compare(b.Finished))
	})
	if extra := len(p.jobs) - maxJobs; extra > 0 {
		p.jobs = p.jobs[extra:]
		p.note("the oldest %s missing: a workload has at most %d", scaling.Plural(extra, "job is", fmt.Sprintf("%d jobs are", extra)), maxJobs)
	}
	first, last := p.jobs[0].Created, p.jobs[len(p.jobs)-1].Created
	if last.Sub(first) > maxLength {
		return nil, fmt.Errorf("reading the history of %s: from %s to %s is longer than %s", name, first, last, maxLength)
	}
	p.note("%s, submitted from %s to %s by the server's clock", scaling.Counted(len(p.jobs), "job"), first.Format(time.DateTime), last.Format(time.DateTime))
	p.note("a job's length is estimated by the time from its submission to its end, waiting included")
	p.note("its slots are estimated by %d for each pipeline: Zeta's history does not tell how parallel they were", p.slots)
	p.note("whether it was a stream is guessed: those that were cancelled count as such")
	w := &Workload{Name: name, Summary: scaling.Counted(len(p.jobs), "job") + " of Zeta's history", Length: last.Sub(first) + tail, Conditions: DefaultConditions()}
	for _, j := range p.jobs {
		kind := Batch
		if j.Status == zeta.Canceled {
			kind = Stream
		}
		w.Jobs = append(w.Jobs, Job{
			At: j.Created.Sub(first), Run: min(max(time.Second, j.Finished.Sub(j.Created)), maxLength),
			Slots: min(p.slots*j.Pipelines, maxSlots), Kind: kind, CPU: defaultCPU,
		})
	}
	return w, nil
}

var errNoHistory = errors.New("it has no job that ended, or keeps no history (history-job-expire-minutes)")

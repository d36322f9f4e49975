package drain

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"time"

	"github.com/zeta-scaler/zeta-scaler/scaling"
	"github.com/zeta-scaler/zeta-scaler/zeta/control"
)

// DRAINING: the worker is emptied.

// touched reports whether something was done that has to be taken back.
func touched(d *scaling.Drain) bool {
	return d.HoldJob != "" || slices.ContainsFunc(d.Jobs, func(j scaling.DrainJob) bool {
		return j.Step == scaling.JobStopping || j.Step == scaling.JobStopped || j.Step == scaling.JobRestoring
	})
}

// have reports whether a job of the drain is at one of the steps.
func have(d *scaling.Drain, steps ...scaling.DrainStep) bool {
	return slices.ContainsFunc(d.Jobs, func(j scaling.DrainJob) bool { return slices.Contains(steps, j.Step) })
}

// calledOff says why a drain has to go back although nothing has failed; empty if
// it has not to.
func (o *outcome) calledOff() string {
	if o.view.stored.PausedAt(o.view.now) {
		return "the scope is paused"
	}
	if why := o.view.growth(); why != "" {
		return why
	}
	if !touched(o.Open) {
		return o.unwanted()
	}
	return o.forbidden()
}

// drain empties the worker.
func (o *outcome) drain(in input) effect {
	d := o.Open
	if why := o.calledOff(); why != "" {
		return o.giveUp(why, false)
	}
	if !o.view.now.Before(d.Deadline) {
		return o.giveUp(o.outOfTime(), true)
	}
	switch {
	case in.kind == kept:
		return in.next
	case in.kind == asked && in.about.kind == stop:
		o.noteAsked(in)
		return o.later(followEvery)
	case have(d, scaling.JobStopping):
		return o.followStops(in)
	case d.HoldJob != "":
		return o.followHold(in)
	case in.kind == surveyed:
		return o.empty(in)
	default:
		return o.due(o.call(survey))
	}
}

// outOfTime says what a drain has waited for in vain.
func (o *outcome) outOfTime() string {
	d := o.Open
	for i := range d.Jobs {
		if j := &d.Jobs[i]; j.Step == scaling.JobWaiting {
			return fmt.Sprintf("job %s (%s) in batch mode did not end within %s", j.ID, j.Name, o.view.configured().Timeout)
		}
	}
	if d.Error != "" {
		return fmt.Sprintf("the worker could not be emptied within %s: %s", o.view.configured().Timeout, d.Error)
	}
	return fmt.Sprintf("the worker could not be emptied within %s", o.view.configured().Timeout)
}

// empty goes on by what a survey found on the worker.
func (o *outcome) empty(in input) effect {
	d, s := o.Open, &in.seen
	f := o.examine(in.about.worker, s)
	switch {
	case f.unknown != nil:
		return o.unknown()
	case f.why != "" && (touched(d) || f.victim):
		return o.giveUp(f.why, true)
	case f.why != "":
		return o.notYet(f.why)
	case len(f.holds) > 0: // what an earlier attempt of ours has left
		o.attempts.next = o.view.now.Add(followEvery)
		e := o.call(unhold)
		e.jobs = f.holds
		return o.then(e)
	}
	o.attempts.failed = 0
	if o.noteJobs(f.jobs) && o.Open.Rounds > maxRounds {
		return o.giveUp(fmt.Sprintf("jobs land on worker %s again and again", d.Worker), true)
	}
	switch {
	case o.changed:
		return o.again()
	case have(d, scaling.JobWaiting):
		return o.notYet("")
	case f.unnamed > 0:
		return o.unnamed(f.unnamed)
	case have(d, scaling.JobMoving):
		return o.stopAll()
	case f.used > 0: // a job has just ended
		return o.later(followEvery)
	case o.canHold(s):
		return o.beginHold(s.slots.Total)
	}
	if o.attempts.clean++; o.attempts.clean < 2 {
		return o.later(followEvery)
	}
	return o.emptied(s, false, "no slot of the worker is in use")
}

// notYet waits for what keeps a drain from going on of which nothing was done.
func (o *outcome) notYet(why string) effect {
	if o.Open.Error != why {
		o.save()
		o.Open.Error = why
	}
	o.attempts.clean = 0
	return o.later(surveyEvery)
}

// unnamed waits for jobs to get a name: a thread comes a little later than its
// slot, or never.
func (o *outcome) unnamed(n int) effect {
	if o.attempts.odd++; o.attempts.odd > int(holdWait/followEvery)/5 {
		return o.giveUp(fmt.Sprintf("%s of worker %s %s in use by jobs that cannot be named", scaling.Counted(n, "slot"), o.Open.Worker, scaling.Plural(n, "is", "are")), true)
	}
	return o.later(5 * followEvery)
}

// noteJobs compares what was found on the worker with what is known, and reports
// whether something has landed there after it was emptied.
func (o *outcome) noteJobs(found []scaling.DrainJob) (landed bool) {
	d := o.Open
	for i := range d.Jobs {
		j := &d.Jobs[i]
		there := slices.ContainsFunc(found, func(f scaling.DrainJob) bool { return f.ID == j.ID })
		if !there && (j.Step == scaling.JobWaiting || j.Step == scaling.JobMoving) {
			o.save()
			j.Step = scaling.JobFinished
		}
	}
	for _, f := range found {
		at := slices.IndexFunc(d.Jobs, func(j scaling.DrainJob) bool { return j.ID == f.ID })
		switch {
		case at < 0:
			landed = landed || touched(d)
			o.save()
			d.Jobs = append(d.Jobs, f)
		case d.Jobs[at].Step == scaling.JobMoving && d.Jobs[at].Config != f.Config:
			o.save()
			d.Jobs[at].Config = f.Config // the last before it is stopped counts
		case d.Jobs[at].Step != scaling.JobWaiting && d.Jobs[at].Step != scaling.JobMoving:
			landed = landed || touched(d)
			o.save()
			d.Jobs[at] = f
		}
	}
	if landed {
		d.Rounds++
	}
	return landed
}

// stopAll stops every job that has to move, all at once.
func (o *outcome) stopAll() effect {
	e := o.call(stop)
	for i := range o.Open.Jobs {
		if j := &o.Open.Jobs[i]; j.Step == scaling.JobMoving {
			j.Step, j.StopAt = scaling.JobStopping, o.view.now
			e.jobs = append(e.jobs, o.stopAgain(j))
		}
	}
	o.tell(scaling.EventDrainReport, scaling.Counted(len(e.jobs), "job")+scaling.Plural(len(e.jobs), " is", " are")+" stopped with a savepoint")
	return o.then(e)
}

// stopAgain notes that a job is asked to stop.
func (o *outcome) stopAgain(j *scaling.DrainJob) string {
	j.Stops++
	j.AskedAt = o.view.now
	return j.ID
}

// followStops waits for the savepoints.
func (o *outcome) followStops(in input) effect {
	d := o.Open
	if in.kind != followed {
		return o.due(o.follow())
	}
	e := o.call(stop)
	for i := range d.Jobs {
		j := &d.Jobs[i]
		if j.Step != scaling.JobStopping || o.noteStop(j, in.seen.each) != stopLate {
			continue
		}
		if j.Stops >= maxStops {
			return o.giveUp(fmt.Sprintf("job %s (%s) was asked %s for a savepoint and has none", j.ID, j.Name, scaling.Counted(j.Stops, "time")), true)
		}
		e.jobs = append(e.jobs, o.stopAgain(j))
	}
	switch {
	case len(e.jobs) > 0:
		return o.then(e)
	case o.changed:
		return o.again()
	}
	return o.later(followEvery)
}

// canHold reports whether the worker's slots can be held: they are fixed, there are
// enough for the smallest job, and it was not tried in vain too often.
func (o *outcome) canHold(s *reading) bool {
	return o.view.configured().Hold && s.slotsErr == nil && s.slots.Total >= 2 && s.slots.Used == 0
}

// beginHold submits the job that takes all slots of the worker. Its id is our own
// choice: microseconds, which no id of Zeta's is.
func (o *outcome) beginHold(slots int) effect {
	d := o.Open
	d.Slots, d.HoldJob, d.Held = slots, strconv.FormatInt(o.view.now.UnixMicro(), 10), false
	e := o.call(hold)
	e.slots = slots
	return o.then(e)
}

// holdSince is when the job that holds the slots was about to be submitted.
func holdSince(d *scaling.Drain) time.Time {
	micro, _ := strconv.ParseInt(d.HoldJob, 10, 64)
	return time.UnixMicro(micro)
}

// followHold waits until the job that holds the slots has all of them.
func (o *outcome) followHold(in input) effect {
	d := o.Open
	switch {
	case in.kind == asked && in.about.kind == unhold:
		return o.later(followEvery)
	case in.kind != followed:
		return o.due(o.follow())
	}
	h := in.seen.each[d.HoldJob]
	since := o.view.now.Sub(holdSince(d)).Abs()
	gone, unknown := o.absentFor(d.HoldJob, h)
	switch {
	case unknown:
		return o.unknown()
	case gone || h.err == nil && h.job.Status.Ended():
		d.HoldJob, o.attempts.unholding = "", time.Time{}
		d.Rounds++
		o.save()
		if d.Rounds > maxRounds {
			return o.giveUp(fmt.Sprintf("the slots of worker %s could not be held: others take them", d.Worker), true)
		}
		return o.again()
	case holds(d, &in.seen):
		return o.emptied(&in.seen, true, "all its slots are held")
	case since > holdWait, h.err == nil && h.job.Status == control.Pending && since > queuedWait, !o.attempts.unholding.IsZero():
		return o.then(o.unhold(d.HoldJob))
	}
	return o.later(followEvery)
}

// holds reports whether the job of ours has all slots of the worker, and nobody
// else one.
func holds(d *scaling.Drain, s *reading) bool {
	h := s.each[d.HoldJob]
	if h.err != nil || h.job.Status != control.Running || s.slotsErr != nil || s.slots.Workers != 1 || s.slots.Free() != 0 || s.slots.Total != d.Slots {
		return false
	}
	if errors.Is(s.placedErr, control.ErrUnsupported) {
		return true // it needs all of them to run at all
	}
	groups, others := map[control.TaskGroup]bool{}, false
	for _, g := range s.placed {
		if g.Job == d.HoldJob {
			groups[g] = true
		} else {
			others = true
		}
	}
	if booked(s.placed) {
		return s.placedErr == nil && len(groups) > 0 && !others
	}
	return s.placedErr == nil && len(groups) >= d.Slots
}

// unhold gives slots back, or asks again for it.
func (o *outcome) unhold(job string) effect {
	if o.attempts.unholding.IsZero() {
		o.attempts.unholding = o.view.now
	}
	e := o.call(unhold)
	e.jobs = []string{job}
	o.attempts.next = o.view.now.Add(followEvery)
	return e
}

// emptied is the end of DRAINING.
func (o *outcome) emptied(s *reading, held bool, why string) effect {
	o.attempts.clean, o.attempts.odd, o.attempts.next = 0, 0, o.view.now
	o.Open.Held = held
	o.Open.Error = ""
	o.noteOthers(s)
	o.enter(scaling.DrainDrained, why)
	return o.again()
}

// noteOthers remembers how far the jobs had read that nobody touches.
func (o *outcome) noteOthers(s *reading) {
	if s.running == nil {
		return
	}
	o.Others = map[string]int64{}
	for i := range s.running {
		j := &s.running[i]
		mine := slices.ContainsFunc(o.Open.Jobs, func(m scaling.DrainJob) bool { return m.ID == j.ID })
		if !mine && j.ID != o.Open.HoldJob && j.Received >= 0 && len(o.Others) < maxOthers {
			o.Others[j.ID] = j.Received
		}
	}
}

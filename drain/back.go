package drain

import (
	"fmt"
	"math"
	"time"

	"github.com/zeta-scaler/zeta-scaler/scaling"
	"github.com/zeta-scaler/zeta-scaler/zeta/control"
)

// A drain that goes back: what was stopped is restored, what was held is given
// back, and the worker stays.

// firstStop and lastStop are the pauses between two requests to finish a
// savepoint that is stuck, while the job runs on.
const (
	firstStop = 30 * time.Second
	lastStop  = 5 * time.Minute
)

// giveUp has the drain go back, as FAILED if failure says so. If nothing was done
// it is over at once.
func (o *outcome) giveUp(why string, failure bool) effect {
	d := o.Open
	if !touched(d) && d.ReleasedAt.IsZero() {
		o.end(scaling.DrainActive, why, failure)
		return o.again()
	}
	o.attempts = attempts{direct: o.attempts.direct, claimed: o.attempts.claimed}
	d.GivenUp, d.Error = why, why
	to := d.State
	if failure {
		to = scaling.DrainFailed
	}
	o.enter(to, "it goes back: "+why)
	return o.again()
}

// goBack restores what was stopped and gives back what was held.
func (o *outcome) goBack(in input) effect {
	d := o.Open
	if e, must := o.claimFirst(in); must {
		return e
	}
	switch {
	case in.kind == kept && in.next.back:
		return in.next
	case in.kind == asked:
		o.noteAsked(in)
		return o.later(followEvery)
	case in.kind == followed:
		return o.followBack(in)
	case d.HoldJob == "" && !have(d, scaling.JobStopping, scaling.JobStopped, scaling.JobRestoring):
		o.end(scaling.DrainActive, d.GivenUp, d.State == scaling.DrainFailed)
		return o.again()
	}
	e := o.follow()
	e.back = true
	return o.due(e)
}

// followBack goes on by what a look says.
func (o *outcome) followBack(in input) effect {
	s := &in.seen
	o.noteReleasedHold(s.each)
	if e, ask := o.giveBack(); ask {
		return o.then(e)
	}
	again := o.call(stop)
	for i := range o.Open.Jobs {
		if j := &o.Open.Jobs[i]; j.Step == scaling.JobStopping && o.noteStop(j, s.each) == stopLate && o.stuck(j, s.each[j.ID]) {
			again.jobs = append(again.jobs, o.stopAgain(j))
		}
	}
	e := again
	if len(again.jobs) == 0 && o.mayRestore() {
		e, _ = o.restoreAll(s.each, math.MaxInt)
	}
	switch {
	case len(e.jobs) > 0:
		e.back = true
		return o.then(e)
	case o.changed:
		return o.again()
	}
	return o.later(followEvery)
}

// stuck decides about a job that has no savepoint in time: one that runs was not
// stopped. A savepoint that does not end, while the job may well run, is asked for
// again and again, since nothing else ends it, and the job is restored then.
func (o *outcome) stuck(j *scaling.DrainJob, a answer) (ask bool) {
	now := o.view.now
	switch {
	case a.job.Status == control.Running:
		o.save()
		j.Step, j.StopAt, j.Error = scaling.JobMoving, time.Time{}, ""
		return false
	case a.job.Status != control.DoingSavepoint:
		o.noteError(j, "it is "+string(a.job.Status))
		return false
	case j.NextAttempt.Before(j.AskedAt):
		o.save()
		j.Error = "its savepoint does not end; it is asked for again"
		j.NextAttempt = o.view.retry(j.Stops, firstStop, lastStop)
		return false
	}
	return !now.Before(j.NextAttempt)
}

// noteReleasedHold notes that the job which held the slots is over.
func (o *outcome) noteReleasedHold(each map[string]answer) {
	d := o.Open
	if d.HoldJob == "" {
		return
	}
	h := each[d.HoldJob]
	gone, unknown := o.absentFor(d.HoldJob, h)
	stuck := !o.attempts.unholding.IsZero() && o.view.now.Sub(o.attempts.unholding) > o.view.configured().ConvergenceTimeout
	switch {
	case unknown && !stuck:
	case gone, h.err == nil && h.job.Status.Ended():
		o.save()
		d.HoldJob, d.Held, o.attempts.unholding = "", false, time.Time{}
	case stuck:
		o.harm(fmt.Sprintf("job %s, which holds slots of worker %s, could not be ended: cancel it by hand", d.HoldJob, d.Worker))
		d.HoldJob, d.Held = "", false
	}
}

// giveBack asks Zeta to end the job that holds the slots, now and then.
func (o *outcome) giveBack() (e effect, ask bool) {
	d := o.Open
	if d.HoldJob == "" || o.view.now.Before(o.attempts.nextUnhold) {
		return effect{}, false
	}
	o.attempts.nextUnhold = o.view.now.Add(unholdWait)
	e = o.unhold(d.HoldJob)
	e.back = true
	return e, true
}

// mayRestore reports whether the slots are given back, or have had time to be.
func (o *outcome) mayRestore() bool {
	return o.Open.HoldJob == "" || o.view.now.Sub(o.attempts.unholding) >= unholdWait
}

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

// What becomes of one job: stopped with a savepoint, and restored.

// follow asks about every job that is on its way, and about the worker.
func (o *outcome) follow() effect {
	e := o.call(follow)
	for i := range o.Open.Jobs {
		switch j := &o.Open.Jobs[i]; j.Step {
		case scaling.JobStopping, scaling.JobStopped, scaling.JobRestoring:
			e.each = append(e.each, j.ID)
		}
	}
	return e
}

// absentFor reports whether Zeta has not known a job for long enough to believe
// it, and whether nothing can be said about it now.
func (o *outcome) absentFor(id string, a answer) (gone, unknown bool) {
	switch {
	case errors.Is(a.err, control.ErrNoJob):
		since, ok := o.attempts.absent[id]
		if !ok {
			if o.attempts.absent == nil {
				o.attempts.absent = map[string]time.Time{}
			}
			since = o.view.now
			o.attempts.absent[id] = since
		}
		return o.view.now.Sub(since) >= confirmWait, false
	case a.err != nil || a.job.ID == "":
		return false, true
	}
	delete(o.attempts.absent, id)
	return false, false
}

// stopResult is what a look at a job says that was asked to stop.
type stopResult int

const (
	stopOpen stopResult = iota
	stopDone
	// stopLate: nothing came of it in time.
	stopLate
)

// noteStop notes what a look says about a job that was asked to stop.
func (o *outcome) noteStop(j *scaling.DrainJob, each map[string]answer) stopResult {
	a := each[j.ID]
	gone, unknown := o.absentFor(j.ID, a)
	late := o.view.now.Sub(j.AskedAt) >= stopWait
	switch {
	case unknown:
		return stopOpen
	case gone:
		// A master that was restarted does not know it any more; the savepoint, or
		// else its last checkpoint, is there.
		o.stopped(j, "Zeta does not know the job any more")
		return stopDone
	case a.err != nil:
		return stopOpen
	}
	switch a.job.Status {
	case control.SavepointDone:
		o.stopped(j, "")
		j.Checkpoint = a.job.Checkpoint
		return stopDone
	case control.Failed:
		o.stopped(j, "it failed while it was stopped; it goes on from its last checkpoint")
		return stopDone
	case control.Finished:
		o.finish(j, "")
		return stopDone
	case control.Canceled:
		// Its checkpoints are deleted with it: restored, it would begin anew.
		o.finish(j, "somebody has cancelled it")
		return stopDone
	}
	if late {
		return stopLate
	}
	return stopOpen
}

func (o *outcome) stopped(j *scaling.DrainJob, note string) {
	o.save()
	j.Step, j.Error, j.NextAttempt = scaling.JobStopped, note, time.Time{}
}

func (o *outcome) finish(j *scaling.DrainJob, note string) {
	o.save()
	j.Step, j.Error = scaling.JobFinished, note
}

// restoreAll goes on with every job that is stopped or being restored, by what a
// look says. It returns the effect that submits those that are due; its jobs are
// empty if none is. A job that is due and was submitted most times already is left
// as it is and returned instead.
func (o *outcome) restoreAll(each map[string]answer, most int) (e effect, enough *scaling.DrainJob) {
	e = o.call(restore)
	e.names, e.configs = map[string]string{}, map[string]string{}
	for i := range o.Open.Jobs {
		j := &o.Open.Jobs[i]
		if j.Step != scaling.JobStopped && j.Step != scaling.JobRestoring || !o.noteRestore(j, each[j.ID]) {
			continue
		}
		if j.Attempts >= most {
			enough = j
			continue
		}
		o.save()
		j.Step = scaling.JobRestoring
		j.Attempts++
		j.AskedAt, j.RunAt = o.view.now, time.Time{}
		delete(o.attempts.received, j.ID)
		e.jobs, e.names[j.ID], e.configs[j.ID] = append(e.jobs, j.ID), j.Name, j.Config
		if _, forgotten := o.attempts.absent[j.ID]; forgotten {
			o.tell(scaling.EventDrainException, fmt.Sprintf("job %s (%s) is restored although Zeta, restarted, does not know it any more: it goes on from its last savepoint or checkpoint", j.ID, j.Name))
		}
		if j.Attempts > 1 {
			o.tell(scaling.EventDrainException, fmt.Sprintf("job %s (%s) is submitted again, attempt %d: %s", j.ID, j.Name, j.Attempts, j.Error))
		}
	}
	return e, enough
}

// noteRestore notes what a look says about a job that is stopped or was submitted
// again, and reports whether it is to be submitted now. It never is while Zeta says
// that it has not ended, and never when nothing is known.
func (o *outcome) noteRestore(j *scaling.DrainJob, a answer) (submit bool) {
	gone, unknown := o.absentFor(j.ID, a)
	if unknown || a.err != nil && !gone {
		return false
	}
	status := a.job.Status
	switch {
	case !gone && status == control.Canceled:
		o.finish(j, "somebody has cancelled it")
		return false
	case !gone && status == control.Finished:
		o.ran(j)
		o.finish(j, "")
		return false
	case !gone && status == control.Running:
		return o.noteRunning(j, &a.job)
	case !gone && !status.Ended():
		if j.Step == scaling.JobRestoring && !j.RunAt.IsZero() && status != control.DoingSavepoint {
			o.save()
			j.RunAt = time.Time{} // it failed over: it has to show again that it lives
		}
		o.noteError(j, "it is "+string(status))
		return false
	}
	if j.Step == scaling.JobStopped {
		return true
	}
	return o.noteNotRunning(j, gone, status)
}

// noteRunning notes that a job runs. It is restored once it reads, or has run for
// long enough.
func (o *outcome) noteRunning(j *scaling.DrainJob, seen *control.Job) (submit bool) {
	if j.Step == scaling.JobStopped {
		o.save()
		j.Step, j.Error = scaling.JobRestoring, "" // somebody else was faster
	}
	o.ran(j)
	first, known := o.attempts.received[j.ID]
	if !known {
		if o.attempts.received == nil {
			o.attempts.received = map[string]int64{}
		}
		o.attempts.received[j.ID] = seen.Received
	}
	reads := known && seen.Received > first
	if j.Checkpoint > 0 && seen.Checkpoint > 0 && seen.Checkpoint < j.Checkpoint {
		o.beganAnew(j)
	} else if j.Checkpoint > 0 {
		reads = reads && seen.Checkpoint > j.Checkpoint // where Zeta tells, its first checkpoint is waited for
	}
	if reads || o.view.now.Sub(j.RunAt) >= settleTime(seen) {
		o.save()
		j.Step, j.Error, j.NextAttempt = scaling.JobRestored, "", time.Time{}
		o.tell(scaling.EventDrainReport, fmt.Sprintf("job %s (%s) runs again after %s", j.ID, j.Name, j.Downtime().Round(10*time.Millisecond)))
	}
	return false
}

// beganAnew tells that a job did not go on from its savepoint: Zeta did not find it,
// and says nothing of that.
func (o *outcome) beganAnew(j *scaling.DrainJob) {
	what := fmt.Sprintf("job %s (%s) began from the beginning: its checkpoints count from 1 again, and its savepoint was %d", j.ID, j.Name, j.Checkpoint)
	if !slices.Contains(o.Open.Harm, what) {
		o.harm(what)
		o.tell(scaling.EventDrainException, what)
	}
}

// ran notes when a job was first seen to run again.
func (o *outcome) ran(j *scaling.DrainJob) {
	if j.RunAt.IsZero() {
		o.save()
		j.RunAt = o.view.now
	}
}

// noteNotRunning notes that a job which was submitted again does not run, and
// reports whether it is to be submitted once more.
func (o *outcome) noteNotRunning(j *scaling.DrainJob, gone bool, status control.Status) (submit bool) {
	now := o.view.now
	if now.Sub(j.AskedAt) < confirmWait && j.RunAt.IsZero() {
		return false // it may not have begun yet
	}
	if j.NextAttempt.Before(j.AskedAt) || j.NextAttempt.IsZero() {
		o.save()
		why := "it did not begin, its status is " + string(status)
		switch {
		case gone:
			why = "Zeta does not know it"
		case !j.RunAt.IsZero():
			why = "it ended soon as " + string(status)
		}
		if j.Error == "" || !j.RunAt.IsZero() {
			j.Error = why
		}
		j.RunAt = time.Time{}
		j.NextAttempt = o.view.retry(j.Attempts, firstRestore, lastRestore)
		if j.NextAttempt.Before(j.AskedAt) {
			j.NextAttempt = now
		}
		return false
	}
	return !now.Before(j.NextAttempt)
}

// noteError notes what is odd about a job.
func (o *outcome) noteError(j *scaling.DrainJob, why string) {
	if j.Error != why {
		o.save()
		j.Error = why
	}
}

// noteAsked notes what Zeta has answered to a request about jobs. What it did is
// seen by a look; only a clear no is of use to people.
func (o *outcome) noteAsked(in input) {
	for i := range o.Open.Jobs {
		j := &o.Open.Jobs[i]
		if err := in.errs[j.ID]; err != nil && !errors.Is(err, control.ErrUnknownOutcome) {
			o.noteError(j, err.Error())
		}
	}
}

// settleTime is for how long a job has to run before it is believed to, if it does
// not read: its own retries, which look like running, have to be over.
func settleTime(j *control.Job) time.Duration {
	times, err1 := strconv.Atoi(j.Env["job.retry.times"])
	every, err2 := strconv.Atoi(j.Env["job.retry.interval.seconds"])
	if err1 != nil || err2 != nil || times < 0 || every < 0 || times > 100 || every > 3600 {
		return settleWait
	}
	return min(max(settleWait, time.Duration(times*every)*time.Second+2*time.Second), lastRestore)
}

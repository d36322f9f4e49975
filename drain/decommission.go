package drain

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/zeta-scaler/zeta-scaler/actuators"
	"github.com/zeta-scaler/zeta-scaler/scaling"
	"github.com/zeta-scaler/zeta-scaler/zeta/control"
)

// DECOMMISSIONING: the worker goes, and what is still stopped is restored.

// releaseRetry is how long the platform may show a worker after it has taken the
// request to remove it, or may have, before it is asked again.
const releaseRetry = 30 * time.Second

// decommission waits until the worker is gone and everything runs again.
func (o *outcome) decommission(in input) effect {
	if e, must := o.claimFirst(in); must {
		return e
	}
	switch in.kind {
	case kept:
		if why := o.calledOff(); why != "" && in.next.kind == release && !o.attempts.released {
			return o.giveUp(why, false)
		}
		return in.next
	case asked:
		return o.noteReleased(in)
	case followed:
		return o.followRelease(in)
	case surveyed:
		if d := o.Open; !d.GoneAt.IsZero() && d.HoldJob == "" && !have(d, scaling.JobStopped, scaling.JobRestoring) {
			return o.finished(in)
		}
	}
	e := o.follow()
	e.gone, e.recorded = true, !o.attempts.released
	return o.due(e)
}

// noteReleased notes what the platform, or Zeta, has answered.
func (o *outcome) noteReleased(in input) effect {
	if in.about.kind != release {
		o.noteAsked(in)
		return o.later(followEvery)
	}
	err := in.errs[""]
	_, other := errors.AsType[*actuators.OtherWriterError](err)
	_, wrong := errors.AsType[*actuators.OtherWorkerError](err)
	switch {
	case wrong:
		o.harm(err.Error())
		return o.giveUp(err.Error(), true)
	case err == nil:
		o.attempts.released = true
	case errors.Is(err, actuators.ErrUnknownOutcome):
		o.attempts.released = true // it may have been taken
	case other, errors.Is(err, actuators.ErrRefused), errors.Is(err, actuators.ErrStale), errors.Is(err, actuators.ErrUnsupported):
		if o.attempts.released {
			return o.later(followEvery) // an earlier request was taken
		}
		return o.giveUp("the platform does not remove the worker: "+err.Error(), true)
	default:
		o.attempts.next = o.view.again(o.attempts.releases)
		return effect{kind: rest, until: o.attempts.next}
	}
	return o.later(followEvery)
}

// followRelease looks whether the worker is gone.
func (o *outcome) followRelease(in input) effect {
	d, s := o.Open, &in.seen
	gone, unknown := o.isGone(s)
	switch {
	case unknown:
		return o.unknown()
	case !gone:
		return o.notGone(s)
	case d.GoneAt.IsZero():
		o.save()
		d.GoneAt = o.view.now
		o.NoteGone(o.view.now)
		return o.again()
	case have(d, scaling.JobStopped, scaling.JobRestoring):
		e, _ := o.restoreAll(s.each, math.MaxInt)
		switch {
		case len(e.jobs) > 0:
			return o.then(e)
		case o.changed:
			return o.again()
		}
		return o.later(followEvery)
	}
	// The job that held its slots has ended with it; one that has not could hold
	// somebody else's.
	o.noteReleasedHold(s.each)
	switch e, ask := o.giveBack(); {
	case ask:
		return o.then(e)
	case o.changed:
		return o.again()
	case d.HoldJob != "":
		return o.later(followEvery)
	}
	return o.call(survey)
}

// isGone reports whether platform and Zeta have the worker no longer.
func (o *outcome) isGone(s *reading) (gone, unknown bool) {
	d := o.Open
	_, listed := s.listed(d.Worker)
	switch {
	case !o.view.can.Lists: // only Zeta tells
	case s.workersErr != nil:
		return false, true
	case listed:
		return false, false
	}
	switch {
	case s.slotsErr == nil:
		return s.slots.Workers == 0, false
	case errors.Is(s.slotsErr, control.ErrUnsupported):
		if s.clusterErr != nil {
			return false, true
		}
		return d.Address == "" || !slices.ContainsFunc(s.cluster.Members, func(m control.Member) bool { return sameAddress(d.Address, m.Address) }), false
	}
	return false, true
}

// listed finds a worker among the platform's.
func (s *reading) listed(name string) (w actuators.Worker, ok bool) {
	at := slices.IndexFunc(s.workers, func(w actuators.Worker) bool { return w.Name == name })
	if at < 0 {
		return w, false
	}
	return s.workers[at], true
}

// notGone waits for the worker to go, asks the platform again, or gives up.
func (o *outcome) notGone(s *reading) effect {
	d := o.Open
	o.attempts.failed = 0
	if !d.Held && s.slotsErr == nil && s.slots.Used > 0 {
		o.harm(fmt.Sprintf("%s of the worker %s taken while it went", scaling.Counted(s.slots.Used, "slot"), scaling.Plural(s.slots.Used, "was", "were")))
	}
	if !o.view.now.Before(d.ReleasedAt.Add(o.view.configured().ConvergenceTimeout)) {
		return o.giveUp(fmt.Sprintf("worker %s did not go within %s", d.Worker, o.view.configured().ConvergenceTimeout), true)
	}
	w, listed := s.listed(d.Worker)
	if s.targetErr == nil && s.target.Fence.ActionID == d.ID {
		o.attempts.released = true // it was taken, be it from an older leader
	}
	switch {
	case w.Leaving:
		o.attempts.released, listed = true, false
	case s.slotsErr == nil && s.slots.Workers == 0: // the platform is only slower than Zeta
		listed = false
	}
	wait := releaseRetry * time.Duration(max(1, o.attempts.releases))
	if listed && (!o.attempts.released || !o.view.now.Before(d.ReleasedAt.Add(wait))) {
		// Nobody knows of a request that was taken: it is made, or made again, only
		// if what held before the first one still does.
		switch why := o.calledOff(); {
		case why != "" && !o.attempts.released:
			return o.giveUp(why, false)
		case o.attempts.releases >= maxReleases:
			return o.giveUp(fmt.Sprintf("the platform was asked %s to remove worker %s", scaling.Counted(o.attempts.releases, "time"), d.Worker), true)
		case d.Held && !holds(d, s), !d.Held && (s.slotsErr != nil || s.slots.Used > 0) && !errors.Is(s.slotsErr, control.ErrUnsupported):
			return o.giveUp("the worker is in use again, and the platform has not removed it", true)
		}
		return o.then(o.releaseAgain())
	}
	if o.changed {
		return o.again()
	}
	if o.view.now.Sub(d.ReleasedAt) > time.Minute {
		return o.later(surveyEvery)
	}
	return o.later(followEvery)
}

// harm notes what should not have happened.
func (o *outcome) harm(what string) {
	if !slices.Contains(o.Open.Harm, what) {
		o.save()
		o.Open.Harm = append(o.Open.Harm, what)
	}
}

// finished looks for jobs that the engine itself had to restore, and ends the
// drain.
func (o *outcome) finished(in input) effect {
	d, s := o.Open, &in.seen
	if s.runningErr != nil {
		return o.unknown()
	}
	for i := range s.running {
		j := &s.running[i]
		if before, known := o.Others[j.ID]; known && j.Received >= 0 && j.Received < before {
			o.harm(fmt.Sprintf("job %s (%s) has read %d rows and had read %d before: the engine has restored it", j.ID, j.Name, j.Received, before))
		}
	}
	c := o.view.configured()
	o.BackoffUntil, o.Failures = time.Time{}, 0
	if d.Remaining == 0 {
		// The cooldown follows a scale-in, not each of its workers.
		o.CooldownUntil = o.view.now.Add(c.Cooldown)
	}
	why := fmt.Sprintf("worker %s is gone; %s", d.Worker, jobsWords(d.Jobs))
	if len(d.Harm) > 0 {
		o.tell(scaling.EventDrainException, fmt.Sprintf("worker %s is gone, and others were harmed: %s", d.Worker, d.Harm[0]))
	}
	o.end(scaling.DrainDecommissioned, why, false)
	return o.again()
}

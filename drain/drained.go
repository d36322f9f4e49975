package drain

import (
	"fmt"
	"time"

	"github.com/zeta-scaler/zeta-scaler/actuators"
	"github.com/zeta-scaler/zeta-scaler/scaling"
)

// DRAINED: no job of anybody is on the worker. Held, what was stopped is restored
// first, which cannot land there; not held, the worker goes first.

// drained restores what was stopped, if the worker is held, and has it removed.
func (o *outcome) drained(in input) effect {
	d := o.Open
	if why := o.calledOff(); why != "" {
		return o.giveUp(why, false)
	}
	if !o.view.now.Before(d.Deadline) {
		return o.giveUp(o.outOfTime(), true)
	}
	if !d.Held {
		return o.drainedUnheld(in)
	}
	switch {
	case in.kind == kept:
		return in.next
	case in.kind == asked:
		o.noteAsked(in)
		return o.later(followEvery)
	case in.kind == followed:
		if why := o.lost(&in.seen); why != "" {
			return o.lostHold(why)
		}
		return o.restoreHeld(in)
	case have(d, scaling.JobStopped, scaling.JobRestoring):
		return o.due(o.follow())
	case in.kind == surveyed:
		return o.releaseHeld(in)
	default:
		return o.due(o.call(survey))
	}
}

// lost says why the slots are no longer held; empty if they are, or if nothing can
// be said.
func (o *outcome) lost(s *reading) string {
	d := o.Open
	h := s.each[d.HoldJob]
	gone, unknown := o.absentFor(d.HoldJob, h)
	switch {
	case s.slotsErr == nil && s.slots.Workers == 0:
		return fmt.Sprintf("worker %s went away by itself", d.Worker)
	case unknown:
		return ""
	case gone, h.err == nil && h.job.Status.Ended():
		return "the job that held its slots has ended"
	}
	return ""
}

// lostHold goes back to DRAINING, where a job may have landed.
func (o *outcome) lostHold(why string) effect {
	d := o.Open
	if d.Rounds++; d.Rounds > maxRounds || have(d, scaling.JobStopped, scaling.JobRestoring) {
		return o.giveUp(why, true)
	}
	d.HoldJob, d.Held = "", false
	o.enter(scaling.DrainDraining, why)
	return o.again()
}

// restoreHeld restores what was stopped.
func (o *outcome) restoreHeld(in input) effect {
	e, enough := o.restoreAll(in.seen.each, maxRestores)
	switch {
	case len(e.jobs) > 0:
		return o.then(e)
	case enough != nil:
		return o.giveUp(fmt.Sprintf("job %s (%s) could not be restored while worker %s is held: %s", enough.ID, enough.Name, o.Open.Worker, enough.Error), true)
	case o.changed:
		return o.again()
	}
	return o.later(followEvery)
}

// releaseHeld has a worker removed whose slots are held, after one more look.
func (o *outcome) releaseHeld(in input) effect {
	d, s := o.Open, &in.seen
	victim := actuators.Worker{Name: d.Worker, Address: d.Address}
	if s.workersErr != nil || s.clusterErr != nil || s.slotsErr != nil || s.runningErr != nil {
		return o.unknown()
	}
	if why := o.lost(s); why != "" {
		return o.lostHold(why)
	}
	if why := o.againstVictim(victim, s); why != "" {
		return o.giveUp(why, true)
	}
	if !holds(d, s) {
		return o.unknown()
	}
	return o.beginRelease(s)
}

// drainedUnheld has a worker removed whose slots nobody holds, after one more look.
func (o *outcome) drainedUnheld(in input) effect {
	switch in.kind {
	case kept:
		return in.next
	case surveyed:
		f := o.examine(in.about.worker, &in.seen)
		switch {
		case f.unknown != nil:
			return o.unknown()
		case f.why != "":
			return o.giveUp(f.why, true)
		case f.used > 0:
			o.Open.Rounds++
			if o.Open.Rounds > maxRounds {
				return o.giveUp(fmt.Sprintf("jobs land on worker %s again and again", o.Open.Worker), true)
			}
			o.enter(scaling.DrainDraining, "a job has landed on the worker")
			return o.again()
		}
		return o.beginRelease(&in.seen)
	default:
		return o.due(o.call(survey))
	}
}

// beginRelease stores that the worker is about to go, and has it removed.
func (o *outcome) beginRelease(s *reading) effect {
	d := o.Open
	o.noteOthers(s)
	o.attempts.failed, o.attempts.next = 0, time.Time{}
	d.ReleasedAt = o.view.now
	o.enter(scaling.DrainDecommissioning, "the platform is asked to remove the worker")
	return o.then(o.releaseAgain())
}

// releaseAgain asks the platform to remove the worker.
func (o *outcome) releaseAgain() effect {
	d := o.Open
	o.attempts.releases++
	e := o.call(release)
	e.fence = actuators.Fence{
		Epoch: o.view.epoch, Generation: d.Generation, RecommendationID: d.RecommendationID, ActionID: d.ID,
		From: o.view.tick.workers, AcceptPresent: o.acceptsPresent(), Fenced: o.view.fenced(),
	}
	if r := o.view.stored.Decision.Recommendation; d.RecommendationID != "" && r.RecommendationID == d.RecommendationID {
		e.fence.Recommendation = r
	}
	return e
}

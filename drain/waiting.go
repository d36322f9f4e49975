package drain

import (
	"fmt"
	"slices"
	"time"

	"github.com/zeta-scaler/zeta-scaler/actuators"
	"github.com/zeta-scaler/zeta-scaler/scaling"
)

// PENDING: nothing is done until nothing speaks against it.

// wait begins a drain once everything that is in its way is over.
func (o *outcome) wait(in input) effect {
	d := o.Open
	if why := o.unwanted(); why != "" {
		o.end(scaling.DrainActive, why, false)
		return o.again()
	}
	if !d.Deadline.IsZero() && !o.view.now.Before(d.Deadline) {
		o.end(scaling.DrainActive, "it could not begin in time: "+d.Error, false)
		return o.again()
	}
	if why, until := o.blocker(); why != "" {
		return o.held(why, until)
	}
	switch in.kind {
	case chosen:
		o.attempts.accepted = false
		return o.choose(&in.seen)
	case asked:
		o.attempts.accepted = true // whether it helped, the next survey tells
		return o.call(survey)
	case surveyed:
		if o.mustAccept(&in.seen) {
			return o.claim()
		}
		f := o.examine(o.attempts.victim, &in.seen)
		switch {
		case f.unknown != nil:
			e := o.unknown()
			return o.held("not known: "+f.unknown.Error(), e.until)
		case f.why != "":
			return o.refuse(f.why)
		case f.unnamed > 0:
			return o.refuse(fmt.Sprintf("%s of worker %s %s in use by jobs that cannot be named", scaling.Counted(f.unnamed, "slot"), o.attempts.victim.Name, scaling.Plural(f.unnamed, "is", "are")))
		}
		if why := o.enoughGone(in.seen.cluster.Slots.Workers); why != "" {
			return o.refuse(why)
		}
		if o.view.can.DryRun {
			o.end(scaling.DrainActive, fmt.Sprintf("dry run: worker %s would go; %s", o.victimOf(in).Name, jobsWords(f.jobs)), false)
			return o.again()
		}
		o.attempts = attempts{direct: o.attempts.direct}
		d.Worker, d.Address, d.Actuator, d.Error = o.victimOf(in).Name, o.victimOf(in).Address, o.view.cfg.Kind, ""
		d.Endpoint = o.view.cfg.Endpoint
		d.Slots = in.seen.slots.Total
		d.Jobs = f.jobs
		d.Remaining = o.view.stillToGo(d.Remaining, in.seen.cluster.Slots.Workers)
		d.Deadline = o.view.now.Add(o.view.configured().Timeout)
		o.enter(scaling.DrainDraining, fmt.Sprintf("worker %s is to go; %s", d.Worker, jobsWords(d.Jobs)))
		return o.again()
	default:
		return o.due(o.call(choose))
	}
}

// enoughGone says why a recommendation asks for nobody more, whatever its metrics
// have counted: they may still have a worker that went a moment ago. Empty if it
// does ask.
func (o *outcome) enoughGone(workers int) string {
	intent := o.view.stored.Decision.Intent
	if o.Open.RecommendationID == "" || intent.Action != scaling.ScaleInCandidate || workers > intent.Target {
		return ""
	}
	return fmt.Sprintf("it asks for %s, and Zeta has %d by now", scaling.Counted(intent.Target, "worker"), workers)
}

// victimOf is whom a survey was about.
func (o *outcome) victimOf(in input) actuators.Worker { return in.about.worker }

// choose picks the worker: the one that a person has named, else the one that the
// platform would remove, else the least loaded.
func (o *outcome) choose(s *reading) effect {
	d := o.Open
	if s.workersErr != nil || len(s.workers) == 0 {
		return o.refuse(chooseProblem(s.workersErr))
	}
	pick := s.workers[0]
	switch {
	case d.Worker != "":
		at := slices.IndexFunc(s.workers, func(w actuators.Worker) bool { return w.Name == d.Worker })
		if at < 0 {
			return o.refuse(fmt.Sprintf("the platform has no worker %s", d.Worker))
		}
		pick = s.workers[at]
	case o.view.can.Chooses:
		pick = s.leastLoaded(pick)
	}
	if _, up := s.used[pick.Name]; !up && !o.view.can.Lists && o.view.can.Chooses {
		return o.refuse(fmt.Sprintf("Zeta does not know worker %s, which the configuration names", pick.Name))
	}
	o.attempts.victim = pick
	return o.call(survey)
}

// leastLoaded is the worker with the fewest slots in use among those of which that
// is known, the first of several; pick if it is known of none.
func (s *reading) leastLoaded(pick actuators.Worker) actuators.Worker {
	for _, w := range s.workers {
		used, known := s.used[w.Name]
		least, knownLeast := s.used[pick.Name]
		if known && (!knownLeast || used < least) {
			pick = w
		}
	}
	return pick
}

func chooseProblem(err error) string {
	if err != nil {
		return "the platform does not say which workers it has: " + err.Error()
	}
	return "the platform has no workers"
}

// refuse leaves a drain pending that must not begin, and looks again later. What a
// person has asked for ends instead: that one is there to read why.
func (o *outcome) refuse(why string) effect {
	if o.Open.RecommendationID == "" {
		o.end(scaling.DrainActive, why, false)
		return o.again()
	}
	o.attempts.next = o.view.now.Add(refuseEvery)
	return o.held(why, o.attempts.next)
}

// held says what keeps a drain from beginning, and rests.
func (o *outcome) held(why string, until time.Time) effect {
	if o.Open.Error != why {
		o.save()
		o.Open.Error = why
		o.Open.Transitions[len(o.Open.Transitions)-1].Reason = why
		o.tell(scaling.EventDrainReport, "held: "+why)
		return o.again()
	}
	if until.IsZero() || !until.After(o.view.now) {
		until = o.view.now.Add(surveyEvery)
	}
	return effect{kind: rest, until: until}
}

// unwanted says why a drain that has done nothing must not begin or go on; empty
// if it may.
func (o *outcome) unwanted() string {
	d, v := o.Open, o.view
	if why := o.forbidden(); why != "" {
		return why
	}
	switch {
	case v.stored.PausedAt(v.now):
		return "the scope is paused"
	case d.RecommendationID == "":
		return ""
	case d.State == scaling.DrainPending && (d.MasterEpoch != v.epoch || d.Generation != v.stored.Decision.Generation):
		return "a newer decision was made before it began"
	case !v.stands():
		return "the scope is no longer idle"
	}
	return ""
}

// forbidden says why the scope may not be drained any more; empty if it may.
func (o *outcome) forbidden() string {
	if o.Open.RecommendationID == "" {
		return o.view.off()
	}
	return o.view.advisory()
}

// blocker says what keeps a drain from beginning for now, and until when if that
// is known.
func (o *outcome) blocker() (why string, until time.Time) {
	d, v := o.Open, o.view
	byHand := d.RecommendationID == ""
	cooldown := o.CooldownUntil
	if c := v.stored.execution.CooldownUntil; c.After(cooldown) {
		cooldown = c
	}
	e := &v.stored.execution
	for _, b := range e.Booting {
		if v.now.Before(b.Deadline) {
			return fmt.Sprintf("%s %s asked for, and may still come", scaling.Counted(b.Target, "worker"), scaling.Plural(b.Target, "was", "were")), b.Deadline
		}
	}
	switch {
	case !byHand && v.stored.LateAt(v.now):
		return "the decision loop is late, so that it is not known whether this still stands", time.Time{}
	case v.growth() != "":
		return v.growth(), time.Time{}
	case e.OtherWriter != "" && !v.stored.ResumedAfter(e.OtherWriterSince):
		return "another writer changes the target: " + e.OtherWriter, time.Time{}
	case v.busy != "":
		return fmt.Sprintf("a worker of scope %s, of the same Zeta cluster, is being drained", v.busy), time.Time{}
	case !byHand && v.now.Before(o.BackoffUntil):
		return "failure back-off until " + scaling.At(o.BackoffUntil), o.BackoffUntil
	case !byHand && v.now.Before(cooldown):
		return "cooldown until " + scaling.At(cooldown), cooldown
	}
	return "", time.Time{}
}

package actuators

import (
	"cmp"
	"errors"
	"fmt"
	"time"

	"github.com/zeta-scaler/zeta-scaler/scaling"
	"github.com/zeta-scaler/zeta-scaler/state"
)

// UNKNOWN and CONVERGING: what became of the request.

// prepareFindingOut reads the platform after a request whose reply is not known.
// What an older leader has on its way is shut out before, where the platform can
// do that.
func (o *outcome) prepareFindingOut() effect {
	a, v := o.Action, o.view
	switch {
	case v.can.Observes && v.now.Before(o.attempts.next):
		return effect{kind: rest, until: o.attempts.next}
	case v.can.Observes && v.claims && o.inherited() && !o.attempts.claimed:
		return o.call(claim, a)
	case v.can.Observes:
		return o.call(observe, a)
	case v.cfg != nil && v.cfg.Kind == a.Actuator && v.can.DryRun:
		// A dry run has never done anything; one that has taken the place of an
		// actuator does not know what that has done.
		return o.notDone(0)
	case v.tick.shows(a.Target, entered(a)):
		return o.carriedOut("", "the inventory shows the workers")
	}
	return o.restOrFail(time.Time{}, "it is not known whether the platform acted, and the workers did not come; "+v.tick.showing())
}

// findOut goes on by what the platform has.
func (o *outcome) findOut(st State) effect {
	a := o.Action
	if st.Desired >= a.Target || st.Fence.RecommendationID == a.RecommendationID {
		return o.carriedOut("", fmt.Sprintf("the platform was asked for %s", scaling.Counted(st.Desired, "worker")))
	}
	return o.notDone(st.Desired)
}

// notFoundOut tries again to read the platform, until the action's time is over.
func (o *outcome) notFoundOut(cause error) effect {
	if errors.Is(cause, ErrStale) {
		o.fail(scaling.ActionRejectedStale, cause.Error())
		return o.look()
	}
	o.failedToObserve()
	return o.restOrFail(o.attempts.next, "it is not known whether the platform acted: "+cause.Error())
}

// inherited reports whether an older leader began the action: what it did not
// do is not done in its name.
func (o *outcome) inherited() bool { return o.Action.MasterEpoch != o.view.epoch }

// notDone goes on after a request that never reached the platform: it is made
// again by who made it, and left to the new leader's own recommendation
// otherwise.
func (o *outcome) notDone(desired int) effect {
	o.withdrawAbove(desired)
	if o.inherited() {
		o.end(scaling.ActionSuperseded, "the leader changed, and the platform had not acted")
		return o.look()
	}
	o.retry("the platform had not acted")
	if open(o.Action) {
		o.enter(o.Action, scaling.ActionExecuting, "the platform had not acted; it is asked again")
	}
	return o.look()
}

// carriedOut follows a request that the platform has.
func (o *outcome) carriedOut(condition, reason string) effect {
	o.Action.Condition = condition
	o.enter(o.Action, scaling.ActionConverging, reason)
	return o.look()
}

// prepareComparing observes the platform, if it can be, before the inventory is
// looked at.
func (o *outcome) prepareComparing() effect {
	switch {
	case o.view.now.Before(o.attempts.next):
		return effect{kind: rest, until: o.attempts.next}
	case o.view.can.Observes:
		return o.call(observe, o.Action)
	}
	return o.compare(nil)
}

// compare ends an action whose workers have come, or have not in time. st is nil
// where the platform cannot be observed.
func (o *outcome) compare(st *State) effect {
	a := o.Action
	platform, ready, next := "", true, time.Time{}
	if st != nil {
		switch late := o.mayBeLate(st) && o.view.now.Before(o.Deadline); {
		case st.Desired < a.Target && late:
			return o.restUntil(o.nextLook())
		case st.Desired < a.Target:
			return o.lowered(st)
		}
		o.attempts.shown = a.RecommendationID
		platform, ready = fmt.Sprintf("the platform has %d of %s ready; ", st.Ready, scaling.Counted(st.Desired, "worker")), st.Ready >= a.Target
		if st.Detail != "" {
			platform += st.Detail + "; "
		}
		next = o.nextLook()
	}
	if ready && o.view.tick.shows(a.Target, entered(a)) {
		return o.succeed()
	}
	reason := "the workers did not come in time: " + platform + o.view.tick.showing()
	if !ready && o.view.withdraws(&o.ExecutionRecord) {
		e := o.call(withdraw, a)
		e.target, e.fence, e.reason = a.Target, o.fence(), reason
		return e
	}
	return o.restOrFail(next, reason)
}

// mayBeLate reports whether a platform that shows less than it was asked for may only
// be late: it records no fences, by which a write of somebody else would be told from
// that, and has not shown the target of this round yet.
func (o *outcome) mayBeLate(st *State) bool {
	return !o.view.claims && o.attempts.shown != o.Action.RecommendationID && o.otherWriter(st) == ""
}

// nextLook is when a target that converges is observed again.
func (o *outcome) nextLook() time.Time { return o.view.now.Add(cmp.Or(o.view.can.Poll, pollEvery)) }

// withdraws reports whether what of the action has not come is to be taken back:
// its time is over, and neither an operator nor the configuration forbids to call
// the platform.
func (v *view) withdraws(r *state.ExecutionRecord) bool {
	if !v.overdue(r) || v.paused() {
		return false
	}
	mode, _ := v.mode()
	return mode != scaling.Advisory
}

// overdue reports whether the time of an action is over whose platform can take
// back what has not come.
func (v *view) overdue(r *state.ExecutionRecord) bool {
	return v.can.Withdraws && r.Action != nil && r.Action.State == scaling.ActionConverging && !v.now.Before(r.Deadline)
}

// takenBack fails an action whose workers did not come.
func (o *outcome) takenBack(in input) effect {
	o.attempts.withdrawals = 0
	o.withdrawAbove(in.left)
	o.fail(scaling.ActionFailed, fmt.Sprintf("%s; what had not come was taken back, the platform is asked for %d", in.about.reason, in.left))
	return o.look()
}

// notTakenBack tries again, a bounded number of times, before the action fails.
func (o *outcome) notTakenBack(in input) effect {
	o.attempts.withdrawals++
	r := resultOf(in.err)
	if n := o.attempts.withdrawals; n < maxAttempts && (r == resultError || r == resultUnknown) {
		o.attempts.next = o.view.now.Add(o.view.backoff(n))
		return effect{kind: rest, until: o.attempts.next}
	}
	o.attempts.withdrawals = 0
	o.fail(scaling.ActionFailed, fmt.Sprintf("%s; and what had not come could not be taken back: %s", in.about.reason, in.err))
	return o.look()
}

// restOrFail fails the action if its time is over, and else rests until next
// (zero: something happens), or until it is.
func (o *outcome) restOrFail(next time.Time, reason string) effect {
	if o.view.now.Before(o.Deadline) {
		return o.restUntil(next)
	}
	o.attempts.failed, o.attempts.next = 0, time.Time{}
	o.fail(scaling.ActionFailed, reason)
	return o.look()
}

// restUntil rests until next (zero: something happens), or the action's time is over.
func (o *outcome) restUntil(next time.Time) effect {
	if next.IsZero() || o.Deadline.Before(next) {
		next = o.Deadline
	}
	return effect{kind: rest, until: next}
}

// lowered fails an action whose target the platform does not have: somebody has taken
// it back, or the platform has never shown it.
func (o *outcome) lowered(st *State) effect {
	who := o.otherWriter(st)
	reason := fmt.Sprintf("the platform said yes to %s and shows %d: it did nothing, or somebody has taken that back",
		scaling.Counted(o.Action.Target, "worker"), st.Desired)
	switch {
	case who != "":
		o.OtherWriter, o.OtherWriterSince = who, o.view.now
	case !o.mayBeLate(st):
		who = "somebody"
	}
	if who != "" {
		reason = fmt.Sprintf("%s has changed the platform's count to %d, below the target %d", who, st.Desired, o.Action.Target)
	}
	o.withdrawAbove(st.Desired)
	o.fail(scaling.ActionFailed, reason)
	return o.look()
}

// succeed ends an action that has converged: the cooldown starts here and
// nowhere else.
func (o *outcome) succeed() effect {
	c := o.view.configured()
	o.Failures, o.BackoffUntil, o.Booting = 0, time.Time{}, nil
	o.CooldownUntil = o.view.now.Add(*c.Cooldown)
	o.onTrial(c.TriggerWindow)
	o.Action.Error = ""
	o.end(scaling.ActionSucceeded, o.whoCounted())
	return o.look()
}

// whoCounted tells who counted the workers of an action that has converged.
func (o *outcome) whoCounted() string {
	target := o.Action.Target
	switch n := o.view.tick.workers; {
	case n != nil && *n > target:
		return fmt.Sprintf("the inventory has %s, %d %s asked for", scaling.Counted(*n, "worker"), target, scaling.Plural(target, "was", "were"))
	case o.view.can.Observes:
		return fmt.Sprintf("platform and inventory have %s", scaling.Counted(target, "worker"))
	default:
		return fmt.Sprintf("the inventory has %s", scaling.Counted(target, "worker"))
	}
}

// followTick does what follows from the last tick alone and reports whether
// there was anything.
func (o *outcome) followTick() bool {
	t, h, c := &o.view.tick, o.Held, o.view.cfg
	if t.direct() && !t.at.Equal(o.attempts.direct) {
		// Every tick is looked at once, so that nothing is lost to a refusal that
		// passes.
		if _, known := knownVerdict(&o.ExecutionRecord, t.recommendation); !known {
			o.attempts.direct = t.at
			o.verdict = o.accept(t.recommendation)
			return true
		}
	}
	switch {
	case h != nil && !o.view.listed():
		o.drop(scaling.ActionCancelled, "the scope left the configuration before it began")
	case h != nil && t.generation > h.Generation && h.MasterEpoch == o.view.epoch:
		o.drop(scaling.ActionSuperseded, "a newer decision was made before it began")
	case c != nil && c.Rounds && !o.EpisodeOver && o.Action != nil && o.episodeOver():
		o.save()
		o.EpisodeOver = true
	case o.view.remembers() && len(t.seen) > 0 && !t.seen.counts(o.Seen):
		o.save()
		o.Seen = t.seen
	case o.Trial != nil && !t.at.Before(o.Trial.CheckAt):
		o.endTrial()
	case len(o.Tried) > 0 && o.Action != nil && t.cleared(o.Action):
		o.save()
		o.Tried, o.IneffectiveSince = nil, time.Time{}
	default:
		return false
	}
	return true
}

package actuators

import (
	"errors"
	"fmt"
	"time"

	"github.com/zeta-scaler/zeta-scaler/scaling"
)

// PENDING and EXECUTING: until the platform has the request.

// prepare observes the target of what waits, once nothing keeps it from
// beginning and it is still wanted.
func (o *outcome) prepare(in input) effect {
	if e, wait := o.waits(); wait {
		return e
	}
	if o.view.now.Before(o.attempts.next) {
		return effect{kind: rest, until: o.attempts.next}
	}
	if o.view.can.Observes {
		return o.call(observe, o.Held)
	}
	return o.start(in, false)
}

// waits calls off what is not wanted any more and says how long what is has to
// wait.
func (o *outcome) waits() (e effect, wait bool) {
	if to, why := o.view.unwanted(o.Held); why != "" {
		o.drop(to, why)
		return o.look(), true
	}
	why, condition, until := o.blocker(o.Held)
	switch {
	case why == "":
		return effect{}, false
	case condition != o.Held.Condition:
		o.Held.Condition = condition
		o.enter(o.Held, scaling.ActionPending, why)
		return o.look(), true
	}
	if last := &o.Held.Transitions[len(o.Held.Transitions)-1]; last.Reason != why {
		last.Reason = why // what holds it now, not what did when it was accepted
		o.save()
		return o.look(), true
	}
	if until.IsZero() {
		until = o.view.now.Add(pollEvery)
	}
	return effect{kind: rest, until: until}, true
}

// begin makes what waits the scope's action, by what the platform has.
func (o *outcome) begin(in input) effect {
	if e, wait := o.waits(); wait {
		return e
	}
	if e, wait := o.lags(&in.platform, o.Held); wait {
		return e
	}
	ahead, err := o.objection(&in.platform, o.Held)
	if err != nil {
		return o.refuse(err)
	}
	return o.start(in, ahead)
}

// start makes what waits the scope's action; ahead says that there is nothing to
// ask for.
func (o *outcome) start(in input, ahead bool) effect {
	o.promote()
	o.endHold()
	o.Attempts, o.NextAttempt = 0, time.Time{}
	// What is past its deadline no longer counts for anybody.
	kept := o.Booting[:0]
	for _, b := range o.Booting {
		if !o.view.now.After(b.Deadline) {
			kept = append(kept, b)
		}
	}
	o.Booting = kept
	o.Action.Actuator = o.view.cfg.Kind
	if !o.view.can.DryRun {
		o.ActionInFlight = true
		o.announce()
		o.allow()
	}
	switch {
	case ahead && o.view.tick.shows(o.Action.Target, time.Time{}):
		o.withdraw(o.Action.Target)
		o.Action.Condition = scaling.ConditionPlatformAhead
		o.end(scaling.ActionSucceeded, "the platform has enough workers already")
	case ahead:
		o.Action.Condition = scaling.ConditionPlatformAhead
		o.enter(o.Action, scaling.ActionConverging, "the platform was asked for enough already; the workers are still to come")
	default:
		o.enter(o.Action, scaling.ActionExecuting, fmt.Sprintf("the platform is asked for %s", scaling.Counted(o.Action.Target, "worker")))
	}
	return o.same(in)
}

// promote makes what waits the scope's action.
func (o *outcome) promote() {
	o.Action, o.Held = o.Held, nil
	o.Action.Condition = ""
	o.EpisodeOver = false
}

// objection says why a target that was observed must not be scaled for a; ahead
// is true if it has enough.
func (o *outcome) objection(st *State, a *scaling.Execution) (ahead bool, err error) {
	switch {
	case st.Fence.Epoch > o.view.epoch:
		return false, fmt.Errorf("%w: epoch %d", ErrStale, st.Fence.Epoch)
	case st.Desired >= a.Target:
		return true, nil
	}
	if writer := o.otherWriter(st); writer != "" && !o.acceptsPresent() {
		return false, &OtherWriterError{Writer: writer, Detail: fmt.Sprintf("it has %s now", scaling.Counted(st.Desired, "worker"))}
	}
	// The target's number is absolute. If it holds only a part of the workers, a
	// number for all of them is none for it.
	if n := o.view.tick.workers; n != nil && *n > st.Desired {
		return false, fmt.Errorf("%w: the platform has %s and Zeta's inventory %d: the target holds only a part of them, so %d in all is not written there", ErrRefused, scaling.Counted(st.Desired, "worker"), *n, a.Target)
	}
	return false, nil
}

// otherWriter names who else writes to the target, as the platform says or as
// the fence shows that we left there; empty if nobody is known.
func (o *outcome) otherWriter(st *State) string {
	// A claim leaves an epoch and no action.
	if st.OtherWriter == "" && o.fenced() && st.Fence.ActionID == "" {
		return LostFence
	}
	return st.OtherWriter
}

// fenced reports whether the target carries a fence of ours, unless somebody
// has removed it.
func (o *outcome) fenced() bool {
	return o.view.claims && o.FencedTarget != "" && o.FencedTarget == o.view.cfg.Target
}

// acceptsPresent reports whether an operator has resumed the scope after another
// writer was found.
func (o *outcome) acceptsPresent() bool {
	return o.OtherWriter != "" && o.view.resumedAfter(o.OtherWriterSince)
}

// failedToObserve counts an observation that failed.
func (o *outcome) failedToObserve() {
	o.attempts.failed++
	o.attempts.next = o.view.now.Add(o.view.backoff(o.attempts.failed))
}

// observeLater tries again to observe a target before it is scaled, or gives up.
func (o *outcome) observeLater(cause error) effect {
	o.failedToObserve()
	if r := resultOf(cause); o.attempts.failed < maxAttempts && r != resultRefused && r != resultStale {
		return effect{kind: rest, until: o.attempts.next}
	}
	return o.refuse(fmt.Errorf("observing the target: %w", cause))
}

// refuse ends the action, held or executing, of which nothing was done.
func (o *outcome) refuse(cause error) effect {
	if !open(o.Action) {
		o.promote()
	}
	o.attempts.failed, o.attempts.next = 0, time.Time{}
	o.withdraw(o.Action.Target)
	o.giveUp(cause)
	return o.look()
}

// prepareCall observes the target before it is scaled, if it can be.
func (o *outcome) prepareCall(in input) effect {
	if e, wait := o.waitsToCall(); wait {
		return e
	}
	if o.view.can.Observes {
		return o.call(observe, o.Action)
	}
	return o.scale(in)
}

// waitsToCall calls off what is not wanted any more and says how long what is has
// to wait.
func (o *outcome) waitsToCall() (e effect, wait bool) {
	due := o.NextAttempt
	if o.attempts.next.After(due) {
		due = o.attempts.next
	}
	if o.view.now.Before(due) {
		return effect{kind: rest, until: due}, true
	}
	if to, why := o.view.unwanted(o.Action); why != "" {
		return o.callOff(to, why), true
	}
	if o.view.late() {
		return effect{kind: rest, until: o.view.now.Add(pollEvery)}, true
	}
	if o.view.now.After(o.Deadline) && !o.Deadline.IsZero() {
		return o.refuse(errors.New("there was no time left for another attempt")), true
	}
	// A drain that began at the same moment sees this action and goes back.
	if o.view.draining() != "" {
		return effect{kind: rest, until: o.view.now.Add(pollEvery)}, true
	}
	return effect{}, false
}

// ask scales the target, unless what was observed speaks against it.
func (o *outcome) ask(in input) effect {
	if e, wait := o.waitsToCall(); wait {
		return e
	}
	if e, wait := o.lags(&in.platform, o.Action); wait {
		return e
	}
	ahead, err := o.objection(&in.platform, o.Action)
	switch {
	case err != nil:
		return o.refuse(err)
	case ahead:
		return o.carriedOut(scaling.ConditionPlatformAhead, "the platform was asked for enough already")
	}
	return o.scale(in)
}

// scale is the call. The record names the target as booting before.
func (o *outcome) scale(in input) effect {
	a, dry := o.Action, o.view.can.DryRun
	if why, _ := o.view.missing(a.Target); why != "" {
		return o.carriedOut(scaling.ConditionWorkersMissing, "nothing is asked for: "+why)
	}
	if a.Actuator != o.view.cfg.Kind || !dry && !announced(&o.ExecutionRecord) {
		o.save()
		a.Actuator = o.view.cfg.Kind
		if !dry {
			o.announce()
		}
		return o.same(in)
	}
	e := o.call(scale, a)
	e.target, e.dryRun, e.fence = a.Target, dry, o.fence()
	if o.view.claims {
		e.fenced = o.view.cfg.Target
	}
	return e
}

// fence is what goes with the call.
func (o *outcome) fence() Fence {
	a, r := o.Action, o.view.stored.Decision.Recommendation
	target, from := a.Target, o.view.tick.workers
	if from == nil {
		from = a.From
	}
	r.Scope, r.RecommendationID, r.MasterEpoch, r.Generation = o.view.scope, a.RecommendationID, a.MasterEpoch, a.Generation
	r.Action, r.RecommendedWorkers = scaling.ScaleOut, &target
	return Fence{
		Epoch: o.view.epoch, Generation: a.Generation, RecommendationID: a.RecommendationID, ActionID: a.ID,
		From: from, Recommendation: r, AcceptPresent: o.acceptsPresent(), Fenced: o.fenced(),
	}
}

// converge follows a request that the platform has taken. If a later round has
// raised the target meanwhile, the platform is asked for that.
func (o *outcome) converge(asked effect) effect {
	if asked.fence.AcceptPresent {
		o.save()
		o.OtherWriter, o.OtherWriterSince = "", time.Time{}
	}
	if asked.fenced != "" && asked.fenced != o.FencedTarget {
		o.save()
		o.FencedTarget = asked.fenced
	}
	switch {
	case o.Action.Target != asked.target:
	case asked.dryRun:
		o.end(scaling.ActionSucceeded, "dry run: nothing was asked for")
	default:
		o.Attempts, o.NextAttempt = 0, time.Time{}
		o.enter(o.Action, scaling.ActionConverging, "the platform has taken the request")
	}
	return o.look()
}

// callOff ends an action whose call was not made or did nothing. If an earlier
// round was carried out, that is followed to its end instead.
func (o *outcome) callOff(to scaling.ActionState, reason string) effect {
	o.withdraw(o.Action.Target)
	before := 0
	for _, b := range o.Booting {
		before = max(before, b.Target)
	}
	if len(o.Action.Rounds) > 0 && before > 0 && before < o.Action.Target {
		o.Action.Target, o.Attempts, o.NextAttempt = before, 0, time.Time{}
		o.enter(o.Action, scaling.ActionConverging, "the last round was called off: "+reason)
		return o.look()
	}
	o.end(to, reason)
	return o.look()
}

package actuators

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/zeta-scaler/zeta-scaler/acting"
	"github.com/zeta-scaler/zeta-scaler/scaling"
	"github.com/zeta-scaler/zeta-scaler/state"
)

// open reports whether the action has begun and is not over.
func open(a *scaling.Execution) bool { return a != nil && !a.State.Final() }

// cloned is a copy that shares nothing that a step changes.
func (p progress) cloned() progress {
	p.Booting = slices.Clone(p.Booting)
	p.Action, p.Held = cloned(p.Action), cloned(p.Held)
	return p
}

func cloned(a *scaling.Execution) *scaling.Execution {
	if a == nil {
		return nil
	}
	c := *a
	c.Transitions, c.Rounds = slices.Clone(a.Transitions), slices.Clone(a.Rounds)
	return &c
}

// began is when the action was first about to call the platform.
func began(a *scaling.Execution) time.Time {
	for _, t := range a.Transitions {
		if t.State != scaling.ActionPending {
			return t.At
		}
	}
	return time.Time{}
}

// entered is when the action entered its state.
func entered(a *scaling.Execution) time.Time {
	if len(a.Transitions) == 0 {
		return time.Time{}
	}
	return a.Transitions[len(a.Transitions)-1].At
}

// save has the record stored, in the name of this leader.
func (o *outcome) save() {
	o.changed, o.Epoch = true, o.view.epoch
}

// enter moves an action to a state.
func (o *outcome) enter(a *scaling.Execution, to scaling.ActionState, reason string) {
	o.save()
	a.State = to
	a.Transitions = append(a.Transitions, scaling.Transition{State: to, At: o.view.now, Reason: reason})
	kind := scaling.EventScalingReport
	if to == scaling.ActionFailed || to == scaling.ActionRejectedStale {
		kind = scaling.EventScalingException
	}
	message := fmt.Sprintf("%s to %s", to, scaling.Counted(a.Target, "worker"))
	if reason != "" {
		message += ": " + reason
	}
	o.tell(kind, message, a)
	if to.Final() {
		o.ended = append(o.ended, cloned(a))
	}
}

// tell has an event emitted once the record is stored.
func (o *outcome) tell(kind scaling.EventKind, message string, a *scaling.Execution) {
	o.told = append(o.told, told{kind, message, cloned(a)})
}

// drop ends what is held.
func (o *outcome) drop(to scaling.ActionState, reason string) {
	o.enter(o.Held, to, reason)
	o.Held = nil
}

// end finishes the action in flight.
func (o *outcome) end(to scaling.ActionState, reason string) {
	o.ActionInFlight, o.Attempts = false, 0
	o.Deadline, o.NextAttempt = time.Time{}, time.Time{}
	if to != scaling.ActionSucceeded {
		o.Action.Error = reason
	}
	o.enter(o.Action, to, reason)
}

// fail ends the action in flight, FAILED or REJECTED_STALE, and starts the
// back-off, which is longer with each failure in a row. A platform that has
// recorded a newer epoch while nobody took over shows that the state is older
// than the platform, which somebody has to be told.
func (o *outcome) fail(to scaling.ActionState, reason string) {
	o.Failures++
	o.BackoffUntil = o.view.now.Add(acting.Hold(o.view.configured().FailureBackoff, o.Failures))
	o.end(to, reason)
}

// giveUp fails the action for an error that no further attempt can mend.
func (o *outcome) giveUp(cause error) {
	if errors.Is(cause, ErrStale) {
		o.fail(scaling.ActionRejectedStale, cause.Error())
		return
	}
	if other, ok := errors.AsType[*OtherWriterError](cause); ok {
		o.OtherWriter, o.OtherWriterSince = other.Writer, o.view.now
	}
	o.fail(scaling.ActionFailed, cause.Error())
}

// retry counts a failed attempt and schedules the next, or gives up.
func (o *outcome) retry(reason string) {
	o.save()
	o.Attempts++
	if o.Attempts >= maxAttempts {
		o.withdraw(o.Action.Target)
		o.fail(scaling.ActionFailed, fmt.Sprintf("given up after %s: %s", scaling.Counted(o.Attempts, "attempt"), reason))
		return
	}
	o.NextAttempt = o.view.now.Add(o.view.backoff(o.Attempts))
	o.Action.Error = reason
}

// announce names the action's target as booting.
func (o *outcome) announce() {
	o.withdraw(o.Action.Target)
	o.Booting = append(o.Booting, scaling.Booting{Target: o.Action.Target, Deadline: o.view.now.Add(o.view.configured().BootDeadline)})
}

// announced reports whether the action's target is named as booting: without it
// no call was made.
func announced(r *state.ExecutionRecord) bool {
	return slices.ContainsFunc(r.Booting, func(b scaling.Booting) bool { return b.Target == r.Action.Target })
}

// withdraw takes back the entry of a request that was not carried out.
func (o *outcome) withdraw(target int) {
	o.Booting = slices.DeleteFunc(o.Booting, func(b scaling.Booting) bool { return b.Target == target })
}

// withdrawAbove takes back every entry that the platform was not asked for.
func (o *outcome) withdrawAbove(desired int) {
	o.Booting = slices.DeleteFunc(o.Booting, func(b scaling.Booting) bool { return b.Target > desired })
}

// allow gives the action its time to converge from now on.
func (o *outcome) allow() {
	o.Deadline = o.view.now.Add(o.view.configured().ConvergenceTimeout)
}

// takeOver makes the record of an older leader ours. Writing it stops that
// leader: its next write finds another version. Nothing is replayed: what had
// not begun is superseded, since this leader's own recommendation has another
// id; what had begun is looked at before anything else.
func (o *outcome) takeOver() {
	o.save()
	if o.Held != nil {
		o.drop(scaling.ActionSuperseded, "the leader changed before it began")
	}
	if a := o.Action; a != nil && a.State == scaling.ActionRejectedStale {
		// What was refused because of its epoch says nothing about ours.
		o.Failures, o.BackoffUntil = 0, time.Time{}
	}
	if !open(o.Action) {
		return
	}
	if o.Deadline.IsZero() {
		o.allow()
	}
	if o.Action.State != scaling.ActionExecuting {
		return
	}
	// A request whose reply was lost may still be on its way, even if the
	// platform had not acted when it was read.
	lost := slices.ContainsFunc(o.Action.Transitions, func(t scaling.Transition) bool { return t.State == scaling.ActionUnknown })
	if !lost && !announced(&o.ExecutionRecord) {
		o.end(scaling.ActionSuperseded, "the leader changed, and nothing had been done")
		return
	}
	o.enter(o.Action, scaling.ActionUnknown, "the leader changed while the platform was asked")
}

// forget ends what waits for a scope that is gone. Its action in flight is not
// followed any more.
func (o *outcome) forget() effect {
	if o.Held != nil {
		o.drop(scaling.ActionCancelled, "the scope is gone")
	}
	o.progress = progress{}
	return effect{kind: forget}
}

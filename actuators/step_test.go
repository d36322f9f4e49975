package actuators

import (
	"fmt"
	"reflect"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/zeta-scaler/zeta-scaler/scaling"
)

// legal are the arrows of the machine.
var legal = map[scaling.ActionState][]scaling.ActionState{
	"": {scaling.ActionPending},
	scaling.ActionPending: {
		scaling.ActionExecuting, scaling.ActionConverging, scaling.ActionSucceeded, scaling.ActionFailed,
		scaling.ActionRejectedStale, scaling.ActionSuperseded, scaling.ActionCancelled,
	},
	scaling.ActionExecuting: {
		scaling.ActionExecuting, scaling.ActionConverging, scaling.ActionUnknown, scaling.ActionSucceeded, scaling.ActionFailed,
		scaling.ActionRejectedStale, scaling.ActionSuperseded, scaling.ActionCancelled,
	},
	scaling.ActionUnknown: {
		scaling.ActionExecuting, scaling.ActionConverging, scaling.ActionFailed, scaling.ActionRejectedStale, scaling.ActionSuperseded,
	},
	scaling.ActionConverging: {scaling.ActionExecuting, scaling.ActionSucceeded, scaling.ActionFailed},
}

// TestEveryStateWithEveryInput folds every input into every state, under every
// view, and holds each step to what the machine promises.
func TestEveryStateWithEveryInput(t *testing.T) {
	views := caseViews()
	steps, effects := 0, map[effectKind]int{}
	for name, r := range caseRecords() {
		before := progress{ExecutionRecord: r}
		subject := &outcome{progress: before}
		about := effect{kind: scale, state: subject.state(), target: 3}
		if a := subject.subject(); a != nil {
			about.action, about.recommendation = a.ID, a.RecommendationID
		}
		kept := before.cloned()
		for _, in := range caseInputs(about) {
			for _, v := range views {
				o := step(before, v, in)
				steps++
				effects[o.effect.kind]++
				if problem := broken(before, v, in, o); problem != "" {
					require.Fail(t, problem, "%s × %s (%v) under %+v", name, in.kind, in.err, v)
				}
				if !comesToRest(o) {
					require.Fail(t, "the machine spins", "%s × %s under %+v", name, in.kind, v)
				}
			}
		}
		require.Equal(t, kept, before, "a step has changed what it was given")
	}
	t.Logf("%d steps, effects %v", steps, effects)
	for _, k := range []effectKind{rest, again, observe, claim, scale, withdraw, forget} {
		require.Positive(t, effects[k], k)
	}
}

// comesToRest follows a machine to which nothing happens but what it does itself.
func comesToRest(o *outcome) bool {
	for range 12 {
		if o.effect.kind != again {
			return true
		}
		o = step(o.progress, o.view, o.input)
	}
	return false
}

// broken says which promise a step does not keep.
func broken(before progress, v *view, in input, o *outcome) string {
	for _, problem := range []string{
		brokenTransition(before, o), brokenEffect(v, in, o), brokenVerdict(in, o), brokenRecord(before, in, o),
	} {
		if problem != "" {
			return problem
		}
	}
	return ""
}

// brokenTransition: only the arrows of the machine, each told; what is over
// stays as it is.
func brokenTransition(before progress, o *outcome) string {
	known := map[string]*scaling.Execution{}
	for _, a := range []*scaling.Execution{before.Held, before.Action} {
		if a != nil {
			known[a.ID] = a
		}
	}
	told := 0
	for _, event := range o.told {
		if event.kind == scaling.EventIneffectiveScaling {
			continue
		}
		told++
		a, from := event.action, scaling.ActionState("")
		if n := len(a.Transitions); n > 1 {
			from = a.Transitions[n-2].State
		}
		if !slices.Contains(legal[from], a.State) {
			return fmt.Sprintf("%s → %s", from, a.State)
		}
		if a.State.Final() && !slices.ContainsFunc(o.ended, func(e *scaling.Execution) bool { return e.ID == a.ID && e.State == a.State }) {
			return fmt.Sprintf("%s is over as %s, and not in the history", a.ID, a.State)
		}
	}
	transitions := 0
	for _, a := range []*scaling.Execution{o.Held, o.Action} {
		if a == nil {
			continue
		}
		old := 0
		if k := known[a.ID]; k != nil {
			old = len(k.Transitions)
			if k.State.Final() && !reflect.DeepEqual(k, a) && a != o.Held {
				return fmt.Sprintf("%s was over as %s and is %s", a.ID, k.State, a.State)
			}
		}
		transitions += max(0, len(a.Transitions)-old)
	}
	if transitions > told {
		return fmt.Sprintf("%d transitions, %d told", transitions, told)
	}
	return ""
}

// brokenEffect: nothing is done before it is stored, and a platform is scaled
// only for an action that is announced, wanted and our own.
func brokenEffect(v *view, in input, o *outcome) string {
	e := o.effect
	a := o.Action
	switch {
	case o.changed && e.kind != again && e.kind != forget:
		return fmt.Sprintf("effect %q goes with a record that is not stored", e.kind)
	case e.kind == rest && !e.until.IsZero() && !e.until.After(v.now):
		return "it rests until a time that has passed"
	case e.kind == observe && !v.can.Observes, e.kind == claim && (!v.claims || o.state() != scaling.ActionUnknown || a.MasterEpoch == v.epoch):
		return fmt.Sprintf("effect %q, which the platform cannot or must not", e.kind)
	case e.kind == withdraw:
		return brokenWithdrawal(v, in, o)
	case e.kind != scale:
		return ""
	case in.kind != look && in.kind != observed && in.kind != claimed && in.kind != withdrawn && in.kind != unwithdrawn && in.kind != taken && in.kind != lost && in.kind != failed && in.kind != refused && in.kind != unclaimed:
		return fmt.Sprintf("input %q scales", in.kind)
	case v.draining() != "":
		return "the target is scaled while one of its workers is being drained"
	case !open(a) || a.State != scaling.ActionExecuting:
		return "scaled out of EXECUTING"
	case !e.dryRun && !announced(&o.ExecutionRecord):
		return "scaled to a target that is not announced as booting"
	case v.can.Observes && in.kind != observed:
		return "scaled without a look at the platform"
	case in.kind == observed && in.platform.Desired >= e.target:
		return "the platform is asked for less than it has"
	case e.target != a.Target || e.fence.Epoch != v.epoch || e.fence.RecommendationID != a.RecommendationID || e.action != a.ID:
		return "scaled for something else"
	}
	if _, why := v.unwanted(a); why != "" {
		return "scaled although " + why
	}
	if v.late() {
		return "scaled while it was not known whether that still stands"
	}
	return ""
}

// brokenWithdrawal: only what was seen not to have come in time is taken back, and
// only where the platform may be called.
func brokenWithdrawal(v *view, in input, o *outcome) string {
	switch mode, why := v.mode(); {
	case !v.can.Withdraws || o.state() != scaling.ActionConverging || in.kind != observed:
		return "it withdraws what it must not"
	case v.now.Before(o.Deadline) || in.platform.Ready >= o.Action.Target || in.platform.Desired < o.Action.Target:
		return "it withdraws what may come, has come, or is not asked for any more"
	case mode == scaling.Advisory || v.paused():
		return "it withdraws although " + why
	case o.effect.fence.Epoch != v.epoch || o.effect.reason == "":
		return "it withdraws without a fence or a reason"
	}
	return ""
}

// brokenVerdict: who asks gets an answer, and what is promised is stored.
func brokenVerdict(in input, o *outcome) string {
	asked := in.kind == accept || in.kind == resolve
	promised := o.verdict.Result == scaling.VerdictAccepted || o.verdict.Result == scaling.VerdictHeld
	switch {
	case asked && o.err == nil && o.verdict.Result == "":
		return "there is no answer"
	case promised && !o.changed:
		return "a promise is not stored"
	case in.kind == accept && !promised && len(o.told) > 0:
		return "a refusal changes the record"
	case !promised && o.verdict.Result != "" && o.verdict.Reason == "":
		return "there is no reason"
	}
	return ""
}

// brokenRecord: what is stored makes sense by itself.
func brokenRecord(before progress, in input, o *outcome) string {
	switch {
	case !o.changed && in.kind != gone && !reflect.DeepEqual(before.ExecutionRecord, o.ExecutionRecord):
		return "the record differs, and is not to be stored"
	case o.changed && in.kind != gone && o.Epoch != o.view.epoch:
		return "the record does not carry our epoch"
	case o.ActionInFlight && !open(o.Action):
		return "in flight without an action"
	case o.changed && in.kind != gone && !open(o.Action) && !o.Deadline.IsZero():
		return "an action that is over has a deadline"
	case in.kind != gone && (&outcome{progress: o.progress.cloned(), view: o.view}).limitInstants():
		return "an instant lies further ahead than its own duration"
	case o.Held != nil && o.Held.State != scaling.ActionPending:
		return "what waits is " + string(o.Held.State)
	}
	if a := o.Action; a != nil && (before.Action == nil || before.Action.ID != a.ID) && o.EpisodeOver {
		return "an action begins an episode that is over"
	}
	if problem := brokenBooting(before, in, o); problem != "" {
		return problem
	}
	if a := o.Action; a != nil && before.Action != nil && a.RecommendationID != before.Action.RecommendationID && a.ID == before.Action.ID &&
		len(a.Triggers) != len(o.view.stored.Decision.Recommendation.TriggerConditions) {
		return "a later round keeps what asked for the one before"
	}
	for _, a := range o.ended {
		if a.State == scaling.ActionSucceeded && a.Error != "" {
			return "succeeded with the error of an attempt"
		}
		if a.State == scaling.ActionFailed && (a.Error == "" || !o.BackoffUntil.After(o.view.now)) {
			return "failed without an error or a back-off"
		}
	}
	return ""
}

// brokenBooting: one entry for each target, and none for what the platform was
// not asked for.
func brokenBooting(before progress, in input, o *outcome) string {
	seen := map[int]bool{}
	for _, b := range o.Booting {
		if seen[b.Target] {
			return "a target is announced twice"
		}
		seen[b.Target] = true
	}
	if o.Action == nil || o.Action.State != scaling.ActionFailed || !open(before.Action) {
		return ""
	}
	switch {
	case in.kind == refused && before.Action.State == scaling.ActionExecuting && seen[o.Action.Target]:
		return "what was refused counts as booting"
	case in.kind == observed && before.Action.State == scaling.ActionConverging && in.platform.Desired < before.Action.Target && seen[before.Action.Target]:
		return "what was taken back counts as booting"
	}
	return ""
}

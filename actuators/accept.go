package actuators

import (
	"fmt"
	"time"

	"github.com/zeta-scaler/zeta-scaler/scaling"
	"github.com/zeta-scaler/zeta-scaler/state"
)

// knownVerdict answers for a recommendation that has an action already. One that
// was called off before anything was done may be asked for again.
func knownVerdict(r *state.ExecutionRecord, recommendation string) (scaling.Verdict, bool) {
	for _, a := range []*scaling.Execution{r.Held, r.Action} {
		if a != nil && a.Has(recommendation) && a.State != scaling.ActionCancelled {
			return scaling.Verdict{
				Result: scaling.VerdictDuplicate, ActionID: a.ID, State: a.State,
				Reason: "an action of this recommendation is " + string(a.State),
			}, true
		}
	}
	return scaling.Verdict{}, false
}

// accept takes a recommendation up, if it may be carried out.
func (o *outcome) accept(recommendation string) scaling.Verdict {
	id, ok := scaling.ParseRecommendationID(recommendation)
	if !ok {
		return scaling.Verdict{Result: scaling.VerdictUnknown, Reason: "it is not a recommendation id"}
	}
	if verdict, ok := knownVerdict(&o.ExecutionRecord, recommendation); ok {
		return verdict
	}
	verdict, err := o.view.refusal(id)
	if err != nil || verdict.Result != "" {
		o.err = err
		return verdict
	}
	if newer := o.newestGeneration(); newer > id.Generation {
		return scaling.Verdict{Result: scaling.VerdictSuperseded, Reason: fmt.Sprintf("generation %d was accepted before", newer)}
	}
	return o.admit(recommendation)
}

// newestGeneration is the greatest of this epoch that was accepted.
func (o *outcome) newestGeneration() uint64 {
	var n uint64
	for _, a := range []*scaling.Execution{o.Held, o.Action} {
		if a != nil && a.MasterEpoch == o.view.epoch {
			n = max(n, a.Generation)
		}
	}
	return n
}

// admit puts a recommendation into the record: into the action in flight as a
// later round, or as what begins next.
func (o *outcome) admit(recommendation string) scaling.Verdict {
	d := &o.view.stored.Decision
	a := scaling.Execution{
		ID: recommendation, RecommendationID: recommendation, Scope: o.view.scope,
		MasterEpoch: o.view.epoch, Generation: d.Generation, Row: d.Row, Triggers: d.Recommendation.TriggerConditions,
		From: o.view.tick.workers, Target: d.Intent.Target, Actuator: o.view.cfg.Kind,
	}
	if o.raises(a.Target) {
		o.raise(&a)
		return scaling.Verdict{
			Result: scaling.VerdictAccepted, ActionID: o.Action.ID, State: o.Action.State,
			Reason: fmt.Sprintf("a later round of the action in flight, now to %s", scaling.Counted(a.Target, "worker")),
		}
	}
	if o.Held != nil {
		o.drop(scaling.ActionSuperseded, fmt.Sprintf("generation %d was accepted before it began", a.Generation))
	}
	verdict := scaling.Verdict{Result: scaling.VerdictAccepted, ActionID: a.ID, State: scaling.ActionPending}
	why, condition, _ := o.blocker(&a)
	a.Condition = condition
	if why != "" {
		verdict.Result, verdict.Reason = scaling.VerdictHeld, why
	}
	o.Held = &a
	o.enter(o.Held, scaling.ActionPending, why)
	return verdict
}

// episodeOver reports whether the scope has stopped asking for more since its
// action began.
func (o *outcome) episodeOver() bool {
	return o.EpisodeOver || o.Action != nil && o.view.tick.enoughAt.After(began(o.Action))
}

// raises reports whether a target is a later round of the action in flight. One
// whose outcome is not known is left alone until it is.
func (o *outcome) raises(target int) bool {
	return open(o.Action) && o.Action.State != scaling.ActionUnknown && o.view.cfg.Rounds && !o.episodeOver() && target > o.Action.Target
}

// raise makes a the newest round of the action in flight.
func (o *outcome) raise(a *scaling.Execution) {
	x := o.Action
	x.Rounds = append(x.Rounds, x.RecommendationID)
	x.RecommendationID, x.MasterEpoch, x.Generation = a.RecommendationID, a.MasterEpoch, a.Generation
	x.Row, x.Triggers, x.Target, x.Condition = a.Row, a.Triggers, a.Target, ""
	o.Attempts, o.NextAttempt = 0, time.Time{}
	o.announce()
	o.allow()
	o.enter(x, scaling.ActionExecuting, fmt.Sprintf("the next round asks for %s", scaling.Counted(a.Target, "worker")))
	if o.Held != nil {
		o.drop(scaling.ActionSuperseded, fmt.Sprintf("generation %d was accepted before it began", a.Generation))
	}
}

// blocker says what keeps a from beginning, also as its condition if it has one,
// and until when if that is known.
func (o *outcome) blocker(a *scaling.Execution) (why, condition string, until time.Time) {
	round := o.view.cfg != nil && o.view.cfg.Rounds && !o.episodeOver() &&
		o.Action != nil && o.Action.State == scaling.ActionSucceeded && a.Target > o.Action.Target
	now := o.view.now
	missing, end := o.view.missing(a.Target)
	switch {
	case open(o.Action):
		return "an action is in flight", "", time.Time{}
	case o.view.late():
		return "the decision loop is late, so that it is not known whether this still stands", "", time.Time{}
	case o.view.draining() != "":
		return o.view.draining(), "", time.Time{}
	case o.OtherWriter != "" && !o.view.resumedAfter(o.OtherWriterSince):
		return "another writer changes the target: " + o.OtherWriter, "", time.Time{}
	case now.Before(o.BackoffUntil):
		return "failure back-off until " + scaling.At(o.BackoffUntil), "", o.BackoffUntil
	case now.Before(o.CooldownUntil) && a.Row != scaling.RowBelowMin && !round:
		return "cooldown until " + scaling.At(o.CooldownUntil), "", o.CooldownUntil
	case o.Trial != nil && a.Row != scaling.RowBelowMin && !now.Before(o.Trial.CheckAt):
		return "the next tick tells whether the last action has helped", "", time.Time{}
	case o.Trial != nil && a.Row != scaling.RowBelowMin && len(o.Tried) > 0:
		return "the action before has changed nothing; whether the last one has is known at " + scaling.At(o.Trial.CheckAt), "", o.Trial.CheckAt
	case o.heldFor() != "" && a.Row != scaling.RowBelowMin:
		return o.heldFor(), "", o.IneffectiveSince.Add(scaling.IneffectiveHold)
	case missing != "":
		return missing, scaling.ConditionWorkersMissing, end
	}
	return "", "", time.Time{}
}

// resolve lets a recommendation be: what has not begun is cancelled, what has is
// left alone.
func (o *outcome) resolve(recommendation string) scaling.Verdict {
	if h := o.Held; h != nil && h.Has(recommendation) {
		o.drop(scaling.ActionCancelled, "its alert was resolved before it began")
		return scaling.Verdict{
			Result: scaling.VerdictResolved, ActionID: h.ID, State: scaling.ActionCancelled,
			Reason: "the action had not begun and is cancelled",
		}
	}
	return resolvedVerdict(&o.ExecutionRecord, recommendation)
}

// resolvedVerdict answers for a recommendation of which nothing waits.
func resolvedVerdict(r *state.ExecutionRecord, recommendation string) scaling.Verdict {
	v := scaling.Verdict{Result: scaling.VerdictResolved, Reason: "no action waits for it"}
	if a := r.Action; a != nil && a.Has(recommendation) {
		v.ActionID, v.State, v.Reason = a.ID, a.State, "the action had begun and is left alone"
	}
	return v
}

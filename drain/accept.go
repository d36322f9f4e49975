package drain

import (
	"fmt"

	"github.com/zeta-scaler/zeta-scaler/scaling"
	"github.com/zeta-scaler/zeta-scaler/state"
)

// What somebody asks for: Alertmanager by a recommendation's id, a person by a
// worker's name.

// knownVerdict answers for a recommendation that a drain was made of.
func knownVerdict(r *state.DrainRecord, recommendation string) (scaling.Verdict, bool) {
	for _, d := range []*scaling.Drain{r.Open, r.Last} {
		if d != nil && d.RecommendationID == recommendation {
			return scaling.Verdict{
				Result: scaling.VerdictDuplicate, ActionID: d.ID, Reason: fmt.Sprintf("drain %s is %s", d.ID, d.State),
			}, true
		}
	}
	return scaling.Verdict{}, false
}

// accept takes up a recommendation to remove a worker.
func (o *outcome) accept(recommendation string) scaling.Verdict {
	if v, ok := knownVerdict(&o.DrainRecord, recommendation); ok {
		return v
	}
	id, ok := scaling.ParseRecommendationID(recommendation)
	if !ok {
		return scaling.Verdict{Result: scaling.VerdictUnknown, Reason: "it is not a recommendation id"}
	}
	if v, err := o.view.refusal(id); err != nil || v.Result != "" {
		o.err = err
		return v
	}
	if d := o.Open; d != nil {
		if d.State != scaling.DrainPending || d.RecommendationID == "" {
			return scaling.Verdict{Result: scaling.VerdictSuperseded, ActionID: d.ID, Reason: fmt.Sprintf("drain %s is %s", d.ID, d.State)}
		}
		o.end(scaling.DrainActive, "a newer decision was made before it began", false)
	}
	o.open(&scaling.Drain{
		ID: recommendation, RecommendationID: recommendation, Generation: id.Generation, Remaining: o.view.remaining(),
	}, "accepted")
	v := scaling.Verdict{Result: scaling.VerdictAccepted, ActionID: recommendation}
	if why, _ := o.blocker(); why != "" {
		v.Result, v.Reason = scaling.VerdictHeld, why
	}
	return v
}

// open begins a drain that waits.
func (o *outcome) open(d *scaling.Drain, reason string) {
	d.Scope, d.MasterEpoch = o.view.scope, o.view.epoch
	if o.view.cfg != nil {
		d.Actuator = o.view.cfg.Kind
	}
	o.attempts = attempts{direct: o.attempts.direct}
	o.Open = d
	o.enter(scaling.DrainPending, reason)
}

// refusal says why a recommendation may not be carried out, whatever else is going
// on; its result is empty if it may.
func (v *view) refusal(id scaling.Identity) (scaling.Verdict, error) {
	if stale, err := v.stored.Refusal(id, v.epoch); err != nil || stale.Result != "" {
		return stale, err
	}
	d := &v.stored.Decision
	refuse := func(r scaling.VerdictResult, why string) (scaling.Verdict, error) {
		return scaling.Verdict{Result: r, Reason: why}, nil
	}
	switch {
	case d.Intent.Action != scaling.ScaleInCandidate:
		return refuse(scaling.VerdictSuperseded, "nothing asks for fewer workers any more")
	case v.advisory() != "":
		return refuse(scaling.VerdictAdvisory, v.advisory())
	case v.stored.PausedAt(v.now):
		return refuse(scaling.VerdictPaused, "the scope is paused")
	}
	return scaling.Verdict{}, v.stored.Current(v.now)
}

// resolve lets a recommendation be. The alert is over as soon as its drain has
// begun, because that holds the next: so only what has not begun is cancelled.
func (o *outcome) resolve(recommendation string) scaling.Verdict {
	v := scaling.Verdict{Result: scaling.VerdictResolved, Reason: "no drain waits for it"}
	for _, d := range []*scaling.Drain{o.Open, o.Last} {
		switch {
		case d == nil || d.RecommendationID != recommendation:
			continue
		case d.State == scaling.DrainPending:
			v.ActionID, v.Reason = d.ID, "the drain had not begun and is cancelled"
			o.end(scaling.DrainActive, "its alert was resolved before it began", false)
			return v
		}
		v.ActionID, v.Reason = d.ID, fmt.Sprintf("drain %s is %s and is left alone", d.ID, d.State)
	}
	return v
}

// request begins a drain that a person asks for, or says why not.
func (o *outcome) request(in input) string {
	v := o.view
	if why := v.off(); why != "" {
		return why
	}
	if v.stored.PausedAt(v.now) {
		return "the scope is paused"
	}
	if d := o.Open; d != nil {
		if d.State != scaling.DrainPending || d.RecommendationID == "" {
			return fmt.Sprintf("drain %s of worker %s is %s; one worker at a time", d.ID, d.Worker, d.State)
		}
		o.end(scaling.DrainActive, "somebody asks for a drain by hand", false)
	}
	o.open(&scaling.Drain{
		ID: fmt.Sprintf("drain-%d-%d-%s", v.epoch, v.now.UnixMilli(), v.scope), Worker: in.worker, By: in.by, Reason: in.reason,
		Deadline: v.now.Add(v.configured().Timeout),
	}, "asked for by "+in.by)
	return ""
}

// cancel has a drain go back, or says why it cannot.
func (o *outcome) cancel(in input) string {
	d := o.Open
	switch {
	case d == nil:
		return "no worker of the scope is being drained"
	case d.GivenUp != "":
		return "the drain goes back already: " + d.GivenUp
	case d.State == scaling.DrainDecommissioning:
		return fmt.Sprintf("the platform has been asked to remove worker %s", d.Worker)
	}
	why := "cancelled by " + in.by
	if in.reason != "" {
		why += ": " + in.reason
	}
	o.giveUp(why, false)
	return ""
}

// followTick does what follows from the last tick alone and reports whether there
// was anything.
func (o *outcome) followTick() bool {
	t := &o.view.tick
	if !t.direct() || t.at.Equal(o.attempts.direct) || o.Open != nil {
		return false
	}
	if _, known := knownVerdict(&o.DrainRecord, t.recommendation); known {
		return false
	}
	o.attempts.direct = t.at
	o.verdict = o.accept(t.recommendation)
	o.err = nil // the next tick tells
	return o.changed
}

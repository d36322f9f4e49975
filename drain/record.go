package drain

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/zeta-scaler/zeta-scaler/acting"
	"github.com/zeta-scaler/zeta-scaler/scaling"
)

// save has the record stored, in the name of this leader.
func (o *outcome) save() {
	o.changed, o.Epoch = true, o.view.epoch
}

// enter moves the drain to a state.
func (o *outcome) enter(to scaling.DrainState, reason string) {
	o.save()
	d := o.Open
	d.State = to
	d.Transitions = append(d.Transitions, scaling.DrainTransition{State: to, At: o.view.now, Reason: reason})
	kind := scaling.EventDrainReport
	if to == scaling.DrainFailed {
		kind = scaling.EventDrainException
	}
	o.tell(kind, fmt.Sprintf("%s: %s", to, reason))
}

// tell has an event emitted once the record is stored.
func (o *outcome) tell(kind scaling.EventKind, message string) {
	o.save()
	o.told = append(o.told, told{kind, message, cloned(o.Open)})
}

// end finishes the drain: ACTIVE, for a failure or not, or DECOMMISSIONED.
func (o *outcome) end(to scaling.DrainState, reason string, failure bool) {
	d := o.Open
	if to == scaling.DrainActive {
		d.GivenUp, d.Error = reason, reason
	}
	if failure {
		o.Failures++
		o.BackoffUntil = o.view.now.Add(acting.Hold(o.view.configured().FailureBackoff, o.Failures))
		d.Failed = true
	}
	d.Deadline = time.Time{}
	o.enter(to, reason)
	if failure && !slices.ContainsFunc(d.Transitions, func(t scaling.DrainTransition) bool { return t.State == scaling.DrainFailed }) {
		o.told[len(o.told)-1].kind = scaling.EventDrainException
	}
	o.ended = append(o.ended, cloned(d))
	o.Last, o.Open, o.Others = d, nil, nil
	o.attempts = attempts{direct: o.attempts.direct}
}

// takeOver makes the record of an older leader ours. Writing it stops that leader:
// its next write finds another version. What it may have asked for is looked at
// before anything else.
func (o *outcome) takeOver() {
	o.save()
	o.attempts = attempts{}
}

// forget ends what there is of a scope that is gone, and reports whether that is
// all. A drain that has stopped a job is followed until that runs again.
func (o *outcome) forget() (e effect, all bool) {
	d := o.Open
	switch {
	case d == nil:
		return effect{kind: forget}, true
	case d.GivenUp == "" && d.State != scaling.DrainDecommissioning:
		return o.giveUp("the scope is gone", false), true
	}
	return effect{}, false
}

// limitInstants moves instants that a clock which was ahead has left to where they
// would be had they been made now, and reports whether there were any.
func (o *outcome) limitInstants() (moved bool) {
	now, c := o.view.now, o.view.configured()
	limit := func(t *time.Time, ahead time.Duration) {
		if latest := now.Add(ahead); t.After(latest) {
			*t, moved = latest, true
		}
	}
	limit(&o.CooldownUntil, c.Cooldown)
	limit(&o.OtherWriterSince, 0)
	limit(&o.BackoffUntil, acting.Hold(c.FailureBackoff, o.Failures))
	if d := o.Open; d != nil {
		limit(&d.Deadline, c.Timeout)
		limit(&d.ReleasedAt, 0)
		limit(&d.GoneAt, 0)
		for i := range d.Transitions {
			limit(&d.Transitions[i].At, 0)
		}
		for i := range d.Jobs {
			j := &d.Jobs[i]
			limit(&j.StopAt, 0)
			limit(&j.RunAt, 0)
			limit(&j.AskedAt, 0)
			limit(&j.NextAttempt, lastRestore)
		}
	}
	if moved {
		o.save()
	}
	limit(&o.attempts.next, acting.LastRetry) // not stored
	return o.changed
}

// jobsWords counts the jobs of a drain for people.
func jobsWords(jobs []scaling.DrainJob) string {
	if len(jobs) == 0 {
		return "no job is on it"
	}
	var names []string
	for _, j := range jobs {
		text := fmt.Sprintf("%s (%s) %s", j.ID, j.Name, j.Step)
		if d := j.Downtime(); d > 0 {
			text += fmt.Sprintf(" after %s", d.Round(10*time.Millisecond))
		}
		names = append(names, text)
	}
	const most = 10
	if n := len(names); n > most {
		names = append(names[:most], fmt.Sprintf("and %d more", n-most))
	}
	return "jobs: " + strings.Join(names, ", ")
}

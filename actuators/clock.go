package actuators

import (
	"slices"
	"time"

	"github.com/zeta-scaler/zeta-scaler/acting"
	"github.com/zeta-scaler/zeta-scaler/scaling"
)

// A clock that was ahead for a while leaves instants that lie too far in the
// future. None may lie further ahead than the duration that it was made with,
// and none that has passed may lie ahead at all.

// limitInstants moves such instants to where they would be had they been made now,
// and reports whether there were any.
func (o *outcome) limitInstants() (moved bool) {
	now, c := o.view.now, o.view.configured()
	limit := func(t *time.Time, ahead time.Duration) {
		if latest := now.Add(ahead); t.After(latest) {
			*t, moved = latest, true
		}
	}
	limit(&o.CooldownUntil, *c.Cooldown)
	limit(&o.BackoffUntil, acting.Hold(c.FailureBackoff, o.Failures))
	limit(&o.Deadline, c.ConvergenceTimeout)
	limit(&o.NextAttempt, acting.LastRetry)
	limit(&o.OtherWriterSince, 0)
	limit(&o.IneffectiveSince, 0)
	for i := range o.Booting {
		limit(&o.Booting[i].Deadline, c.BootDeadline)
	}
	for _, a := range []*scaling.Execution{o.Action, o.Held} {
		if a == nil || a.State.Final() {
			continue // what is over is history
		}
		for i := range a.Transitions {
			limit(&a.Transitions[i].At, 0)
		}
	}
	if o.Trial != nil {
		trial := *o.Trial
		limit(&trial.CheckAt, c.TriggerWindow)
		o.Trial = &trial
	}
	o.Seen = slices.Clone(o.Seen)
	for i := range o.Seen {
		limit(&o.Seen[i].At, 0)
	}
	if moved {
		o.save()
	}
	limit(&o.attempts.next, acting.LastRetry) // not stored
	return o.changed
}

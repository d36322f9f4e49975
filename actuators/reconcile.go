package actuators

import (
	"slices"
	"time"

	"github.com/zeta-scaler/zeta-scaler/scaling"
)

// takeOver makes the record of an older leader ours. Writing it stops that
// leader: its next write finds another version. Nothing is replayed: what had
// not begun is superseded, since this leader's own recommendation has another
// id; what had begun is looked at before anything else.
func (d *draft) takeOver() {
	if d.Held != nil {
		d.drop(scaling.ActionSuperseded, "the leader changed before it began")
	}
	if a := d.Action; a != nil && a.State == scaling.ActionRejectedStale {
		// What was refused because of its epoch says nothing about ours.
		d.Failures, d.BackoffUntil = 0, time.Time{}
	}
	if !open(d.Action) {
		return
	}
	if d.Deadline.IsZero() {
		d.allow()
	}
	if d.Action.State != scaling.ActionExecuting {
		return
	}
	// A request whose reply was lost may still be on its way, even if the
	// platform had not acted when it was read.
	lost := slices.ContainsFunc(d.Action.Transitions, func(t scaling.Transition) bool { return t.State == scaling.ActionUnknown })
	if !lost && !announced(&d.ExecutionRecord) {
		d.end(scaling.ActionSuperseded, "the leader changed, and nothing had been done")
		return
	}
	d.enter(d.Action, scaling.ActionUnknown, "the leader changed while the platform was asked")
}

// inherited reports whether an older leader began the action: what it did not
// do is not done in its name.
func (x *Executor) inherited(a *scaling.Execution) bool { return a.MasterEpoch != x.o.Epoch }

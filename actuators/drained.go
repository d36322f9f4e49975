package actuators

import (
	"fmt"
	"time"

	"github.com/zeta-scaler/zeta-scaler/scaling"
)

// What a drain of the scope means for an action: while a worker is on its way out
// nothing else changes the target, and afterwards Zeta's inventory has it for a
// little longer than the platform.

// inventoryLag is how long a worker that is gone may still be in the inventory
// that a tick knows: until the next scrape, and the next tick after it.
const inventoryLag = 2 * time.Minute

// draining says which worker is on its way out, empty if none is: until it is
// gone or back, nothing else changes the target.
func (v *view) draining() string {
	if d := v.stored.drain; d.Changing() {
		return fmt.Sprintf("worker %s is being drained", d.Open.Worker)
	}
	return ""
}

// gone is how many of the workers that the inventory had at a tick may have been
// removed by drains since.
func (v *view) gone(at time.Time) (n int) {
	for _, g := range v.stored.drain.Gone {
		if at.Before(g.Add(inventoryLag)) {
			n++
		}
	}
	return n
}

// lags waits with an action as long as the inventory has more workers than the
// platform only because some were removed a moment ago.
func (o *outcome) lags(st *State, a *scaling.Execution) (e effect, wait bool) {
	n := o.view.tick.workers
	if n == nil || *n <= st.Desired || *n-st.Desired > o.view.gone(o.view.tick.at) {
		return effect{}, false
	}
	why := fmt.Sprintf("a worker was removed, and Zeta's inventory still shows %d while the platform has %d", *n, st.Desired)
	if last := &a.Transitions[len(a.Transitions)-1]; a == o.Held && last.Reason != why {
		last.Reason = why
		o.save()
		return o.look(), true
	}
	return effect{kind: rest, until: o.view.now.Add(pollEvery)}, true
}

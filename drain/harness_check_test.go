package drain_test

import (
	"context"
	"slices"

	"github.com/zeta-scaler/zeta-scaler/scaling"
	"github.com/zeta-scaler/zeta-scaler/state"
	"github.com/zeta-scaler/zeta-scaler/zeta/control"
)

// checkRelease is called when the platform takes a request: at that moment no job
// of ours may be on the worker or, if it is held, be stopped.
func (w *world) checkRelease(worker string) {
	r := w.record()
	d := r.Open
	switch {
	case d == nil || d.State != scaling.DrainDecommissioning || d.Worker != worker:
		w.problem("worker %s is released, and the record has %+v", worker, d)
		return
	case len(w.m.goneAt) > 0:
		w.problem("worker %s is released while another one goes", worker)
	}
	for _, id := range w.m.ours() {
		j := w.m.jobs[id]
		mine := slices.ContainsFunc(d.Jobs, func(k scaling.DrainJob) bool { return k.ID == id })
		switch {
		case j.on[worker] > 0 && d.Held:
			w.problem("worker %s is released while job %s is on it", worker, id)
		case j.on[worker] > 0 && mine:
			w.problem("worker %s is released while job %s, which was to move, is on it", worker, id)
		case mine && d.Held && j.stops > 0 && (j.Status == control.SavepointDone || j.Status == control.DoingSavepoint):
			w.problem("worker %s is held and released while job %s is %s", worker, id, j.Status)
		}
	}
}

// check looks at what the run has left behind.
func (w *world) check() []string {
	w.problems = append(w.problems, w.m.problems...)
	if d := w.record().Open; d != nil {
		w.problem("a drain is not over: %+v", d)
	}
	entries, err := w.plain.History(context.Background(), state.Filter{Kind: state.DrainEntry, Limit: 1000})
	if err != nil {
		w.problem("%v", err)
	}
	asked := map[string]bool{}
	gone := 0
	for _, e := range entries {
		d, err := state.Decode[scaling.Drain](state.Record{Value: e.Value})
		if err != nil || !d.State.Over() {
			w.problem("history has %s in state %s", d.ID, d.State)
		}
		if d.State == scaling.DrainDecommissioned {
			gone++
		}
		for _, j := range d.Jobs {
			asked[j.ID] = asked[j.ID] || j.Stops > 0
			if j.Step == scaling.JobStopping || j.Step == scaling.JobStopped || j.Step == scaling.JobRestoring {
				w.problem("drain %s is over, and job %s is %s", d.ID, j.ID, j.Step)
			}
		}
		w.ended = append(w.ended, d)
	}
	if gone > len(w.m.removed)+w.lost {
		w.problem("%d drains say that their worker is gone, and %d were removed", gone, len(w.m.removed))
	}
	for id, j := range w.m.jobs {
		switch {
		case j.hold && !j.Status.Ended():
			w.problem("job %s still holds slots", id)
		case j.hold:
		case j.stops > 0 && !asked[id]:
			w.problem("job %s was stopped, and no record says so", id)
		case j.stops > 0 && (j.Status == control.SavepointDone || j.Status == control.DoingSavepoint):
			w.problem("job %s was stopped and is %s", id, j.Status)
		}
	}
	var newest uint64
	for _, e := range w.store.epochs {
		if e < newest {
			w.problem("epoch %d wrote the record after epoch %d", e, newest)
		}
		newest = max(newest, e)
	}
	return w.problems
}

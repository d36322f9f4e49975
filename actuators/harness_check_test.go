package actuators_test

import (
	"context"
	"strconv"
	"strings"

	"github.com/zeta-scaler/zeta-scaler/scaling"
	"github.com/zeta-scaler/zeta-scaler/state"
)

// check looks at what the run has left behind.
func (w *world) check() []string {
	ctx := context.Background()
	r, _, err := state.Load[state.ExecutionRecord](ctx, w.plain, state.Execution, scopeKey)
	if err != nil {
		w.problem("%v", err)
	}
	if r.Held != nil || r.Action != nil && !r.Action.State.Final() {
		w.problem("an action is not final: held %+v action %+v", r.Held, r.Action)
	}
	entries, err := w.plain.History(ctx, state.Filter{Kind: state.ActionEntry, Limit: 1000})
	if err != nil {
		w.problem("%v", err)
	}
	ended, announced := map[string]bool{}, map[string]bool{}
	for _, e := range entries {
		a, err := state.Decode[scaling.Execution](state.Record{Value: e.Value})
		if err != nil || !a.State.Final() {
			w.problem("history has %s in state %s", a.ID, a.State)
		}
		if last := a.Transitions[len(a.Transitions)-1]; a.State == scaling.ActionSuperseded && strings.HasPrefix(last.Reason, "the leader changed") {
			for _, d := range w.p.done {
				if d.id == a.RecommendationID {
					w.problem("%s was carried out although it ended as not done", d.id)
				}
			}
		}
		for _, id := range append(a.Rounds, a.RecommendationID, a.ID) {
			ended[id] = true
			for _, tr := range a.Transitions {
				announced[id] = announced[id] || tr.State == scaling.ActionExecuting
			}
		}
	}
	for _, d := range w.p.done {
		if !announced[d.id] {
			w.problem("%s was carried out, and no record says so", d.id)
		}
	}
	for _, p := range w.promises {
		if !ended[p.id] {
			w.problem("%s was acknowledged and has no end", p.id)
		}
	}
	w.checkPlatform()
	var newest uint64
	for _, wr := range w.writes {
		if wr.epoch < newest {
			w.problem("epoch %d wrote the record after epoch %d", wr.epoch, newest)
		}
		newest = max(newest, wr.epoch)
	}
	return w.problems
}

// checkPlatform looks for actions that were done twice, or by the wrong one.
func (w *world) checkPlatform() {
	targets := map[string]int{}
	var newest uint64
	most := 2
	for _, d := range w.p.done {
		if t, ok := targets[d.id]; ok && t != d.want {
			w.problem("%s was carried out to %d and to %d", d.id, t, d.want)
		}
		targets[d.id] = d.want
		most = max(most, d.want)
		if d.epoch < newest {
			w.problem("epoch %d wrote to the platform after epoch %d", d.epoch, newest)
		}
		newest = max(newest, d.epoch)
		if want, epoch, _ := cutID(d.id); want == 0 || epoch != d.epoch {
			w.problem("%s was carried out by epoch %d", d.id, d.epoch)
		}
	}
	if w.p.lowered > 0 || w.p.desired != most {
		w.problem("the platform was lowered %d times, has %d, was asked for %d", w.p.lowered, w.p.desired, most)
	}
	if len(w.p.illegal) > 0 {
		w.problem("an older epoch wrote: %v", w.p.illegal)
	}
}

func cutID(id string) (generation, epoch uint64, ok bool) {
	parts := strings.SplitN(id, "-", 3)
	if len(parts) != 3 {
		return 0, 0, false
	}
	epoch, _ = strconv.ParseUint(parts[0], 10, 64)
	generation, _ = strconv.ParseUint(parts[1], 10, 64)
	return generation, epoch, true
}

package actuators

import (
	"context"
	"sync"
	"time"

	"github.com/zeta-scaler/zeta-scaler/scaling"
	"github.com/zeta-scaler/zeta-scaler/state"
)

// facts are what the evaluator published last about a scope.
type facts struct {
	mu  sync.Mutex
	now fact
}

// fact is one tick of a scope.
type fact struct {
	tick time.Time
	// current is nil when the worker count is unknown.
	current    *int
	action     scaling.Action
	row        scaling.RowID
	mode       scaling.Mode
	id         string
	generation uint64
	triggers   map[string]bool
	// held is the last tick at which the scope did not ask for more: the
	// episode before it is over.
	held time.Time
	gone bool
}

func (f *facts) load() fact {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.now
}

// take keeps what a tick said.
func (f *facts) take(ev *scaling.Evaluation) {
	r := &ev.Recommendation
	f.mu.Lock()
	defer f.mu.Unlock()
	n := fact{
		tick: ev.Tick, current: r.CurrentWorkers, action: r.Action, row: r.Row, mode: ev.Mode,
		id: r.RecommendationID, generation: r.Generation, triggers: triggersOf(r), held: f.now.held,
	}
	if endsEpisode(r) {
		n.held = ev.Tick
	}
	f.now = n
}

// endsEpisode reports whether a recommendation says that the scope has enough.
func endsEpisode(r *scaling.Recommendation) bool {
	if r.Action == scaling.ScaleOut || r.Row == scaling.RowWorkersUnknown {
		return false
	}
	for _, b := range r.BlockingConditions {
		if r.Action == scaling.NoAction && b.Name == scaling.BlockerNextRound {
			return false
		}
	}
	return true
}

// triggersOf names what asks for more workers.
func triggersOf(r *scaling.Recommendation) map[string]bool {
	out := make(map[string]bool, len(r.TriggerConditions))
	for _, c := range r.TriggerConditions {
		out[c.Name] = true
	}
	return out
}

// Publish takes the worker counts of a tick, and in mode direct its
// recommendations. It only notes them and never waits: Run or Advance acts.
func (x *Executor) Publish(_ context.Context, evaluations []scaling.Evaluation, gone []scaling.Scope) {
	for i := range evaluations {
		if s := x.scope(evaluations[i].Scope.Key); s != nil {
			s.facts.take(&evaluations[i])
			s.poke()
		}
	}
	for _, g := range gone {
		if s := x.scope(g.Key); s != nil {
			s.facts.mu.Lock()
			s.facts.now = fact{gone: true}
			s.facts.mu.Unlock()
			s.poke()
		}
	}
}

// over reports whether the scope has stopped asking for more since its action
// began.
func (s *scope) over(r *state.ExecutionRecord) bool {
	return r.EpisodeOver || r.Action != nil && s.facts.load().held.After(began(r.Action))
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

package actuators

import (
	"fmt"
	"slices"
	"time"

	"github.com/zeta-scaler/zeta-scaler/scaling"
)

// tick is what the evaluator published last about a scope.
type tick struct {
	at time.Time
	// workers is Zeta's inventory, nil when unknown.
	workers *int
	// seen is its recent past.
	seen           inventory
	action         scaling.Action
	row            scaling.RowID
	mode           scaling.Mode
	recommendation string
	generation     uint64
	// triggers are what asks for more workers, facts what else held.
	triggers []scaling.Condition
	facts    scaling.Facts
	// short is true while fewer slots are free than a trigger counts as lacking, as
	// far as both are known.
	short bool
	// enoughAt is the last tick at which the scope did not ask for more: the
	// episode before it is over.
	enoughAt time.Time
	// gone is true once the scope is forgotten.
	gone bool
}

// followedBy is the tick after t. What the inventory showed longer than window
// ago is forgotten.
func (t tick) followedBy(ev *scaling.Evaluation, window time.Duration) tick {
	r := &ev.Recommendation
	n := tick{
		at: ev.Tick, workers: r.CurrentWorkers, action: r.Action, row: r.Row, mode: ev.Mode,
		recommendation: r.RecommendationID, generation: r.Generation, triggers: r.TriggerConditions, facts: ev.Facts, enoughAt: t.enoughAt,
		short: short(r.TriggerConditions, r.MetricsSnapshot),
	}
	n.seen = t.seen
	if n.workers != nil {
		n.seen = t.seen.followedBy(*n.workers, n.at, window)
	}
	if hasEnough(r) {
		n.enoughAt = ev.Tick
	}
	return n
}

// short reports whether a tick knows that the free slots are too few for the first
// job of the queue: Zeta tells what that job lacks without what is free.
func short(triggers []scaling.Condition, values map[string]scaling.Measurement) bool {
	free := values[scaling.InputFree].Value
	return free.Known && slices.ContainsFunc(triggers, func(c scaling.Condition) bool {
		return c.Class == scaling.Blocking && values[c.Signal].Unit == scaling.UnitSlots &&
			c.Value != nil && c.Value.Known && c.Value.Number > free.Number
	})
}

// hasEnough reports whether a recommendation says that the scope has enough.
func hasEnough(r *scaling.Recommendation) bool {
	if r.Action == scaling.ScaleOut || r.Row == scaling.RowWorkersUnknown {
		return false
	}
	return r.Action != scaling.NoAction || !r.HeldBy(scaling.BlockerNextRound)
}

// over reports whether the scope is gone.
func (t *tick) over() bool { return t.gone }

// direct reports whether the tick asks for workers without an alert.
func (t *tick) direct() bool { return t.mode == scaling.Direct && t.action == scaling.ScaleOut }

// shows reports whether the inventory has n workers, at a tick after since.
func (t *tick) shows(n int, since time.Time) bool {
	return t.workers != nil && *t.workers >= n && t.at.After(since)
}

func (t *tick) showing() string {
	if t.workers == nil {
		return "the inventory is not known"
	}
	return fmt.Sprintf("the inventory shows %d", *t.workers)
}

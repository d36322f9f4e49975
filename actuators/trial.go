package actuators

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/zeta-scaler/zeta-scaler/scaling"
	"github.com/zeta-scaler/zeta-scaler/state"
)

// Whether scaling has helped: an action that has converged is on trial for one
// window of its triggers. Two in a row that changed nothing hold the next.

// maxIneffective is how many actions in a row may change nothing before the next
// is held, and maxTried how many of them are remembered.
const (
	maxIneffective = 2
	maxTried       = 5
)

// onTrial begins the trial of the action that has just converged. One that runs
// goes on: rounds that follow each other quickly are one trial.
func (o *outcome) onTrial(window time.Duration) {
	if window <= 0 {
		return
	}
	a := o.Action
	t := state.Trial{From: a.From, Target: a.Target, Row: a.Row, Triggers: a.Triggers, CheckAt: o.view.now.Add(window)}
	if before := o.Trial; before != nil {
		t.From, t.Row, t.Triggers, t.CheckAt = before.From, before.Row, before.Triggers, before.CheckAt
	}
	o.Trial = &t
}

// endTrial ends the trial by what the last tick says.
func (o *outcome) endTrial() {
	o.save()
	trial, t := *o.Trial, &o.view.tick
	o.Trial = nil
	message := "the workers came, and what asked for them still asks"
	if t.changed(&trial) {
		o.Tried = nil
	} else {
		message = "the workers came, and what asked for them has not changed"
		o.Tried = append(slices.Clone(o.Tried), scaling.Tried{From: trial.From, To: trial.Target, At: o.view.now})
		o.Tried = o.Tried[max(0, len(o.Tried)-maxTried):]
	}
	if len(o.Tried) >= maxIneffective {
		o.IneffectiveSince = o.view.now
		message += fmt.Sprintf(" (%s): the next action is held until %s", triedWords(o.Tried), scaling.At(o.view.now.Add(scaling.IneffectiveHold)))
	}
	if o.Action != nil && t.action == scaling.ScaleOut && t.asks(trial.Triggers, trial.Row) {
		o.tell(scaling.EventIneffectiveScaling, message, o.Action)
	}
}

// endHold ends what holds an action that begins: its hour is over, or an operator
// has resumed the scope, which also forgets what was tried.
func (o *outcome) endHold() {
	if !o.IneffectiveSince.IsZero() && o.view.resumedAfter(o.IneffectiveSince) {
		o.Tried = nil
	}
	o.IneffectiveSince = time.Time{}
}

// heldFor says which actions the next is held for, empty if it is not.
func (o *outcome) heldFor() string {
	tried := o.HeldFor(o.view.now, o.view.stored.Control.ResumedAt, o.view.stored.Global.ResumedAt)
	if len(tried) == 0 {
		return ""
	}
	return fmt.Sprintf("ineffective: the last actions (%s) brought workers and changed nothing of what asks for them; held until %s, or until the scope is resumed",
		triedWords(tried), scaling.At(o.IneffectiveSince.Add(scaling.IneffectiveHold)))
}

func triedWords(tried []scaling.Tried) string {
	var out []string
	for _, t := range tried {
		from := "unknown"
		if t.From != nil {
			from = fmt.Sprint(*t.From)
		}
		out = append(out, fmt.Sprintf("%s → %d", from, t.To))
	}
	return strings.Join(out, ", ")
}

// asks reports whether any of the conditions asks for workers at this tick, or
// the row that decided if no condition is known.
func (t *tick) asks(triggers []scaling.Condition, row scaling.RowID) bool {
	if len(triggers) == 0 {
		return t.row == row
	}
	return slices.ContainsFunc(triggers, func(c scaling.Condition) bool {
		_, ok := t.trigger(c.Name)
		return ok
	})
}

func (t *tick) trigger(name string) (scaling.Condition, bool) {
	i := slices.IndexFunc(t.triggers, func(c scaling.Condition) bool { return c.Name == name })
	if i < 0 {
		return scaling.Condition{}, false
	}
	return t.triggers[i], true
}

// cleared reports whether the tick knows that nothing of what asked for an
// action asks any more.
func (t *tick) cleared(a *scaling.Execution) bool {
	switch t.row {
	case "", scaling.RowWorkersUnknown, scaling.RowBlind, scaling.RowBlindIdle, scaling.RowShortageBlind:
		return false
	}
	return !t.asks(a.Triggers, a.Row)
}

// changed reports whether an action on trial has changed anything: a condition
// that asked for it is over or better, the workers that came are in use, or they
// are a part of what the first job of the queue needs at once.
func (t *tick) changed(trial *state.Trial) bool {
	if t.action != scaling.ScaleOut || !t.asks(trial.Triggers, trial.Row) {
		return true
	}
	saturation := false
	for _, before := range trial.Triggers {
		now, asks := t.trigger(before.Name)
		if !asks || better(now, before) {
			return true
		}
		saturation = saturation || before.Class == scaling.Saturation
	}
	return t.short || t.facts.Has(scaling.FactSlotTight) || !saturation && t.facts.Has(scaling.FactSaturated)
}

// better reports whether a condition has moved towards where it asks for nothing.
func better(now, before scaling.Condition) bool {
	if now.Value == nil || before.Value == nil || !now.Value.Known || !before.Value.Known {
		return false
	}
	if strings.HasPrefix(now.Comparison, "<") {
		return now.Value.Number > before.Value.Number
	}
	return now.Value.Number < before.Value.Number
}

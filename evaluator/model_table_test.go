package evaluator

import (
	"math"
	"slices"
	"time"

	"github.com/zeta-scaler/zeta-scaler/rules"
	"github.com/zeta-scaler/zeta-scaler/scaling"
)

// modelRow is a row of spec 1.7, as the text has it.
type modelRow struct {
	id     scaling.RowID
	action scaling.Action
	when   bool
	target int
}

// decidingRow tries the rows of spec 1.7 from top to bottom. The step policy's
// own target is filled in by the caller.
func (w *world) decidingRow(t int) modelRow {
	l := w.ticks[t].limits
	low, high := l.Bounds.Min, l.Bounds.Max
	current, known := w.current(t)
	booting := w.booting(t)
	probe := scaling.AddSaturating(current, max(booting, 1))
	usable, valid := w.usable(t), w.valid(t)
	looksIdle, idle := w.looksIdle(t), w.idle(t)
	settled := len(w.busyNames(t)) == 0 && booting == 0
	shortage := w.shortage(t)
	saturated, tight := w.classSustained(scaling.Saturation, t), w.classSustained(scaling.Capacity, t)
	quietAbove := looksIdle && current > low
	for _, r := range []modelRow{
		{scaling.RowPaused, scaling.NoAction, l.Paused, current},
		{scaling.RowApplicationMode, scaling.NoAction, l.Deployment == scaling.Application, current},
		{scaling.RowWorkersUnknown, scaling.NoAction, !known, 0},
		{scaling.RowBelowMin, scaling.ScaleOut, w.belowMin(t), low},
		{scaling.RowAboveMax, scaling.ScaleInCandidate, current > high && idle && settled, high},
		{scaling.RowAboveMaxBlocked, scaling.ScaleInBlocked, current > high, current},
		{scaling.RowWake, scaling.ScaleOut, current+booting == 0 && w.demandFor(t, w.rs.Step.SchedulerBacklog) && !w.guardUp(t), max(1, low)},
		{scaling.RowShortageBlind, scaling.ScaleOut, !usable && shortage, probe},
		{scaling.RowBlindIdle, scaling.ScaleInBlocked, !usable && quietAbove, current},
		{scaling.RowBlind, scaling.NoAction, !usable, current},
		{scaling.RowShortage, scaling.ScaleOut, shortage, 0},
		{scaling.RowSaturatedTight, scaling.ScaleOut, saturated && tight, 0},
		{scaling.RowSaturated, scaling.ScaleOut, saturated, 0},
		{scaling.RowTightWithDemand, scaling.ScaleOut, tight && w.demandSustained(t) && !w.guardUp(t), probe},
		{scaling.RowUnsatisfiable, scaling.NoAction, w.unsatisfiable(t), current},
		{scaling.RowTightAlone, scaling.NoAction, tight, current},
		{scaling.RowIdleShortage, scaling.ScaleInBlocked, quietAbove && w.any(func(s *rules.Signal) bool { return w.restless(s, t) }), current},
		{scaling.RowIdleStale, scaling.ScaleInBlocked, quietAbove && !valid, current},
		{scaling.RowIdleUnknown, scaling.ScaleInBlocked, quietAbove && w.idleUnknown(t), current},
		{scaling.RowIdleAtMin, scaling.NoAction, idle && current <= low, current},
		{scaling.RowIdleHeld, scaling.ScaleInBlocked, idle && !settled, current},
		{scaling.RowIdle, scaling.ScaleInCandidate, idle, max(low, current-w.surplus(t))},
		{scaling.RowSettling, scaling.NoAction, looksIdle, current},
	} {
		if r.when {
			return r
		}
	}
	return modelRow{scaling.RowSteady, scaling.NoAction, true, current}
}

// followsPolicy reports whether a row's target is the step policy's.
func followsPolicy(id scaling.RowID) bool {
	return id == scaling.RowShortage || id == scaling.RowSaturated || id == scaling.RowSaturatedTight
}

// need is how many workers the waiting jobs lack.
func (w *world) need(t int) (float64, bool) {
	unsatisfied, ok1 := w.number(w.rs.Workers.Unsatisfied, t)
	slots, ok2 := w.number(w.rs.Workers.Slots, t)
	if !ok1 || !ok2 || unsatisfied <= 0 || slots <= 0 {
		return 0, false
	}
	return math.Ceil(unsatisfied / slots), true
}

func (w *world) toUnit(n float64) float64 {
	unit := float64(w.rs.Step.Unit)
	return math.Ceil(n/unit) * unit
}

// modelRamp is the round of policy exponential that is going on.
type modelRamp struct {
	on         bool
	began      time.Time
	base, size int
	target     int
	cut        bool
}

// verdicts gives every tick's verdict, generations included.
func (w *world) verdicts() []verdict {
	var out []verdict
	var ramp modelRamp
	for t := range w.ticks {
		v := w.verdictAt(t, &ramp)
		out = append(out, v)
	}
	w.numberGenerations(out)
	return out
}

func (w *world) verdictAt(t int, ramp *modelRamp) verdict {
	row := w.decidingRow(t)
	v := verdict{Row: row.id, Action: row.action, Valid: w.valid(t), Stale: w.stale(t), Strong: row.id == scaling.RowSaturatedTight}
	bounds := w.ticks[t].limits.Bounds
	current, known := w.current(t)
	target := row.target
	if followsPolicy(row.id) {
		target = w.policy(t, ramp)
	}
	if row.id == scaling.RowBelowMin || !w.shortage(t) && !w.classSustained(scaling.Saturation, t) {
		*ramp = modelRamp{}
	}
	if row.action == scaling.ScaleOut || row.action == scaling.ScaleInCandidate {
		target = max(bounds.Min, min(target, bounds.Max))
	}
	atMax := row.action == scaling.ScaleOut && current == bounds.Max
	nextRound := row.action == scaling.ScaleOut && !atMax && target <= current
	if atMax || nextRound {
		v.Action, target = scaling.NoAction, current
	}
	if known {
		v.Target = &target
	}
	for i := range w.rs.Signals {
		s := &w.rs.Signals[i]
		if s.Class != scaling.Guard && w.outSustained(s, t) {
			v.Triggers = append(v.Triggers, s.Name)
		}
	}
	v.Blockers = w.blockers(t, row, v.Action, atMax, nextRound)
	slices.Sort(v.Blockers)
	v.Windows = w.progress(t)
	return v
}

// progress is what is shown of every window.
func (w *world) progress(t int) []string {
	truths := map[mark]string{markTrue: "true", markFalse: "false", markUnknown: "unknown", markGone: "unknown"}
	var out []string
	add := func(s *rules.Signal, d scaling.Direction, m mark, sustained bool, ticks int) {
		held := (time.Duration(ticks) * w.rs.Interval).Seconds()
		out = append(out, progress(s.Name, d, truths[m], sustained, held))
	}
	for i := range w.rs.Signals {
		s := &w.rs.Signals[i]
		if s.Out != nil {
			win := w.outWindow(s, t)
			add(s, scaling.Out, win.marks[t], win.sustained(t), win.held(t))
		}
		if s.In != nil {
			held, _ := w.inHeld(s, t)
			add(s, scaling.In, w.mark(s, s.In, t), w.inSustained(s, t), held)
		}
	}
	return out
}

// policy is the step policy's target, before the bounds (spec 1.8).
func (w *world) policy(t int, ramp *modelRamp) int {
	current, _ := w.current(t)
	booting := w.booting(t)
	if !w.valid(t) {
		return scaling.AddSaturating(current, max(booting, 1))
	}
	step := w.rs.Step
	switch step.Policy {
	case rules.StepDemand:
		size := 1
		if need, ok := w.need(t); ok {
			size = int(min(w.toUnit(need), float64(step.MaxStep)))
		}
		return scaling.AddSaturating(current, max(booting, size))
	case rules.StepExponential:
		if !ramp.on || w.ticks[t].at.Sub(ramp.began) >= step.SustainedBacklog {
			*ramp = w.nextRound(t, ramp)
		}
		return ramp.target
	default:
		return scaling.AddSaturating(current, max(booting, step.Workers))
	}
}

// nextRound begins a round of policy exponential: 1, 2, 4, 8 … units.
func (w *world) nextRound(t int, before *modelRamp) modelRamp {
	current, _ := w.current(t)
	base := current + w.booting(t)
	size := w.rs.Step.Unit
	if before.on && !before.cut {
		size = before.size
		if base-before.base >= before.size {
			size *= 2
		}
	}
	r := modelRamp{on: true, began: w.ticks[t].at, base: base, size: size, target: base + size}
	if need, ok := w.need(t); ok {
		r.cutAt(max(current+int(w.toUnit(need)), base))
	}
	r.cutAt(max(w.ticks[t].limits.Bounds.Max, base))
	return r
}

// cutAt ends a round at the need or at max: the next one starts at one unit.
func (r *modelRamp) cutAt(limit int) {
	if r.target > limit {
		r.target, r.cut = limit, true
	}
}

func (w *world) blindNames(t int) []string {
	var names []string
	stale := w.stale(t)
	current, currentKnown := w.current(t)
	_, reportingKnown := w.reporting(t)
	if stale != nil && (*stale > 0 || !w.covered(t)) {
		names = append(names, scaling.BlockerMetricsStale)
	}
	noSaturation := currentKnown && current > 0 && !w.any(func(s *rules.Signal) bool { return s.Class == scaling.Saturation && w.known(s, t) })
	if !reportingKnown || w.requiredUnknown(t) || w.idleUnknown(t) || noSaturation {
		names = append(names, scaling.BlockerMetricsMissing)
	}
	if w.mode(t) == scaling.UnknownSlots {
		names = append(names, scaling.BlockerSlotModeUnknown)
	}
	return names
}

func (w *world) blockers(t int, row modelRow, action scaling.Action, atMax, nextRound bool) []string {
	switch {
	case atMax:
		return []string{scaling.BlockerMaxWorkers}
	case nextRound:
		return []string{scaling.BlockerNextRound}
	case action == scaling.ScaleOut:
		return w.busyNames(t)
	}
	switch row.id {
	case scaling.RowPaused, scaling.RowApplicationMode, scaling.RowWorkersUnknown:
		return []string{string(row.id)}
	case scaling.RowUnsatisfiable:
		return w.names(func(s *rules.Signal) bool {
			return s.Class == scaling.Guard && w.holdsAnything(s) && w.outSustained(s, t)
		})
	case scaling.RowIdleShortage:
		return w.names(func(s *rules.Signal) bool { return w.restless(s, t) })
	case scaling.RowBlind, scaling.RowBlindIdle, scaling.RowIdleStale, scaling.RowIdleUnknown:
		return w.blindNames(t)
	case scaling.RowIdleHeld, scaling.RowAboveMaxBlocked:
		names := w.busyNames(t)
		if w.booting(t) > 0 {
			names = append(names, scaling.BlockerBooting)
		}
		return names
	case scaling.RowIdleAtMin:
		return []string{scaling.BlockerMinWorkers}
	}
	return nil
}

func (w *world) names(f func(*rules.Signal) bool) []string {
	var names []string
	for i := range w.rs.Signals {
		if f(&w.rs.Signals[i]) {
			names = append(names, w.rs.Signals[i].Name)
		}
	}
	return names
}

// numberGenerations numbers the generations of a published sequence (spec 1.9).
// Whatever is asked for when another Zeta master answers is asked for anew: it
// supersedes what was recommended before (spec 1.5).
func (w *world) numberGenerations(out []verdict) {
	var intent scaling.Intent
	unknowns, master := 0, ""
	for t := range out {
		target := 0
		if out[t].Target != nil {
			target = *out[t].Target
		}
		now := scaling.IntentOf(out[t].Action, target)
		unknowns++
		if out[t].Row != scaling.RowWorkersUnknown {
			unknowns = 0
		}
		failover := false
		if name, ok := w.master(t); ok && w.rs.Workers.Master != nil {
			failover = master != "" && name != master
			master = name
		}
		// A short loss of the count keeps the generation, unless it was another
		// master's.
		if t > 0 && unknowns > 0 && unknowns <= w.rs.GapTolerance && !failover {
			now = intent
		}
		failover = failover && now.Action != scaling.NoAction
		switch {
		case t == 0:
			out[t].Generation = 1
		case now != intent || failover:
			out[t].Generation = out[t-1].Generation + 1
		default:
			out[t].Generation = out[t-1].Generation
		}
		intent = now
	}
}

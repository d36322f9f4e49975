package evaluator

import (
	"math/bits"
	"time"

	"github.com/zeta-scaler/zeta-scaler/scaling"
)

// stamp is what the publisher adds to a decision.
type stamp struct {
	epoch       uint64
	tick        time.Time
	written     time.Time
	interval    time.Duration
	provisional bool
	next        published
	// overlay is nil in a replay, which has no actions.
	overlay *overlay
}

// evaluation renders a scope's newest decision for publication.
func (s *scopeState) evaluation(st *stamp) scaling.Evaluation {
	t := &s.tracks[0]
	d := &t.decision
	state := t.kept
	if st.provisional {
		state = t.provisional
	}
	l := &s.limits
	ev := scaling.Evaluation{
		Scope: s.Scope, Inputs: t.inputs(state, l), SlotMode: d.Mode,
		Mode: l.Mode, Deployment: l.Deployment, Paused: l.Paused,
		MinWorkers: l.Bounds.Min, MaxWorkers: bounded(l.Bounds.Max), Booting: d.booting, Facts: d.facts,
		TimedBounds: l.Timed, CooldownRemainingSeconds: remaining(l.CooldownUntil, st.tick),
		Interval: st.interval.Seconds(), Tick: st.tick, AskedAt: st.tick.Add(-t.member.RuleSet.QueryOffset), Provisional: st.provisional,
	}
	if d.ReportingKnown {
		n := d.Reporting // a copy: the next tick writes over the decision
		ev.ReportingWorkers = &n
	}
	if st.overlay != nil {
		ev.Execution, ev.Drain = st.overlay.latest(s.Key), st.overlay.latestDrain(s.Key)
	}
	if l.Paused {
		ev.Unpaused = s.unpaused(state)
		if !l.PausedSince.IsZero() {
			since := l.PausedSince
			ev.PausedSince = &since
		}
	}
	if !st.provisional {
		ev.Next = s.forecast(state)
	}
	ev.Recommendation = s.recommendation(st, state)
	for i := range s.tracks[1:] {
		ev.Shadows = append(ev.Shadows, s.shadow(&s.tracks[i+1], st, d))
	}
	return ev
}

func (s *scopeState) recommendation(st *stamp, state *State) scaling.Recommendation {
	t := &s.tracks[0]
	d, l := &t.decision, &s.limits
	row := &table[d.Row]
	r := scaling.Recommendation{
		Scope: s.Key, MasterEpoch: st.epoch, Generation: st.next.generation,
		RecommendationID: scaling.RecommendationID(st.epoch, st.next.generation, s.Key),
		Action:           d.Action, Strength: row.strength, Row: row.id, Reason: t.reason(&s.Scope, state, l),
		TriggerConditions: t.triggers(state, l), BlockingConditions: t.blockerConditions(state, l),
		MetricsSnapshot: t.snapshot(), MetricsValid: d.has(scaling.FactMetricsValid),
		RecommendationOnly: l.Mode != scaling.Webhook && l.Mode != scaling.Direct,
		RuleSet:            t.ruleSet(),
		ObservedAt:         st.tick, Timestamp: st.written, Since: st.next.since,
		ValidUntil: st.tick.Add(3 * st.interval),
	}
	if d.has(scaling.FactCurrentKnown) {
		n := d.current
		r.CurrentWorkers = &n
	}
	if d.TargetKnown {
		n := d.Target
		r.RecommendedWorkers = &n
	}
	if d.StaleKnown() {
		n := d.Stale
		r.StaleWorkerCount = &n
	}
	return r
}

func (t *track) ruleSet() scaling.RuleSetRef {
	rs := t.member.RuleSet
	return scaling.RuleSetRef{Name: rs.Name, Version: rs.Version, Digest: rs.Digest}
}

// triggers are all sustained scale-out conditions but those of guards.
func (t *track) triggers(state *State, l *scaling.Limits) []scaling.Condition {
	out := []scaling.Condition{}
	for i := range t.member.signals {
		if t.decision.OutSustained&^t.member.guards&t.member.signals[i].bit != 0 {
			out = append(out, t.condition(i, scaling.Out, state, l))
		}
	}
	return out
}

// shown is a signal's value as people see it: one that the slot mode takes out
// of the decision has none (spec 1.6).
func (t *track) shown(i int) Reading {
	sig, d := &t.member.signals[i], &t.decision
	if d.Applies&sig.bit == 0 && len(sig.SlotModes) > 0 && !appliesIn(sig, d.Mode) {
		return unknown(NotApplicable)
	}
	return t.samples.Signals[i]
}

func (t *track) inputs(state *State, l *scaling.Limits) []scaling.Input {
	out := make([]scaling.Input, len(t.member.signals))
	// All windows in one piece, one per condition.
	windows := make([]scaling.Window, 0, bits.OnesCount64(t.member.hasOut)+bits.OnesCount64(t.member.hasIn))
	for i := range t.member.signals {
		sig, first := &t.member.signals[i], len(windows)
		r := t.shown(i)
		in := scaling.Input{
			Name: sig.Name, Class: sig.Class, Unit: sig.Unit, Export: sig.Export,
			Value: r.value(), Applies: t.decision.Applies&sig.bit != 0,
		}
		if !r.Known {
			in.Reason = r.Why.String()
		}
		if sig.Out != nil {
			windows = append(windows, t.window(i, scaling.Out, state, l))
		}
		if sig.In != nil {
			windows = append(windows, t.window(i, scaling.In, state, l))
		}
		if n := len(windows); n > first {
			in.Windows = windows[first:n:n]
		}
		out[i] = in
	}
	return out
}

// snapshot lists every input by name; the workers' inputs carry the name that
// they have in the rule set.
func (t *track) snapshot() map[string]scaling.Measurement {
	m, s := t.member, &t.samples
	out := make(map[string]scaling.Measurement, len(m.signals)+7)
	add := func(name, unit string, r Reading) {
		v := scaling.Measurement{Value: r.value(), Unit: unit}
		if !r.Known {
			v.Reason = r.Why.String()
		}
		out[name] = v
	}
	add("workers.current", "workers", s.Current)
	add("workers.reporting", "workers", s.Reporting)
	if m.slots != noQuery {
		add("workers.slots", scaling.UnitSlots, s.Slots)
	}
	if m.unsatisfied != noQuery {
		add("workers.unsatisfied", scaling.UnitSlots, s.Unsatisfied)
	}
	if m.free != noQuery {
		add(scaling.InputFree, scaling.UnitSlots, s.Free)
	}
	if m.sources != noQuery {
		add("workers.sources", "clusters", s.Sources)
	}
	if m.slotMode != noQuery {
		add("slot_mode", "ratio", s.SlotMode)
	}
	for i := range m.signals {
		add(m.signals[i].Name, m.signals[i].Unit, t.shown(i))
	}
	return out
}

func (s *scopeState) shadow(t *track, st *stamp, active *Decision) scaling.Shadow {
	d := &t.decision
	state := t.kept
	if st.provisional {
		state = t.provisional
	}
	sh := scaling.Shadow{
		RuleSet: t.ruleSet(), Action: d.Action, Row: d.RowID(), Reason: t.reason(&s.Scope, state, &s.limits),
		Agrees: d.Action == active.Action && d.Target == active.Target && d.TargetKnown == active.TargetKnown,
	}
	if d.TargetKnown {
		n := d.Target
		sh.RecommendedWorkers = &n
	}
	return sh
}

func bounded(n int) *int {
	if n == scaling.Unbounded {
		return nil
	}
	return &n
}

func remaining(until, now time.Time) float64 {
	return max(0, until.Sub(now).Seconds())
}

package evaluator

import "github.com/zeta-scaler/zeta-scaler/scaling"

// unpaused is what the tick would have decided if nobody had paused the scope:
// the windows go on while it is paused, so the table is only asked again.
func (s *scopeState) unpaused(state *State) *scaling.Outlook {
	t := s.tracks[0]
	scratch, limits := t.member.NewState(), s.limits
	scratch.CopyFrom(state)
	limits.Paused = false
	d := &t.decision
	d.facts &^= scaling.FactPaused
	d.Blockers, d.BlockingSignals = 0, 0
	t.member.pickRow(d, scratch, &t.samples, state.At)
	out := &scaling.Outlook{Action: d.Action, Row: d.RowID(), Reason: t.reason(&s.Scope, scratch, &limits)}
	if d.TargetKnown {
		n := d.Target
		out.RecommendedWorkers = &n
	}
	return out
}

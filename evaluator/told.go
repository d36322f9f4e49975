package evaluator

import (
	"slices"
	"time"

	"github.com/zeta-scaler/zeta-scaler/scaling"
	"github.com/zeta-scaler/zeta-scaler/state"
)

// toldLimits are the limits of a scope that everybody was told of. They are stored:
// what changes while nobody leads is told by the next leader.
func toldLimits(l *scaling.Limits) *state.ToldLimits {
	out := &state.ToldLimits{MinWorkers: l.Bounds.Min, Mode: l.Mode, Timed: l.Timed, Conflicts: l.Conflicts}
	if l.Bounds.Max != scaling.Unbounded {
		out.MaxWorkers = &l.Bounds.Max
	}
	return out
}

// sameLimits reports whether there is nothing new to tell, or to store.
func sameLimits(told *state.ToldLimits, is *scaling.Limits) bool {
	return told != nil && boundsTold(told) == (scaling.Bounds{Min: is.Bounds.Min, Max: is.Bounds.Max}) && told.Mode == is.Mode &&
		slices.EqualFunc(told.Timed, is.Timed, sameTimed) && slices.Equal(told.Conflicts, is.Conflicts)
}

// sameTimed compares as what was stored is compared: instants, not their zones.
func sameTimed(a, b scaling.TimedBound) bool {
	same := a.Until.Equal(b.Until) && a.Since.Equal(b.Since)
	a.Until, a.Since = b.Until, b.Since
	return same && a == b
}

func boundsTold(told *state.ToldLimits) scaling.Bounds {
	b := scaling.Bounds{Min: told.MinWorkers, Max: scaling.Unbounded}
	if told.MaxWorkers != nil {
		b.Max = *told.MaxWorkers
	}
	return b
}

// limitsChange is what has changed of a scope's limits since somebody was told of
// them, nil if nothing has, or if nothing is known of the time before and there is
// nothing wrong with them.
func (s *scopeState) limitsChange(now time.Time) *scaling.LimitsChange {
	is, told := &s.limits, s.told
	if told == nil {
		if len(is.Conflicts) == 0 {
			return nil
		}
		told = toldLimits(is)
		told.Conflicts = nil
	}
	was := boundsTold(told)
	if was.Min == is.Bounds.Min && was.Max == is.Bounds.Max && told.Mode == is.Mode && slices.Equal(told.Conflicts, is.Conflicts) {
		return nil
	}
	c := &scaling.LimitsChange{
		Before: was, After: is.Bounds, ModeBefore: told.Mode, Mode: is.Mode, Timed: is.Timed, Conflicts: is.Conflicts,
	}
	for _, b := range told.Timed {
		still := slices.ContainsFunc(is.Timed, func(t scaling.TimedBound) bool { return sameTimed(t, b) })
		if !now.Before(b.Until) && !still {
			c.Ended = append(c.Ended, b)
		}
	}
	return c
}

package api

import (
	"slices"
	"time"

	"github.com/zeta-scaler/zeta-scaler/scaling"
)

// Need is why a scope may need a person.
type Need string

// The needs, the most pressing first. A scope can have several.
const (
	// NeedFailed: an action or a drain has failed.
	NeedFailed Need = "failed"
	// NeedStuck: what is called for cannot happen by itself.
	NeedStuck Need = "stuck"
	// NeedUnknown: nobody knows how many workers there are.
	NeedUnknown Need = "unknown"
	// NeedAtMax: more workers are called for than there may be.
	NeedAtMax Need = "at_max"
	// NeedPaused: somebody has paused it.
	NeedPaused Need = "paused"
	// NeedInvalid: the metrics are not valid.
	NeedInvalid Need = "invalid"
)

// needsInOrder lists them all.
func needsInOrder() []Need {
	return []Need{NeedFailed, NeedStuck, NeedUnknown, NeedAtMax, NeedPaused, NeedInvalid}
}

// words are what people read.
func (n Need) words() string {
	switch n {
	case NeedFailed:
		return "failed"
	case NeedStuck:
		return "blocked for good"
	case NeedUnknown:
		return "unknown workers"
	case NeedAtMax:
		return "at maximum"
	case NeedPaused:
		return "paused"
	default:
		return "metrics not valid"
	}
}

// needsOf are those of one scope, in order.
func needsOf(ev *scaling.Evaluation, st *standing, now time.Time) []Need {
	r := &ev.Recommendation
	var out []Need
	add := func(n Need, holds bool) {
		if holds {
			out = append(out, n)
		}
	}
	add(NeedFailed, st.failure(ev, now) != nil || st.drainFailed(ev, now) != nil)
	add(NeedStuck, r.Row == scaling.RowUnsatisfiable || r.HeldBy(scaling.BlockerOtherWriter) || r.HeldBy(scaling.BlockerIneffective))
	add(NeedUnknown, r.CurrentWorkers == nil)
	add(NeedAtMax, r.HeldBy(scaling.BlockerMaxWorkers))
	add(NeedPaused, st.paused(ev, now))
	add(NeedInvalid, !r.MetricsValid && r.CurrentWorkers != nil)
	return out
}

// rank is the place of the most pressing need, after all others for none.
func rank(needs []Need) int {
	if len(needs) == 0 {
		return len(needsInOrder())
	}
	return slices.Index(needsInOrder(), needs[0])
}

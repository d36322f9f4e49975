package actuators

import (
	"fmt"
	"slices"
	"time"

	"github.com/zeta-scaler/zeta-scaler/scaling"
	"github.com/zeta-scaler/zeta-scaler/state"
)

// inventory is the recent past of Zeta's inventory: ever fewer workers, each
// entry with the last tick that showed so many. One reading alone says little:
// while a master changes, a cluster of 20 lists 1.
type inventory []state.Seen

// followedBy adds a tick and drops what is older than window.
func (v inventory) followedBy(workers int, at time.Time, window time.Duration) inventory {
	var out inventory
	for _, e := range v {
		// No entry is of the future, whatever the clock was when it was made.
		if e.At.After(at) {
			e.At = at
		}
		if e.Workers > workers && at.Sub(e.At) < window {
			out = append(out, e)
		}
	}
	return append(out, state.Seen{Workers: workers, At: at})
}

// most is the entry with the most workers that is younger than window, zero if
// there is none. gone says how many of an entry's workers were removed since.
func (v inventory) most(now time.Time, window time.Duration, gone func(at time.Time) int) (most state.Seen) {
	for _, e := range v {
		if now.Sub(e.At) >= window {
			continue
		}
		if e.Workers -= gone(e.At); e.Workers > most.Workers {
			most = e
		}
	}
	return most
}

// counts reports whether the entries are those of other, whenever they were.
func (v inventory) counts(other []state.Seen) bool {
	return slices.EqualFunc(v, other, func(a, b state.Seen) bool { return a.Workers == b.Workers })
}

// remembers reports whether the inventory's past is kept in the store: where the
// platform could be asked to go below what it has, and cannot be observed.
func (v *view) remembers() bool {
	return v.listed() && v.cfg.Actuator != nil && !v.can.Observes && !v.can.DryRun
}

// missing says why target is not asked of a platform that cannot be observed:
// not long ago there were as many workers or more, which such a request would
// take away. until is when they are no longer counted.
func (v *view) missing(target int) (why string, until time.Time) {
	if !v.remembers() {
		return "", time.Time{}
	}
	window := v.cfg.ConvergenceTimeout
	most := v.tick.seen.most(v.now, window, v.gone)
	if most.Workers == 0 || most.Workers < target {
		return "", time.Time{}
	}
	if most.At.After(v.now) {
		most.At = v.now
	}
	until = most.At.Add(window)
	ago := max(0, v.now.Sub(most.At)).Round(time.Second)
	switch n := v.tick.workers; {
	case n == nil:
		return fmt.Sprintf("%s there %s ago, and how many answer now is not known", were(most.Workers), ago), until
	case *n >= target:
		return fmt.Sprintf("the inventory shows %s already", scaling.Counted(*n, "worker")), until
	default:
		return fmt.Sprintf("%s there %s ago, %d %s now", were(most.Workers), ago, *n, scaling.Plural(*n, "answers", "answer")), until
	}
}

// were says of so many workers that they were.
func were(n int) string { return scaling.Counted(n, "worker") + scaling.Plural(n, " was", " were") }

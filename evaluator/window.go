package evaluator

import "github.com/zeta-scaler/zeta-scaler/scaling"

// window is how long a condition has to hold and what may interrupt it. All
// durations are in milliseconds of tick time, rounded up to whole ticks.
type window struct {
	// need is how far apart first and last true tick must be.
	need int64
	// gap is the longest run of unknown ticks that is bridged; 0 bridges none.
	gap int64
	// keep is keep_firing_for.
	keep int64
}

// run is the scale-out side of a condition over time (spec 1.4). The zero
// value has not begun.
//
//	off ──true──▶ on ──true, last − first ≥ need──▶ full
//	 ▲             │                                  │
//	 └─false, or unknown for longer than gap──────────┘ (false: keeping for keep)
type run struct {
	on          bool
	full        bool
	first, last int64
	// whole is true once a tick was seen that ends every run: one that begins
	// later is known from its first tick on.
	whole bool
	// keeping holds from falseAt for keep_firing_for: the false tick directly
	// after a full run began it.
	keeping bool
	falseAt int64
}

// next folds one tick into the run.
func (r run) next(t scaling.Truth, at int64, w window) run {
	switch t {
	case scaling.True:
		if !r.on {
			r.on, r.first = true, at
		}
		r.last = at
		r.full = r.last-r.first >= w.need
	case scaling.False:
		if r.full && w.keep > 0 {
			r.keeping, r.falseAt = true, at
		}
		r.on, r.full, r.whole = false, false, true
	default:
		// A bridged tick neither starts a run nor fills one, so full stays as
		// it was on the last true tick.
		if r.on && at-r.last > w.gap {
			r.on, r.full = false, false
		}
	}
	if r.keeping && at-r.falseAt >= w.keep {
		r.keeping = false
	}
	return r
}

// sustained is the window's verdict at the tick that was folded last.
func (r run) sustained() bool { return r.full || r.keeping }

// keptOnly reports whether keep_firing_for alone sustains the condition.
func (r run) keptOnly() bool { return r.keeping && !r.full }

// heldFor is for how long the run has gone on at the given tick, 0 if it has
// not begun.
func (r run) heldFor(at int64) int64 {
	if !r.on {
		return 0
	}
	return at - r.first
}

// sinceOrigin reports whether the run may be older than it looks: between the
// first tick that was read and its own first one nothing could have ended it.
func (r run) sinceOrigin(origin, gap int64) bool {
	return r.on && !r.whole && r.first-origin <= gap
}

// lasted reports whether the run, at its last true tick, had gone on for need.
func (r run) lasted(need int64) bool { return r.on && r.last-r.first >= need }

// quiet is the scale-in side of a condition: a run that the slightest doubt
// interrupts.
type quiet struct {
	on    bool
	first int64
}

// next folds one tick; restart begins the run anew at this tick.
func (q quiet) next(isTrue, restart bool, at int64) quiet {
	if !isTrue {
		return quiet{}
	}
	if !q.on || restart {
		return quiet{on: true, first: at}
	}
	return q
}

func (q quiet) lasted(at, need int64) bool { return q.on && at-q.first >= need }

func (q quiet) heldFor(at int64) int64 {
	if !q.on {
		return 0
	}
	return at - q.first
}

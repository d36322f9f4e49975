package evaluator

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/zeta-scaler/zeta-scaler/rules"
)

// maxRampGap is the longest gap, in ticks, over which a ramp is followed; a
// longer one begins a new ramp.
const maxRampGap = 1000

// catchUp folds the ticks since the last kept one from one range query per
// expression, or everything that the windows reach back to. An expression whose
// range fails is unknown over those ticks, as it would have been live; the
// newest tick has its instant answer. It does nothing and returns false if no
// range of the active rule set can be had, or none that the windows lack.
func (r *runner) catchUp(ctx context.Context, instant []column, at int64) bool {
	g := r.group
	step := g.interval.Milliseconds()
	from, fresh := r.catchUpFrom(at)
	qctx, cancel := context.WithTimeout(ctx, r.restoreTimeout())
	defer cancel()
	cols := askRange(qctx, r.Source, g.queries, time.UnixMilli(from), time.UnixMilli(at), g.interval, r.QueryConcurrency)
	if ctx.Err() != nil {
		return false
	}
	failed, err := g.failedQueries(cols)
	r.noteRestore(at, err)
	if len(failed) == len(g.active().queries) {
		return false
	}
	if g.hasKept && g.keptAt == at-step && !r.holes.smaller(failed) {
		return false // nothing would be won
	}
	ramps, kept := r.savedRamps()
	if fresh {
		g.restart()
		r.begin(from)
		r.holes = holes{}
	}
	newest := slices.Clone(cols)
	for q := range newest {
		if newest[q].failed {
			newest[q] = instant[q]
		}
	}
	for t := from; t <= at; t += step {
		if fresh && t > kept {
			g.setRamps(ramps)
			ramps = nil
		}
		if t == at {
			cols = newest
		}
		g.foldFinal(cols, t)
	}
	lookback := g.lookback(time.UnixMilli(at)).Milliseconds()
	for _, q := range failed {
		r.holes.add(q, at, step, lookback)
	}
	return true
}

// catchUpFrom is the first tick that has to be folded, and whether everything
// before it is forgotten.
func (r *runner) catchUpFrom(at int64) (from int64, fresh bool) {
	g := r.group
	step := g.interval.Milliseconds()
	lookback := g.lookback(time.UnixMilli(at)).Milliseconds()
	reach := lookback
	if r.ramps() {
		// Only a fold over every tick tells how far a ramp would have got.
		reach = max(reach, maxRampGap*step)
	}
	if g.hasKept && g.keptAt < at && at-g.keptAt <= reach && r.holes.none() {
		return g.keptAt + step, false
	}
	from = at - lookback
	if kept := r.lastKept(); r.ramps() && kept < at && kept > at-lookback {
		// The stored ramp belongs to the tick that it was kept at, so the
		// windows have to be whole by then.
		from = kept - lookback
	}
	return from, true
}

// restoreTimeout is how long the tick may wait for its windows. A start has all
// the time that a query may take, as nothing is known before. Later the tick is
// published without them when the next one is due; and well before, once that
// has happened, because a server that hangs will do so again.
func (r *runner) restoreTimeout() time.Duration {
	switch g := r.group; {
	case r.troubles.restore.Present():
		return g.interval / 2
	case g.hasKept || g.hasProv:
		return g.interval
	default:
		return max(r.QueryTimeout, g.interval)
	}
}

// begin marks where a restore starts to read.
func (r *runner) begin(from int64) {
	r.group.restoredFrom = from
	for _, s := range r.group.scopes.sorted {
		if s.first == notBegun {
			s.first, s.lastSeen = from, max(s.lastSeen, from)
		}
		for i := range s.tracks {
			s.tracks[i].kept.Restored = true
		}
	}
}

// ramps reports whether any rule set keeps a ramp over ticks.
func (r *runner) ramps() bool {
	for _, m := range r.group.members {
		if m.RuleSet.Step.Policy == rules.StepExponential {
			return true
		}
	}
	return false
}

// lastKept is the newest tick at which the ramps are known.
func (r *runner) lastKept() int64 {
	if r.group.hasKept {
		return r.group.keptAt
	}
	return r.storedKept
}

// savedRamps are the active tracks' ramps, which Prometheus cannot give back.
func (r *runner) savedRamps() (map[*scopeState]Ramp, int64) {
	out := map[*scopeState]Ramp{}
	for _, s := range r.group.scopes.sorted {
		ramp := s.published.ramp
		if r.group.hasKept {
			ramp = s.tracks[0].kept.Ramp
		}
		if ramp.Active {
			out[s] = ramp
		}
	}
	return out, r.lastKept()
}

func (g *group) setRamps(ramps map[*scopeState]Ramp) {
	for s, ramp := range ramps {
		s.tracks[0].kept.Ramp = ramp
	}
}

// noteRestore counts every restore that failed, wholly or for some expressions.
func (r *runner) noteRestore(at int64, err error) {
	if errors.Is(err, context.Canceled) {
		return
	}
	if err != nil {
		r.Instruments.Failed("restore")
	}
	r.troubles.restore.Note(err, "tick", time.UnixMilli(at).UTC())
}

package evaluator

import (
	"time"
)

// restart forgets every window: the next fold begins from nothing.
func (g *group) restart() {
	for _, s := range g.scopes.sorted {
		for i := range s.tracks {
			t := &s.tracks[i]
			t.kept = t.member.NewState()
		}
	}
	g.hasKept, g.hasProv, g.provAnswered = false, false, 0
}

// foldFinal folds one tick into the kept state of every scope that exists.
func (g *group) foldFinal(cols []column, at int64) {
	g.fill(cols, at)
	for _, s := range g.scopes.sorted {
		if s.first > at {
			continue
		}
		s.limits = g.limitsOf(s, time.UnixMilli(at))
		for i := range s.tracks {
			t := &s.tracks[i]
			t.read(s.cells, cols)
			t.decision = t.member.Step(t.member.spare, t.kept, at, &t.samples, &s.limits)
			t.kept, t.member.spare = t.member.spare, t.kept
		}
	}
	g.keptAt, g.hasKept = at, true
	g.hasProv, g.provAnswered = false, 0
}

// foldProvisional decides one tick without touching what was kept. It goes on
// from the last provisional tick; ticks in between count as unknown.
func (g *group) foldProvisional(cols []column, at int64, limit int64) {
	step := g.interval.Milliseconds()
	from := at
	switch {
	case g.hasProv && at > g.provAt:
		from = g.provAt + step
	case g.hasKept && at > g.keptAt:
		from = g.keptAt + step
	}
	begin := !g.hasProv
	// Beyond the lookback every run has ended, so older ticks add nothing.
	from = max(from, at-limit)
	silent := make([]column, len(cols))
	for i := range silent {
		silent[i] = column{failed: true, failure: NoAnswer}
	}
	for t := from; t < at; t += step {
		g.stepProvisional(silent, t, begin)
		begin = false
	}
	g.stepProvisional(cols, at, begin)
	g.provAt, g.hasProv = at, true
	if g.silent(cols) {
		g.provAnswered = 0
	} else {
		g.provAnswered++
	}
}

func (g *group) stepProvisional(cols []column, at int64, begin bool) {
	g.fill(cols, at)
	for _, s := range g.scopes.sorted {
		if s.first > at {
			continue
		}
		s.limits = g.limitsOf(s, time.UnixMilli(at))
		for i := range s.tracks {
			t := &s.tracks[i]
			if t.provisional == nil {
				t.provisional = t.member.NewState()
			}
			base := t.provisional
			if begin || !base.Started {
				base = t.kept
			}
			t.read(s.cells, cols)
			t.decision = t.member.Step(t.member.spare, base, at, &t.samples, &s.limits)
			t.provisional, t.member.spare = t.member.spare, t.provisional
		}
	}
}

// promote makes the provisional state the kept one: it has been folded from
// answers for longer than any window reaches back.
func (g *group) promote() {
	for _, s := range g.scopes.sorted {
		for i := range s.tracks {
			t := &s.tracks[i]
			if t.provisional != nil { // a scope that is older than the provisional ticks
				t.kept, t.provisional = t.provisional, nil
			}
		}
	}
	g.keptAt, g.hasKept = g.provAt, true
	g.hasProv, g.provAnswered = false, 0
}

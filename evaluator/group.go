package evaluator

import (
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/prometheus/prometheus/model/labels"

	"github.com/zeta-scaler/zeta-scaler/rules"
	"github.com/zeta-scaler/zeta-scaler/scaling"
)

// maxScopes bounds discovery: an expression that leaks a label must not take
// the service down. It is twice what the service is built for.
const maxScopes = 20000

// maxOthers bounds how many scopes are remembered that were not asked for.
const maxOthers = 1000

// group evaluates all scopes of one active rule set. Its ticks are the set's; one
// query per expression serves every scope. It belongs to one goroutine.
type group struct {
	name     string
	interval time.Duration
	phase    time.Duration
	// members[0] is the active rule set.
	members []*member
	queries []Query
	scopes  *scopeTable
	// discover lets unlisted scopes in; configured are label sets that other
	// groups list.
	discover bool
	// discoverAny lets a sample of any query introduce a scope (rule tests).
	discoverAny bool
	shadows     []int
	configured  map[string]bool
	// only are the keys of the scopes that are let in; none is all.
	only []string
	// others are the keys of scopes that were not let in for that, at most maxOthers.
	others map[string]bool
	// limitsOf overlays a scope's limits for a tick.
	limitsOf func(*scopeState, time.Time) scaling.Limits
	// generationOf is the last generation of a scope that was there before.
	generationOf func(key string) uint64
	// keptAt is the tick of every track's kept state, if hasKept; provAt that
	// of the provisional ones, if hasProv. Unix milliseconds.
	keptAt, provAt int64
	// restoredFrom is where the newest restore began to read: what is as old
	// may be older.
	restoredFrom     int64
	hasKept, hasProv bool
	// refused counts samples of scopes beyond maxScopes at the newest tick.
	refused int
	// provAnswered counts the newest provisional ticks at which all queries were
	// answered.
	provAnswered int64
}

// newGroup compiles an active rule set and its shadows.
func newGroup(active *rules.RuleSet, shadows []*rules.RuleSet, interval time.Duration) (*group, error) {
	g := &group{
		name:       active.Name,
		interval:   interval,
		phase:      Phase(active.Name, interval),
		scopes:     newScopeTable(active.ScopeBy),
		configured: map[string]bool{},

		restoredFrom: math.MinInt64,
	}
	for _, rs := range append([]*rules.RuleSet{active}, shadows...) {
		p, err := Compile(rs, interval)
		if err != nil {
			return nil, err
		}
		if fmt.Sprint(rs.ScopeBy) != fmt.Sprint(active.ScopeBy) {
			return nil, fmt.Errorf("shadow %s has scope_by %v, expected %v as in the active rule set %s", rs.Name, rs.ScopeBy, active.ScopeBy, active.Name)
		}
		if err := g.addMember(p); err != nil {
			return nil, err
		}
	}
	return g, nil
}

func (g *group) addMember(p *Program) error {
	m := &member{Program: p, queries: make([]int, len(p.Queries)), spare: p.NewState()}
	for i, q := range p.Queries {
		m.queries[i] = g.queryIndex(q)
	}
	m.summary = make([]*summary, len(p.signals))
	for i := range p.signals {
		s, err := newSummary(p.signals[i].Signal)
		if err != nil {
			return fmt.Errorf("rule set %s, signal %s: %w", p.RuleSet.Name, p.signals[i].Name, err)
		}
		m.summary[i] = s
	}
	g.members = append(g.members, m)
	return nil
}

func (g *group) queryIndex(q Query) int {
	for i := range g.queries {
		if g.queries[i] == q {
			return i
		}
	}
	g.queries = append(g.queries, q)
	return len(g.queries) - 1
}

// active is the rule set that decides.
func (g *group) active() *member { return g.members[0] }

// lookback is how far back a restore has to read: the longest L of the members,
// under the scopes' floor delays. A floor that was restored resets the window of
// the demand, so where there is a floor delay the two may come one after the
// other, which L leaves out.
func (g *group) lookback(at time.Time) time.Duration {
	var floor, l time.Duration
	if b := g.active().RuleSet.Bounds; g.discover && b != nil {
		floor = b.FloorDelay // scopes that the restore is going to find
	}
	for _, s := range g.scopes.sorted {
		floor = max(floor, g.limitsOf(s, at).Bounds.FloorDelay)
	}
	for _, m := range g.members {
		l = max(l, m.Lookback(floor))
		if floor > 0 {
			l = max(l, time.Duration(m.ticks(floor))*time.Millisecond+m.demandLookback())
		}
	}
	return l
}

// newScope makes a scope with one track per rule set that evaluates it.
func (g *group) newScope(ls []scaling.Label, listed *ScopeConfig, shadows []int, first int64) *scopeState {
	s := &scopeState{
		Scope: scaling.NewScope(ls), listed: listed,
		cells: make([]cell, len(g.queries)), first: first, lastSeen: first,
	}
	for _, i := range append([]int{0}, shadows...) {
		m := g.members[i]
		s.tracks = append(s.tracks, track{
			member: m, kept: m.NewState(),
			samples: Samples{Signals: make([]Reading, len(m.signals))},
		})
		s.tracks[len(s.tracks)-1].kept.Restored = first == g.restoredFrom
	}
	s.limits = g.limitsOf(s, time.UnixMilli(first))
	s.published.generation = g.generationOf(s.Key)
	g.scopes.add(s)
	return s
}

// discoverScope lets a scope in that workers.current names for the first time.
func (g *group) discoverScope(ls labels.Labels, at int64) *scopeState {
	key, ok := g.scopes.lookupKey(ls)
	if !g.discover || !ok || g.configured[string(key)] {
		return nil
	}
	if len(g.only) > 0 {
		if key := scaling.NewScope(g.scopes.labelsOf(ls)).Key; !slices.Contains(g.only, key) {
			if len(g.others) < maxOthers {
				g.others[key] = true
			}
			return nil
		}
	}
	if len(g.scopes.sorted) >= maxScopes {
		g.refused++
		return nil
	}
	return g.newScope(g.scopes.labelsOf(ls), nil, g.shadows, at)
}

// fill sorts the samples of one tick into the scopes' cells.
func (g *group) fill(cols []column, at int64) {
	g.refused = 0
	for _, s := range g.scopes.sorted {
		clear(s.cells)
	}
	// Discovery is by workers.current, so that column goes first.
	current := g.active().queries[g.active().current]
	g.fillColumn(cols, current, at, true)
	for q := range cols {
		if q != current {
			g.fillColumn(cols, q, at, g.discoverAny)
		}
	}
}

func (g *group) fillColumn(cols []column, q int, at int64, discover bool) {
	col := &cols[q]
	instant := at - g.queries[q].Offset.Milliseconds()
	for i := range col.series {
		l := &col.series[i]
		v, ok := l.at(instant)
		if !ok {
			continue
		}
		if l.scope == nil {
			s, belongs := g.scopes.find(l.labels)
			if !belongs {
				g.scopes.ignored++
				continue
			}
			if s == nil && discover && !col.failed {
				s = g.discoverScope(l.labels, at)
			}
			if s == nil {
				continue
			}
			l.scope = s
		}
		if discover && !l.scope.stays() && at < l.scope.first {
			// A catch-up found it earlier than a tick without an answer did.
			l.scope.first = at
		}
		l.scope.put(q, v, l.labels, g.queries[q].Label, at)
	}
}

// put counts one sample of a scope.
func (s *scopeState) put(q int, v float64, ls labels.Labels, masterLabel string, at int64) {
	s.lastSeen = at
	c := &s.cells[q]
	if masterLabel != "" {
		name := ls.Get(masterLabel)
		if name == "" {
			return
		}
		c.master = name
	}
	c.v = v
	c.n++
}

// read turns a scope's cells into checked samples for one track.
func (t *track) read(cells []cell, cols []column) {
	m := t.member
	s := &t.samples
	s.Current = checkCount(m.reading(m.current, cells, cols))
	s.Reporting = checkCount(m.reading(m.reporting, cells, cols))
	s.Slots = m.reading(m.slots, cells, cols)
	s.Unsatisfied = m.reading(m.unsatisfied, cells, cols)
	s.SlotMode = checkRange(m.reading(m.slotMode, cells, cols), 0, 1)
	s.Master = ""
	if m.master != noQuery {
		q := m.queries[m.master]
		if c := cells[q]; c.n == 1 && !cols[q].failed {
			s.Master = c.master
		}
	}
	for i := range m.signals {
		sig := &m.signals[i]
		r := m.reading(sig.query, cells, cols)
		if !r.Known && r.Why == NoSample && sig.Absent == rules.AbsentZero {
			r = known(0)
		}
		if sig.Range != nil {
			r = checkRange(r, sig.Range[0], sig.Range[1])
		}
		s.Signals[i] = r
	}
	s.Free = m.reading(m.free, cells, cols)
	s.Sources = m.reading(m.sources, cells, cols)
	switch {
	case s.Sources.Known && s.Sources.V > 1:
		s.mixed()
	case s.Current.Known && s.Reporting.Known && s.Reporting.V > s.Current.V:
		// More report than there are: each is counted for every exporter, or some
		// are gone. Those that do not report would be hidden behind them.
		s.Reporting = unknown(TwoSources)
	}
}

// reading applies the rules of spec 1.3 that hold for every input.
func (m *member) reading(query int, cells []cell, cols []column) Reading {
	if query == noQuery {
		return unknown(NoSample)
	}
	q := m.queries[query]
	switch c := &cells[q]; {
	case cols[q].failed:
		return unknown(cols[q].failure)
	case c.n == 0:
		return unknown(NoSample)
	case c.n > 1:
		return unknown(DuplicateSeries)
	default:
		return newReading(c.v)
	}
}

package evaluator

import (
	"fmt"
	"math"
	"time"

	"github.com/zeta-scaler/zeta-scaler/rules"
	"github.com/zeta-scaler/zeta-scaler/scaling"
)

// maxSignals is the most signals a rule set can have: decisions are bit sets.
const maxSignals = 64

// noQuery marks an input that the rule set does not name.
const noQuery = -1

// Query is one PromQL expression that a program needs at every tick.
type Query struct {
	Expr   string
	Offset time.Duration
	// Label is set for workers.master: the label that names the master counts,
	// not the value.
	Label string
}

// Program is a rule set made ready to step: durations in ticks, signals in
// bit order. It is not changed after Compile and can be shared.
type Program struct {
	RuleSet  *rules.RuleSet
	Interval time.Duration
	// Queries are the distinct expressions; the indexes below point into it.
	Queries []Query

	current, reporting, master, slots, unsatisfied, free, sources, slotMode int

	signals  []signal
	interval int64
	gap      int64
	// Bit sets over signals.
	blocking, saturation, capacity, guards uint64
	hasOut, hasIn                          uint64
	required, speaksAgainst                uint64
	demand                                 int
	surplus                                uint64
	schedulerBacklog, sustainedBacklog     int64
	lookback                               int64
}

// signal is a rules.Signal with its windows in milliseconds.
type signal struct {
	*rules.Signal
	bit    uint64
	query  int
	out    window
	inNeed int64
	// holds are the blocking signals that a guard holds back.
	holds uint64
}

// Compile prepares a rule set for ticks that are interval apart. For an active
// set that is its own interval; a shadow is evaluated at the ticks of the active
// set. It fails only on sets that rules.Parse would have refused.
func Compile(rs *rules.RuleSet, interval time.Duration) (*Program, error) {
	if len(rs.Signals) > maxSignals {
		return nil, fmt.Errorf("rule set %s has %d signals, at most %d can be judged", rs.Name, len(rs.Signals), maxSignals)
	}
	if interval < time.Millisecond {
		return nil, fmt.Errorf("rule set %s: interval %s is too short", rs.Name, interval)
	}
	p := &Program{RuleSet: rs, Interval: interval, interval: interval.Milliseconds(), demand: noQuery}
	p.gap = int64(rs.GapTolerance) * p.interval
	p.current = p.query(rs.Workers.Current, "")
	p.reporting = p.query(rs.Workers.Reporting, "")
	p.master = p.query(rs.Workers.Master, rs.Workers.MasterLabel)
	p.slots = p.query(rs.Workers.Slots, "")
	p.unsatisfied = p.query(rs.Workers.Unsatisfied, "")
	p.free = p.query(rs.Workers.Free, "")
	p.sources = p.query(rs.Workers.Sources, "")
	p.slotMode = p.query(rs.SlotModeExpr, "")
	p.schedulerBacklog = p.ticks(rs.Step.SchedulerBacklog)
	p.sustainedBacklog = p.ticks(rs.Step.SustainedBacklog)
	for i := range rs.Signals {
		p.addSignal(&rs.Signals[i], uint64(1)<<i)
	}
	p.resolveHolds()
	p.lookback = p.computeLookback()
	return p, nil
}

// query returns the index of an expression, adding it if it is new.
func (p *Program) query(e *rules.Expr, label string) int {
	if e == nil {
		return noQuery
	}
	q := Query{Expr: e.Text, Offset: p.RuleSet.QueryOffset, Label: label}
	for i := range p.Queries {
		if p.Queries[i] == q {
			return i
		}
	}
	p.Queries = append(p.Queries, q)
	return len(p.Queries) - 1
}

// ticks rounds a duration up to whole ticks, in milliseconds.
func (p *Program) ticks(d time.Duration) int64 {
	ms := (d + time.Millisecond - 1).Milliseconds()
	return (ms + p.interval - 1) / p.interval * p.interval
}

func (p *Program) addSignal(s *rules.Signal, bit uint64) {
	c := signal{Signal: s, bit: bit, query: p.query(s.Expr, "")}
	switch s.Class {
	case scaling.Blocking:
		p.blocking |= bit
	case scaling.Saturation:
		p.saturation |= bit
	case scaling.Capacity:
		p.capacity |= bit
	case scaling.Guard:
		p.guards |= bit
	}
	if s.Out != nil {
		p.hasOut |= bit
		c.out = window{need: p.ticks(s.Out.For), keep: p.ticks(s.KeepFiringFor)}
		if s.Class == scaling.Blocking || s.Class == scaling.Guard {
			c.out.gap = p.gap
		}
	}
	if s.In != nil {
		p.hasIn |= bit
		c.inNeed = p.ticks(s.In.For)
	}
	if s.Required {
		p.required |= bit
	}
	if s.Surplus {
		p.surplus |= bit
	}
	if s.Demand {
		p.demand = len(p.signals)
	}
	if s.Class != scaling.Guard && (s.Out != nil || s.In != nil || s.Required || s.Demand) {
		p.speaksAgainst |= bit
	}
	p.signals = append(p.signals, c)
}

// resolveHolds turns the names of a guard's holds into bits; without a list a
// guard holds every blocking signal.
func (p *Program) resolveHolds() {
	for i := range p.signals {
		g := &p.signals[i]
		if g.Class != scaling.Guard {
			continue
		}
		if !g.HoldsSet {
			g.holds = p.blocking
			continue
		}
		for _, name := range g.Holds {
			for j := range p.signals {
				if p.signals[j].Name == name {
					g.holds |= p.signals[j].bit & p.blocking
				}
			}
		}
	}
}

// computeLookback is L of spec 1.2: what a restore has to read so that every
// window ends up as if it had never been interrupted.
func (p *Program) computeLookback() int64 {
	l := p.demandLookback().Milliseconds()
	for i := range p.signals {
		s := &p.signals[i]
		if s.Out != nil {
			l = max(l, s.out.need+s.out.keep+2*s.out.gap)
		}
		if s.In != nil {
			l = max(l, s.inNeed)
		}
	}
	return l
}

// demandLookback is what the window of the demand needs of it; 0 without one.
func (p *Program) demandLookback() time.Duration {
	if p.demand == noQuery {
		return 0
	}
	need := p.schedulerBacklog
	for i := range p.signals {
		if s := &p.signals[i]; s.Out != nil && s.Class == scaling.Capacity {
			need = max(need, s.out.need)
		}
	}
	return time.Duration(need+2*p.gap) * time.Millisecond
}

// Lookback is L of spec 1.2 under the given floor delay.
func (p *Program) Lookback(floorDelay time.Duration) time.Duration {
	return time.Duration(max(p.lookback, p.ticks(floorDelay))) * time.Millisecond
}

// Phase is where the ticks of a rule set lie within its interval. It depends
// on the name alone, so that replicas, restarts and backtests evaluate at the
// same instants (FNV-1a, as cheap as Prometheus' own group offset).
func Phase(name string, interval time.Duration) time.Duration {
	const offset, prime = 14695981039346656037, 1099511628211
	h := uint64(offset)
	for i := range len(name) {
		h = (h ^ uint64(name[i])) * prime
	}
	ms := uint64(max(interval.Milliseconds(), 1))
	return time.Duration(h%ms) * time.Millisecond
}

// TickAtOrBefore is the newest tick k·interval + phase that is not after t.
func TickAtOrBefore(t time.Time, interval, phase time.Duration) time.Time {
	step := interval.Milliseconds()
	x := t.UnixMilli() - phase.Milliseconds()
	k := x / step
	if x%step < 0 {
		k--
	}
	return time.UnixMilli(k*step + phase.Milliseconds()).UTC()
}

// NextTick is the first tick of any rule set in use after t, zero if none is.
func NextTick(cfg Config, t time.Time) time.Time {
	uses := usesOf(cfg)
	var next time.Time
	for _, rs := range cfg.RuleSets {
		if uses[rs.Name] == nil {
			continue
		}
		tick := TickAtOrBefore(t, rs.Interval, Phase(rs.Name, rs.Interval)).Add(rs.Interval)
		if next.IsZero() || tick.Before(next) {
			next = tick
		}
	}
	return next
}

// unitUp rounds n up to a multiple of unit without overflowing.
func unitUp(n, unit int) int {
	if unit <= 1 || n%unit == 0 {
		return n
	}
	if n > math.MaxInt-unit {
		return math.MaxInt
	}
	return (n/unit + 1) * unit
}

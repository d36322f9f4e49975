package evaluator

import (
	"math"
	"slices"
	"time"

	"github.com/zeta-scaler/zeta-scaler/scaling"
)

// State is what one scope's windows remember between ticks. Make it with
// NewState; its slices have one element per signal.
type State struct {
	// At is the tick that was folded last and Origin the first one, Unix
	// milliseconds; both are meaningless until Started.
	At, Origin int64
	Started    bool
	// Restored is true when Origin is where a restore began to read, so that
	// what reaches back to it may be older.
	Restored bool

	out    []run
	in     []quiet
	demand run
	floor  quiet
	Ramp   Ramp
	master string
	mode   scaling.SlotMode
	// decision is Step's work space: the table's predicates are called through
	// function values, so a local variable would be allocated at every tick.
	decision Decision
}

// NewState returns the state of a scope that nothing is known about.
func (p *Program) NewState() *State {
	return &State{out: make([]run, len(p.signals)), in: make([]quiet, len(p.signals))}
}

// CopyFrom makes s equal to o without allocating.
func (s *State) CopyFrom(o *State) {
	out, in := s.out, s.in
	*s = *o
	s.out, s.in = out, in
	copy(s.out, o.out)
	copy(s.in, o.in)
}

// Decision is the flat outcome of one tick of one scope. Bit sets are over the
// rule set's signals.
type Decision struct {
	situation
	// Row is the index of the deciding row.
	Row    int
	Action scaling.Action
	// Target is meaningful only if TargetKnown.
	Target      int
	TargetKnown bool
	Blockers    Blocker
	// BlockingSignals are signals that block by themselves.
	BlockingSignals uint64

	Mode           scaling.SlotMode
	Reporting      int
	ReportingKnown bool
	// Stale is meaningful only if ReportingKnown and the current count is known.
	Stale    int
	Coverage float64

	Applies, Known            uint64
	OutTrue, OutUnknown       uint64
	InTrue                    uint64
	OutSustained, InSustained uint64
	heldBack, guardsActive    uint64
}

// RowID is the stable name of the deciding row.
func (d *Decision) RowID() scaling.RowID { return table[d.Row].id }

// StaleKnown reports whether Stale has a meaning.
func (d *Decision) StaleKnown() bool { return d.ReportingKnown && d.has(scaling.FactCurrentKnown) }

// Step folds one tick into a scope's state: it reads prev, writes next and
// returns the decision. It has no clock, does no I/O and does not allocate.
// Ticks must come one after the other, interval apart; next and prev must not
// be the same.
func (p *Program) Step(next, prev *State, at int64, s *Samples, l *scaling.Limits) Decision {
	next.CopyFrom(prev)
	d := &next.decision
	*d = Decision{}
	p.observe(d, s, l, at)
	p.compareSignals(d, s, l)
	p.foldWindows(next, prev, d, at, s, l)
	p.deriveFacts(d)
	p.pickRow(d, next, s, at)
	next.At, next.Started = at, true
	if !prev.Started {
		next.Origin = at
	}
	next.master, next.mode = s.Master, d.Mode
	return *d
}

// observe reads limits and worker counts, and derives what they mean (spec
// 1.5, 1.6).
func (p *Program) observe(d *Decision, s *Samples, l *scaling.Limits, at int64) {
	t := time.UnixMilli(at)
	d.set(scaling.FactPaused, l.Paused)
	d.set(scaling.FactApplication, l.Deployment == scaling.Application)
	d.set(scaling.FactCooldown, l.CooldownUntil.After(t))
	d.set(scaling.FactBackoff, l.BackoffUntil.After(t))
	d.set(scaling.FactInFlight, l.ActionInFlight)
	d.set(scaling.FactOtherWriter, l.OtherWriter)
	d.set(scaling.FactIneffective, len(l.Tried) > 0)
	d.set(scaling.FactCurrentKnown, s.Current.Known)
	d.min, d.max = l.Bounds.Min, l.Bounds.Max
	d.Mode = p.slotModeOf(s)
	if s.Current.Known {
		d.current = int(s.Current.V)
		d.booting = scaling.BootingWorkers(l.Booting, d.current, t)
	}
	if s.Reporting.Known {
		d.Reporting, d.ReportingKnown = int(s.Reporting.V), true
	}
	if d.StaleKnown() {
		d.Stale = max(0, d.current-d.Reporting)
		d.Coverage = 1
		if d.current > 0 {
			d.Coverage = float64(d.Reporting) / float64(d.current)
		}
	}
}

// slotModeOf reads the slot mode of the tick (spec 1.6).
func (p *Program) slotModeOf(s *Samples) scaling.SlotMode {
	if p.slotMode == noQuery {
		return p.RuleSet.SlotMode
	}
	switch v := s.SlotMode; {
	case !v.Known || v.V < 0 || v.V > 1:
		return scaling.UnknownSlots
	case v.V == 0:
		return scaling.FixedSlots
	case v.V == 1:
		return scaling.DynamicSlots
	default:
		return scaling.MixedSlots
	}
}

// compareSignals compares every applicable signal with its thresholds.
func (p *Program) compareSignals(d *Decision, s *Samples, l *scaling.Limits) {
	for i := range p.signals {
		sig := &p.signals[i]
		if !p.applies(sig, d) {
			continue
		}
		d.Applies |= sig.bit
		r := &s.Signals[i]
		if !r.Known {
			d.OutUnknown |= sig.bit & p.hasOut
			continue
		}
		d.Known |= sig.bit
		if sig.Out != nil && outTrue(sig, r.V, l.Bounds.Max) {
			d.OutTrue |= sig.bit
		}
		if sig.In != nil && compare(sig.In.Comparison, r.V, sig.In.Threshold) {
			d.InTrue |= sig.bit
		}
	}
	missing := d.Applies &^ d.Known
	usable := d.StaleKnown() && (d.current == 0 ||
		d.Known&p.saturation != 0 && d.Coverage >= p.RuleSet.MinCoverage)
	d.set(scaling.FactMetricsUsable, usable)
	d.set(scaling.FactMetricsValid, usable && d.Mode != scaling.UnknownSlots && p.required&missing == 0 && d.Stale == 0)
	d.set(scaling.FactNeededUnknown, p.speaksAgainst&missing != 0)
}

// applies is the applicability of spec 1.1.
func (p *Program) applies(sig *signal, d *Decision) bool {
	if d.has(scaling.FactCurrentKnown) && d.current == 0 && (p.saturation|p.capacity)&sig.bit != 0 {
		return false
	}
	return len(sig.SlotModes) == 0 || appliesIn(sig, d.Mode)
}

// appliesIn reports whether a signal's slot_mode list names the mode.
func appliesIn(sig *signal, mode scaling.SlotMode) bool {
	return slices.Contains(sig.SlotModes, mode)
}

// foldWindows advances every window by one tick (spec 1.4).
func (p *Program) foldWindows(next, prev *State, d *Decision, at int64, s *Samples, l *scaling.Limits) {
	doubt := !d.StaleKnown() || d.Stale > 0 || d.Mode == scaling.UnknownSlots ||
		p.master != noQuery && s.Master == "" || p.required&d.Applies&^d.Known != 0
	restart := prev.Started && (prev.mode != d.Mode || prev.master != s.Master)
	// One hot sample out of five decides nothing.
	lowCoverage := !d.StaleKnown() || d.Coverage < p.RuleSet.MinCoverage
	for i := range p.signals {
		sig := &p.signals[i]
		if d.Applies&sig.bit == 0 {
			next.out[i], next.in[i] = run{whole: true}, quiet{}
			continue
		}
		if sig.Out != nil {
			truth := scaling.TruthOf(d.OutTrue&sig.bit != 0)
			if d.OutUnknown&sig.bit != 0 || lowCoverage && sig.Class == scaling.Saturation {
				truth = scaling.Unknown
				d.OutUnknown |= sig.bit
			}
			next.out[i] = prev.out[i].next(truth, at, sig.out)
			if next.out[i].sustained() {
				d.OutSustained |= sig.bit
			}
		}
		if sig.In != nil {
			next.in[i] = prev.in[i].next(!doubt && d.InTrue&sig.bit != 0, restart, at)
			if next.in[i].lasted(at, sig.inNeed) {
				d.InSustained |= sig.bit
			}
		}
	}
	p.foldDemand(next, prev, d, at, s)
	below := d.has(scaling.FactCurrentKnown) && d.requested() < d.min
	next.floor = prev.floor.next(below, false, at)
	d.set(scaling.FactBelowMin, next.floor.lasted(at, p.ticks(l.Bounds.FloorDelay)))
}

// foldDemand advances the window of the signal marked demand.
func (p *Program) foldDemand(next, prev *State, d *Decision, at int64, s *Samples) {
	if p.demand == noQuery {
		return
	}
	bit := uint64(1) << p.demand
	if d.Applies&bit == 0 {
		next.demand = run{whole: true}
		return
	}
	truth := scaling.Unknown
	if r := s.Signals[p.demand]; r.Known {
		truth = scaling.TruthOf(r.V > 0)
	}
	next.demand = prev.demand.next(truth, at, window{gap: p.gap})
	d.set(scaling.FactDemandWakes, next.demand.lasted(p.schedulerBacklog))
	for i := range p.signals {
		sig := &p.signals[i]
		d.set(scaling.FactDemandSustained, p.capacity&d.OutSustained&sig.bit != 0 && next.demand.lasted(sig.out.need))
	}
}

// deriveFacts derives the row inputs from conditions and windows.
func (p *Program) deriveFacts(d *Decision) {
	var held uint64
	for i := range p.signals {
		if g := &p.signals[i]; g.holds != 0 && d.OutSustained&g.bit != 0 {
			held |= g.holds
			d.guardsActive |= g.bit
		}
	}
	present := d.OutTrue | d.OutSustained
	d.heldBack = present & p.blocking & held
	d.set(scaling.FactGuardHolds, d.guardsActive != 0)
	d.set(scaling.FactHeldBack, d.heldBack != 0)
	d.set(scaling.FactShortage, d.OutSustained&p.blocking&^held != 0)
	d.set(scaling.FactShortagePresent, present&p.blocking != 0)
	d.set(scaling.FactSaturated, d.OutSustained&p.saturation != 0)
	d.set(scaling.FactSlotTight, d.OutSustained&p.capacity != 0)

	in := p.hasIn & d.Applies
	util := in & (p.saturation | p.capacity) & d.Known
	d.set(scaling.FactLooksIdle, util&p.saturation != 0 && util&^d.InTrue == 0)
	d.set(scaling.FactBlockingNotIdle, in&p.blocking&d.Known&^d.InTrue != 0)
	d.set(scaling.FactIdle, d.has(scaling.FactMetricsValid) && !d.has(scaling.FactNeededUnknown) &&
		present&p.speaksAgainst == 0 &&
		in&^p.guards&^d.InSustained == 0 && in&p.saturation != 0)
}

// pickRow picks the row, computes its target and names what blocks.
func (p *Program) pickRow(d *Decision, next *State, s *Samples, at int64) {
	d.Row = decide(&d.situation)
	row := &table[d.Row]
	d.Action, d.TargetKnown = row.action, d.has(scaling.FactCurrentKnown)
	d.Target = row.target.workers(p, d, next, s, at)
	if row.restoresFloor {
		// The floor was restored: what grew before must not fire through a
		// gate that is stale by now (AIP-5).
		next.Ramp, next.demand = Ramp{}, run{whole: true}
	}
	if !d.hasAny(scaling.FactShortage | scaling.FactSaturated) {
		next.Ramp = Ramp{}
	}
	d.limit()
	p.block(d)
}

// limit brings the target into the bounds, and turns a scale-out that cannot
// add anything into NO_ACTION.
func (d *Decision) limit() {
	if d.Action != scaling.ScaleOut && d.Action != scaling.ScaleInCandidate {
		return
	}
	d.Target = max(d.min, min(d.Target, d.max))
	if d.Action != scaling.ScaleOut || d.Target > d.current {
		return
	}
	d.Blockers = nextRoundBlocker
	if d.current >= d.max || d.current == math.MaxInt {
		d.Blockers = maxWorkersBlocker
	}
	d.Action, d.Target = scaling.NoAction, d.current
}

// outTrue is a scale-out condition with its threshold, or with the scope's own
// upper bound in its place: nothing is above a scope that has none.
func outTrue(sig *signal, v float64, maxW int) bool {
	threshold := sig.Out.Threshold
	if sig.Out.MaxWorkers {
		if maxW == scaling.Unbounded {
			return false
		}
		threshold = float64(maxW)
	}
	return compare(sig.Out.Comparison, v, threshold)
}

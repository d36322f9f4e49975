package evaluator

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/zeta-scaler/zeta-scaler/rules"
	"github.com/zeta-scaler/zeta-scaler/scaling"
)

// variant is one value of a signal at the tick together with what its windows
// remember from before.
type variant struct {
	reading Reading
	// full says that the scale-out run was full, or that the scale-in run had
	// lasted, on the tick before.
	full bool
}

func variants(values ...float64) []variant {
	out := []variant{{full: false}, {full: true}}
	for _, v := range values {
		out = append(out, variant{known(v), false}, variant{known(v), true})
	}
	return out
}

// position is where the worker count lies with respect to min 2 and max 6.
type position struct {
	current Reading
	booting int
}

// universe walks every combination of condition values, windows, slot modes,
// coverage and bounds position over the fixture.
type universe struct {
	p         *Program
	prev      *State
	next      *State
	samples   Samples
	limits    scaling.Limits
	choice    [5]variant
	axes      [5][]variant
	modes     []Reading
	coverages []float64 // reporting ÷ current; −1 unknown
	positions []position
}

const universeTick = 100 * tickMs

func newUniverse(t testing.TB, rs *rules.RuleSet) *universe {
	p := compile(t, rs)
	u := &universe{
		p: p, prev: p.NewState(), next: p.NewState(),
		samples: Samples{Signals: make([]Reading, 5)},
		limits:  scaling.Limits{Bounds: scaling.Bounds{Min: 2, Max: 6}},
		axes: [5][]variant{
			variants(90, 30, 0),      // age: out, neither, in
			variants(3, 0),           // jobs: demand, in
			variants(0.9, 0.5, 0.1),  // cpu
			variants(0.95, 0.5, 0.1), // slots
			variants(9, 1),           // big: above max_workers, not
		},
		modes:     []Reading{known(0), known(1), known(0.5), unknown(NoSample)},
		coverages: []float64{1, 0.75, 0.25, -1},
		positions: []position{
			{current: unknown(NoSample)},
			{current: known(0)},
			{known(0), 1},
			{current: known(1)},
			{known(1), 1},
			{current: known(2)},
			{current: known(4)},
			{known(4), 2},
			{current: known(6)},
			{current: known(8)},
		},
	}
	if rs.Signals[3].Surplus {
		u.axes[3] = variants(5, 1, 0)
	}
	return u
}

// surplusFixture is the fixture with workers that can go in place of slots that are free.
func surplusFixture() *rules.RuleSet {
	rs := fixture()
	s := &rs.Signals[3]
	s.Name, s.Unit, s.Range, s.Surplus, s.Out = "surplus", "workers", nil, true, nil
	s.In = &rules.Condition{Comparison: rules.AtLeast, Threshold: 1, For: 2 * time.Minute}
	return rs
}

// place writes a chosen variant into samples and the state before.
func (u *universe) place(i int) {
	v := u.choice[i]
	u.samples.Signals[i] = v.reading
	sig := &u.p.signals[i]
	before := int64(universeTick - tickMs)
	u.prev.out[i], u.prev.in[i] = run{}, quiet{}
	if !v.full {
		return
	}
	if sig.Out != nil {
		u.prev.out[i] = run{on: true, full: true, first: before - sig.out.need, last: before}
	}
	if sig.In != nil {
		u.prev.in[i] = quiet{on: true, first: before - sig.inNeed}
	}
	if sig.Demand {
		u.prev.demand = run{on: true, full: true, first: before - 10*tickMs, last: before}
	}
}

func (u *universe) step() Decision {
	return u.p.Step(u.next, u.prev, universeTick, &u.samples, &u.limits)
}

func (u *universe) walk(visit func(pos position, coverage float64, mode Reading)) {
	for _, mode := range u.modes {
		u.samples.SlotMode = mode
		for _, pos := range u.positions {
			u.samples.Current = pos.current
			u.limits.Booting = nil
			if pos.booting > 0 {
				u.limits.Booting = []scaling.Booting{{Target: int(pos.current.V) + pos.booting, Deadline: time.UnixMilli(universeTick + 1)}}
			}
			for _, coverage := range u.coverages {
				u.samples.Reporting = unknown(NoSample)
				if coverage >= 0 {
					u.samples.Reporting = known(float64(int(pos.current.V * coverage)))
				}
				visit(pos, coverage, mode)
			}
		}
	}
}

func (u *universe) signals(visit func()) {
	var rec func(i int)
	rec = func(i int) {
		if i == len(u.axes) {
			visit()
			return
		}
		for _, v := range u.axes[i] {
			u.choice[i] = v
			if i == 1 {
				u.prev.demand = run{}
			}
			u.place(i)
			rec(i + 1)
		}
	}
	u.prev.Started, u.prev.At = true, universeTick-tickMs
	rec(0)
}

// decided is what a reader of a recommendation sees of a decision.
type decided struct {
	row    int
	action scaling.Action
	target int
}

func (d *Decision) seen() decided { return decided{d.Row, d.Action, d.Target} }

// TestInvariants proves the nine invariants of spec 1.7 over every
// combination of condition values, windows, slot mode, validity and bounds
// position, idle and busy.
func TestInvariants(t *testing.T) {
	reached := map[scaling.RowID]bool{}
	n := 0
	for _, tc := range []struct {
		rs   *rules.RuleSet
		busy bool
	}{{fixture(), false}, {fixture(), true}, {surplusFixture(), false}} {
		u := newUniverse(t, tc.rs)
		u.limits.ActionInFlight = tc.busy
		u.walk(func(pos position, coverage float64, mode Reading) {
			u.prev.mode = u.p.slotModeOf(&u.samples)
			u.signals(func() {
				n++
				d := u.step()
				reached[d.RowID()] = true
				if msg := u.violates(&d, pos, mode); msg != "" {
					t.Fatalf("%s: row %s %s %d with %+v, limits %+v, prev %+v", msg, d.RowID(), d.Action, d.Target, u.samples, u.limits, u.prev)
				}
			})
		})
	}
	t.Logf("%d combinations", n)
	for _, o := range []func(*scaling.Limits){
		func(l *scaling.Limits) { l.Paused = true },
		func(l *scaling.Limits) { l.Deployment = scaling.Application },
	} {
		u := newUniverse(t, fixture())
		u.samples.Current, u.samples.Reporting = known(4), known(4)
		o(&u.limits)
		d := u.step()
		reached[d.RowID()] = true
		require.Equal(t, scaling.NoAction, d.Action)
	}
	// Invariant 6: every row is reachable. min 2 keeps wake away, which needs
	// an empty scope that may be empty.
	u := newUniverse(t, fixture())
	u.limits.Bounds.Min = 0
	u.samples.Current, u.samples.Reporting, u.samples.SlotMode = known(0), known(0), known(0)
	u.choice[1] = variant{known(3), true}
	u.place(1)
	d := u.step()
	require.Equal(t, scaling.RowWake, d.RowID())
	require.Equal(t, 1, d.Target)
	reached[d.RowID()] = true
	for _, row := range Table() {
		require.True(t, reached[row.ID], "row %s was never reached", row.ID)
	}
}

// violates checks one decision against the invariants.
func (u *universe) violates(d *Decision, pos position, mode Reading) string {
	c := &u.choice
	low := func(i int) bool { return c[i].reading.Known && !c[i].full && d.OutTrue&(1<<i) == 0 }
	currentKnown := pos.current.Known
	belowMin := currentKnown && int(pos.current.V)+pos.booting < u.limits.Bounds.Min
	switch {
	case d.Action == scaling.ScaleOut && !belowMin && low(0) && low(2) && low(1) && c[1].reading.V == 0:
		return "1: a capacity signal alone scaled out"
	case d.Action == scaling.ScaleInCandidate && !d.has(scaling.FactMetricsValid):
		return "3: scale-in on invalid metrics"
	case currentKnown && int(pos.current.V) < u.limits.Bounds.Max && d.Action != scaling.ScaleOut &&
		c[0].full && c[0].reading.Known && c[0].reading.V > 60 && !(c[4].full && (!c[4].reading.Known || c[4].reading.V > 6)):
		return "4: a sustained shortage did not scale out"
	case (d.Action == scaling.ScaleOut || d.Action == scaling.ScaleInCandidate) &&
		(d.Target < u.limits.Bounds.Min || d.Target > u.limits.Bounds.Max):
		return "5: the target is outside the bounds"
	case d.Action == scaling.ScaleInCandidate && !(c[2].reading.Known && c[2].reading.V < 0.3):
		return "8: scale-in without a saturation condition"
	case d.RowID() == scaling.RowIdle && d.current-d.Target > u.spare(mode):
		return "9: more workers were to go than are idle"
	}
	if mode.Known && mode.V == 0 {
		return u.violatesUnknown(d)
	}
	return u.violatesSlots(d)
}

// spare is how many workers may go at once.
func (u *universe) spare(mode Reading) int {
	if u.p.surplus == 0 || !mode.Known || mode.V != 0 {
		return 1
	}
	return max(1, int(u.choice[3].reading.V))
}

// violatesSlots is invariant 2: where slots are not fixed, their utilisation
// changes nothing.
func (u *universe) violatesSlots(d *Decision) string {
	if u.choice[3] != u.axes[3][0] {
		return "" // compared once per combination of the others
	}
	defer func(v variant) { u.choice[3] = v; u.place(3) }(u.choice[3])
	for _, v := range u.axes[3][1:] {
		u.choice[3] = v
		u.place(3)
		if other := u.step(); other.seen() != d.seen() {
			return "2: slot utilisation changed a decision although slots are not fixed"
		}
	}
	return ""
}

// violatesUnknown is invariant 7, seen from the other side: a scale-in in spite
// of an unknown input must be one whatever that input says.
func (u *universe) violatesUnknown(d *Decision) string {
	if d.Action != scaling.ScaleInCandidate {
		return ""
	}
	if !u.samples.Current.Known || !u.samples.Reporting.Known {
		return "7: scale-in although a worker count is unknown"
	}
	for i := range u.choice {
		if u.choice[i].reading.Known {
			continue
		}
		was := u.choice[i]
		for _, v := range u.axes[i] {
			if !v.reading.Known || v.full != was.full {
				continue
			}
			u.samples.Signals[i] = v.reading
			if other := u.step(); other.Action != scaling.ScaleInCandidate {
				return "7: an unknown input made a scale-in possible"
			}
		}
		u.samples.Signals[i] = was.reading
	}
	return ""
}

// BenchmarkStep is one scope and tick with the signals of the fixed-slot pack.
func BenchmarkStep(b *testing.B) {
	rs := fixture()
	for _, name := range []string{"unsatisfied_slots", "resource_rejections", "memory"} {
		s := rs.Signals[0]
		s.Name = name
		rs.Signals = append(rs.Signals, s)
	}
	p := compile(b, rs)
	u := Samples{Current: known(4), Reporting: known(4), SlotMode: known(0), Signals: make([]Reading, len(rs.Signals))}
	for i := range u.Signals {
		u.Signals[i] = known(0.1)
	}
	l := scaling.Limits{Bounds: scaling.Bounds{Min: 1, Max: 10}}
	x, y := p.NewState(), p.NewState()
	b.ReportAllocs()
	at := int64(0)
	for b.Loop() {
		at += tickMs
		p.Step(y, x, at, &u, &l)
		x, y = y, x
	}
}

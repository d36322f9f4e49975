package evaluator

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/zeta-scaler/zeta-scaler/rules"
	"github.com/zeta-scaler/zeta-scaler/scaling"
)

// TestFloorResetsRampAndGates is AIP-5's floor: it is restored at once, past
// every window, and what had grown before begins anew afterwards.
func TestFloorResetsRampAndGates(t *testing.T) {
	rs := fixture()
	rs.Step = rules.Step{Policy: rules.StepExponential, Workers: 1, Unit: 1, MaxStep: 8, SustainedBacklog: time.Minute, SchedulerBacklog: time.Minute}
	p := compile(t, rs)
	state, next := p.NewState(), p.NewState()
	l := scaling.Limits{Bounds: scaling.Bounds{Min: 4, Max: 40}}
	n := 0
	step := func(current, age, slots float64) (scaling.RowID, int) {
		s := Samples{
			Current: known(current), Reporting: known(current), SlotMode: known(0), Slots: known(2), Unsatisfied: known(100),
			Signals: []Reading{known(age), known(3), known(0.5), known(slots), known(1)},
		}
		d := p.Step(next, state, int64(n)*tickMs, &s, &l)
		state, next = next, state
		n++
		return d.RowID(), d.Target
	}
	want := func(row scaling.RowID, target int) func(scaling.RowID, int) {
		return func(gotRow scaling.RowID, gotTarget int) {
			t.Helper()
			require.Equal(t, row, gotRow, "tick %d", n-1)
			require.Equal(t, target, gotTarget, "tick %d", n-1)
		}
	}

	want(scaling.RowBelowMin, 4)(step(3, 0, 0.5)) // the first tick: no window is asked for
	for range 3 {
		step(4, 90, 0.5)
	}
	want(scaling.RowShortage, 5)(step(4, 90, 0.5)) // + 1
	step(5, 90, 0.5)
	want(scaling.RowShortage, 7)(step(5, 90, 0.5)) // granted: + 2
	want(scaling.RowBelowMin, 4)(step(2, 90, 0.5)) // a machine is lost
	want(scaling.RowShortage, 5)(step(4, 90, 0.5)) // + 1 again, at once

	for range 4 { // slots are full, and jobs have waited since the beginning
		step(8, 0, 0.95)
	}
	want(scaling.RowTightWithDemand, 9)(step(8, 0, 0.95))
	want(scaling.RowBelowMin, 4)(step(3, 0, 0.95))
	want(scaling.RowTightAlone, 8)(step(8, 0, 0.95)) // the demand has to last anew
	for range 2 {
		step(8, 0, 0.95)
	}
	want(scaling.RowTightWithDemand, 9)(step(8, 0, 0.95))
}

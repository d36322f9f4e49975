package evaluator

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/zeta-scaler/zeta-scaler/rules"
	"github.com/zeta-scaler/zeta-scaler/scaling"
)

// TestIdleShrinksBySurplus: an idle scope lets as many workers go as all signals
// allow that count them, and no others count.
func TestIdleShrinksBySurplus(t *testing.T) {
	const fixed, dynamic = 0, 1
	for name, tc := range map[string]struct {
		mode, byCPU, bySlots Reading
		marked               bool
		current, low, want   int
		row                  scaling.RowID
	}{
		"the least of them":           {known(fixed), known(6), known(4), true, 12, 1, 8, scaling.RowIdle},
		"whole workers":               {known(fixed), known(3.9), known(4), true, 12, 1, 9, scaling.RowIdle},
		"never below the minimum":     {known(fixed), known(6), known(4), true, 12, 10, 10, scaling.RowIdle},
		"more than there are":         {known(fixed), known(1e300), known(99), true, 12, 0, 0, scaling.RowIdle},
		"slots that are not fixed":    {known(dynamic), known(6), known(4), true, 12, 1, 6, scaling.RowIdle},
		"signals that are not marked": {known(fixed), known(6), known(4), false, 12, 1, 11, scaling.RowIdle},
		"one that counts none":        {known(fixed), known(6), known(0), true, 12, 1, 12, scaling.RowSteady},
		"one that is not known":       {known(fixed), known(6), unknown(NoSample), true, 12, 1, 12, scaling.RowIdleUnknown},
		"at the minimum":              {known(fixed), known(6), known(4), true, 12, 12, 12, scaling.RowIdleAtMin},
	} {
		t.Run(name, func(t *testing.T) {
			rs := surplusFixture()
			byCPU := rs.Signals[3]
			byCPU.Name, byCPU.Class, byCPU.Required, byCPU.SlotModes = "by_cpu", scaling.Saturation, true, nil
			rs.Signals = append(rs.Signals, byCPU)
			for i := range rs.Signals {
				rs.Signals[i].Surplus = rs.Signals[i].Surplus && tc.marked
			}
			p := compile(t, rs)
			s := Samples{
				Current: known(float64(tc.current)), Reporting: known(float64(tc.current)), SlotMode: tc.mode,
				Signals: []Reading{known(0), known(0), known(0.1), tc.bySlots, known(1), tc.byCPU},
			}
			l := scaling.Limits{Bounds: scaling.Bounds{Min: tc.low, Max: 20}}
			x, y := p.NewState(), p.NewState()
			var d Decision
			for i := range int64(10) {
				d = p.Step(y, x, i*tickMs, &s, &l)
				x, y = y, x
			}
			require.Equal(t, tc.row, d.RowID())
			require.Equal(t, tc.want, d.Target)
		})
	}
}

// TestSurplusOfTheTick: it is the value of the tick that sets the target, and the
// window asks for one worker.
func TestSurplusOfTheTick(t *testing.T) {
	rs := surplusFixture()
	rs.Signals[3].In = &rules.Condition{Comparison: rules.AtLeast, Threshold: 1, For: time.Minute}
	p := compile(t, rs)
	l := scaling.Limits{Bounds: scaling.Bounds{Min: 1, Max: 20}}
	x, y := p.NewState(), p.NewState()
	for i, surplus := range []float64{5, 5, 5, 5, 5, 2, 3, 0, 3} {
		s := Samples{Current: known(9), Reporting: known(9), SlotMode: known(0), Signals: []Reading{known(0), known(0), known(0.1), known(surplus), known(1)}}
		d := p.Step(y, x, int64(i)*tickMs, &s, &l)
		x, y = y, x
		if i < 4 || i > 6 {
			require.NotEqual(t, scaling.ScaleInCandidate, d.Action, i)
			continue
		}
		require.Equal(t, 9-int(surplus), d.Target, i)
	}
}

package evaluator

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/zeta-scaler/zeta-scaler/rules"
	"github.com/zeta-scaler/zeta-scaler/scaling"
)

// TestStepDoesNotAllocate: ten thousand scopes are judged at every tick.
func TestStepDoesNotAllocate(t *testing.T) {
	for name, policy := range map[string]rules.StepPolicy{"fixed": rules.StepFixed, "exponential": rules.StepExponential, "demand": rules.StepDemand} {
		rs := fixture()
		rs.Step.Policy = policy
		p := compile(t, rs)
		x, y := p.NewState(), p.NewState()
		s := Samples{Current: known(4), Reporting: known(4), SlotMode: known(0), Slots: known(2), Unsatisfied: known(3), Signals: []Reading{known(90), known(3), known(0.9), known(0.9), known(1)}}
		l := scaling.Limits{Bounds: scaling.Bounds{Min: 1, Max: 10}}
		at := int64(0)
		var d Decision
		allocs := testing.AllocsPerRun(100, func() {
			at += tickMs
			d = p.Step(y, x, at, &s, &l)
			x, y = y, x
		})
		require.Zero(t, allocs, name)
		require.Equal(t, scaling.ScaleOut, d.Action)
	}
}

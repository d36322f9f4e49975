package actuators_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/zeta-scaler/zeta-scaler/scaling"
	"github.com/zeta-scaler/zeta-scaler/state"
)

// An action that cannot be read keeps its own scope from acting, over a start and
// until the record is removed, and no other.
func TestAnActionThatCannotBeReadHoldsItsScope(t *testing.T) {
	b := newBench(t, nil)
	b.put(state.Execution, "other", []int{1})
	b.lead(3)
	id := b.decide(1, scaling.ScaleOut, 2, 3)
	require.Equal(t, scaling.VerdictAccepted, b.accept(id).Result)
	b.advance()
	require.Equal(t, []int{3}, b.p.calls, "another scope's record is none of its business")

	b = newBench(t, nil)
	b.put(state.Execution, scopeKey, []int{1})
	b.lead(3)
	id = b.decide(1, scaling.ScaleOut, 2, 3)
	for range 3 {
		_, err := b.x.Accept(t.Context(), id)
		require.ErrorIs(t, err, state.ErrUnusable, "it may be asked again")
		require.ErrorIs(t, err, state.ErrUnreadable)
		require.ErrorIs(t, b.x.Advance(t.Context()), state.ErrUnreadable)
	}
	require.Empty(t, b.p.calls)
	w := state.NewWrite(b.store, state.NoFence)
	state.Executions(b.store, state.NoFence).Remove(w, scopeKey)
	require.NoError(t, w.Commit(t.Context()))
	b.lead(3)
	id = b.decide(2, scaling.ScaleOut, 2, 3)
	require.Equal(t, scaling.VerdictAccepted, b.accept(id).Result)
	b.advance()
	require.Equal(t, []int{3}, b.p.calls)
}

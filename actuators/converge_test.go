package actuators_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/zeta-scaler/zeta-scaler/scaling"
)

func TestConvergence(t *testing.T) {
	b := newBench(t, nil)
	id := b.decide(5, scaling.ScaleOut, 2, 3)
	b.accept(id)
	require.Empty(t, b.p.calls, "accepting does not act")
	b.p.onScale = func() {
		r := b.record()
		require.Equal(t, scaling.ActionExecuting, r.Action.State, "stored before the call")
		require.True(t, r.ActionInFlight)
		require.Equal(t, 3, r.Booting[0].Target)
	}
	b.advance()
	b.p.onScale = nil
	require.Equal(t, []int{3}, b.p.calls)
	require.Equal(t, id, b.p.fences[0].RecommendationID)
	require.Equal(t, uint64(3), b.p.fences[0].Epoch)

	b.p.st.Ready = 3
	b.advance()
	require.Equal(t, scaling.ActionConverging, b.record().Action.State, "the inventory has to agree")
	require.True(t, b.record().CooldownUntil.IsZero())
	b.converged(6, 3)
	r := b.record()
	require.Equal(t, []scaling.ActionState{"PENDING", "EXECUTING", "CONVERGING", "SUCCEEDED"}, b.states())
	require.Equal(t, b.clock.t.Add(5*time.Minute), r.CooldownUntil)
	require.Empty(t, r.Booting)
	require.False(t, r.ActionInFlight)
	require.Len(t, b.events, 4)
	require.Equal(t, "PENDING to 3 workers", b.events[0].Message)
	require.Equal(t, "EXECUTING to 3 workers: the platform is asked for 3 workers", b.events[1].Message)

	id = b.decide(7, scaling.ScaleOut, 3, 4)
	require.Equal(t, scaling.VerdictHeld, b.accept(id).Result)
	b.advance()
	require.Len(t, b.p.calls, 1)
	b.wait(5 * time.Minute)
	b.decide(7, scaling.ScaleOut, 3, 4)
	b.advance()
	require.Equal(t, []int{3, 4}, b.p.calls, "what was held begins when the cooldown ends")
}

func TestSuccessNamesWhoSaidSo(t *testing.T) {
	for _, tc := range []struct {
		blind   bool
		current int
		want    string
	}{
		{false, 3, "platform and inventory have 3 workers"},
		{true, 3, "the inventory has 3 workers"},
		{true, 7, "the inventory has 7 workers, 3 were asked for"},
	} {
		b := newBench(t, nil)
		b.p.blind = tc.blind
		b.accept(b.decide(5, scaling.ScaleOut, 2, 3))
		b.advance()
		b.p.st.Ready = 3
		b.converged(6, tc.current)
		transitions := b.record().Action.Transitions
		require.Equal(t, tc.want, transitions[len(transitions)-1].Reason)
	}
}

func TestConvergenceTimesOut(t *testing.T) {
	b := newBench(t, nil)
	b.accept(b.decide(5, scaling.ScaleOut, 2, 3))
	b.advance()
	b.wait(10 * time.Minute)
	b.advance()
	require.Equal(t, scaling.ActionFailed, b.record().Action.State)
	require.Contains(t, b.record().Action.Error, "the platform has 2 of 3 workers ready; the inventory shows 2")
}

func TestIneffectiveScaling(t *testing.T) {
	b := newBench(t, nil)
	b.accept(b.decide(5, scaling.ScaleOut, 2, 3))
	b.advance()
	b.converged(6, 3)
	b.wait(2 * time.Minute)
	b.decide(7, scaling.ScaleOut, 3, 4)
	b.advance()
	b.advance()
	require.Equal(t, scaling.EventIneffectiveScaling, b.events[len(b.events)-1].Kind)
	require.Nil(t, b.record().Trial)
	require.Len(t, b.events, 5)
}

// A platform that records no fences may show a request late, or not at all: nobody is
// said to have changed what it has not shown.
func TestPlatformThatShowsLessThanItWasAskedFor(t *testing.T) {
	begin := func(t *testing.T, noEffect bool) *bench {
		b := newBench(t, nil)
		b.p.noEffect = noEffect
		b.accept(b.decide(5, scaling.ScaleOut, 2, 3))
		b.advance()
		require.Equal(t, scaling.ActionConverging, b.record().Action.State)
		return b
	}
	look := func(b *bench) {
		b.wait(5 * time.Second)
		b.advance()
	}
	t.Run("late", func(t *testing.T) {
		b := begin(t, true)
		look(b)
		require.Equal(t, scaling.ActionConverging, b.record().Action.State)
		b.p.st.Desired = 3
		b.converged(6, 3)
		require.Equal(t, scaling.ActionSucceeded, b.record().Action.State)
		require.Equal(t, []int{3}, b.p.calls)
	})
	t.Run("never", func(t *testing.T) {
		b := begin(t, true)
		b.wait(10 * time.Minute)
		b.advance()
		r := b.record()
		require.Equal(t, scaling.ActionFailed, r.Action.State)
		require.Equal(t, "the platform said yes to 3 workers and shows 2: it did nothing, or somebody has taken that back", r.Action.Error)
		require.Empty(t, r.Booting)
	})
	t.Run("taken back", func(t *testing.T) {
		b := begin(t, false)
		look(b)
		require.Equal(t, scaling.ActionConverging, b.record().Action.State)
		b.p.st.Desired = 2
		look(b)
		require.Equal(t, scaling.ActionFailed, b.record().Action.State)
		require.Equal(t, "somebody has changed the platform's count to 2, below the target 3", b.record().Action.Error)
	})
}

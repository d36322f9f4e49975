package actuators_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/zeta-scaler/zeta-scaler/actuators"
	"github.com/zeta-scaler/zeta-scaler/scaling"
)

// While a master changes, a cluster of 20 lists 1. A platform that cannot be
// observed is not asked for 2 then.
func TestNeverBelowWhatWasThereAWhileAgo(t *testing.T) {
	for name, restart := range map[string]bool{"one process": false, "restarted in between": true} {
		t.Run(name, func(t *testing.T) {
			b := newBench(t, nil)
			b.p.blind = true
			b.decide(4, scaling.NoAction, 20, 20)
			b.advance()
			b.wait(time.Hour)
			b.decide(4, scaling.NoAction, 20, 20)
			b.wait(40 * time.Second)
			if restart {
				b.lead(3)
			}
			id := b.decide(5, scaling.ScaleOut, 1, 2)
			v := b.accept(id)
			require.Equal(t, scaling.VerdictHeld, v.Result)
			require.Equal(t, "20 workers were there 40s ago, 1 answers now", v.Reason)
			b.advance()
			require.Empty(t, b.p.calls)
			require.Equal(t, scaling.ConditionWorkersMissing, b.record().Held.Condition)
			if restart {
				b.lead(3)
			}

			b.wait(5 * time.Minute)
			b.decide(5, scaling.ScaleOut, 1, 2)
			b.advance()
			require.Empty(t, b.p.calls)

			b.wait(5 * time.Minute)
			b.decide(5, scaling.ScaleOut, 1, 2)
			b.advance()
			require.Equal(t, []int{2}, b.p.calls, "after the convergence time-out they are believed to be gone")
			require.Empty(t, b.record().Action.Condition)
		})
	}
}

// Half of 20 restart, jobs wait, and 21 are more than there ever were.
func TestMoreThanWasThereIsAskedFor(t *testing.T) {
	b := newBench(t, nil)
	b.p.blind = true
	b.decide(4, scaling.NoAction, 20, 20)
	b.wait(15 * time.Second)
	b.accept(b.decide(5, scaling.ScaleOut, 10, 21))
	b.advance()
	require.Equal(t, []int{21}, b.p.calls)
}

// What was waited for has come back: the newer decision takes its place.
func TestMissingWorkersComeBack(t *testing.T) {
	b := newBench(t, nil)
	b.p.blind = true
	b.decide(4, scaling.NoAction, 20, 20)
	b.wait(15 * time.Second)
	b.accept(b.decide(5, scaling.ScaleOut, 1, 2))
	b.advance()
	b.wait(15 * time.Second)
	b.decide(6, scaling.NoAction, 20, 20)
	b.advance()
	require.Nil(t, b.record().Held)
	require.Nil(t, b.record().Action)
	require.Empty(t, b.p.calls)
}

// A later round whose workers were there a while ago is followed, not asked for.
func TestRoundOfMissingWorkers(t *testing.T) {
	b := newBench(t, func(c *actuators.ScopeConfig) { c.Rounds = true })
	b.p.blind = true
	b.accept(b.decide(5, scaling.ScaleOut, 2, 3))
	b.advance()
	b.wait(15 * time.Second)
	b.decide(5, scaling.ScaleOut, 8, 3) // eight for a moment
	b.wait(15 * time.Second)
	b.accept(b.decide(6, scaling.ScaleOut, 2, 5))
	b.advance()
	require.Equal(t, []int{3}, b.p.calls)
	a := b.record().Action
	require.Equal(t, scaling.ActionConverging, a.State)
	require.Equal(t, scaling.ConditionWorkersMissing, a.Condition)
	require.Equal(t, "nothing is asked for: 8 workers were there 15s ago, 2 answer now", a.Transitions[len(a.Transitions)-1].Reason)
}

// A workload that holds 3 of 11 workers is not asked for 12.
func TestTargetThatHoldsAPartOfTheWorkers(t *testing.T) {
	b := newBench(t, nil)
	b.p.st = actuators.State{Desired: 3, Ready: 3}
	b.accept(b.decide(5, scaling.ScaleOut, 11, 12))
	b.advance()
	require.Empty(t, b.p.calls)
	a := b.record().Action
	require.Equal(t, scaling.ActionFailed, a.State)
	require.Contains(t, a.Error, "the platform has 3 workers and Zeta's inventory 11")
	require.Contains(t, a.Error, "12 in all is not written there")
	require.True(t, b.record().BackoffUntil.After(b.clock.t))
}

// recording is a platform that keeps the fence of the last write.
type recording struct{ *stand }

func (p recording) Scale(ctx context.Context, t actuators.Target, want int, f actuators.Fence) error {
	err := p.stand.Scale(ctx, t, want, f)
	if err == nil {
		p.st.Fence = f
	}
	return err
}

func (p recording) Claim(_ context.Context, _ actuators.Target, f actuators.Fence) error {
	p.st.Fence.Epoch = f.Epoch
	return nil
}

// A target that was replaced, or from which our annotations were removed, is
// somebody else's until an operator says otherwise: it is not written again at
// every back-off.
func TestTargetWithoutOurFenceIsAnotherWriters(t *testing.T) {
	fenceless := func(t *testing.T) *bench {
		b := newBench(t, nil)
		b.cfg.Actuator = recording{b.p}
		b.lead(3)
		b.accept(b.decide(5, scaling.ScaleOut, 2, 3))
		b.advance()
		require.Equal(t, []int{3}, b.p.calls)
		require.Equal(t, "t", b.record().FencedTarget)
		return b
	}
	const who = actuators.LostFence
	t.Run("before an action", func(t *testing.T) {
		b := fenceless(t)
		b.converged(6, 3)
		b.wait(10 * time.Minute)
		b.p.st = actuators.State{Desired: 3, Ready: 3}
		b.accept(b.decide(7, scaling.ScaleOut, 3, 4))
		b.advance()
		require.Equal(t, []int{3}, b.p.calls)
		require.Equal(t, who, b.record().OtherWriter)
		b.wait(time.Hour)
		require.Equal(t, scaling.VerdictHeld, b.accept(b.decide(8, scaling.ScaleOut, 3, 4)).Result)
		b.advance()
		require.Equal(t, []int{3}, b.p.calls)
	})
	t.Run("which a new leader has claimed since", func(t *testing.T) {
		b := fenceless(t)
		b.converged(6, 3)
		b.wait(10 * time.Minute)
		b.p.st = actuators.State{Desired: 3, Ready: 3, Fence: actuators.Fence{Epoch: 3}}
		b.accept(b.decide(7, scaling.ScaleOut, 3, 4))
		b.advance()
		require.Equal(t, []int{3}, b.p.calls)
		require.Equal(t, who, b.record().OtherWriter)
	})
	t.Run("between the look and the write", func(t *testing.T) {
		b := fenceless(t)
		b.converged(6, 3)
		b.wait(10 * time.Minute)
		b.accept(b.decide(7, scaling.ScaleOut, 3, 4))
		b.advance()
		require.True(t, b.p.st.Fence.Fenced, "the platform is told that there has to be a fence")
	})
	t.Run("while it converges", func(t *testing.T) {
		b := fenceless(t)
		b.p.st = actuators.State{Desired: 1, Ready: 1}
		b.advance()
		require.Equal(t, scaling.ActionFailed, b.record().Action.State)
		require.Equal(t, who, b.record().OtherWriter)
		b.wait(time.Hour)
		require.Equal(t, scaling.VerdictHeld, b.accept(b.decide(6, scaling.ScaleOut, 1, 2)).Result)
	})
}

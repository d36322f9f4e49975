package actuators_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/zeta-scaler/zeta-scaler/actuators"
	"github.com/zeta-scaler/zeta-scaler/scaling"
)

// A platform that has recorded a newer epoch while this one leads is a state
// that was lost or restored: it must not be the end without a word.
func TestStaleIsToldAndTriedAgain(t *testing.T) {
	b := newBench(t, nil)
	b.p.answers = []error{actuators.ErrStale, nil}
	b.accept(b.decide(5, scaling.ScaleOut, 2, 3))
	b.advance()
	require.Equal(t, scaling.ActionRejectedStale, b.record().Action.State)
	require.Equal(t, b.clock.t.Add(actuators.DefaultFailureBackoff), b.record().BackoffUntil)
	require.Equal(t, scaling.EventScalingException, b.events[len(b.events)-1].Kind)

	require.Equal(t, scaling.VerdictHeld, b.accept(b.decide(6, scaling.ScaleOut, 2, 3)).Result)
	b.advance()
	require.Len(t, b.p.calls, 1)
	b.wait(actuators.DefaultFailureBackoff)
	b.decide(6, scaling.ScaleOut, 2, 3)
	b.advance()
	require.Len(t, b.p.calls, 2)
	require.Equal(t, scaling.ActionConverging, b.record().Action.State)
}

// The newer leader does not wait for what the older one was refused.
func TestStaleDoesNotHoldTheNewLeader(t *testing.T) {
	b := newBench(t, nil)
	b.p.answers = []error{actuators.ErrStale}
	b.accept(b.decide(5, scaling.ScaleOut, 2, 3))
	b.advance()
	b.wait(time.Second)
	b.lead(4)
	b.advance()
	require.Equal(t, uint64(4), b.record().Epoch)
	require.True(t, b.record().BackoffUntil.IsZero())
	require.Zero(t, b.record().Failures)
}

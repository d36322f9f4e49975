package drain_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/zeta-scaler/zeta-scaler/drain"
	"github.com/zeta-scaler/zeta-scaler/scaling"
)

// TestSeveralWorkersHaveOneCooldown: a scale-in of two workers is two drains, one
// after the other, each under an id of its own, and the cooldown follows the last.
func TestSeveralWorkersHaveOneCooldown(t *testing.T) {
	b := newBed(t, 4, 4)
	b.current = 4
	b.decide(t, scaling.ScaleInCandidate)
	require.Equal(t, scaling.VerdictAccepted, b.accept(t).Result)
	require.Equal(t, 1, b.record(t).Open.Remaining)
	b.run(t, time.Minute)
	r := b.record(t)
	require.Equal(t, scaling.DrainDecommissioned, r.Last.State)
	require.Equal(t, []string{"w-3"}, b.m.removed)
	require.Zero(t, r.CooldownUntil)
	require.Equal(t, scaling.VerdictDuplicate, b.accept(t).Result, "one id removes one worker")

	b.gen, b.current = b.gen+1, 3
	b.decide(t, scaling.ScaleInCandidate)
	require.Equal(t, scaling.VerdictAccepted, b.accept(t).Result, "nothing holds it")
	require.Zero(t, b.record(t).Open.Remaining)
	b.run(t, time.Minute)
	r = b.record(t)
	require.Equal(t, []string{"w-3", "w-2"}, b.m.removed)
	require.True(t, r.CooldownUntil.After(noon.Add(5*time.Minute)))
}

// TestWorkerThatIsCountedNoLonger: metrics may still count a worker that a drain has
// removed a moment ago. No worker goes that the decision does not ask for, and the
// drain that reaches its target is the last.
func TestWorkerThatIsCountedNoLonger(t *testing.T) {
	b := newBed(t, 4, 4)
	b.cfg.Cooldown = time.Second
	b.x.Configure([]drain.ScopeConfig{b.cfg})
	b.current = 4
	for range 2 {
		b.gen++
		b.decide(t, scaling.ScaleInCandidate)
		require.Equal(t, scaling.VerdictAccepted, b.accept(t).Result)
		b.run(t, time.Minute)
	}
	require.Equal(t, []string{"w-3", "w-2"}, b.m.removed)
	r := b.record(t)
	require.Zero(t, r.Last.Remaining)
	require.NotZero(t, r.CooldownUntil)

	b.gen, b.current = b.gen+1, 3
	b.decide(t, scaling.ScaleInCandidate)
	require.Equal(t, scaling.VerdictAccepted, b.accept(t).Result)
	b.run(t, time.Minute)
	require.Equal(t, []string{"w-3", "w-2"}, b.m.removed, "two are what the decisions ask for")
	require.Equal(t, "it asks for 2 workers, and Zeta has 2 by now", b.record(t).Open.Error)
	b.gen, b.current = b.gen+1, 2
	b.decide(t, scaling.NoAction)
	b.run(t, time.Minute)
	require.Equal(t, scaling.DrainActive, b.record(t).Last.State)
}

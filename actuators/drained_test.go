package actuators_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/zeta-scaler/zeta-scaler/actuators"
	"github.com/zeta-scaler/zeta-scaler/scaling"
	"github.com/zeta-scaler/zeta-scaler/state"
)

// drains stores what the drainer keeps: a drain in a state, or that workers are
// gone.
func (b *bench) drains(s scaling.DrainState, gone ...time.Time) {
	r := state.DrainRecord{Epoch: 3, Gone: gone}
	if s != "" {
		r.Open = &scaling.Drain{ID: "d-1", Scope: scopeKey, Worker: "worker-2", State: s}
	}
	b.put(state.Drain, scopeKey, r)
}

func TestAnActionWaitsForADrain(t *testing.T) {
	for _, s := range scaling.DrainStates() {
		t.Run(string(s), func(t *testing.T) {
			b := newBench(t, nil)
			b.drains(s)
			v := b.accept(b.decide(5, scaling.ScaleOut, 2, 3))
			if s == scaling.DrainPending {
				require.Equal(t, scaling.VerdictAccepted, v.Result, "one that has not begun is in nobody's way")
				return
			}
			require.Equal(t, scaling.VerdictHeld, v.Result)
			require.Equal(t, "worker worker-2 is being drained", v.Reason)
			b.advance()
			b.wait(10 * time.Second)
			b.advance()
			require.Empty(t, b.p.calls)
			require.Equal(t, scaling.ActionPending, b.record().Held.State)

			b.drains("")
			b.advance()
			require.Equal(t, []int{3}, b.p.calls)
		})
	}
}

// The drain began between the look at it and the action's first step: both see
// each other, the action is not sent, and goes on once the drain has gone back.
func TestAnActionThatBeganBesideADrainIsNotSent(t *testing.T) {
	b := newBench(t, nil)
	b.onEvent = func(e scaling.Event) {
		if e.Execution.State == scaling.ActionExecuting {
			b.drains(scaling.DrainDraining)
		}
	}
	b.accept(b.decide(5, scaling.ScaleOut, 2, 3))
	b.advance()
	require.Equal(t, scaling.ActionExecuting, b.record().Action.State)
	require.Empty(t, b.p.calls)
	b.onEvent = nil
	b.drains("")
	b.wait(5 * time.Second)
	b.advance()
	require.Equal(t, []int{3}, b.p.calls)
}

// The platform has one worker less than Zeta's inventory, because it was removed
// a moment ago: no other workload is blamed for it.
func TestAfterAReleaseTheInventoryIsWaitedFor(t *testing.T) {
	b := newBench(t, nil)
	gone := b.clock.t.Add(-5 * time.Second)
	b.drains("", gone)
	b.accept(b.decide(5, scaling.ScaleOut, 3, 4)) // the platform has 2
	b.advance()
	require.Empty(t, b.p.calls)
	held := b.record().Held
	require.NotNil(t, held)
	require.Equal(t, "a worker was removed, and Zeta's inventory still shows 3 while the platform has 2", held.Transitions[len(held.Transitions)-1].Reason)
	version := held.Transitions
	b.wait(5 * time.Second)
	b.advance()
	require.Equal(t, version, b.record().Held.Transitions, "said once")

	b.wait(15 * time.Second)
	b.decide(5, scaling.ScaleOut, 2, 4)
	b.advance()
	require.Equal(t, []int{4}, b.p.calls)
}

func TestAfterAReleaseOnlyWhatWasReleasedIsExcused(t *testing.T) {
	for _, tc := range []struct {
		name      string
		inventory int
		ago       []time.Duration
		waits     bool
	}{
		{"one", 3, []time.Duration{time.Minute}, true},
		{"two, one released", 4, []time.Duration{time.Minute}, false},
		{"two, both released", 4, []time.Duration{time.Minute, 10 * time.Second}, true},
		{"one, long ago", 3, []time.Duration{time.Hour}, false},
		{"one, none released", 3, nil, false},
	} {
		t.Run(tc.name, func(t *testing.T) {
			b := newBench(t, nil)
			var gone []time.Time
			for _, d := range tc.ago {
				gone = append(gone, b.clock.t.Add(-d))
			}
			b.drains("", gone...)
			b.accept(b.decide(5, scaling.ScaleOut, tc.inventory, 5))
			b.advance()
			require.Empty(t, b.p.calls)
			if tc.waits {
				require.NotNil(t, b.record().Held)
				return
			}
			require.Equal(t, scaling.ActionFailed, b.record().Action.State)
			require.Contains(t, b.record().Action.Error, "holds only a part of them")
		})
	}
}

// A platform that cannot be observed is not asked for less than it may have:
// what was removed on purpose is no part of that.
func TestReleasedWorkersAreNotMissed(t *testing.T) {
	for _, tc := range []struct {
		name   string
		gone   int
		target int
		asked  bool
	}{
		{"nobody was released", 0, 4, false},
		{"one of four was released", 1, 4, true},
		{"one of four was released, and three are wanted", 1, 3, false},
		{"two of four were released", 2, 3, true},
	} {
		t.Run(tc.name, func(t *testing.T) {
			b := newBench(t, nil)
			b.p.blind = true
			b.decide(4, scaling.NoAction, 4, 4)
			b.advance()
			b.wait(30 * time.Second)
			var gone []time.Time
			for range tc.gone {
				gone = append(gone, b.clock.t)
			}
			b.drains("", gone...)
			b.wait(15 * time.Second)
			v := b.accept(b.decide(5, scaling.ScaleOut, 2, tc.target))
			b.advance()
			if tc.asked {
				require.Equal(t, []int{tc.target}, b.p.calls)
				return
			}
			require.Equal(t, scaling.VerdictHeld, v.Result)
			require.Empty(t, b.p.calls)
			require.Equal(t, scaling.ConditionWorkersMissing, b.record().Held.Condition)
		})
	}
}

// What a release has written is our own: neither the fence nor the number is
// another writer's.
func TestAReleaseIsNoOtherWriter(t *testing.T) {
	b := newBench(t, nil)
	b.converged(5, 3)
	b.wait(actuators.DefaultCooldown + time.Minute)
	b.p.st = actuators.State{Desired: 2, Ready: 2, Fence: actuators.Fence{Epoch: 3, Generation: 6, RecommendationID: "3-6-" + scopeKey, ActionID: "d-1"}}
	b.drains("", b.clock.t)
	b.wait(15 * time.Second)
	b.accept(b.decide(7, scaling.ScaleOut, 2, 3))
	b.advance()
	require.Equal(t, scaling.ActionConverging, b.record().Action.State)
	require.Empty(t, b.record().OtherWriter)
}

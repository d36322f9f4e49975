package actuators_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/zeta-scaler/zeta-scaler/actuators"
	"github.com/zeta-scaler/zeta-scaler/scaling"
)

// TestWhateverTheClockWas: whatever the clock did before, and whatever was done
// by it, once it is right no instant lies further ahead than its own duration,
// and the next action is carried out when it would have been.
func TestWhateverTheClockWas(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		blind := rapid.Bool().Draw(rt, "blind")
		b := newBench(t, func(c *actuators.ScopeConfig) { c.Cooldown, c.TriggerWindow = new(5*time.Second), 0 })
		b.p.blind = blind
		right := b.clock.t
		generation := uint64(5)
		b.decide(generation, scaling.NoAction, 2, 2)
		for range rapid.IntRange(1, 4).Draw(rt, "actions by a wrong clock") {
			ahead := rapid.SampledFrom([]time.Duration{time.Hour, 8 * 24 * time.Hour, 400 * 24 * time.Hour, -time.Hour}).Draw(rt, "ahead")
			b.clock.t = right.Add(ahead)
			generation++
			b.p.answers = rapid.SampledFrom([][]error{nil, {errLost}, {actuators.ErrRefused}, {actuators.ErrUnknownOutcome}}).Draw(rt, "answer")
			n := b.p.st.Ready
			b.accept(b.decide(generation, scaling.ScaleOut, n, n+1))
			b.advance()
			if rapid.Bool().Draw(rt, "converges") {
				b.p.st.Ready = b.p.st.Desired
				b.clock.t = b.clock.t.Add(15 * time.Second)
				right = right.Add(15 * time.Second)
				generation++
				b.decide(generation, scaling.NoAction, b.p.st.Ready, b.p.st.Ready)
				b.advance()
			}
			if rapid.Bool().Draw(rt, "restart") {
				b.lead(3)
			}
		}
		b.clock.t = right
		b.p.answers = nil
		b.advance()
		requireNothingAhead(t, b)
		// What is under way ends: converged, or given up by its own time-out.
		for range 200 {
			b.p.st.Ready = b.p.st.Desired
			b.wait(15 * time.Second)
			b.decide(generation+1, scaling.NoAction, b.p.st.Ready, b.p.st.Ready)
			b.advance()
			requireNothingAhead(t, b)
			if r := b.record(); r.Held == nil && (r.Action == nil || r.Action.State.Final()) && !r.BackoffUntil.After(b.clock.t) && !r.CooldownUntil.After(b.clock.t) {
				break
			}
		}
		require.LessOrEqual(t, b.clock.t.Sub(right), 45*time.Minute, "time-out and the longest back-off")
		b.wait(10 * time.Minute)
		calls, n := len(b.p.calls), b.p.st.Ready
		b.decide(generation+2, scaling.NoAction, n, n)
		b.accept(b.decide(generation+3, scaling.ScaleOut, n, n+1))
		b.advance()
		require.Len(t, b.p.calls, calls+1, "%+v", b.record())
	})
}

func requireNothingAhead(t *testing.T, b *bench) {
	t.Helper()
	r, now := b.record(), b.clock.t
	require.False(t, r.CooldownUntil.After(now.Add(5*time.Second)), "cooldown until %s", r.CooldownUntil)
	require.False(t, r.BackoffUntil.After(now.Add(30*time.Minute)), "back-off until %s", r.BackoffUntil)
	require.False(t, r.Deadline.After(now.Add(actuators.DefaultConvergenceTimeout)), "deadline %s", r.Deadline)
	require.False(t, r.NextAttempt.After(now.Add(30*time.Second)), "next attempt %s", r.NextAttempt)
	for _, e := range r.Booting {
		require.False(t, e.Deadline.After(now.Add(actuators.DefaultBootDeadline)), "booting until %s", e.Deadline)
	}
}

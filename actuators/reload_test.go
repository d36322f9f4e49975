package actuators_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/zeta-scaler/zeta-scaler/actuators"
	"github.com/zeta-scaler/zeta-scaler/scaling"
)

// replaced is the configuration of the bench with another actuator.
func (b *bench) replaced(mode scaling.Mode, kind string, a actuators.Actuator) []actuators.ScopeConfig {
	c := b.cfg
	c.Mode, c.Kind, c.Actuator = mode, kind, a
	return []actuators.ScopeConfig{c}
}

// A reload while the platform is asked does not change what it was asked, nor
// what its answer means.
func TestReloadWhileThePlatformIsAsked(t *testing.T) {
	for name, reloaded := range map[string]func(*bench) []actuators.ScopeConfig{
		"dry run":                func(b *bench) []actuators.ScopeConfig { return b.replaced(scaling.Webhook, "log", &stand{dry: true}) },
		"no actuator":            func(b *bench) []actuators.ScopeConfig { return b.replaced(scaling.Advisory, "yarn", nil) },
		"left the configuration": func(*bench) []actuators.ScopeConfig { return nil },
	} {
		t.Run(name, func(t *testing.T) {
			b := newBench(t, nil)
			b.p.blind = true
			b.p.onScale = func() { b.x.Configure(reloaded(b)) }
			b.accept(b.decide(5, scaling.ScaleOut, 2, 3))
			b.advance()
			require.Equal(t, []scaling.ActionState{"PENDING", "EXECUTING", "CONVERGING"}, b.states())
			require.Len(t, b.record().Booting, 1)
			b.converged(6, 3)
			require.Equal(t, scaling.ActionSucceeded, b.record().Action.State)
			require.Equal(t, b.clock.t.Add(5*time.Minute), b.record().CooldownUntil)
			require.Equal(t, []int{3}, b.p.calls)
		})
	}
}

// A dry run that takes the place of an actuator knows nothing about what that
// has done.
func TestReloadToDryRunOfAnUnknownOutcome(t *testing.T) {
	b := newBench(t, nil)
	b.p.blind, b.p.answers = true, []error{actuators.ErrUnknownOutcome}
	b.accept(b.decide(5, scaling.ScaleOut, 2, 3))
	b.advance()
	require.Equal(t, scaling.ActionUnknown, b.record().Action.State)
	dry := &stand{dry: true}
	b.x.Configure(b.replaced(scaling.Webhook, "log", dry))
	b.advance()
	require.Equal(t, scaling.ActionUnknown, b.record().Action.State)
	require.Len(t, b.record().Booting, 1)
	b.converged(6, 3)
	b.wait(15 * time.Second)
	b.decide(6, scaling.NoAction, 3, 3)
	b.advance()
	require.Equal(t, []scaling.ActionState{"PENDING", "EXECUTING", "UNKNOWN", "CONVERGING", "SUCCEEDED"}, b.states())
	require.Empty(t, dry.calls)
}

// What a reload brings between two attempts is asked by the new actuator, under
// its own name.
func TestReloadBetweenAttempts(t *testing.T) {
	b := newBench(t, nil)
	b.p.blind, b.p.answers = true, []error{errLost}
	id := b.decide(5, scaling.ScaleOut, 2, 3)
	b.accept(id)
	b.advance()
	require.Equal(t, "test", b.record().Action.Actuator)
	next := &stand{blind: true}
	b.x.Configure(b.replaced(scaling.Webhook, "next", next))
	b.wait(11 * time.Second)
	b.decide(5, scaling.ScaleOut, 2, 3)
	b.advance()
	require.Equal(t, scaling.ActionConverging, b.record().Action.State)
	require.Equal(t, "next", b.record().Action.Actuator)
	require.Equal(t, []int{3}, next.calls)
	require.Equal(t, []int{3}, b.p.calls)
}

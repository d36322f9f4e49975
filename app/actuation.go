package app

import (
	"errors"
	"fmt"
	"time"

	"github.com/zeta-scaler/zeta-scaler/actuators"
	"github.com/zeta-scaler/zeta-scaler/config"
)

// actuation makes an actuator for every listed scope. A scope that is advisory
// has one, too: its mode can change at run time.
func (s *service) actuation(cfg *config.Config) ([]actuators.ScopeConfig, error) {
	var out []actuators.ScopeConfig
	var errs []error
	for i := range cfg.Scopes {
		sc := &cfg.Scopes[i]
		rs := cfg.RuleSet(sc.RuleSet)
		kind, maker := cfg.Actuator(sc)
		c := actuators.ScopeConfig{
			Scope: cfg.Resolved(sc), Mode: sc.Mode, Bounds: cfg.EffectiveBounds(sc), Deployment: sc.Deployment,
			Kind: kind, Target: maker.WritesTo(), CallTimeout: callTimeout(maker),
			Cooldown: &sc.Cooldown, FailureBackoff: sc.FailureBackoff,
			ConvergenceTimeout: sc.ConvergenceTimeout, BootDeadline: rs.Step.BootDeadline,
			Rounds:        rs.Step.LaterRounds(),
			TriggerWindow: config.TriggerWindow(rs),
		}
		var err error
		if c.Actuator, err = maker.Make(actuators.Env{Labels: rs.ScopeBy, Logger: s.logger}); err != nil {
			errs = append(errs, fmt.Errorf("scopes[%d].actuator.%s: %w", i, kind, err))
			continue
		}
		out = append(out, c)
	}
	return out, errors.Join(errs...)
}

// callGrace is what the executor waits longer than an actuator: the actuator
// knows better what its time-out means.
const callGrace = 10 * time.Second

// callTimeout bounds one call, 0 leaves it to the executor.
func callTimeout(m actuators.Maker) time.Duration {
	if d := m.CallTimeout(); d > 0 {
		return d + callGrace
	}
	return 0
}

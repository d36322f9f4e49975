package actuators

import (
	"cmp"
	"time"

	"github.com/zeta-scaler/zeta-scaler/scaling"
)

// ScopeConfig is one scope that may be acted on. A scope that is not listed is
// never acted on.
type ScopeConfig struct {
	Scope scaling.Scope
	// Mode is advisory if empty; a control record may override it.
	Mode scaling.Mode
	// Bounds are those of the configuration, DefaultBounds if zero; a control
	// record may override them. They are looked up again before every call.
	Bounds scaling.Bounds
	// Deployment application is never acted on, whatever the mode.
	Deployment scaling.Deployment
	// Kind is the actuator's, such as "kubernetes"; it labels metrics.
	Kind string
	// Target is what the actuator writes to, see Target.Name.
	Target string
	// Actuator may be nil: then nothing is ever done.
	Actuator Actuator
	// Cooldown follows a convergence; nil is 5m. FailureBackoff follows a failure
	// (default 3m, doubled with each further one up to 30m).
	Cooldown       *time.Duration
	FailureBackoff time.Duration
	// ConvergenceTimeout is how long an action may take (default 10m),
	// BootDeadline how long requested workers count as booting (default 3m).
	ConvergenceTimeout time.Duration
	BootDeadline       time.Duration
	// CallTimeout bounds one call of the platform (default 30s). An actuator with
	// a time-out of its own needs a little more.
	CallTimeout time.Duration
	// Rounds is true where a pressure that goes on is asked for in rounds
	// (rules.Step.LaterRounds): a later one raises the target of the action in
	// flight, and ignores the cooldown.
	Rounds bool
	// TriggerWindow is how long after convergence the trigger is looked at
	// again, to say whether scaling helped; 0 does not look.
	TriggerWindow time.Duration
}

// Defaults of ScopeConfig (spec 4.2, 1.8).
const (
	DefaultCooldown           = 5 * time.Minute
	DefaultFailureBackoff     = 3 * time.Minute
	DefaultConvergenceTimeout = 10 * time.Minute
	DefaultBootDeadline       = 3 * time.Minute
)

const (
	// maxAttempts is how often a platform is called for one action before it fails.
	maxAttempts = 5
	// pollEvery is how often a target that converges is observed.
	pollEvery = 5 * time.Second
)

// withDefaults fills in what is not set.
func (c ScopeConfig) withDefaults() ScopeConfig {
	if c.Cooldown == nil {
		standard := DefaultCooldown
		c.Cooldown = &standard
	}
	c.FailureBackoff = cmp.Or(c.FailureBackoff, DefaultFailureBackoff)
	c.ConvergenceTimeout = cmp.Or(c.ConvergenceTimeout, DefaultConvergenceTimeout)
	c.BootDeadline = cmp.Or(c.BootDeadline, DefaultBootDeadline)
	if c.Mode == "" {
		c.Mode = scaling.Advisory
	}
	if c.Bounds == (scaling.Bounds{}) {
		c.Bounds = scaling.DefaultBounds()
	}
	return c
}

// ScopeKey is the scope's key.
func (c ScopeConfig) ScopeKey() string { return c.Scope.Key }

// Listed is false for a scope that has left the configuration.
func (c ScopeConfig) Listed() bool { return c.Mode != "" }

// Left is what remains of a scope then: nobody may act on it, and its actuator still
// observes what has begun.
func (c ScopeConfig) Left() ScopeConfig {
	c.Mode = ""
	return c
}

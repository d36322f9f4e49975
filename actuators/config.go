package actuators

import (
	"cmp"
	"context"
	"errors"
	"log/slog"
	"math/rand/v2"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/zeta-scaler/zeta-scaler/scaling"
	"github.com/zeta-scaler/zeta-scaler/state"
)

// Clock is the executor's only notion of time, so that tests and the demo can
// drive it.
type Clock interface {
	Now() time.Time
	// WaitUntil returns nil once Now is not before t, or ctx's error.
	WaitUntil(ctx context.Context, t time.Time) error
}

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
	// maxFailureBackoff is where doubling ends.
	maxFailureBackoff = 30 * time.Minute
	// callTimeout bounds one call of a platform that has none of its own.
	callTimeout = 30 * time.Second
	// maxAttempts is how often a platform is called for one action before it fails.
	maxAttempts = 5
	// firstRetry is the wait after the first failed call, doubled with each further
	// one up to lastRetry, less a random half.
	firstRetry = time.Second
	lastRetry  = 30 * time.Second
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

// Options are what an executor needs. Store, Clock and Epoch have no default.
type Options struct {
	Store state.Store
	Clock Clock
	// Epoch is that of this leader, ≥ 1.
	Epoch uint64
	// Leads is asked before every step; an error says that this process leads
	// no longer, and nothing is done. It must be quick. Nil: always.
	Leads func() error
	// Emit is told every transition after it was stored; it must not block.
	Emit func(scaling.Event)
	// Logger is silent if nil.
	Logger *slog.Logger
	// Registerer may be nil.
	Registerer prometheus.Registerer
	// Rand draws from [0, 1) for jitter; nil: the runtime's.
	Rand func() float64
}

// ErrLate says that no tick was decided for longer than a recommendation is
// valid: ask again, the next one tells.
var ErrLate = errors.New("the decision loop is late")

func (o Options) withDefaults() (Options, error) {
	if o.Store == nil || o.Clock == nil || o.Epoch == 0 {
		return o, errors.New("an executor needs a store, a clock and an epoch of at least 1")
	}
	if o.Leads == nil {
		o.Leads = func() error { return nil }
	}
	if o.Emit == nil {
		o.Emit = func(scaling.Event) {}
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	if o.Rand == nil {
		o.Rand = rand.Float64
	}
	return o, nil
}

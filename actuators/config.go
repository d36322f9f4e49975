package actuators

import (
	"context"
	"errors"
	"fmt"
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
	// Deployment application is never acted on, whatever the mode.
	Deployment scaling.Deployment
	// Kind is the actuator's, such as "kubernetes"; it labels metrics.
	Kind string
	// Target is what the actuator writes to, see Target.Name.
	Target string
	// Actuator may be nil: then nothing is ever done.
	Actuator Actuator
	// Cooldown follows a convergence (default 5m), FailureBackoff a failure
	// (default 3m, doubled with each further one up to 30m).
	Cooldown       time.Duration
	FailureBackoff time.Duration
	// ConvergenceTimeout is how long an action may take (default 10m),
	// BootDeadline how long requested workers count as booting (default 3m).
	ConvergenceTimeout time.Duration
	BootDeadline       time.Duration
	// CallTimeout bounds one call of the platform, 0 is that of Options. An
	// actuator with a time-out of its own needs a little more.
	CallTimeout time.Duration
	// Rounds is true with step policy exponential or demand: a later round
	// raises the target of the action in flight, and ignores the cooldown.
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

// maxFailureBackoff is where doubling ends.
const maxFailureBackoff = 30 * time.Minute

// withDefaults fills in durations that are not set. A cooldown or back-off of
// less than 0 is none at all.
func (c ScopeConfig) withDefaults() ScopeConfig {
	fill := func(d *time.Duration, standard time.Duration) {
		if *d == 0 {
			*d = standard
		}
		*d = max(*d, 0)
	}
	fill(&c.Cooldown, DefaultCooldown)
	fill(&c.FailureBackoff, DefaultFailureBackoff)
	fill(&c.ConvergenceTimeout, DefaultConvergenceTimeout)
	fill(&c.BootDeadline, DefaultBootDeadline)
	if c.Mode == "" {
		c.Mode = scaling.Advisory
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
	// CallTimeout bounds one call of a platform (default 30s).
	CallTimeout time.Duration
	// MaxAttempts is how often a platform is called for one action before it
	// fails (default 5).
	MaxAttempts int
	// RetryBase is the wait after the first failed call (default 1s), doubled
	// with each further one up to RetryMax (default 30s), less a random half.
	RetryBase time.Duration
	RetryMax  time.Duration
	// Poll is how often a target that converges is observed (default 5s).
	Poll time.Duration
	// Rand draws from [0, 1) for jitter; nil: the runtime's.
	Rand func() float64
}

// Errors of the executor.
var (
	// ErrNotLeader says that another process acts now, and this one must not.
	ErrNotLeader = errors.New("this process does not lead")
	// ErrStore says that the state store could not be read or written, so that
	// nothing was promised.
	ErrStore = errors.New("the state store cannot be used")
)

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
	if o.MaxAttempts <= 0 {
		o.MaxAttempts = 5
	}
	for _, d := range []struct {
		value    *time.Duration
		standard time.Duration
	}{
		{&o.CallTimeout, 30 * time.Second},
		{&o.RetryBase, time.Second},
		{&o.RetryMax, 30 * time.Second},
		{&o.Poll, 5 * time.Second},
	} {
		if *d.value <= 0 {
			*d.value = d.standard
		}
	}
	return o, nil
}

// leads fails once this process leads no longer.
func (x *Executor) leads() error {
	if x.lost.Load() {
		return fmt.Errorf("%w: a newer epoch than %d has written", ErrNotLeader, x.o.Epoch)
	}
	if err := x.o.Leads(); err != nil {
		return fmt.Errorf("%w: %w", ErrNotLeader, err)
	}
	return nil
}

package exec

import (
	"time"

	"github.com/zeta-scaler/zeta-scaler/actuators"
)

// SetDefaults implements document.Defaulter.
func (o *Options) SetDefaults() { o.Timeout = DefaultTimeout }

// WritesTo implements actuators.Maker.
func (o *Options) WritesTo() string { return o.Target }

// CallTimeout implements actuators.Maker.
func (o *Options) CallTimeout() time.Duration { return o.Timeout }

// Releases implements actuators.Releaser.
func (o *Options) Releases() bool { return o.Release }

// Check reports names that cannot be used, and those of workers that the command
// does not release.
func (o *Options) Check(fail func(key, format string, args ...any)) {
	actuators.Listed(o.Workers).Check(fail)
	if len(o.Workers) > 0 && !o.Release {
		fail("workers", "names workers for the verb release, which the command does not know: set release: true")
	}
}

// Make implements actuators.Maker.
func (o *Options) Make(e actuators.Env) (actuators.Actuator, error) {
	with := *o
	with.Logger = e.Logger
	a, err := New(with)
	if err != nil {
		return nil, err
	}
	return a, nil
}

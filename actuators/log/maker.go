package log

import (
	"time"

	"github.com/zeta-scaler/zeta-scaler/actuators"
)

// Options are those of the actuator log.
type Options struct {
	// Workers are the names of the workers that a drain may choose from.
	Workers []string `yaml:"workers"`
}

// WritesTo implements actuators.Maker.
func (*Options) WritesTo() string { return "" }

// CallTimeout implements actuators.Maker.
func (*Options) CallTimeout() time.Duration { return 0 }

// Releases implements actuators.Releaser: a dry run removes nothing.
func (*Options) Releases() bool { return false }

// Make implements actuators.Maker.
func (o *Options) Make(e actuators.Env) (actuators.Actuator, error) {
	return New(e.Logger, o.Workers...), nil
}

// Check reports names that cannot be used.
func (o *Options) Check(fail func(key, format string, args ...any)) {
	actuators.Listed(o.Workers).Check(fail)
}

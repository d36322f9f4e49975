package backtest

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/zeta-scaler/zeta-scaler/evaluator"
	"github.com/zeta-scaler/zeta-scaler/progress"
	"github.com/zeta-scaler/zeta-scaler/rules"
	"github.com/zeta-scaler/zeta-scaler/scaling"
)

// DefaultForgetAfter is how long a scope without samples is kept, as in the
// service.
const DefaultForgetAfter = time.Hour

// maxTicks bounds a backtest: ten years of 30 s.
const maxTicks = 10_512_000

// Options say what is replayed over which period.
type Options struct {
	// Source answers range queries, and SourceName says in reports which it is.
	Source     evaluator.Source
	SourceName string
	// RuleSets are one or two; the second is compared with the first.
	RuleSets []*rules.RuleSet
	// Start and End are the period. An end that lies ahead of Now is Now.
	Start, End time.Time
	// Period is how the period was asked for; a checkpoint of another one is not
	// gone on from. The period itself comes from the checkpoint, for "the last 30
	// days" are others by then.
	Period string
	// Now is the present; zero is time.Now.
	Now time.Time
	// Limits are what scopes had to keep to beside the rule sets' bounds; nil is
	// nothing.
	Limits *Limits
	// Scopes are the keys of the scopes that are reported; none is all.
	Scopes []string
	// ForgetAfter is how long a scope without samples is kept; 0 is the default.
	ForgetAfter time.Duration
	// Plots has the report hold what plots are drawn from.
	Plots bool
	// Checkpoint is a file that a backtest goes on from and writes after every
	// piece; empty for none.
	Checkpoint string
	// Lines gets every tick that is reported, in order; nil nobody.
	Lines Lines
	// Progress is told of every piece that is done, in ticks of the first rule set,
	// those that only fill windows included; nil nobody.
	Progress func(progress.Progress)
	// Ticks is how many ticks are read at once, rounded up to whole blocks; 0
	// follows the number of series.
	Ticks int
}

// Lines are what is written tick by tick.
type Lines interface {
	// Tick takes one scope at one tick of one rule set. It is valid until it
	// returns.
	Tick(t *Tick) error
	// Flush makes sure that what came before is written: a checkpoint follows.
	Flush() error
}

// prepare fills in defaults and says all that is wrong.
func (o *Options) prepare() error {
	var errs []error
	if o.Now.IsZero() {
		o.Now = time.Now()
	}
	if o.ForgetAfter <= 0 {
		o.ForgetAfter = DefaultForgetAfter
	}
	if o.Limits == nil {
		o.Limits = NewLimits(nil)
	}
	if n := len(o.RuleSets); n < 1 || n > 2 {
		return fmt.Errorf("%d rule sets are given, expected one or two", n)
	}
	first := o.RuleSets[0]
	for _, rs := range o.RuleSets {
		errs = append(errs, o.Limits.Validate(rs.Bounds)...)
		if !slices.Equal(rs.ScopeBy, first.ScopeBy) {
			errs = append(errs, fmt.Errorf("%s %s has scope_by %v and %s %s has %v: their scopes cannot be compared",
				rs.Name, rs.Version, rs.ScopeBy, first.Name, first.Version, first.ScopeBy))
		}
	}
	if !o.Start.Before(o.End) {
		errs = append(errs, fmt.Errorf("the period ends at %s, which is not after its start at %s", scaling.At(o.End), scaling.At(o.Start)))
	}
	if !o.Start.Before(o.Now) {
		errs = append(errs, fmt.Errorf("the period begins at %s, which is not in the past", scaling.At(o.Start)))
	}
	if n := o.End.Sub(o.Start) / first.Interval; n > maxTicks {
		errs = append(errs, fmt.Errorf("the period has %d ticks, expected at most %d", n, maxTicks))
	}
	return errors.Join(errs...)
}

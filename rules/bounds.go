package rules

import (
	"fmt"
	"io"

	"github.com/zeta-scaler/zeta-scaler/scaling"
)

// ValidateBounds reports every reason why a step policy cannot work within
// bounds (spec 2). The bounds of a scope may come from a configuration file, so
// that is checked with the same words as a rule set's own.
func ValidateBounds(b scaling.Bounds, s Step) []error {
	errs := b.Validate()
	add := func(bad bool, format string, args ...any) {
		if bad {
			errs = append(errs, fmt.Errorf(format, args...))
		}
	}
	add(s.Unit < 1, "step.unit is %d, expected 1 or more", s.Unit)
	add(s.Unit > s.MaxStep, "step.unit %d is greater than step.max_step %d", s.Unit, s.MaxStep)
	add(s.Unit > b.Max, "step.unit %d is greater than max_workers %d", s.Unit, b.Max)
	add(s.Workers < 1, "step.workers is %d, expected 1 or more", s.Workers)
	add(s.Workers > s.MaxStep, "step.workers %d is greater than step.max_step %d", s.Workers, s.MaxStep)
	if s.Unit > 0 && b.Min > 0 && b.Min <= b.Max && s.Unit <= b.Max {
		add((b.Min-1)/s.Unit+1 > b.Max/s.Unit,
			"min_workers %d rounded up to step.unit %d is greater than max_workers %d", b.Min, s.Unit, b.Max)
	}
	return errs
}

// checkBounds places the errors of ValidateBounds at the key that was written.
func (d *decoder) checkBounds(rs *RuleSet) {
	b := scaling.DefaultBounds()
	if rs.Bounds != nil {
		b = *rs.Bounds
	}
	for _, err := range ValidateBounds(b, rs.Step) {
		d.report(rs.at("step.unit", "step.workers", "step.max_step", "bounds.min_workers", "bounds.max_workers", "step", "bounds"),
			SeverityError, CheckBounds, "", err.Error())
	}
}

// at is the place of the first of these keys that the file has.
func (rs *RuleSet) at(keys ...string) Position {
	for _, k := range keys {
		if p, ok := rs.keys[k]; ok {
			return p
		}
	}
	return Position{File: rs.File}
}

// at is the place of the first of these keys that the signal has, or its own.
func (s *Signal) at(keys ...string) Position {
	for _, k := range keys {
		if p, ok := s.keys[k]; ok {
			return p
		}
	}
	return s.Pos
}

// readLimited reads a little more than a rule set may have, so that Parse says
// that it is too large.
func readLimited(r io.Reader) ([]byte, error) {
	return io.ReadAll(io.LimitReader(r, maxFileBytes+1))
}

package rules

import (
	"fmt"

	"github.com/zeta-scaler/zeta-scaler/document"
	"github.com/zeta-scaler/zeta-scaler/scaling"
)

// ValidateBounds reports every reason why a step policy cannot work within
// bounds (spec 2). The bounds of a scope may come from a configuration file, so
// that is checked with the same words as a rule set's own.
func ValidateBounds(b scaling.Bounds, s Step) []error {
	var errs []error
	for _, m := range misfits(b, s) {
		errs = append(errs, m.err)
	}
	return errs
}

// misfit is one reason, and the keys that are to blame for it.
type misfit struct {
	keys []string
	err  error
}

func misfits(b scaling.Bounds, s Step) []misfit {
	var out []misfit
	for _, err := range b.Validate() {
		out = append(out, misfit{[]string{"bounds.min_workers", "bounds.max_workers", "bounds.floor_delay", "bounds"}, err})
	}
	add := func(bad bool, key, format string, args ...any) {
		if bad {
			out = append(out, misfit{[]string{key, "step.max_step", "bounds.max_workers", "bounds.min_workers", "step"}, fmt.Errorf(format, args...)})
		}
	}
	add(s.Unit < 1, "step.unit", "step.unit is %d, expected 1 or more", s.Unit)
	add(s.Unit > s.MaxStep, "step.unit", "step.unit %d is greater than step.max_step %d", s.Unit, s.MaxStep)
	add(s.Unit > b.Max, "step.unit", "step.unit %d is greater than max_workers %d", s.Unit, b.Max)
	add(s.Workers < 1, "step.workers", "step.workers is %d, expected 1 or more", s.Workers)
	add(s.Workers > s.MaxStep, "step.workers", "step.workers %d is greater than step.max_step %d", s.Workers, s.MaxStep)
	if s.Unit > 0 && b.Min > 0 && b.Min <= b.Max && s.Unit <= b.Max {
		add((b.Min-1)/s.Unit+1 > b.Max/s.Unit, "step.unit",
			"min_workers %d rounded up to step.unit %d is greater than max_workers %d", b.Min, s.Unit, b.Max)
	}
	return out
}

// checkBounds places the misfits at the keys that were written.
func (d *decoder) checkBounds(rs *RuleSet) {
	b := scaling.DefaultBounds()
	if rs.Bounds != nil {
		b = *rs.Bounds
	}
	for _, m := range misfits(b, rs.Step) {
		d.Add(document.SeverityError, rs.at(m.keys...), CheckBounds, "", "%v", m.err)
	}
}

// at is the place of the first of these keys that the file has.
func (rs *RuleSet) at(keys ...string) document.Position {
	for _, k := range keys {
		if p, ok := rs.places[k]; ok {
			return p
		}
	}
	return document.Position{File: rs.File}
}

// at is the place of the first of these keys that the signal has, or its own.
func (s *Signal) at(keys ...string) document.Position {
	for _, k := range keys {
		if p, ok := s.places[document.Join(s.path, k)]; ok {
			return p
		}
	}
	return s.Pos
}

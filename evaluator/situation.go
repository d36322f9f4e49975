package evaluator

import "github.com/zeta-scaler/zeta-scaler/scaling"

// situation is all that the decision table looks at: which facts hold at one
// tick of one scope, its worker counts and its bounds.
type situation struct {
	facts                      scaling.Facts
	current, booting, min, max int
}

// busyFacts are what an active scope waits for before it acts again.
const busyFacts = scaling.FactCooldown | scaling.FactBackoff | scaling.FactInFlight

func (s *situation) has(f scaling.Facts) bool    { return s.facts.Has(f) }
func (s *situation) hasAny(f scaling.Facts) bool { return s.facts&f != 0 }

// set adds facts if they hold.
func (s *situation) set(f scaling.Facts, holds bool) {
	if holds {
		s.facts |= f
	}
}

func (s *situation) settled() bool { return !s.hasAny(busyFacts) && s.booting == 0 }

// requested are the workers that are there or were asked for.
func (s *situation) requested() int { return scaling.AddSaturating(s.current, s.booting) }

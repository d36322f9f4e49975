package evaluator

import (
	"fmt"

	"github.com/zeta-scaler/zeta-scaler/scaling"
)

// condition is one part of what a row of the decision table asks for. The row
// decides when all of its conditions hold.
type condition struct {
	// words name the condition in the table's document.
	words string
	holds func(*situation) bool
	// otherwise says what was there instead when it does not hold.
	otherwise func(*situation) string
}

// when is a condition whose opposite needs no numbers.
func when(words string, holds func(*situation) bool, otherwise string) condition {
	return condition{words, holds, func(*situation) string { return otherwise }}
}

// whenFact is a condition that one fact makes.
func whenFact(words string, f scaling.Facts, otherwise string) condition {
	return when(words, func(s *situation) bool { return s.has(f) }, otherwise)
}

// whenNot is a condition that the lack of a fact makes.
func whenNot(words string, f scaling.Facts, otherwise string) condition {
	return when(words, func(s *situation) bool { return !s.has(f) }, otherwise)
}

// The conditions that several rows share.
var (
	metricsUnusable = whenNot("¬metrics_usable", scaling.FactMetricsUsable, "the metrics are usable")
	shortage        = whenFact("shortage", scaling.FactShortage,
		"no blocking signal has been above its threshold for its window, or a guard holds it")
	saturated = whenFact("saturated", scaling.FactSaturated, "no saturation signal has been above its threshold for its window")
	slotTight = whenFact("slot_tight", scaling.FactSlotTight, "no capacity signal has been above its threshold for its window")
	noGuard   = whenNot("no sustained guard that holds signals", scaling.FactGuardHolds,
		"a sustained guard holds signals: more workers would not help")
	looksIdle = whenFact("looks_idle", scaling.FactLooksIdle,
		"it does not look idle: a saturation or capacity signal is not below its scale-in threshold, or is unknown")
	idle = whenFact("idle", scaling.FactIdle,
		"it is not idle: not every scale-in condition has held for its window with valid metrics")
	aboveMin = condition{
		"current > min",
		func(s *situation) bool { return s.current > s.min },
		func(s *situation) string { return fmt.Sprintf("current %d is not above min %d", s.current, s.min) },
	}
	aboveMax = condition{"current > max", func(s *situation) bool { return s.current > s.max }, notAboveMax}
	settled  = condition{"settled", (*situation).settled, notSettled}
)

func notAboveMax(s *situation) string {
	if s.max == scaling.Unbounded {
		return "there is no upper bound"
	}
	return fmt.Sprintf("current %d is not above max %d", s.current, s.max)
}

func notBelowMin(s *situation) string {
	if s.requested() < s.min {
		return fmt.Sprintf("current %d + booting %d is below min %d, but not for floor_delay yet", s.current, s.booting, s.min)
	}
	return fmt.Sprintf("current %d + booting %d is not below min %d", s.current, s.booting, s.min)
}

func notSettled(s *situation) string {
	var parts []string
	add := func(holds bool, text string) {
		if holds {
			parts = append(parts, text)
		}
	}
	add(s.has(scaling.FactCooldown), "the cooldown runs")
	add(s.has(scaling.FactBackoff), "the failure back-off runs")
	add(s.has(scaling.FactInFlight), "an action is in flight")
	add(s.booting > 0, workers(s.booting, "is", "are")+" booting")
	return join(parts)
}

package rules

import (
	"github.com/zeta-scaler/zeta-scaler/document"
	"github.com/zeta-scaler/zeta-scaler/scaling"
)

// lint is one check of a decoded set. It may see a set that decoding had
// something to say about, and then keeps silent about what is missing.
type lint struct {
	check    string
	severity document.Severity
	run      func(rs *RuleSet, report reporter)
}

// reporter takes a finding: where, what, and what to do about it.
type reporter func(at document.Position, message, hint string)

// errorLints stop a load.
func errorLints() []lint {
	e := func(check string, run func(*RuleSet, reporter)) lint {
		return lint{check: check, severity: document.SeverityError, run: run}
	}
	return []lint{
		e(CheckScalar, lintScalar),
		e(CheckHysteresis, lintHysteresis),
		e(CheckScaleInClasses, lintScaleInClasses),
		e(CheckScaleInShorter, lintScaleInShorter),
		e(CheckCapacitySlotMode, lintCapacitySlotMode),
		e(CheckNoBlocking, lintNoBlocking),
		e(CheckNoSaturation, lintNoSaturation),
		e(CheckHolds, lintHolds),
		e(CheckDemand, lintDemand),
		e(CheckSurplus, lintSurplus),
		e(CheckGuard, lintGuard),
	}
}

// warningLints do not stop a load.
func warningLints() []lint {
	w := func(check string, run func(*RuleSet, reporter)) lint {
		return lint{check: check, severity: document.SeverityWarning, run: run}
	}
	return []lint{
		w(CheckEventWindow, lintEventWindow),
		w(CheckSamples, lintSamples),
		w(CheckFilter, lintFilter),
		w(CheckGaugeRate, lintGaugeRate),
		w(CheckShortRange, lintShortRange),
		w(CheckPending, lintPending),
		w(CheckUnknownSeries, lintUnknownSeries),
		w(CheckForInterval, lintForInterval),
		w(CheckLongLookback, lintLongLookback),
		w(CheckKeepFiring, lintKeepFiring),
		w(CheckMinZero, lintMinZero),
		w(CheckNoEffect, lintNoEffect),
	}
}

// Lint returns the warnings about a rule set that Parse accepted.
func Lint(rs *RuleSet) []document.Diagnostic {
	ds := run(warningLints(), rs)
	document.Sort(ds)
	return ds
}

// run applies lints to a set.
func run(lints []lint, rs *RuleSet) []document.Diagnostic {
	var ds []document.Diagnostic
	for _, l := range lints {
		l.run(rs, func(at document.Position, message, hint string) {
			ds = append(ds, document.Diagnostic{
				Pos: at, Severity: l.severity, Check: l.check, Message: message, Hint: hint, Snippet: rs.text.Snippet(at),
			})
		})
	}
	return ds
}

// input is one expression of a set with what it is called.
type input struct {
	name string
	expr *Expr
	// signal is nil for an expression that is none.
	signal *Signal
}

// inputs are all expressions of a set that were decoded.
func (rs *RuleSet) inputs() []input {
	var out []input
	add := func(name string, e *Expr, s *Signal) {
		if e != nil && e.Node != nil {
			out = append(out, input{name: name, expr: e, signal: s})
		}
	}
	add("slot_mode", rs.SlotModeExpr, nil)
	add("workers.current", rs.Workers.Current, nil)
	add("workers.reporting", rs.Workers.Reporting, nil)
	add("workers.master", rs.Workers.Master, nil)
	add("workers.slots", rs.Workers.Slots, nil)
	add("workers.unsatisfied", rs.Workers.Unsatisfied, nil)
	add("workers.free", rs.Workers.Free, nil)
	add("workers.sources", rs.Workers.Sources, nil)
	for i := range rs.Signals {
		s := &rs.Signals[i]
		add("signal "+s.Name, s.Expr, s)
	}
	return out
}

// classesKnown is false while a class could not be read: then nothing can be
// said about which classes a set lacks.
func (rs *RuleSet) classesKnown() bool {
	if rs.signalsUnread {
		return false
	}
	for i := range rs.Signals {
		if rs.Signals[i].Class == "" {
			return false
		}
	}
	return true
}

// has reports whether a set has a signal of a class that fits.
func (rs *RuleSet) has(class scaling.Class, fits func(*Signal) bool) bool {
	for i := range rs.Signals {
		if s := &rs.Signals[i]; s.Class == class && fits(s) {
			return true
		}
	}
	return false
}

func anySignal(*Signal) bool { return true }

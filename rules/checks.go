package rules

import "github.com/zeta-scaler/zeta-scaler/document"

// Names of the checks that decoding makes. Each has a section in
// docs/lints.md.
const (
	CheckFormat          = "format-version"
	CheckPromQL          = "promql-syntax"
	CheckExprType        = "promql-type"
	CheckTemplate        = "summary-template"
	CheckScopeLabel      = "scope-label-reserved"
	CheckDuplicateSignal = "duplicate-signal"
	CheckBounds          = "bounds"
)

// Names of the checks of what a well-formed set means; they stop a load.
const (
	CheckScalar           = "scalar-with-scope"
	CheckHysteresis       = "hysteresis"
	CheckScaleInClasses   = "scale-in-classes"
	CheckScaleInShorter   = "scale-in-shorter"
	CheckCapacitySlotMode = "capacity-slot-mode"
	CheckNoBlocking       = "no-blocking"
	CheckNoSaturation     = "no-saturation"
	CheckHolds            = "holds-target"
	CheckDemand           = "several-demands"
	CheckSurplus          = "surplus-keys"
	CheckGuard            = "guard-keys"
)

// Names of the checks that warn.
const (
	CheckEventWindow   = "event-window"
	CheckSamples       = "samples-per-scope"
	CheckFilter        = "comparison-filter"
	CheckGaugeRate     = "gauge-rate"
	CheckShortRange    = "short-range"
	CheckPending       = "job-count-pending"
	CheckUnknownSeries = "unknown-series"
	CheckForInterval   = "for-interval"
	CheckLongLookback  = "long-lookback"
	CheckKeepFiring    = "keep-firing"
	CheckMinZero       = "min-workers-zero"
	CheckNoEffect      = "no-effect"
)

// Names of the checks that ask a server.
const (
	CheckServerQuery     = "server-query"
	CheckServerSeries    = "server-series"
	CheckServerSamples   = "server-samples"
	CheckServerRange     = "server-range"
	CheckServerRetention = "server-retention"
)

// Check describes one check to a reader.
type Check struct {
	Name     string            `json:"name"`
	Severity document.Severity `json:"severity"`
}

// Checks lists every check in the order of docs/lints.md.
func Checks() []Check {
	var out []Check
	add := func(s document.Severity, names ...string) {
		for _, n := range names {
			out = append(out, Check{Name: n, Severity: s})
		}
	}
	add(document.SeverityError, document.CheckYAML, document.CheckDocuments, document.CheckAlias, document.CheckTooLarge, CheckFormat, document.CheckUnknownKey,
		document.CheckDuplicateKey, document.CheckMissingKey, document.CheckType, document.CheckValue, document.CheckDuration, document.CheckFinite, CheckPromQL,
		CheckExprType, CheckTemplate, CheckScopeLabel, CheckDuplicateSignal, CheckBounds)
	for _, l := range errorLints() {
		add(document.SeverityError, l.check)
	}
	for _, l := range warningLints() {
		add(document.SeverityWarning, l.check)
	}
	add(document.SeverityWarning, CheckServerQuery, CheckServerSeries, CheckServerSamples, CheckServerRange, CheckServerRetention)
	return out
}

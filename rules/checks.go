package rules

// Names of the checks that decoding makes. Each has a section in
// docs/lints.md.
const (
	CheckYAML            = "yaml-syntax"
	CheckDocuments       = "several-documents"
	CheckAlias           = "yaml-alias"
	CheckTooLarge        = "too-large"
	CheckFormat          = "format-version"
	CheckUnknownKey      = "unknown-key"
	CheckDuplicateKey    = "duplicate-key"
	CheckMissingKey      = "missing-key"
	CheckType            = "wrong-type"
	CheckValue           = "bad-value"
	CheckDuration        = "bad-duration"
	CheckFinite          = "not-finite"
	CheckPromQL          = "promql-syntax"
	CheckExprType        = "promql-type"
	CheckTemplate        = "summary-template"
	CheckScopeLabel      = "scope-label-reserved"
	CheckDuplicateSignal = "duplicate-signal"
	CheckBounds          = "bounds"
)

// Names of the checks that judge what a well-formed set means and stop a load.
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
	CheckGuard            = "guard-keys"
)

// Names of the checks that warn.
const (
	CheckEventWindow   = "event-window"
	CheckSamples       = "samples-per-scope"
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
	Name     string   `json:"name"`
	Severity Severity `json:"severity"`
}

// Checks lists every check in the order of docs/lints.md.
func Checks() []Check {
	var out []Check
	add := func(s Severity, names ...string) {
		for _, n := range names {
			out = append(out, Check{Name: n, Severity: s})
		}
	}
	add(SeverityError, CheckYAML, CheckDocuments, CheckAlias, CheckTooLarge, CheckFormat, CheckUnknownKey,
		CheckDuplicateKey, CheckMissingKey, CheckType, CheckValue, CheckDuration, CheckFinite, CheckPromQL,
		CheckExprType, CheckTemplate, CheckScopeLabel, CheckDuplicateSignal, CheckBounds)
	for _, l := range errorLints() {
		add(SeverityError, l.check)
	}
	for _, l := range warningLints() {
		add(SeverityWarning, l.check)
	}
	add(SeverityWarning, CheckServerQuery, CheckServerSeries, CheckServerSamples, CheckServerRange, CheckServerRetention)
	return out
}

package alerts

// The alerts about a scope. An alert's name is its label alertname.
const (
	ScaleOutRecommended = "ZetaScaleOutRecommended"
	ScaleInCandidate    = "ZetaScaleInCandidate"
	ScaleInBlocked      = "ZetaScaleInBlocked"
	AtMaxWorkers        = "ZetaAtMaxWorkers"
	UnsatisfiableDemand = "ZetaUnsatisfiableDemand"
	MetricsInvalid      = "ZetaMetricsInvalid"
	ActionFailed        = "ZetaActionFailed"
	ScalingIneffective  = "ZetaScalingIneffective"
	ScopePaused         = "ZetaScopePaused"
	RestoreFailed       = "ZetaRestoreFailed"
	DrainFailed         = "ZetaDrainFailed"
	// JobRestoreFailed is about jobs that a drain has stopped and that do not run
	// again.
	JobRestoreFailed = "ZetaJobRestoreFailed"
	// ClusterDown is about a cluster, whatever scopes it has.
	ClusterDown = "ZetaClusterDown"
)

// Names are all alerts that a notifier sends.
func Names() []string {
	return []string{
		ScaleOutRecommended, ScaleInCandidate, ScaleInBlocked, AtMaxWorkers,
		UnsatisfiableDemand, MetricsInvalid, ActionFailed, ScalingIneffective, ScopePaused,
		DrainFailed, JobRestoreFailed, RestoreFailed, ClusterDown,
	}
}

// Values of the label severity.
const (
	// Page asks for somebody now.
	Page = "page"
	// Warning asks for somebody in working hours.
	Warning = "warning"
	// Info asks for nobody.
	Info = "info"
)

// Labels of our own. A scope's label of the same name is left out: the scope's
// key, which holds its value, is a label too.
const (
	labelName           = "alertname"
	labelScope          = "scope"
	labelSeverity       = "severity"
	labelAction         = "action"
	labelRecommendation = "recommendation"
)

// ReservedLabels are the label names that a scope cannot bring along.
func ReservedLabels() []string {
	return []string{labelName, labelScope, labelSeverity, labelAction, labelRecommendation}
}

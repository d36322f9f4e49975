package alerts

import (
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/zeta-scaler/zeta-scaler/scaling"
)

// patience is how long the metrics have to be invalid, or the source without an
// answer, before anybody hears of it: a restart or one missed scrape is no
// news.
const patience = 5 * time.Minute

// pausedFor is how long a pause is what somebody wants: beyond, it may be
// forgotten.
const pausedFor = 4 * time.Hour

// finding is one alert that a tick calls for.
type finding struct {
	name, severity string
	// intent marks the alerts about one recommendation: each generation is an
	// alert of its own, so that it is delivered at once.
	intent bool
	// after is how long the finding has to last before it fires.
	after time.Duration
	// goesOn marks what keeps an active alert alive and never begins one.
	goesOn bool
}

// findings are what one evaluation calls for, at most one per alert name.
func findings(ev *scaling.Evaluation) []finding {
	var out []finding
	r := &ev.Recommendation
	switch r.Action {
	case scaling.ScaleOut:
		out = append(out, finding{name: ScaleOutRecommended, severity: Warning, intent: true})
	case scaling.ScaleInCandidate:
		out = append(out, finding{name: ScaleInCandidate, severity: Warning, intent: true})
	case scaling.ScaleInBlocked:
		out = append(out, finding{name: ScaleInBlocked, severity: Info})
	}
	if r.HeldBy(scaling.BlockerMaxWorkers) {
		out = append(out, finding{name: AtMaxWorkers, severity: Warning})
	}
	if r.Row == scaling.RowUnsatisfiable {
		out = append(out, finding{name: UnsatisfiableDemand, severity: Warning})
	}
	if !r.MetricsValid {
		f := finding{name: MetricsInvalid, severity: Warning, after: patience}
		if shortage(ev) {
			f.severity = Page
		}
		out = append(out, f)
	}
	if f, ok := failure(ev); ok {
		out = append(out, f)
	}
	if r.HeldBy(scaling.BlockerIneffective) {
		out = append(out, finding{name: ScalingIneffective, severity: Warning})
	}
	if ev.PausedSince != nil && ev.Tick.Sub(*ev.PausedSince) >= pausedFor {
		out = append(out, finding{name: ScopePaused, severity: Warning})
	}
	if ev.Provisional {
		out = append(out, finding{name: RestoreFailed, severity: Warning, after: patience})
	}
	return append(out, ofDrain(ev)...)
}

// ofDrain is what a scope's latest drain calls for. A failure is over once a later
// drain has removed its worker, or was called off.
func ofDrain(ev *scaling.Evaluation) (out []finding) {
	d := ev.Drain
	if d == nil {
		return nil
	}
	if goesOn := !d.State.Over() && !d.HasFailed(); d.FailureIsNews(ev.Tick) || goesOn {
		out = append(out, finding{name: DrainFailed, severity: Warning, goesOn: goesOn})
	}
	if len(d.Stopped(ev.Tick)) > 0 {
		out = append(out, finding{name: JobRestoreFailed, severity: Page})
	}
	return out
}

// failure is what a scope's latest action calls for. A failure is over once a
// later action has succeeded, and not when it begins: an action that is tried
// again and again is one alert.
func failure(ev *scaling.Evaluation) (finding, bool) {
	x := ev.Execution
	if x == nil {
		return finding{}, false
	}
	f := finding{name: ActionFailed, severity: Warning, goesOn: !x.State.Final()}
	if shortage(ev) {
		f.severity = Page
	}
	fresh := failed(x) && ev.Tick.Sub(endedAt(x)) < scaling.FailureLasts
	if x.State == scaling.ActionRejectedStale && x.MasterEpoch != ev.Recommendation.MasterEpoch {
		fresh = false // there is a newer leader: this one
	}
	return f, fresh || f.goesOn
}

// failed reports whether an action was given up.
func failed(x *scaling.Execution) bool {
	return x.State == scaling.ActionFailed || x.State == scaling.ActionRejectedStale
}

// endedAt is when an action reached its state, zero if nothing was noted.
func endedAt(x *scaling.Execution) time.Time {
	if n := len(x.Transitions); n > 0 {
		return x.Transitions[n-1].At
	}
	return time.Time{}
}

// shortage reports whether a shortage is sustained that more workers could
// end: one that a guard holds is none, whatever else decides. A scope that is
// paused or of fixed capacity is not to change at all.
func shortage(ev *scaling.Evaluation) bool {
	switch ev.Recommendation.Row {
	case scaling.RowPaused, scaling.RowApplicationMode:
		return false
	}
	return ev.Facts.Has(scaling.FactShortage)
}

// labelsOf are a finding's labels: identity and nothing that moves.
func labelsOf(f *finding, ev *scaling.Evaluation) map[string]string {
	labels := map[string]string{}
	for _, l := range ev.Scope.Labels {
		// Alertmanager takes an empty value for no label, and a bad name for a
		// reason to refuse the alert.
		if l.Name == "" || l.Value == "" || !utf8.ValidString(l.Name) || slices.Contains(ReservedLabels(), l.Name) {
			continue
		}
		labels[l.Name] = strings.ToValidUTF8(l.Value, "\uFFFD")
	}
	labels[labelName], labels[labelScope], labels[labelSeverity] = f.name, ev.Scope.Key, f.severity
	if f.intent {
		labels[labelAction] = string(ev.Recommendation.Action)
		labels[labelRecommendation] = ev.Recommendation.RecommendationID
	}
	return labels
}

// identity is one string for a set of labels, the same for the same set.
func identity(labels map[string]string) string {
	names := make([]string, 0, len(labels))
	for n := range labels {
		names = append(names, n)
	}
	slices.Sort(names)
	var b strings.Builder
	for _, n := range names {
		// Neither byte occurs in UTF-8.
		b.WriteString(n)
		b.WriteByte(0xfe)
		b.WriteString(labels[n])
		b.WriteByte(0xff)
	}
	return b.String()
}

package alerts

import (
	"cmp"
	_ "embed"
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"text/template"
	"time"

	amtemplate "github.com/prometheus/alertmanager/template"

	"github.com/zeta-scaler/zeta-scaler/scaling"
)

//go:embed annotations.tmpl
var annotationsText string

// annotationSummary is the annotation that each alert has a template of its
// own for.
const annotationSummary = "summary"

// annotationFirstInQueue is the job that waits first; of a scope whose evaluation is
// out of date, and of an alert that is over, there is none.
const annotationFirstInQueue = "first_in_queue"

// DefaultRunbookURL is where the runbook is for those who do not reach the
// service.
const DefaultRunbookURL = "https://github.com/zeta-scaler/zeta-scaler/blob/main/docs/runbook.md"

// links are where annotations lead to.
type links struct {
	// external is under which users reach the service, empty for no link to it.
	external string
	runbook  string
}

// section is the runbook's about an alert.
func (l links) section(name string) string { return l.runbook + "#" + strings.ToLower(name) }

// maxError is how much of an action's error an annotation repeats, in bytes.
const maxError = 1024

// Annotations are the names of all annotations. One that has nothing to say is
// left out of an alert.
func Annotations() []string { return append([]string{annotationSummary}, commonAnnotations()...) }

func commonAnnotations() []string {
	return []string{
		"description", "current_workers", "recommended_workers", "row", "mode", "rule_set", "triggers",
		"blockers", annotationFirstInQueue, "snapshot", "observed_at", "valid_until", "status_url", "runbook_url",
		"error", "actuator", "action_id", "action_state", "target_workers", "next_steps", "paused_since", "without_pause",
	}
}

// annotator renders annotations with the functions that Alertmanager's own
// templates have.
type annotator struct{ templates *template.Template }

func newAnnotator() (*annotator, error) {
	t, err := template.New("annotations").Funcs(template.FuncMap(amtemplate.DefaultFuncs)).Parse(annotationsText)
	if err != nil {
		return nil, fmt.Errorf("parsing the annotations: %w", err)
	}
	return &annotator{templates: t}, nil
}

func (an *annotator) render(v *view) (map[string]string, error) {
	out := map[string]string{}
	var b strings.Builder
	for _, name := range Annotations() {
		b.Reset()
		which := name
		if name == annotationSummary {
			which = v.Name
		}
		if err := an.templates.ExecuteTemplate(&b, which, v); err != nil {
			return out, fmt.Errorf("rendering annotation %s of %s: %w", name, v.Name, err)
		}
		if text := strings.TrimSpace(b.String()); text != "" {
			out[name] = strings.ToValidUTF8(text, "\uFFFD")
		}
	}
	return out, nil
}

// view is what the templates see.
type view struct {
	Name, Severity string
	// Scope is the scope as people read it, Key its key.
	Scope, Key string
	// ExternalURL is under which users reach the service, Runbook the alert's
	// section of the runbook.
	ExternalURL, Runbook string
	Mode                 scaling.Mode
	Paused               bool
	// PausedSince is empty for a scope that is not paused; Unpaused is what would
	// be decided without the pause.
	PausedSince    string
	Unpaused       *scaling.Outlook
	Recommendation *scaling.Recommendation
	FirstInQueue   *scaling.QueueHead
	// Execution is the action that the alert is about, nil for an alert that is
	// not about one.
	Execution *scaling.Execution
	// Drain is the drain that the alert is about, nil for an alert that is not about
	// one; Stopped are its jobs that do not run.
	Drain   *scaling.Drain
	Stopped []scaling.DrainJob
}

func viewOf(labels map[string]string, ev *scaling.Evaluation, to links) *view {
	v := &view{
		Name: labels[labelName], Severity: labels[labelSeverity], Scope: ev.Scope.Shown(), Key: ev.Scope.Key,
		ExternalURL: to.external, Runbook: to.section(labels[labelName]),
		Mode: ev.Mode, Paused: ev.Paused, Unpaused: ev.Unpaused, Recommendation: &ev.Recommendation, FirstInQueue: ev.FirstInQueue,
	}
	if ev.PausedSince != nil {
		v.PausedSince = timestamp(*ev.PausedSince)
	}
	if v.Name == ActionFailed {
		v.Execution = ev.Execution
	}
	if v.Name == DrainFailed || v.Name == JobRestoreFailed {
		v.Drain = ev.Drain
		v.Stopped = ev.Drain.Stopped(ev.Tick)
	}
	return v
}

// Current is the observed number of workers.
func (v *view) Current() string { return count(v.Recommendation.CurrentWorkers) }

// Target is the recommended number of workers.
func (v *view) Target() string { return count(v.Recommendation.RecommendedWorkers) }

// CurrentWorkers and TargetWorkers are these numbers of workers in words.
func (v *view) CurrentWorkers() string { return workersOf(v.Recommendation.CurrentWorkers) }

// TargetWorkers is CurrentWorkers of the recommended number.
func (v *view) TargetWorkers() string { return workersOf(v.Recommendation.RecommendedWorkers) }

// AskedWorkers is how many the action was to bring, in words.
func (v *view) AskedWorkers() string { return workersOf(&v.Execution.Target) }

func workersOf(n *int) string {
	if n == nil {
		return count(n) + " workers"
	}
	return scaling.Counted(*n, "worker")
}

// Otherwise is what would be recommended without the pause, and why.
func (v *view) Otherwise() string {
	if v.Unpaused == nil {
		return ""
	}
	return fmt.Sprintf("%s, %s → %s: %s", v.Unpaused.Action, v.Current(), workersOf(v.Unpaused.RecommendedWorkers), v.Unpaused.Reason)
}

// Error is why the action or the drain failed, or the jobs do not run. A platform
// may say a lot.
func (v *view) Error() string {
	var text string
	switch {
	case v.Execution != nil:
		text = v.Execution.Error
	case v.Name == DrainFailed:
		text = v.Drain.Error
	case v.Drain != nil:
		var why []string
		for _, j := range v.Stopped {
			why = append(why, fmt.Sprintf("%s (%s), attempt %d: %s", j.ID, j.Name, j.Attempts, cmp.Or(j.Error, string(j.Step))))
		}
		text = strings.Join(why, "; ")
	}
	if len(text) <= maxError {
		return text
	}
	return text[:maxError] + "…"
}

// Restore are the commands by which a person restores the jobs that do not run,
// ten at most.
func (v *view) Restore() string {
	var out []string
	for _, j := range v.Stopped[:min(len(v.Stopped), 10)] {
		query := url.Values{"jobId": {j.ID}, "jobName": {j.Name}, "isStartWithSavePoint": {"true"}}
		out = append(out, fmt.Sprintf("curl -X POST '%s?%s' --data-binary @CONFIG-OF-%s.json",
			cmp.Or(v.Drain.Endpoint, "http://ZETA/submit-job"), strings.ReplaceAll(query.Encode(), "'", "%27"), j.ID))
	}
	return strings.Join(out, "\n")
}

// Jobs is how many jobs do not run.
func (v *view) Jobs() string { return scaling.Counted(len(v.Stopped), "job") }

// GoesBack reports whether the drain is still on its way back.
func (v *view) GoesBack() bool { return !v.Drain.State.Over() }

// Failed reports whether the action has failed; else it is a new attempt.
func (v *view) Failed() bool { return failed(v.Execution) }

// Triggers are the conditions that speak for more workers, with their numbers.
func (v *view) Triggers() []string { return conditions(v.Recommendation.TriggerConditions) }

// Blockers are the conditions that hold the recommendation back.
func (v *view) Blockers() []string { return conditions(v.Recommendation.BlockingConditions) }

// Snapshot are all inputs, sorted by name.
func (v *view) Snapshot() []string {
	inputs := v.Recommendation.MetricsSnapshot
	out := make([]string, 0, len(inputs))
	for _, name := range slices.Sorted(maps.Keys(inputs)) {
		m := inputs[name]
		text := name + "=" + number(m.Value)
		if m.Reason != "" {
			text += " (" + m.Reason + ")"
		}
		out = append(out, text)
	}
	return out
}

// Time is a time as Alertmanager writes it.
func (v *view) Time(t time.Time) string { return timestamp(t) }

// Query escapes a value for the query of a URL.
func (v *view) Query(s string) string { return url.QueryEscape(s) }

func count(n *int) string {
	if n == nil {
		return "unknown"
	}
	return strconv.Itoa(*n)
}

func number(v scaling.Value) string {
	if !v.Known {
		return "UNKNOWN"
	}
	return strconv.FormatFloat(v.Number, 'g', 6, 64)
}

func conditions(list []scaling.Condition) []string {
	out := make([]string, len(list))
	for i, c := range list {
		out[i] = c.Name
		if c.Value != nil && c.Threshold != nil {
			out[i] = fmt.Sprintf("%s %s %s %s", c.Name, number(*c.Value), c.Comparison, number(scaling.Known(*c.Threshold)))
		}
	}
	return out
}

// timestamp writes RFC 3339 with milliseconds.
func timestamp(t time.Time) string { return t.UTC().Format("2006-01-02T15:04:05.000Z07:00") }

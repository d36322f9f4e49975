package api

import (
	"fmt"
	"strings"
	"time"

	"github.com/zeta-scaler/zeta-scaler/scaling"
)

// failureView is the red part of a scope's first card.
type failureView struct {
	What, Error, Next string
	At, Age           string
	// RetryAt is empty if it is not tried again, or nobody knows when.
	RetryAt, RetryIn string
	// StepsURL has what was done, RunbookURL what to do.
	StepsURL, RunbookURL string
}

// failuresOf is what is wrong with a scope's latest action and its latest drain.
func failuresOf(ev *scaling.Evaluation, st *standing, now time.Time) (out []*failureView) {
	for _, f := range []*failureView{failureViewOf(st.failure(ev, now), now), st.drainFailureView(ev, now)} {
		if f != nil {
			out = append(out, f)
		}
	}
	return out
}

func failureViewOf(f *Failure, now time.Time) *failureView {
	if f == nil {
		return nil
	}
	verb := "An action has failed"
	if !f.State.Final() {
		verb = "Calls of the platform fail"
	}
	v := &failureView{
		What: fmt.Sprintf("%s: to bring %s by %s", verb, workersOf(f.Target), f.Actuator), Error: f.Error, Next: f.Next,
		StepsURL: "#actions", RunbookURL: "runbook#zetaactionfailed",
	}
	if !f.At.IsZero() {
		v.At, v.Age = scaling.At(f.At), span(max(0, now.Sub(f.At).Seconds()))
	}
	if f.RetryAt != nil {
		v.RetryAt, v.RetryIn = scaling.At(*f.RetryAt), left(*f.RetryAt, now)
	}
	return v
}

// left is how long it is until then, in words.
func left(at, now time.Time) string {
	if !at.After(now) {
		return "any moment"
	}
	return "in " + span(at.Sub(now).Round(time.Second).Seconds())
}

// stepView is what a person can do, and where that is.
type stepView struct{ Words, URL, Link string }

// stepOf is about the most pressing need of a scope, nil for none, and for a failure,
// which says so itself.
func stepOf(ev *scaling.Evaluation, st *standing, now time.Time) *stepView {
	needs := needsOf(ev, st, now)
	if len(needs) == 0 || needs[0] == NeedFailed {
		return nil
	}
	r := &ev.Recommendation
	switch needs[0] {
	case NeedStuck:
		switch {
		case r.HeldBy(scaling.BlockerOtherWriter):
			return &stepView{"Stop whoever else changes the number of workers, then resume the scope.", "runbook#zetaactionfailed", "Runbook"}
		case r.HeldBy(scaling.BlockerIneffective):
			return &stepView{"Find out why what waits does not use the workers that came.", "runbook#zetascalingineffective", "Runbook"}
		}
		return &stepView{"Lower the parallelism of the job that waits, or raise max_workers.", "runbook#zetaunsatisfiabledemand", "Runbook"}
	case NeedAtMax:
		return &stepView{"If the platform has room, raise max_workers until a time.", "#limits", "Limits"}
	case NeedPaused:
		return &stepView{"Resume it when the reason is over.", "#control", "Resume"}
	case NeedFailed, NeedUnknown, NeedInvalid:
	}
	return &stepView{"Bring the metrics back. zeta-scaler doctor says which link of the chain is broken.", "runbook#zetametricsinvalid", "Runbook"}
}

// outlookView is what would be recommended without the pause.
type outlookView struct {
	Action      scaling.Action
	Recommended string
	Reason      string
}

func outlookViewOf(o *scaling.Outlook) *outlookView {
	if o == nil {
		return nil
	}
	return &outlookView{Action: o.Action, Recommended: count(o.RecommendedWorkers), Reason: o.Reason}
}

// forecastView is what will be recommended if nothing but the time changes.
type forecastView struct {
	Action  scaling.Action
	Row     scaling.RowID
	Workers string
	At, In  string
}

func forecastViewOf(f *scaling.Forecast, now time.Time) *forecastView {
	if f == nil {
		return nil
	}
	return &forecastView{Action: f.Action, Row: f.Row, Workers: count(f.RecommendedWorkers), At: scaling.At(f.At), In: left(f.At, now)}
}

// blockerView is one thing that holds a recommendation back, with its end.
type blockerView struct {
	Name, Words string
	// Until is empty if it does not end by itself.
	Until, Left string
}

func blockerViews(ev *scaling.Evaluation, now time.Time) []blockerView {
	var out []blockerView
	for i := range ev.Recommendation.BlockingConditions {
		c := &ev.Recommendation.BlockingConditions[i]
		v := blockerView{Name: c.Name, Words: blockerWords(c)}
		if c.Until != nil {
			v.Until, v.Left = scaling.At(*c.Until), left(*c.Until, now)
		}
		out = append(out, v)
	}
	return out
}

// blockerEnds say of the blockers without a time of their own when they end.
var blockerEnds = map[string]string{
	scaling.BlockerMetricsStale:    "until every worker reports again",
	scaling.BlockerMetricsMissing:  "until the missing metrics are back",
	scaling.BlockerSlotModeUnknown: "until the slot mode is known",
	scaling.BlockerMinWorkers:      "for good: there are no fewer workers than min_workers",
	scaling.BlockerMaxWorkers:      "until max_workers is raised, or nothing asks for more",
	scaling.BlockerCooldown:        "a rest after an action",
	scaling.BlockerFailureBackoff:  "a rest after a failure",
	scaling.BlockerActionInFlight:  "until the action or drain that is under way is over",
	scaling.BlockerBooting:         "until the workers that were asked for have registered",
	scaling.BlockerNextRound:       "until the next round of the step policy",
	scaling.BlockerPaused:          "until somebody resumes it",
	scaling.BlockerWorkersUnknown:  "until the number of workers is known",
	scaling.BlockerApplicationMode: "for good: the capacity of an application is fixed",
	scaling.BlockerOtherWriter:     "somebody else changes the number of workers: until that has stopped and somebody resumes the scope",
	scaling.BlockerIneffective:     "the last actions changed nothing of what asks for more",
	scaling.BlockerDrain:           "until the worker that is drained is gone",
}

func blockerWords(c *scaling.Condition) string {
	if words, ok := blockerEnds[c.Name]; ok && c.Signal == "" {
		if c.Name == scaling.BlockerPaused && c.Until != nil {
			return "paused"
		}
		return words
	}
	if c.Value != nil && c.Threshold != nil {
		return fmt.Sprintf("%s: it is %s, the threshold is %s %s", strings.ReplaceAll(c.Name, "_", " "), worth(c.Value), c.Comparison, number(*c.Threshold))
	}
	return "while it holds"
}

func worth(v *scaling.Value) string {
	if !v.Known {
		return "unknown"
	}
	return number(v.Number)
}

// workersOf is a count of workers in words.
func workersOf(n int) string { return scaling.Counted(n, "worker") }

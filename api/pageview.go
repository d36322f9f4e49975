package api

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/zeta-scaler/zeta-scaler/scaling"
)

// scopeView is one scope with everything about it.
type scopeView struct {
	Key                  string
	Labels               []scaling.Label
	Current, Recommended string
	Action               scaling.Action
	Reason               string
	Mode                 scaling.Mode
	SlotMode             scaling.SlotMode
	Deployment           scaling.Deployment
	Bounds, Cooldown     string
	RuleSet              scaling.RuleSetRef
	ID                   string
	Since                string
	Blockers             string
	ObservedAt, Age      string
	Paused               bool
	Badges               []badge
	// Notes are what makes this decision unlike an ordinary one.
	Notes   []badge
	Signals []signalView
	Shadows []shadowView
	// Tried are the rows down to the one that matched, Below those after it.
	Tried, Below []rowView
	// Queries are those of the inputs whose rule set is loaded, Remarks what
	// there is to say about the explanation.
	Queries []ExplainedQuery
	Remarks []string
	Control controlView
	History historyView
	Actions actionsView
}

// badge is a word that makes a scope stand out; Kind is its style.
type badge struct{ Kind, Words string }

// signalView is one signal with the progress of its conditions.
type signalView struct {
	Name  string
	Class scaling.Class
	Value string
	// Kind is the style of the value: known, unknown, or none where the signal
	// does not apply.
	Kind    string
	Windows []windowView
}

type windowView struct {
	// Condition is empty for a signal without conditions.
	Condition, State string
	// Kind is the style of the state: sustained, true, false, unknown or none.
	Kind string
	Held string
	// HeldSeconds is at most WindowSeconds, for the bar.
	HeldSeconds, WindowSeconds float64
}

type shadowView struct {
	RuleSet     scaling.RuleSetRef
	Action      scaling.Action
	Recommended string
	Row, Reason string
	Agrees      bool
}

// rowView is one row of the decision table and what became of it.
type rowView struct {
	scaling.Row
	Matched bool
	// Why says why a row that was tried did not match.
	Why string
}

// scopeView gathers what the page shows of a scope. What the store cannot give
// is said in its place and does not hide the rest.
func (s *server) scopeView(ctx context.Context, ev *scaling.Evaluation, now time.Time) scopeView {
	ctx, cancel := context.WithTimeout(ctx, storeTimeout)
	defer cancel()
	v := scopeViewOf(ev, now)
	x := s.explanation(recordOf(ev), nil)
	v.Tried, v.Below = rowViews(x.Rows)
	v.Queries, v.Remarks = asked(x.Queries), x.Notes
	v.Control = s.scopeControl(ctx, ev, now)
	v.History = s.historyView(ctx, ev)
	v.Actions = s.actionsView(ctx, ev)
	return v
}

func scopeViewOf(ev *scaling.Evaluation, now time.Time) scopeView {
	r := &ev.Recommendation
	v := scopeView{
		Key: ev.Scope.Key, Labels: ev.Scope.Labels,
		Current: count(r.CurrentWorkers), Recommended: count(r.RecommendedWorkers),
		Action: r.Action, Reason: r.Reason,
		Mode: ev.Mode, SlotMode: ev.SlotMode, Deployment: ev.Deployment, Bounds: bounds(ev),
		RuleSet: r.RuleSet, ID: r.RecommendationID, Since: instant(r.Since),
		ObservedAt: instant(r.ObservedAt), Age: span(age(ev, now)),
		Paused: ev.Paused, Badges: badges(ev, now), Notes: notes(ev, now),
	}
	if left := ev.CooldownRemainingSeconds - age(ev, now); left > 0 {
		v.Cooldown = span(left)
	}
	var blockers []string
	for _, b := range r.BlockingConditions {
		blockers = append(blockers, b.Name)
	}
	v.Blockers = strings.Join(blockers, ", ")
	for i := range ev.Inputs {
		v.Signals = append(v.Signals, signalViewOf(&ev.Inputs[i]))
	}
	for _, sh := range ev.Shadows {
		v.Shadows = append(v.Shadows, shadowView{
			RuleSet: sh.RuleSet, Action: sh.Action, Recommended: count(sh.RecommendedWorkers),
			Row: string(sh.Row), Reason: sh.Reason, Agrees: sh.Agrees,
		})
	}
	return v
}

// rowViews splits the decision table at the row that matched.
func rowViews(rows []scaling.RowVerdict) (tried, below []rowView) {
	for _, v := range rows {
		row := rowView{Row: v.Row, Matched: v.Verdict == scaling.RowMatched, Why: strings.Join(v.Because, "; ")}
		if v.Verdict == scaling.RowNotTried {
			below = append(below, row)
			continue
		}
		tried = append(tried, row)
	}
	return tried, below
}

// asked leaves out what no query is known of.
func asked(queries []ExplainedQuery) []ExplainedQuery {
	return slices.DeleteFunc(slices.Clone(queries), func(q ExplainedQuery) bool { return q.Promql == "" })
}

// badges are in the order of their weight.
func badges(ev *scaling.Evaluation, now time.Time) []badge {
	var out []badge
	add := func(holds bool, kind, words string) {
		if holds {
			out = append(out, badge{kind, words})
		}
	}
	add(!fresh(ev, now), "alarm", "out of date")
	add(ev.Provisional, "alarm", "no answer from Prometheus")
	add(!ev.Recommendation.MetricsValid && !ev.Provisional, "alarm", "metrics not valid")
	add(ev.Paused, "warn", "paused")
	if x := ev.Execution; x != nil && (!x.State.Final() || x.State == scaling.ActionFailed) {
		add(true, "warn", fmt.Sprintf("action %s: %d workers", strings.ToLower(string(x.State)), x.Target))
	}
	add(ev.Mode != scaling.Advisory, "plain", string(ev.Mode))
	add(ev.Deployment == scaling.Application, "plain", "application")
	return out
}

// notes say in sentences what badges say in words, and more.
func notes(ev *scaling.Evaluation, now time.Time) []badge {
	var out []badge
	add := func(holds bool, kind, note string) {
		if holds {
			out = append(out, badge{kind, note})
		}
	}
	add(ev.Paused, "warn", "Paused.")
	add(ev.Provisional, "alarm", "Prometheus gives no answer: decided on unknown values.")
	add(!fresh(ev, now), "alarm", "Out of date: no evaluation for more than three intervals.")
	add(!ev.Recommendation.MetricsValid, "alarm", "The metrics are not valid: nothing may be removed.")
	if n := ev.Recommendation.StaleWorkerCount; n != nil && *n > 0 {
		add(true, "alarm", fmt.Sprintf("Workers without a young sample: %d.", *n))
	}
	add(ev.Booting > 0, "plain", fmt.Sprintf("Workers asked for that have not registered: %d.", ev.Booting))
	return out
}

func signalViewOf(in *scaling.Input) signalView {
	v := signalView{Name: in.Name, Class: in.Class, Value: measured(in), Kind: "known"}
	switch {
	case !in.Applies:
		v.Kind = "none"
	case !in.Value.Known:
		v.Kind = "unknown"
	}
	for _, w := range in.Windows {
		v.Windows = append(v.Windows, windowViewOf(&w, in.Applies))
	}
	return v
}

func windowViewOf(w *scaling.Window, applies bool) windowView {
	v := windowView{
		Condition: fmt.Sprintf("%s if %s %s", direction(w.Direction), w.Comparison, threshold(w.Threshold)),
		State:     w.Truth,
		Kind:      w.Truth,
		Held:      fmt.Sprintf("%s of %s", span(w.HeldSeconds), span(w.WindowSeconds)),
	}
	if w.WindowSeconds == 0 {
		v.Held = span(w.HeldSeconds) + ", no window"
	}
	if w.AtLeast {
		v.Held = "at least " + v.Held
	}
	if w.WindowSeconds > 0 {
		v.WindowSeconds, v.HeldSeconds = w.WindowSeconds, min(w.HeldSeconds, w.WindowSeconds)
	}
	switch {
	case !applies:
		v.State, v.Kind = "does not apply", "none"
	case w.Sustained:
		v.State, v.Kind = "sustained", "sustained"
	}
	return v
}

func direction(d scaling.Direction) string {
	if d == scaling.In {
		return "scale in"
	}
	return "scale out"
}

func threshold(t *float64) string {
	if t == nil {
		return "unbounded"
	}
	return number(*t)
}

func measured(in *scaling.Input) string {
	switch {
	case in.Value.Known && in.Unit != "" && in.Unit != "ratio":
		return number(in.Value.Number) + " " + in.Unit
	case in.Value.Known:
		return number(in.Value.Number)
	case in.Reason != "":
		return "unknown (" + in.Reason + ")"
	default:
		return "unknown"
	}
}

func bounds(ev *scaling.Evaluation) string {
	if ev.MaxWorkers == nil {
		return fmt.Sprintf("%d or more", ev.MinWorkers)
	}
	return fmt.Sprintf("%d to %d", ev.MinWorkers, *ev.MaxWorkers)
}

func count(n *int) string {
	if n == nil {
		return "unknown"
	}
	return strconv.Itoa(*n)
}

// number shows four digits, which is more than any threshold needs.
func number(f float64) string { return strconv.FormatFloat(f, 'g', max(4, digits(f)), 64) }

// digits is how many digits the whole part has, so that 12345 jobs do not
// become 1.234e+04.
func digits(f float64) int {
	n := 0
	for f = max(f, -f); f >= 1 && n < 15; f /= 10 {
		n++
	}
	return n
}

// span shows seconds as people say them: 45s, 5m, 1h30m.
func span(seconds float64) string {
	s := (time.Duration(seconds) * time.Second).String()
	if strings.HasSuffix(s, "m0s") {
		s = strings.TrimSuffix(s, "0s")
	}
	if strings.HasSuffix(s, "h0m") {
		s = strings.TrimSuffix(s, "0m")
	}
	return s
}

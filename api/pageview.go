package api

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/zeta-scaler/zeta-scaler/scaling"
)

// pageView is what the page's template shows.
type pageView struct {
	Problem *Problem
	Leader  bool
	Epoch   uint64
	Now     string
	// Refresh is in seconds, 0 is never.
	Refresh int
	// Scope and After are the request's own parameters, Next the After of the
	// page behind this one.
	Scope, After, Next string
	Total              int
	Counts             []countView
	Scopes             []scopeView
	Rows               []scaling.Row
}

// countView says how many scopes have an action.
type countView struct {
	Action scaling.Action
	Scopes int
}

// scopeView is one scope in words.
type scopeView struct {
	Key                  string
	Labels               []scaling.Label
	Current, Recommended string
	Action               scaling.Action
	Row, When, Reason    string
	Mode                 scaling.Mode
	SlotMode             scaling.SlotMode
	Bounds               string
	RuleSet              scaling.RuleSetRef
	Blockers             string
	ObservedAt, Age      string
	// Notes are what makes this decision unlike an ordinary one.
	Notes   []string
	Signals []signalView
	Shadows []shadowView
}

// signalView is one signal; it has at least one window to show.
type signalView struct {
	Name    string
	Class   scaling.Class
	Value   string
	Windows []windowView
}

type windowView struct {
	// Condition is empty for a signal without conditions.
	Condition, State string
	Held             string
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

func countsOf(evaluations []scaling.Evaluation) []countView {
	n := map[scaling.Action]int{}
	for i := range evaluations {
		n[evaluations[i].Recommendation.Action]++
	}
	var out []countView
	for _, a := range scaling.Actions() {
		out = append(out, countView{Action: a, Scopes: n[a]})
	}
	return out
}

func scopeViewOf(ev *scaling.Evaluation, when map[scaling.RowID]string, now time.Time) scopeView {
	r := &ev.Recommendation
	v := scopeView{
		Key: ev.Scope.Key, Labels: ev.Scope.Labels,
		Current: count(r.CurrentWorkers), Recommended: count(r.RecommendedWorkers),
		Action: r.Action, Row: string(r.Row), When: when[r.Row], Reason: r.Reason,
		Mode: ev.Mode, SlotMode: ev.SlotMode, Bounds: bounds(ev),
		RuleSet: r.RuleSet, ObservedAt: instant(r.ObservedAt), Age: span(age(ev, now)),
		Notes: notes(ev, now),
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

func notes(ev *scaling.Evaluation, now time.Time) []string {
	var out []string
	add := func(holds bool, note string) {
		if holds {
			out = append(out, note)
		}
	}
	add(ev.Paused, "Paused.")
	add(ev.Provisional, "Prometheus gives no answer: decided on unknown values.")
	add(!fresh(ev, now), "Out of date: no evaluation for more than three intervals.")
	add(!ev.Recommendation.MetricsValid, "The metrics are not valid: nothing may be removed.")
	if n := ev.Recommendation.StaleWorkerCount; n != nil && *n > 0 {
		out = append(out, fmt.Sprintf("Workers without a young sample: %d.", *n))
	}
	if ev.Booting > 0 {
		out = append(out, fmt.Sprintf("Workers asked for that have not registered: %d.", ev.Booting))
	}
	return out
}

func signalViewOf(in *scaling.Input) signalView {
	v := signalView{Name: in.Name, Class: in.Class, Value: measured(in)}
	for _, w := range in.Windows {
		v.Windows = append(v.Windows, windowViewOf(&w, in.Applies))
	}
	if len(v.Windows) == 0 {
		v.Windows = []windowView{{State: "no condition"}}
	}
	return v
}

func windowViewOf(w *scaling.Window, applies bool) windowView {
	v := windowView{
		Condition: fmt.Sprintf("%s if %s %s", direction(w.Direction), w.Comparison, threshold(w.Threshold)),
		State:     w.Truth,
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
		v.State = "does not apply"
	case w.Sustained:
		v.State = "sustained"
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

func instant(t time.Time) string { return t.UTC().Format(time.RFC3339) }

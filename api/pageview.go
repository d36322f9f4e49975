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
	Key string
	// Shown is the key as people read it.
	Shown                string
	Labels               []scaling.Label
	Current, Recommended string
	Action               scaling.Action
	Reason               string
	Mode                 scaling.Mode
	SlotMode             scaling.SlotMode
	Deployment           scaling.Deployment
	Bounds, Cooldown     string
	RuleSet              scaling.RuleSetRef
	// Digest is the beginning of the rule set's, Origin where it was read from.
	Digest, Origin string
	ID             string
	Since          string
	// Blockers hold the recommendation back, each with its end.
	Blockers []blockerView
	// Failures are what has failed, each with what to do.
	Failures []*failureView
	// Step is what a person can do about what needs one most, unless it is a failure.
	Step *stepView
	// Unpaused is there for a scope that the last tick found paused.
	Unpaused *outlookView
	// Next is what will be recommended if nothing but the time changes.
	Next *forecastView
	// FirstInQueue is the job that waits first, nil where none does or nobody knows.
	FirstInQueue    *scaling.QueueHead
	ObservedAt, Age string
	Paused          bool
	Badges          []badge
	// Notes are what makes this decision unlike an ordinary one.
	Notes []badge
	// Signals say something now: a condition of theirs holds, or they are unknown.
	// Quiet are the others.
	Signals, Quiet []signalView
	Shadows        []shadowView
	// Decided is the row that matched, with the conditions that triggered it;
	// Nearly are those above it that lacked one condition, Tried the others
	// above, Below those after it.
	Decided              *rowView
	Nearly, Tried, Below []rowView
	// Queries are those of the inputs whose rule set is loaded, Remarks what
	// there is to say about the explanation.
	Queries []queryView
	Remarks []string
	// AsOf is the past tick that is shown, empty for the newest.
	AsOf string
	// Replays is true where the past can be asked, Comparable the names of the
	// rule sets that can be compared.
	Replays    bool
	Comparable []string
	// SignalsURL has a plot of each signal.
	SignalsURL string
	Control    controlView
	Limits     limitsView
	Plot       plotView
	History    historyView
	Actions    actionsView
	Drains     drainsView
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
	// Kind is the style of the state: sustained, true, false, unknown or none. Way is
	// that of what the condition asks for: out or in.
	Kind, Way string
	Held      string
	// HeldSeconds is at most WindowSeconds, for the bar.
	HeldSeconds, WindowSeconds float64
	// When is the tick at which it counts if nothing changes, WhenIn how long that
	// is from now; empty if it is not filling.
	When, WhenIn string
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
	// Triggers are the conditions that asked for what the row decided.
	Triggers []string
}

// scopeView gathers what the page shows of a scope. What the store cannot give
// is said in its place and does not hide the rest. A decision of the past is not
// out of date, and bounds and pauses that hold now are not about it.
func (s *server) scopeView(ctx context.Context, ev *scaling.Evaluation, r plotRange, past bool, now time.Time) scopeView {
	ctx, cancel := context.WithTimeout(ctx, storeTimeout)
	defer cancel()
	st := s.standing(ctx)
	then := &st
	if past {
		then = &standing{problem: st.problem} // what holds now is not about it
	}
	v := scopeViewOf(ev, then, now)
	x := s.explanation(recordOf(ev), nil)
	v.split(x.Rows, &ev.Recommendation)
	v.Queries, v.Remarks = s.asked(x.Queries, ev.Tick), x.Notes
	if s.RuleSetOrigin != nil {
		v.Origin = s.RuleSetOrigin(v.RuleSet)
	}
	v.Control, v.Limits = s.scopeControl(ctx, ev, now), s.limitsView(ev, &st, now)
	if past {
		v.Badges, v.Notes, v.Step = badges(ev, then, ev.Tick), notes(ev, then, ev.Tick), nil
		v.Limits.Timed, v.Limits.Conflicts = nil, nil
		v.Control.Pauses, v.Control.Paused = nil, false
	}
	v.Plot, v.SignalsURL = s.plotView(ctx, ev, r), linkTo("signals", "scope", ev.Scope.Key, "range", r.Name)
	v.History = s.historyView(ctx, ev)
	v.Actions = s.actionsView(ctx, ev, st.latest(ev))
	drains, badges := s.drainsView(ctx, ev.Scope.Key, now)
	v.Drains, v.Badges = drains, append(badges, v.Badges...)
	if v.Replays = s.Past != nil; v.Replays {
		for _, rs := range s.Past.RuleSets(ev.Scope.Key) {
			v.Comparable = append(v.Comparable, rs.Name)
		}
	}
	return v
}

func scopeViewOf(ev *scaling.Evaluation, st *standing, now time.Time) scopeView {
	r := &ev.Recommendation
	v := scopeView{
		Key: ev.Scope.Key, Shown: ev.Scope.Shown(), Labels: ev.Scope.Labels,
		Current: count(r.CurrentWorkers), Recommended: count(r.RecommendedWorkers),
		Action: r.Action, Reason: r.Reason,
		Mode: ev.Mode, SlotMode: ev.SlotMode, Deployment: ev.Deployment, Bounds: bounds(ev),
		RuleSet: r.RuleSet, Digest: shortDigest(r.RuleSet.Digest), ID: r.RecommendationID, Since: instant(r.Since),
		ObservedAt: instant(r.ObservedAt), Age: span(age(ev, now)),
		Paused: st.paused(ev, now), Badges: badges(ev, st, now), Notes: notes(ev, st, now),
		Failures: failuresOf(ev, st, now), Step: stepOf(ev, st, now), Unpaused: outlookViewOf(ev.Unpaused), Next: forecastViewOf(ev.Next, now), FirstInQueue: firstInQueue(ev, now), Blockers: blockerViews(ev, now),
	}
	if left := ev.CooldownRemainingSeconds - age(ev, now); left > 0 {
		v.Cooldown = span(left)
	}
	for i := range ev.Inputs {
		sig := signalViewOf(&ev.Inputs[i], now)
		if sig.quiet() {
			v.Quiet = append(v.Quiet, sig)
		} else {
			v.Signals = append(v.Signals, sig)
		}
	}
	for _, sh := range ev.Shadows {
		v.Shadows = append(v.Shadows, shadowView{
			RuleSet: sh.RuleSet, Action: sh.Action, Recommended: count(sh.RecommendedWorkers),
			Row: string(sh.Row), Reason: sh.Reason, Agrees: sh.Agrees,
		})
	}
	return v
}

// shortDigest is as much of a digest as people compare.
func shortDigest(digest string) string {
	hex := strings.TrimPrefix(digest, "sha256:")
	return hex[:min(len(hex), 12)]
}

// split sorts the rows of the decision table by what became of them.
func (v *scopeView) split(rows []scaling.RowVerdict, r *scaling.Recommendation) {
	for _, x := range rows {
		row := rowView{Row: x.Row, Matched: x.Verdict == scaling.RowMatched, Why: strings.Join(x.Because, "; ")}
		switch conditions := 1 + strings.Count(x.When, " ∧ "); {
		case x.Verdict == scaling.RowNotTried:
			v.Below = append(v.Below, row)
		case row.Matched:
			row.Triggers = triggers(r)
			v.Decided = &row
		case len(x.Because) == 1 && conditions > 1:
			v.Nearly = append(v.Nearly, row)
		default:
			v.Tried = append(v.Tried, row)
		}
	}
}

// triggers are the conditions that asked for a recommendation, in words.
func triggers(r *scaling.Recommendation) []string {
	var out []string
	for i := range r.TriggerConditions {
		c := &r.TriggerConditions[i]
		if c.Value == nil || c.Threshold == nil || c.HeldSeconds == nil || c.WindowSeconds == nil {
			out = append(out, c.Name)
			continue
		}
		out = append(out, fmt.Sprintf("%s %s %s %s for %s of %s", strings.ReplaceAll(c.Name, "_", " "), worth(c.Value), c.Comparison,
			number(*c.Threshold), span(*c.HeldSeconds), span(*c.WindowSeconds)))
	}
	return out
}

// quiet reports whether a signal has nothing to say: it is known, and no
// condition of it holds.
func (v *signalView) quiet() bool {
	if v.Kind == "none" {
		return true
	}
	return v.Kind == "known" && !slices.ContainsFunc(v.Windows, func(w windowView) bool { return w.Kind != "false" && w.Kind != "none" })
}

// queryView is a query with a link to where people ask it, empty for nowhere.
type queryView struct {
	ExplainedQuery
	URL string
}

// asked leaves out what no query is known of.
func (s *server) asked(queries []ExplainedQuery, at time.Time) []queryView {
	var out []queryView
	for _, q := range queries {
		if q.Promql != "" {
			out = append(out, queryView{q, s.askURL(q.Promql, at)})
		}
	}
	return out
}

// badges are in the order of their weight.
func badges(ev *scaling.Evaluation, st *standing, now time.Time) []badge {
	var out []badge
	add := func(holds bool, kind, words string) {
		if holds {
			out = append(out, badge{kind, words})
		}
	}
	add(!fresh(ev, now), "alarm", "out of date")
	add(ev.Provisional, "alarm", "no answer from Prometheus")
	add(!ev.Recommendation.MetricsValid && !ev.Provisional, "unknown", "metrics not valid")
	add(st.paused(ev, now), "person", "paused")
	if x := st.latest(ev); x != nil && (!x.State.Final() || x.State == scaling.ActionFailed) {
		kind := "open"
		if x.State == scaling.ActionFailed {
			kind = "alarm"
		}
		add(true, kind, fmt.Sprintf("action %s: %s", strings.ToLower(string(x.State)), workersOf(x.Target)))
	}
	add(ev.Mode != scaling.Advisory, "plain", string(ev.Mode))
	add(ev.Deployment == scaling.Application, "plain", "application")
	return out
}

// notes say in sentences what badges say in words, and more.
func notes(ev *scaling.Evaluation, st *standing, now time.Time) []badge {
	var out []badge
	add := func(holds bool, kind, note string) {
		if holds {
			out = append(out, badge{kind, note})
		}
	}
	switch paused := st.paused(ev, now); {
	case paused && ev.Paused:
		add(true, "plain", "Paused: nothing acts on what is recommended; it is still evaluated.")
	case paused:
		add(true, "plain", "Paused: that counts from the next tick on.")
	default:
		add(ev.Paused, "plain", "Resumed: it counts from the next tick on.")
	}
	add(ev.Provisional, "alarm", "Prometheus gives no answer: decided on unknown values.")
	add(!fresh(ev, now), "alarm", "Out of date: no evaluation for more than three intervals.")
	add(!ev.Recommendation.MetricsValid, "unknown", "The metrics are not valid: nothing may be removed.")
	if n := ev.Recommendation.StaleWorkerCount; n != nil && *n > 0 {
		add(true, "unknown", fmt.Sprintf("Workers without a young sample: %d.", *n))
	}
	add(ev.Booting > 0, "plain", fmt.Sprintf("Workers asked for that have not registered: %d.", ev.Booting))
	return out
}

func signalViewOf(in *scaling.Input, now time.Time) signalView {
	v := signalView{Name: in.Name, Class: in.Class, Value: measured(in), Kind: "known"}
	switch {
	case !in.Applies:
		v.Kind = "none"
	case !in.Value.Known:
		v.Kind = "unknown"
	}
	for _, w := range in.Windows {
		v.Windows = append(v.Windows, windowViewOf(&w, in.Applies, now))
	}
	return v
}

func windowViewOf(w *scaling.Window, applies bool, now time.Time) windowView {
	v := windowView{
		Condition: fmt.Sprintf("%s if %s %s", direction(w.Direction), w.Comparison, threshold(w.Threshold)),
		State:     w.Truth,
		Kind:      w.Truth,
		Way:       way(w.Direction),
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
	if applies && !w.SustainedAt.IsZero() {
		v.When, v.WhenIn = instant(w.SustainedAt), left(w.SustainedAt, now)
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

// way is the style of a direction.
func way(d scaling.Direction) string {
	if d == scaling.In {
		return "in"
	}
	return "out"
}

func threshold(t *float64) string {
	if t == nil {
		return "unbounded"
	}
	return number(*t)
}

func measured(in *scaling.Input) string {
	switch {
	case in.Value.Known:
		return scaling.Quantity(number(in.Value.Number), in.Unit)
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
func span(seconds float64) string { return scaling.Span(time.Duration(seconds) * time.Second) }

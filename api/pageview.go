package api

import (
	"context"
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

type shadowView struct {
	RuleSet     scaling.RuleSetRef
	Action      scaling.Action
	Recommended string
	Row, Reason string
	Agrees      bool
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
		RuleSet: r.RuleSet, Digest: shortDigest(r.RuleSet.Digest), ID: r.RecommendationID, Since: scaling.At(r.Since),
		ObservedAt: scaling.At(r.ObservedAt), Age: span(age(ev, now)),
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

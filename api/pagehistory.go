package api

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/zeta-scaler/zeta-scaler/scaling"
	"github.com/zeta-scaler/zeta-scaler/state"
)

const (
	// tabled is how many recorded decisions the table shows, actionsShown how many
	// actions are listed.
	tabled, actionsShown = 20, 10
	// unreadable is all that the page says when the store fails.
	unreadable = "The state store gave no answer; the log of the service says why."
)

// historyView is what was decided about a scope, newest first.
type historyView struct {
	Problem string
	Entries []decisionView
}

type decisionView struct {
	At string
	// URL leads to what was decided from what; ScopeURL to the scope as it is now.
	URL                  string
	Scope, ScopeURL      string
	Action               scaling.Action
	Current, Recommended string
	Row, Reason          string
	// Change is what somebody did, of a line that is no decision.
	Change string
}

func (s *server) historyView(ctx context.Context, ev *scaling.Evaluation) historyView {
	entries, err := s.History.History(ctx, state.Filter{Scope: ev.Scope.Key, Kind: state.DecisionEntry, Limit: tabled})
	if err != nil {
		s.Logger.Error("reading history for the page failed", "scope", ev.Scope.Key, "err", err)
		return historyView{Problem: unreadable}
	}
	var v historyView
	page := s.historyPage(entries, tabled)
	for i := range page.Entries {
		v.Entries = append(v.Entries, decisionViewOf(&page.Entries[i]))
	}
	v.Entries = s.withChanges(ctx, ev.Scope.Key, v.Entries)
	return v
}

func decisionViewOf(e *HistoryEntry) decisionView {
	r := &e.Recommendation
	return decisionView{
		At: scaling.At(e.At), URL: linkTo("./", "scope", e.Scope, "id", strconv.FormatInt(e.ID, 10)),
		Scope: scaling.ShownKey(e.Scope), ScopeURL: scopeURL(e.Scope),
		Action: r.Action, Current: count(r.CurrentWorkers), Recommended: count(r.RecommendedWorkers), Row: string(r.Row), Reason: r.Reason,
	}
}

// withChanges puts what people have set between the decisions of a scope, as far
// back as those go, newest first. Where it cannot be read it is left out.
func (s *server) withChanges(ctx context.Context, scope string, decisions []decisionView) []decisionView {
	f := state.Filter{Scope: scope}
	changes, err := s.changes(ctx, f, 0)
	if err != nil {
		s.Logger.Error("reading what was set at run time for the page failed", "scope", scope, "err", err)
		return decisions
	}
	out := decisions
	for _, c := range changes[:min(len(changes), tabled)] {
		v := changeView(&c)
		if len(decisions) < tabled || v.At >= decisions[tabled-1].At {
			out = append(out, v)
		}
	}
	slices.SortStableFunc(out, func(a, b decisionView) int { return strings.Compare(b.At, a.At) })
	return out
}

// changeView is a line about what somebody has set.
func changeView(c *Change) decisionView {
	v := decisionView{At: scaling.At(c.At), Change: c.What, Scope: scaling.ShownKey(c.Scope), ScopeURL: scopeURL(c.Scope)}
	if c.Scope == state.GlobalKey {
		v.Change += " of the service"
	}
	var why []string
	if c.Who != "" {
		why = append(why, "by "+c.Who)
	}
	if c.Until != nil {
		why = append(why, "until "+scaling.At(*c.Until))
	}
	if c.Reason != "" {
		why = append(why, c.Reason)
	}
	v.Reason = strings.Join(why, ": ")
	return v
}

// actionsView are a scope's actions, newest first.
type actionsView struct {
	Problem string
	Actions []actionView
}

type actionView struct {
	// Scope and ScopeURL are only filled in where actions of all scopes stand.
	Scope, ScopeURL string

	ID, Actuator string
	From, Target string
	State        scaling.ActionState
	Open         bool
	Row          string
	Note, Error  string
	// Rounds is how often it was raised, in words; empty for never.
	Rounds      string
	Transitions []transitionView
}

type transitionView struct {
	State  string
	At     string
	Reason string
	// Took is how long the state lasted, empty for the last one.
	Took string
}

// Latest is the action that people want to see first, nothing if there was none.
func (v *actionsView) Latest() []actionView { return v.Actions[:min(1, len(v.Actions))] }

// Earlier are the actions before that.
func (v *actionsView) Earlier() []actionView { return v.Actions[min(1, len(v.Actions)):] }

// actionsView shows the latest action before those that the history has as over.
func (s *server) actionsView(ctx context.Context, ev *scaling.Evaluation, latest *scaling.Execution) actionsView {
	var v actionsView
	seen := map[string]bool{}
	add := func(x *scaling.Execution) {
		if !seen[x.ID] {
			seen[x.ID] = true
			v.Actions = append(v.Actions, actionViewOf(x))
		}
	}
	entries, err := s.History.History(ctx, state.Filter{Scope: ev.Scope.Key, Kind: state.ActionEntry, Limit: actionsShown})
	if err != nil {
		s.Logger.Error("reading actions for the page failed", "scope", ev.Scope.Key, "err", err)
		v.Problem = unreadable
	}
	var over []*scaling.Execution
	for _, e := range entries {
		var x scaling.Execution
		if err := json.Unmarshal(e.Value, &x); err != nil || x.ID == "" {
			s.Logger.Warn("action in the history cannot be read", "id", e.ID, "scope", e.Scope, "err", err)
			continue
		}
		// The history may know the end of what the last tick saw in flight.
		if latest != nil && latest.ID == x.ID {
			latest = &x
		}
		over = append(over, &x)
	}
	if latest != nil {
		add(latest)
	}
	for _, x := range over {
		add(x)
	}
	return v
}

// times is a count of times, empty for none.
func times(n int) string {
	switch n {
	case 0:
		return ""
	case 1:
		return "once"
	default:
		return fmt.Sprintf("%d times", n)
	}
}

func actionViewOf(x *scaling.Execution) actionView {
	v := actionView{
		ID: x.ID, Actuator: x.Actuator, From: count(x.From), Target: count(&x.Target), State: x.State,
		Open: !x.State.Final(), Row: string(x.Row), Error: x.Error, Rounds: times(len(x.Rounds)),
	}
	if x.Condition == scaling.ConditionPlatformAhead {
		v.Note = "There was nothing to do: the platform already has at least the target."
	}
	for i, t := range x.Transitions {
		step := transitionView{State: string(t.State), At: scaling.At(t.At), Reason: t.Reason}
		if i+1 < len(x.Transitions) {
			step.Took = span(max(0, x.Transitions[i+1].At.Sub(t.At).Round(time.Second).Seconds()))
		}
		v.Transitions = append(v.Transitions, step)
	}
	return v
}

package api

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/zeta-scaler/zeta-scaler/scaling"
	"github.com/zeta-scaler/zeta-scaler/state"
)

const (
	// plotted is how many recorded decisions the plot reaches back, listed how
	// many of them the table shows, and actionsShown how many actions are listed.
	plotted, tabled, actionsShown = 200, 20, 10
	// unreadable is all that the page says when the store fails.
	unreadable = "The state store gave no answer; the log of the service says why."
)

// historyView is what was decided about a scope, newest first.
type historyView struct {
	Problem string
	Entries []decisionView
	// More is how many decisions the plot has that the table does not show.
	More int
	// Points is the plot: [seconds, current, recommended] from old to new, null
	// for an unknown count.
	Points string
	// Summary says in words what the plot shows.
	Summary string
}

type decisionView struct {
	At                   string
	Action               scaling.Action
	Current, Recommended string
	Row, Reason          string
}

// point is one place of the plot: Unix seconds, current and recommended.
type point [3]*int64

func (s *server) historyView(ctx context.Context, ev *scaling.Evaluation) historyView {
	entries, err := s.History.History(ctx, state.Filter{Scope: ev.Scope.Key, Kind: state.DecisionEntry, Limit: plotted})
	if err != nil {
		s.Logger.Error("reading history for the page failed", "scope", ev.Scope.Key, "err", err)
		return historyView{Problem: unreadable}
	}
	var v historyView
	points := []point{pointOf(&ev.Recommendation, ev.Recommendation.ObservedAt)}
	for _, e := range s.historyPage(entries, plotted).Entries {
		r := &e.Recommendation
		points = append(points, pointOf(r, e.At))
		if len(v.Entries) == tabled {
			v.More++
			continue
		}
		v.Entries = append(v.Entries, decisionView{
			At: instant(e.At), Action: r.Action, Current: count(r.CurrentWorkers),
			Recommended: count(r.RecommendedWorkers), Row: string(r.Row), Reason: r.Reason,
		})
	}
	slices.Reverse(points)
	v.Points, v.Summary = encodePoints(points), summary(points)
	return v
}

func pointOf(r *scaling.Recommendation, at time.Time) point {
	wide := func(n *int) *int64 {
		if n == nil {
			return nil
		}
		return new(int64(*n))
	}
	return point{new(at.Unix()), wide(r.CurrentWorkers), wide(r.RecommendedWorkers)}
}

// encodePoints cannot fail: points are numbers and nothing else.
func encodePoints(points []point) string {
	b, err := json.Marshal(points)
	if err != nil {
		return "[]"
	}
	return string(b)
}

// summary is the plot in words: its period, and least and most of each line.
func summary(points []point) string {
	at := func(p point) string { return instant(time.Unix(*p[0], 0)) }
	parts := []string{fmt.Sprintf("Workers from %s to %s.", at(points[0]), at(points[len(points)-1]))}
	for i, name := range []string{"Current", "Recommended"} {
		var known []int64
		for _, p := range points {
			if n := p[i+1]; n != nil {
				known = append(known, *n)
			}
		}
		if len(known) == 0 {
			parts = append(parts, name+": unknown.")
			continue
		}
		parts = append(parts, fmt.Sprintf("%s: %d to %d.", name, slices.Min(known), slices.Max(known)))
	}
	return strings.Join(parts, " ")
}

// actionsView are a scope's actions, newest first.
type actionsView struct {
	Problem string
	Actions []actionView
}

type actionView struct {
	ID, Actuator string
	From, Target string
	State        scaling.ActionState
	Open         bool
	Row          string
	Note, Error  string
	Rounds       int
	Transitions  []transitionView
}

type transitionView struct {
	State  scaling.ActionState
	At     string
	Reason string
}

// actionsView shows the latest action of the evaluation before those that the
// history has as over.
func (s *server) actionsView(ctx context.Context, ev *scaling.Evaluation) actionsView {
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
	latest := ev.Execution
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

func actionViewOf(x *scaling.Execution) actionView {
	v := actionView{
		ID: x.ID, Actuator: x.Actuator, From: count(x.From), Target: count(&x.Target), State: x.State,
		Open: !x.State.Final(), Row: string(x.Row), Error: x.Error, Rounds: len(x.Rounds),
	}
	if x.Condition == scaling.ConditionPlatformAhead {
		v.Note = "There was nothing to do: the platform already has at least the target."
	}
	for _, t := range x.Transitions {
		v.Transitions = append(v.Transitions, transitionView{State: t.State, At: instant(t.At), Reason: t.Reason})
	}
	return v
}

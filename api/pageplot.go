package api

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/zeta-scaler/zeta-scaler/scaling"
	"github.com/zeta-scaler/zeta-scaler/state"
)

// plotRange is a period that the plots of a scope's page can show.
type plotRange struct {
	Name   string
	length time.Duration
	// URL shows the page with it; Selected is the one that is shown.
	URL      string
	Selected bool
}

// emptyPlot is the shortest period that a plot shows.
const emptyPlot = 10 * time.Minute

// defaultRange is the name of the period that is shown unasked.
const defaultRange = "24h"

func plotRanges() []plotRange {
	return []plotRange{
		{Name: "1h", length: time.Hour},
		{Name: "6h", length: 6 * time.Hour},
		{Name: defaultRange, length: 24 * time.Hour},
		{Name: "7d", length: 7 * 24 * time.Hour},
	}
}

// rangeOf is the period of that name, the default one for none.
func rangeOf(name string) plotRange {
	all := plotRanges()
	i := slices.IndexFunc(all, func(r plotRange) bool { return r.Name == cmp.Or(name, defaultRange) })
	return all[max(i, 0)]
}

func checkRange(v string) error {
	if slices.ContainsFunc(plotRanges(), func(r plotRange) bool { return r.Name == v }) {
		return nil
	}
	return fmt.Errorf("is not one of 1h, 6h, 24h, 7d")
}

// rangesFor links every period to a scope's page.
func rangesFor(scope, selected string) []plotRange {
	out := plotRanges()
	for i := range out {
		out[i].URL, out[i].Selected = linkTo("", "scope", scope, "range", out[i].Name)+"#workers", out[i].Name == selected
	}
	return out
}

// plotView is the plot of a scope's workers.
type plotView struct {
	Problem string
	Ranges  []plotRange
	// From and To are its ends, in seconds since 1970.
	From, To int64
	// Points are [seconds, current, recommended, min, max] from old to new, null
	// for an unknown count and for no maximum.
	Points string
	// Marks are what happened meanwhile: as JSON for the plot, [from, to, kind],
	// and in words.
	Marks string
	Shown []markView
	// Summary says in words what the plot shows.
	Summary string
}

// markView is one action or pause in the period of a plot.
type markView struct {
	from, to time.Time
	// Kind is the style: pause, done, failed or open.
	Kind, Words   string
	Since, Until  string
	URL, LinkText string
}

// point is one place of the plot: Unix seconds, current, recommended, min, max.
type point [5]*int64

// plotView reads what happened in a period that ends at a tick.
func (s *server) plotView(ctx context.Context, ev *scaling.Evaluation, r plotRange) plotView {
	v := plotView{Ranges: rangesFor(ev.Scope.Key, r.Name)}
	from, to := ev.Tick.Add(-r.length), ev.Tick
	points, err := s.points(ctx, ev, from)
	if err != nil {
		s.Logger.Error("reading history for the page failed", "scope", ev.Scope.Key, "err", err)
		v.Problem = unreadable
		return v
	}
	marks, err := s.marks(ctx, ev, from, to)
	if err != nil {
		s.Logger.Error("reading actions and pauses for the plot failed", "scope", ev.Scope.Key, "err", err)
	}
	// Where less is known than was asked for, the plot begins with what is.
	v.From, v.To = max(from.Unix(), min(*points[0][0], to.Add(-emptyPlot).Unix())), to.Unix()
	v.Points, v.Summary, v.Shown = encoded(points), summary(points), marks
	lines := make([][3]any, len(marks))
	for i, m := range marks {
		lines[i] = [3]any{m.from.Unix(), m.to.Unix(), m.Kind}
	}
	v.Marks = encoded(lines)
	return v
}

// points are those of the decisions since an instant, of the one that held then,
// and of the newest.
func (s *server) points(ctx context.Context, ev *scaling.Evaluation, from time.Time) ([]point, error) {
	f := state.Filter{Scope: ev.Scope.Key, Kind: state.DecisionEntry, Since: from, Until: ev.Tick, Limit: state.MaxHistoryLimit}
	entries, err := s.History.History(ctx, f)
	if err != nil {
		return nil, err
	}
	before, err := s.History.History(ctx, state.Filter{Scope: f.Scope, Kind: f.Kind, Until: from.Add(-time.Nanosecond), Limit: 1})
	if err != nil {
		return nil, err
	}
	points := []point{pointOf(&ev.Recommendation, ev.MinWorkers, ev.MaxWorkers, ev.Tick)}
	page := s.historyPage(append(entries, before...), 0)
	for i := range page.Entries {
		e := &page.Entries[i]
		at := e.At
		if at.Before(from) {
			at = from
		}
		points = append(points, pointOf(&e.Recommendation, e.MinWorkers, e.MaxWorkers, at))
	}
	slices.Reverse(points)
	return points, nil
}

func pointOf(r *scaling.Recommendation, least int, most *int, at time.Time) point {
	wide := func(n *int) *int64 {
		if n == nil {
			return nil
		}
		return new(int64(*n))
	}
	return point{new(at.Unix()), wide(r.CurrentWorkers), wide(r.RecommendedWorkers), wide(&least), wide(most)}
}

// encoded cannot fail: it is given numbers and words of ours.
func encoded(v any) string {
	b, err := json.Marshal(v)
	if err != nil {
		return "[]"
	}
	return string(b)
}

// summary is the plot in words: its period, and least and most of each line.
func summary(points []point) string {
	at := func(p point) string { return scaling.At(time.Unix(*p[0], 0)) }
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

// marks are the actions and pauses of a scope that touch a period, newest first.
func (s *server) marks(ctx context.Context, ev *scaling.Evaluation, from, to time.Time) ([]markView, error) {
	var out []markView
	add := func(m markView) {
		if m.to.After(to) {
			m.to = to
		}
		if m.from.Before(from) {
			m.from = from
		}
		if !m.to.Before(m.from) && m.to.After(from) {
			out = append(out, m)
		}
	}
	if s.Store != nil {
		page, err := s.pageOfActions(ctx, GetActionsParams{Scope: ev.Scope.Key, Since: from, Limit: actionsShown})
		if err != nil {
			return nil, err
		}
		for i := range page.Actions {
			add(actionMark(&page.Actions[i], to))
		}
	}
	changes, err := s.changes(ctx, state.Filter{Scope: ev.Scope.Key, Until: to}, 0)
	if err != nil {
		return out, err
	}
	for _, m := range pauseMarks(changes, to) {
		add(m)
	}
	slices.SortStableFunc(out, func(a, b markView) int { return b.from.Compare(a.from) })
	return out, nil
}

func actionMark(x *scaling.Execution, to time.Time) markView {
	m := markView{from: to, to: to, Kind: "done", URL: "#actions", LinkText: "its steps"}
	if n := len(x.Transitions); n > 0 {
		m.from = x.Transitions[0].At
		if x.State.Final() {
			m.to = x.Transitions[n-1].At
		}
	}
	switch {
	case !x.State.Final():
		m.Kind = "open"
	case x.State == scaling.ActionFailed:
		m.Kind = "failed"
	}
	m.Words = fmt.Sprintf("Action %s → %d: %s", count(x.From), x.Target, strings.ToLower(string(x.State)))
	m.Since, m.Until = scaling.At(m.from), scaling.At(m.to)
	return m
}

// pauseMarks are the pauses that changes, newest first, tell of.
func pauseMarks(changes []Change, to time.Time) []markView {
	var out []markView
	ends := map[string]time.Time{}
	for i := range changes {
		c := &changes[i]
		switch c.What {
		case auditResume:
			ends[c.Scope] = c.At
		case auditPause:
			m := markView{from: c.At, to: to, Kind: "pause", Since: scaling.At(c.At)}
			if end, ok := ends[c.Scope]; ok {
				m.to = end
			}
			if c.Until != nil && c.Until.Before(m.to) {
				m.to = *c.Until
			}
			if m.to.Before(to) {
				m.Until = scaling.At(m.to)
			}
			ends[c.Scope] = c.At // another pause before this one ends with it
			m.Words = "Paused"
			if c.Scope == state.GlobalKey {
				m.Words = "The service paused"
			}
			if c.Who != "" {
				m.Words += " by " + c.Who
			}
			m.Words += ": " + c.Reason
			out = append(out, m)
		}
	}
	return out
}

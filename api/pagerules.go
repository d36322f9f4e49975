package api

import (
	"cmp"
	"context"
	"fmt"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/zeta-scaler/zeta-scaler/evaluator"
	"github.com/zeta-scaler/zeta-scaler/rules"
	"github.com/zeta-scaler/zeta-scaler/scaling"
)

// rulesView is the page of the rule sets that are loaded.
type rulesView struct {
	Sets []ruleSetView
	// Inside is true if the queries are asked of the Prometheus in this service.
	Inside bool
}

type ruleSetView struct {
	Name, Version, Digest, Origin, Description string
	Interval                                   string
	// Decides is how many scopes it decides for, Shadows for how many it only says
	// what it would recommend.
	Decides, Shadows int
	Warnings         []string
	Workers          []askedView
	Signals          []ruleSignalView
}

// askedView is a query, with a link to where people can ask it; empty for nowhere.
type askedView struct{ Name, Promql, URL string }

type ruleSignalView struct {
	askedView
	Class      string
	Conditions []string
}

func (s *server) rulesPageView(context.Context, url.Values) (pageView, error) {
	v := &rulesView{Inside: s.Samples != nil}
	if s.RuleSets == nil {
		return pageView{Rules: v}, nil
	}
	decides, shadows := map[string]int{}, map[string]int{}
	for _, ev := range s.Board.Evaluations() {
		decides[ev.Recommendation.RuleSet.Digest]++
		for _, sh := range ev.Shadows {
			shadows[sh.RuleSet.Digest]++
		}
	}
	for _, rs := range s.RuleSets() {
		set := s.ruleSetViewOf(rs)
		set.Decides, set.Shadows = decides[rs.Digest], shadows[rs.Digest]
		v.Sets = append(v.Sets, set)
	}
	slices.SortStableFunc(v.Sets, func(a, b ruleSetView) int {
		return cmp.Or(cmp.Compare(b.Decides, a.Decides), cmp.Compare(a.Name, b.Name))
	})
	return pageView{Rules: v}, nil
}

func (s *server) ruleSetViewOf(rs *rules.RuleSet) ruleSetView {
	set := ruleSetView{
		Name: rs.Name, Version: rs.Version, Digest: shortDigest(rs.Digest), Origin: rs.Origin(), Description: rs.Description,
		Interval: span(rs.Interval.Seconds()),
	}
	for _, w := range rs.Warnings {
		set.Warnings = append(set.Warnings, w.Message)
	}
	queries := evaluator.Queries(rs)
	signals := map[string]bool{}
	for i := range rs.Signals {
		sig := &rs.Signals[i]
		signals[sig.Name] = true
		set.Signals = append(set.Signals, ruleSignalView{
			askedView: s.askedOf(sig.Name, queries[sig.Name].Expr), Class: string(sig.Class), Conditions: conditionsOf(sig),
		})
	}
	for name, q := range queries {
		if !signals[name] {
			set.Workers = append(set.Workers, s.askedOf(name, q.Expr))
		}
	}
	slices.SortFunc(set.Workers, func(a, b askedView) int { return cmp.Compare(a.Name, b.Name) })
	return set
}

// conditionsOf are those of a signal, in words.
func conditionsOf(sig *rules.Signal) []string {
	var out []string
	add := func(what string, c *rules.Condition) {
		if c == nil {
			return
		}
		threshold := number(c.Threshold)
		if c.MaxWorkers {
			threshold = "max_workers"
		}
		text := fmt.Sprintf("%s if %s %s", what, c.Comparison.Symbol(), threshold)
		if c.For > 0 {
			text += " for " + span(c.For.Seconds())
		}
		out = append(out, text)
	}
	add("scale out", sig.Out)
	add("scale in", sig.In)
	return out
}

// askedOf links a query to where people ask it: the page of a Prometheus, or the
// API of the one inside, which has no page.
func (s *server) askedOf(name, expr string) askedView {
	return askedView{Name: name, Promql: expr, URL: s.askURL(expr, time.Time{})}
}

// askURL is where people see what an expression gives, at an instant if it is not
// zero; empty for nowhere.
func (s *server) askURL(expr string, at time.Time) string {
	if expr == "" {
		return ""
	}
	if s.Samples != nil {
		query := url.Values{"query": {expr}}
		if !at.IsZero() {
			query.Set("time", scaling.At(at))
		}
		return "api/v1/query?" + query.Encode()
	}
	if s.PrometheusURL == nil {
		return ""
	}
	u, err := url.Parse(strings.TrimSuffix(s.PrometheusURL(), "/"))
	if err != nil || u.Host == "" {
		return ""
	}
	u.User = nil
	query := url.Values{"g0.expr": {expr}, "g0.tab": {"0"}, "g0.range_input": {"1h"}}
	if !at.IsZero() {
		query.Set("g0.end_input", at.UTC().Format("2006-01-02 15:04:05"))
	}
	u = u.JoinPath("graph")
	u.RawQuery = query.Encode()
	return u.String()
}

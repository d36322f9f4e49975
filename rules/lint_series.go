package rules

import (
	"fmt"
	"slices"
	"strings"

	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/promql/parser"

	"github.com/zeta-scaler/zeta-scaler/document"
)

// lintSamples: each scope must get one sample of each expression (spec 1.3).
func lintSamples(rs *RuleSet, report reporter) {
	scope := setOf(rs.ScopeBy...)
	for _, in := range rs.inputs() {
		if in.expr.Node.Type() == parser.ValueTypeScalar {
			continue
		}
		s := shapeOf(in.expr.Node, rs.ScopeBy)
		if lost := scope.only(s.dropped).names(); len(lost) > 0 {
			report(in.expr.Pos, fmt.Sprintf("%s: one sample per scope cannot be guaranteed: the expression drops the scope_by label %s, and a sample without it belongs to no scope",
				in.name, strings.Join(lost, ", ")), "aggregate by ("+strings.Join(rs.ScopeBy, ", ")+"), on every side of an or")
			continue
		}
		if in.expr == rs.Workers.Master {
			continue // which master answers may be told by several samples
		}
		if message := leak(&s, scope); message != "" {
			report(in.expr.Pos, in.name+": one sample per scope cannot be guaranteed: "+message, aggregateHint(rs.ScopeBy))
		}
	}
}

// leak says which labels may give a scope more than one sample.
func leak(s *shape, scope labelSet) string {
	extra := s.varying
	if s.keyed {
		extra = s.key
	}
	switch extra = extra.minus(scope); {
	case len(extra) > 0:
		return fmt.Sprintf("the expression leaks %s, so that a scope has a sample for each of its values", strings.Join(extra.names(), ", "))
	case !s.keyed && s.bare != nil:
		return fmt.Sprintf("nothing aggregates the selector %s, so that every further label, such as instance, gives another sample", s.bare)
	}
	return ""
}

func aggregateHint(scopeBy []string) string {
	if len(scopeBy) == 0 {
		return "aggregate: max(…), sum(…) or avg(…)"
	}
	by := strings.Join(scopeBy, ", ")
	return "aggregate: max by (" + by + ") (…), sum by (" + by + ") (…) or avg by (" + by + ") (…)"
}

// rangeUse is a function over a range of a selector.
type rangeUse struct {
	function string
	// matrix is nil where the range is a subquery.
	matrix   *parser.MatrixSelector
	selector *parser.VectorSelector
}

// rangeUses finds all functions over range selectors of an expression.
func rangeUses(e parser.Expr) []rangeUse {
	var out []rangeUse
	parser.Inspect(e, func(n parser.Node, _ []parser.Node) error {
		c, ok := n.(*parser.Call)
		if !ok || c.Func == nil {
			return nil
		}
		for _, a := range c.Args {
			switch r := unwrap(a).(type) {
			case *parser.MatrixSelector:
				if v, ok := r.VectorSelector.(*parser.VectorSelector); ok {
					out = append(out, rangeUse{c.Func.Name, r, v})
				}
			case *parser.SubqueryExpr:
				if v, ok := unwrap(r.Expr).(*parser.VectorSelector); ok {
					out = append(out, rangeUse{c.Func.Name, nil, v})
				}
			}
		}
		return nil
	})
	return out
}

// counterFunctions treat every fall of a series as a restart of a counter.
func counterFunctions() []string { return []string{"rate", "increase", "irate"} }

// twoSampleFunctions give nothing for a series with fewer than two samples in
// the range.
func twoSampleFunctions() []string {
	return append(counterFunctions(), "delta", "idelta", "deriv", "predict_linear")
}

// lintGaugeRate: a gauge that falls looks like a counter that restarted.
func lintGaugeRate(rs *RuleSet, report reporter) {
	all := knownSeries()
	for _, in := range rs.inputs() {
		for _, u := range rangeUses(in.expr.Node) {
			s := findSeries(all, selectorName(u.selector.LabelMatchers))
			if s == nil || s.counter || !slices.Contains(counterFunctions(), u.function) {
				continue
			}
			hint := "use delta or deriv for a gauge"
			if s.name == "job_count" || s.name == exporterPrefix+"jobs" {
				hint = "its finished and failed jobs expire with Zeta's history, so it falls; for rejections use seatunnel_zeta_resource_rejections_total"
			}
			report(in.expr.within(u.selector), fmt.Sprintf("%s: %s over %s, which is a gauge: each time it falls counts as a restart from 0", in.name, u.function, s.name), hint)
		}
	}
}

// lintShortRange: with fewer than two samples in its range a rate is absent.
// How often a server scrapes is not in the file; as a rule not more rarely than
// the set is evaluated.
func lintShortRange(rs *RuleSet, report reporter) {
	for _, in := range rs.inputs() {
		for _, u := range rangeUses(in.expr.Node) {
			if u.matrix == nil || u.matrix.RangeExpr != nil || u.matrix.Range >= 2*rs.Interval || !slices.Contains(twoSampleFunctions(), u.function) {
				continue
			}
			report(in.expr.within(u.matrix), fmt.Sprintf(
				"%s: the range %s of %s is shorter than two scrape intervals, if scrapes are as far apart as ticks (%s): without two samples in it there is no value",
				in.name, model.Duration(u.matrix.Range), u.function, model.Duration(rs.Interval)),
				fmt.Sprintf("at least %s, better four scrape intervals", model.Duration(2*rs.Interval)))
		}
	}
}

// selectors finds all selectors of an expression.
func selectors(e parser.Expr) []*parser.VectorSelector {
	var out []*parser.VectorSelector
	parser.Inspect(e, func(n parser.Node, _ []parser.Node) error {
		if v, ok := n.(*parser.VectorSelector); ok {
			out = append(out, v)
		}
		return nil
	})
	return out
}

// lintPending: the one series of Zeta that would count waiting jobs is not in
// every release.
func lintPending(rs *RuleSet, report reporter) {
	for _, in := range rs.inputs() {
		for _, v := range selectors(in.expr.Node) {
			if selectorName(v.LabelMatchers) != "job_count" {
				continue
			}
			for _, m := range v.LabelMatchers {
				positive := m.Type == labels.MatchEqual || m.Type == labels.MatchRegexp && !m.Matches("running")
				if m.Name == "type" && positive && m.Matches("pending") {
					report(in.expr.within(v), in.name+`: job_count{type="pending"} is exported by some releases only (2.3.13, not 2.3.8 or 2.3.9); where it is missing, the signal is unknown`,
						"use seatunnel_zeta_pending_jobs from zeta-scaler exporter")
				}
			}
		}
	}
}

// lintUnknownSeries: a misspelt series is an unknown signal for ever.
func lintUnknownSeries(rs *RuleSet, report reporter) {
	all := knownSeries()
	for _, in := range rs.inputs() {
		for _, v := range selectors(in.expr.Node) {
			name := selectorName(v.LabelMatchers)
			s := findSeries(all, name)
			if s == nil {
				if looksLikeZeta(name) {
					hint := ""
					if near := nearestSeries(all, name); near != "" {
						hint = "did you mean " + near + "?"
					}
					report(in.expr.within(v), fmt.Sprintf("%s: no Zeta exports %s", in.name, name), hint)
				}
				continue
			}
			for _, m := range v.LabelMatchers {
				known := s.values[m.Name]
				if len(known) == 0 || slices.ContainsFunc(known, m.Matches) {
					continue
				}
				report(in.expr.within(v), fmt.Sprintf("%s: no %s has %s", in.name, name, m), m.Name+" is one of "+document.OneOf(known))
			}
		}
	}
}

// within is where a part of an expression stands in the file.
func (e *Expr) within(n parser.Node) document.Position {
	if e.place == nil {
		return e.Pos
	}
	return e.place(int(n.PositionRange().Start))
}

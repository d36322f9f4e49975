package rules

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/prometheus/prometheus/promql/parser"

	"github.com/zeta-scaler/zeta-scaler/document"
)

// collisions asks whether a label of the scrape target, or of the whole
// Prometheus, has taken the place of a scope_by label that the exporter gave:
// all clusters are one scope then, with the workers of one and the queue of
// another.
func (c *serverCheck) collisions(ctx context.Context, in input) {
	for _, v := range selectors(in.expr.Node) {
		bare := bareSelector(v)
		for _, label := range c.rs.ScopeBy {
			question := fmt.Sprintf("count by (%[1]s, exported_%[1]s) (%[2]s)", label, bare)
			if !c.first(question) {
				continue
			}
			a, _, err := c.ask(ctx, question)
			if err != nil {
				continue
			}
			var pushed []string
			for _, s := range a.Samples {
				if name := s.Get("exported_" + label); name != "" {
					pushed = append(pushed, fmt.Sprintf("%q is now %q", name, s.Get(label)))
				}
			}
			if len(pushed) > 0 {
				slices.Sort(pushed)
				c.add(in.expr.within(v), document.SeverityWarning, CheckServerSamples, fmt.Sprintf(
					"%s: %s has a label exported_%s: another label %s, of the scrape target or of all of this Prometheus, has taken the place of the exporter's own (%s), so that several clusters may be one scope",
					in.name, bare, label, label, strings.Join(pushed, ", ")),
					"set honor_labels: true in the scrape configuration, or give the target's label another name")
			}
		}
	}
}

// doubled asks whether several exporters, or several Prometheus behind one
// address, give what an expression sums, counts or averages without taking one
// of them first.
func (c *serverCheck) doubled(ctx context.Context, in input) {
	if in.expr == c.rs.Workers.Sources {
		return // counts them on purpose
	}
	parser.Inspect(in.expr.Node, func(n parser.Node, path []parser.Node) error {
		v, ok := n.(*parser.VectorSelector)
		if !ok {
			return nil
		}
		s := findSeries(exporterSeries(), selectorName(v.LabelMatchers))
		op := countsEach(append(path, n))
		if s == nil || op == "" {
			return nil
		}
		labels := strings.Join(s.labels, ", ")
		question := fmt.Sprintf("max(count by (%s) (%s))", labels, bareSelector(v))
		if !c.first(question + " > 1") {
			return nil
		}
		if a, _, err := c.ask(ctx, question+" > 1"); err == nil && len(a.Samples) > 0 {
			c.add(in.expr.within(v), document.SeverityWarning, CheckServerSamples, fmt.Sprintf(
				"%s: %s comes more than once, from several exporters or several Prometheus, and %s counts each of them", in.name, bareSelector(v), op),
				fmt.Sprintf("take one of them first: max by (%s) (%s)", labels, bareSelector(v)))
		}
		return nil
	})
}

// countsEach names the aggregation for which it makes a difference that the
// series at the end of a path is there twice; empty if it makes none.
func countsEach(path []parser.Node) string {
	for i := len(path) - 2; i >= 0; i-- {
		switch n := path[i].(type) {
		case *parser.BinaryExpr:
			// What is behind and, unless and or is only looked up.
			if n.Op.IsSetOperator() && n.Op != parser.LOR && parser.Node(n.RHS) == path[i+1] {
				return ""
			}
		case *parser.AggregateExpr:
			switch n.Op {
			case parser.SUM, parser.AVG, parser.COUNT, parser.STDDEV, parser.STDVAR, parser.QUANTILE, parser.COUNT_VALUES:
			default:
				return ""
			}
			if groupsAreCounted(path[:i]) {
				return ""
			}
			return n.Op.String()
		}
	}
	return ""
}

// groupsAreCounted reports whether only the number of groups matters next:
// count(count by (…) (…)).
func groupsAreCounted(path []parser.Node) bool {
	for _, node := range slices.Backward(path) {
		switch n := node.(type) {
		case *parser.ParenExpr:
		case *parser.AggregateExpr:
			return n.Op == parser.COUNT || n.Op == parser.GROUP
		default:
			return false
		}
	}
	return false
}

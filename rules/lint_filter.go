package rules

import (
	"fmt"

	"github.com/prometheus/prometheus/promql/parser"
)

// lintFilter: a comparison keeps the samples for which it holds and drops all
// others, so that a signal is unknown where its author means "no" or 0.
func lintFilter(rs *RuleSet, report reporter) {
	for _, in := range rs.inputs() {
		if in.signal == nil {
			continue
		}
		cmp, within := filterOf(in.expr.Node)
		if cmp == nil {
			continue
		}
		hint := "leave the comparison to the thresholds of the signal, or write " + cmp.Op.String() + " bool"
		switch within {
		case parser.COUNT:
			hint = "write sum by (…) (… " + cmp.Op.String() + " bool …), or say what none is: or 0 * max by (…) (…)"
		case parser.SUM:
			hint = "say what none is: or 0 * max by (…) (…)"
		}
		report(in.expr.within(cmp), fmt.Sprintf("%s: while no sample is %s, the expression has none and the signal is unknown, which is neither 0 nor false", in.name, comparison(cmp)), hint)
	}
}

// comparison is the condition in words of PromQL, without what it is about.
func comparison(b *parser.BinaryExpr) string {
	if n, ok := unwrap(b.RHS).(*parser.NumberLiteral); ok {
		return fmt.Sprintf("%s %s", b.Op, n)
	}
	return b.Op.String() + " what it is compared with"
}

// filterOf finds a comparison that leaves an expression without a sample when it
// is false, and the aggregation that counts what it leaves. What is averaged,
// or picked, is taken for meant to be narrowed down, as is what stands on a side of
// and and unless; behind or stands what holds otherwise.
func filterOf(e parser.Expr) (cmp *parser.BinaryExpr, within parser.ItemType) {
	switch n := unwrap(e).(type) {
	case *parser.UnaryExpr:
		return filterOf(n.Expr)
	case *parser.AggregateExpr:
		if n.Op != parser.COUNT && n.Op != parser.SUM {
			return nil, 0
		}
		cmp, _ = filterOf(n.Expr)
		return cmp, n.Op
	case *parser.BinaryExpr:
		return binaryFilter(n)
	}
	return nil, 0
}

func binaryFilter(n *parser.BinaryExpr) (cmp *parser.BinaryExpr, within parser.ItemType) {
	vectors := n.LHS.Type() == parser.ValueTypeVector || n.RHS.Type() == parser.ValueTypeVector
	switch {
	case !vectors:
		return nil, 0
	case n.Op.IsComparisonOperator():
		if n.ReturnBool {
			return nil, 0
		}
		return n, 0
	case n.Op == parser.LOR:
		if cmp, _ := filterOf(n.LHS); cmp == nil {
			return nil, 0
		}
		return filterOf(n.RHS)
	case n.Op.IsSetOperator():
		return nil, 0
	}
	if cmp, within = filterOf(n.LHS); cmp != nil {
		return cmp, within
	}
	return filterOf(n.RHS)
}

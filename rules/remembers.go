package rules

import (
	"time"

	"github.com/prometheus/prometheus/promql/parser"
)

// side is for which values of an expression a condition holds, as far as that is
// known: the high ones, the low ones.
type side int

const (
	low     side = -1
	unknown side = 0
	high    side = 1
)

// side is for which values the condition holds.
func (c *Condition) side() side {
	if c.Comparison == Above || c.Comparison == AtLeast {
		return high
	}
	return low
}

// remembers is for how long an expression keeps values that are over, for the
// sake of a condition that holds on one side. The latest of a few scrapes keeps
// none, nor does a minimum where high values count or a maximum where low ones do:
// a single value of the other kind is enough to end the condition at once, as it
// is to reset a window.
func remembers(e parser.Node, of side) time.Duration {
	switch n := e.(type) {
	case *parser.MatrixSelector:
		return n.Range
	case *parser.SubqueryExpr:
		return n.Range + remembers(n.Expr, of)
	case *parser.ParenExpr:
		return remembers(n.Expr, of)
	case *parser.UnaryExpr:
		if n.Op == parser.SUB {
			of = -of
		}
		return remembers(n.Expr, of)
	case *parser.AggregateExpr:
		if !followsItsArgument(n.Op) {
			of = unknown
		}
		return remembers(n.Expr, of)
	case *parser.BinaryExpr:
		left, right := sides(n.Op, of)
		return max(remembers(n.LHS, left), remembers(n.RHS, right))
	case *parser.Call:
		return remembersCall(n, of)
	}
	return 0
}

// followsItsArgument reports whether an aggregation grows with what it is over.
func followsItsArgument(op parser.ItemType) bool {
	switch op {
	case parser.SUM, parser.AVG, parser.MIN, parser.MAX, parser.QUANTILE, parser.TOPK, parser.BOTTOMK:
		return true
	}
	return false
}

// sides are those of the operands.
func sides(op parser.ItemType, of side) (left, right side) {
	switch op {
	case parser.ADD, parser.MUL, parser.LOR:
		return of, of
	case parser.SUB, parser.DIV:
		return of, -of
	case parser.LAND, parser.LUNLESS:
		return of, unknown
	}
	return unknown, unknown
}

func remembersCall(n *parser.Call, of side) time.Duration {
	var forgets bool
	inner := of
	switch n.Func.Name {
	case "last_over_time":
		forgets = true
	case "min_over_time":
		forgets = of == high
	case "max_over_time":
		forgets = of == low
	case "abs", "absent", "changes", "deriv", "idelta", "irate", "resets", "timestamp":
		inner = unknown
	}
	var longest time.Duration
	for i, arg := range n.Args {
		if i > 0 {
			inner = unknown
		}
		d := remembers(arg, inner)
		if forgets {
			d -= rangeOf(arg)
		}
		longest = max(longest, d)
	}
	return longest
}

// rangeOf is the range of a function's argument itself.
func rangeOf(arg parser.Expr) time.Duration {
	switch n := arg.(type) {
	case *parser.MatrixSelector:
		return n.Range
	case *parser.SubqueryExpr:
		return n.Range
	case *parser.ParenExpr:
		return rangeOf(n.Expr)
	}
	return 0
}

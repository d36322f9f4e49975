package source

import (
	"slices"
	"sync"

	"github.com/prometheus/prometheus/promql/parser"
)

// maxParsed bounds the expressions that are kept. Rule sets have some tens.
const maxParsed = 512

// parseOnce reads an expression the first time that it is asked for. The engine
// writes into what it is given, so everybody gets a copy.
type parseOnce struct {
	parser.Parser
	mu   sync.Mutex
	kept map[string]parser.Expr
}

func newParseOnce(p parser.Parser) *parseOnce {
	return &parseOnce{Parser: p, kept: map[string]parser.Expr{}}
}

// ParseExpr implements parser.Parser.
func (p *parseOnce) ParseExpr(text string) (parser.Expr, error) {
	p.mu.Lock()
	expr, found := p.kept[text]
	p.mu.Unlock()
	if found {
		return copied(expr), nil
	}
	expr, err := p.Parser.ParseExpr(text)
	if err != nil {
		return expr, err
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if len(p.kept) >= maxParsed {
		clear(p.kept)
	}
	p.kept[text] = expr
	return copied(expr), nil
}

// copied copies what the engine writes to: every node, the grouping labels, which
// it sorts, and the matchers, which the TSDB sorts.
func copied(expr parser.Expr) parser.Expr {
	switch n := expr.(type) {
	case *parser.AggregateExpr:
		c := *n
		c.Expr, c.Param, c.Grouping = copied(n.Expr), copied(n.Param), slices.Clone(n.Grouping)
		return &c
	case *parser.BinaryExpr:
		c := *n
		c.LHS, c.RHS = copied(n.LHS), copied(n.RHS)
		return &c
	case *parser.Call:
		c := *n
		c.Args = make(parser.Expressions, len(n.Args))
		for i := range n.Args {
			c.Args[i] = copied(n.Args[i])
		}
		return &c
	case *parser.MatrixSelector:
		c := *n
		c.VectorSelector = copied(n.VectorSelector)
		return &c
	case *parser.ParenExpr:
		c := *n
		c.Expr = copied(n.Expr)
		return &c
	case *parser.SubqueryExpr:
		c := *n
		c.Expr = copied(n.Expr)
		return &c
	case *parser.UnaryExpr:
		c := *n
		c.Expr = copied(n.Expr)
		return &c
	case *parser.VectorSelector:
		c := *n
		c.LabelMatchers = slices.Clone(n.LabelMatchers)
		return &c
	default: // nil, or a literal, which nobody writes to
		return expr
	}
}

package rules

import (
	"errors"
	"strings"

	"github.com/prometheus/prometheus/promql/parser"
	"go.yaml.in/yaml/v3"

	"github.com/zeta-scaler/zeta-scaler/document"
)

// expr decodes a PromQL expression. The diagnostics of the PromQL parser are
// placed where they point to inside of the expression.
func (d *decoder) expr(_ *document.Decoder, n *yaml.Node, _ document.Field, p document.Path) (any, bool) {
	what := p.Subject
	if n.Kind == yaml.MappingNode && n.Style&yaml.FlowStyle != 0 {
		d.Fail(n, document.CheckType, "what begins with a brace is a mapping to YAML: quote it, or write it as a block: expr: |",
			"%s is %s, expected a text", what, d.KindOf(n, p))
		return nil, false
	}
	s, ok := d.Text(n, p)
	if !ok {
		return nil, false
	}
	e := &Expr{
		Text: strings.TrimSpace(s), Pos: d.PosIn(n, start(s)),
		place: func(offset int) document.Position { return d.PosIn(n, start(s)+offset) },
	}
	switch {
	case e.Text == "":
		d.Fail(n, CheckPromQL, "", "%s is empty, expected a PromQL expression", what)
		return nil, false
	case len(e.Text) > maxExprBytes:
		d.Fail(n, document.CheckTooLarge, "", "%s has %d bytes, at most %d are read", what, len(e.Text), maxExprBytes)
		return nil, false
	}
	node, err := parser.NewParser(parser.Options{}).ParseExpr(e.Text)
	if err != nil {
		d.promQLErrors(n, s, what, err)
		return nil, false
	}
	switch node.Type() {
	case parser.ValueTypeVector, parser.ValueTypeScalar:
		e.Node = node
		return *e, true
	case parser.ValueTypeMatrix:
		d.Add(document.SeverityError, e.Pos, CheckExprType, "wrap it in a function such as rate or max_over_time, or drop the [range]", "%s gives a range vector, expected an instant vector", what)
	default:
		d.Add(document.SeverityError, e.Pos, CheckExprType, "", "%s gives a %s, expected an instant vector", what, node.Type())
	}
	return nil, false
}

// promQLErrors places every error of the PromQL parser.
func (d *decoder) promQLErrors(n *yaml.Node, value, what string, err error) {
	var errs parser.ParseErrors
	if !errors.As(err, &errs) {
		d.Fail(n, CheckPromQL, "", "%s does not parse: %v", what, err)
		return
	}
	errs = withoutGuesswork(errs)
	for i := range errs {
		p := d.PosIn(n, start(value)+int(errs[i].PositionRange.Start))
		d.Add(document.SeverityError, p, CheckPromQL, promQLHint(errs[i].Err.Error()), "%s does not parse: %v", what, errs[i].Err)
	}
}

// promQLHint explains what the parser's words leave open here.
func promQLHint(message string) string {
	if strings.Contains(message, "is experimental") || strings.Contains(message, "is not enabled") {
		return "experimental PromQL is not read, whatever the server has enabled"
	}
	return ""
}

// withoutGuesswork keeps only the syntax error, if there is one: what the
// parser says besides follows from it.
func withoutGuesswork(errs parser.ParseErrors) parser.ParseErrors {
	for i := range errs {
		m := errs[i].Err.Error()
		for _, prefix := range []string{"unexpected ", "unclosed ", "bad "} {
			if strings.HasPrefix(m, prefix) {
				return errs[i : i+1]
			}
		}
		if strings.Contains(m, "argument(s) in call to") {
			return errs[i : i+1] // what stands in whose place is a guess
		}
	}
	return errs
}

// start is where an expression begins in the text that it is the trimmed form
// of.
func start(s string) int { return len(s) - len(strings.TrimLeft(s, " \t\r\n")) }

package rules

import (
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/prometheus/prometheus/promql/parser"
	"go.yaml.in/yaml/v3"
)

// expr decodes a PromQL expression. The diagnostics of the PromQL parser are
// placed where they point to inside of the expression.
func (d *decoder) expr(n *yaml.Node, what string) *Expr {
	if n.Kind == yaml.MappingNode && n.Style&yaml.FlowStyle != 0 {
		d.failf(n, CheckType, "what begins with a brace is a mapping to YAML: quote it, or write it as a block: expr: |",
			"%s is %s, expected a text", what, kindOf(n))
		return nil
	}
	s, ok := d.str(n, what)
	if !ok {
		return nil
	}
	e := &Expr{
		Text: strings.TrimSpace(s), Pos: d.exprPos(n, s, 0),
		place: func(offset int) Position { return d.exprPos(n, s, offset) },
	}
	switch {
	case e.Text == "":
		d.failf(n, CheckPromQL, "", "%s is empty, expected a PromQL expression", what)
		return nil
	case len(e.Text) > maxExprBytes:
		d.failf(n, CheckTooLarge, "", "%s has %d bytes, at most %d are read", what, len(e.Text), maxExprBytes)
		return nil
	}
	node, err := parser.NewParser(parser.Options{}).ParseExpr(e.Text)
	if err != nil {
		d.promQLErrors(n, s, what, err)
		return nil
	}
	switch node.Type() {
	case parser.ValueTypeVector, parser.ValueTypeScalar:
		e.Node = node
		return e
	case parser.ValueTypeMatrix:
		d.report(e.Pos, SeverityError, CheckExprType,
			"wrap it in a function such as rate or max_over_time, or drop the [range]",
			fmt.Sprintf("%s gives a range vector, expected an instant vector", what))
	default:
		d.report(e.Pos, SeverityError, CheckExprType, "",
			fmt.Sprintf("%s gives a %s, expected an instant vector", what, node.Type()))
	}
	return nil
}

// promQLErrors places every error of the PromQL parser.
func (d *decoder) promQLErrors(n *yaml.Node, value, what string, err error) {
	var errs parser.ParseErrors
	if !errors.As(err, &errs) {
		d.failf(n, CheckPromQL, "", "%s does not parse: %v", what, err)
		return
	}
	errs = withoutGuesswork(errs)
	for i := range errs {
		p := d.exprPos(n, value, int(errs[i].PositionRange.Start))
		d.report(p, SeverityError, CheckPromQL, promQLHint(errs[i].Err.Error()), fmt.Sprintf("%s does not parse: %v", what, errs[i].Err))
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

// exprPos is where the byte at offset of an expression (trimmed of space)
// stands in the file.
func (d *decoder) exprPos(n *yaml.Node, value string, offset int) Position {
	offset += len(value) - len(strings.TrimLeft(value, " \t\r\n"))
	offset = min(offset, len(value))
	if p, ok := d.locate(n, value, offset); ok {
		return p
	}
	return d.pos(n)
}

// locate finds a byte of a scalar's value in the source. The value has lost
// indentation, folded line breaks and quoting, but the characters that are no
// space stand in the same order in both: it counts those.
func (d *decoder) locate(n *yaml.Node, value string, offset int) (Position, bool) {
	c := cursor{text: d.text, line: n.Line}
	if n.Style&(yaml.LiteralStyle|yaml.FoldedStyle) != 0 {
		c.line++ // the text begins below the | or >
	}
	src, ok := c.src()
	if !ok {
		return Position{}, false
	}
	if c.line == n.Line {
		c.at = byteAt(src, n.Column-1)
	}
	if n.Style&(yaml.DoubleQuotedStyle|yaml.SingleQuotedStyle) != 0 && c.at < len(src) {
		c.quote = src[c.at]
		c.at++
	}
	for i := range offset {
		if !isSpace(value[i]) && !c.take() {
			return Position{}, false
		}
	}
	if offset < len(value) && !isSpace(value[offset]) && !c.skipSpace() {
		return Position{}, false
	}
	src, _ = c.src()
	return Position{File: d.file, Line: c.line, Column: utf8.RuneCountInString(src[:min(c.at, len(src))]) + 1}, true
}

// cursor walks over the source of one scalar.
type cursor struct {
	text     *text
	line, at int
	quote    byte
}

func (c *cursor) src() (string, bool) { return c.text.line(c.line) }

// take skips space and one character that is none, escaped or not.
func (c *cursor) take() bool {
	if !c.skipSpace() {
		return false
	}
	src, _ := c.src()
	switch rest := src[c.at:]; {
	case c.quote == '\'' && strings.HasPrefix(rest, "''"), c.quote == '"' && rest[0] == '\\' && len(rest) > 1:
		c.at += 2
	default:
		c.at++
	}
	return true
}

// skipSpace moves to the next character that is no space, also over line
// breaks; false is the end of the file.
func (c *cursor) skipSpace() bool {
	for {
		src, ok := c.src()
		switch {
		case !ok:
			return false
		case c.at >= len(src):
			c.line, c.at = c.line+1, 0
		case isSpace(src[c.at]):
			c.at++
		case c.quote == '"' && src[c.at] == '\\' && (c.at+1 == len(src) || strings.IndexByte("nt r", src[c.at+1]) >= 0):
			c.at += 2
		default:
			return true
		}
	}
}

func isSpace(b byte) bool { return b == ' ' || b == '\t' || b == '\n' || b == '\r' }

// byteAt is the byte offset of a character of a line.
func byteAt(line string, char int) int {
	for i := range line {
		if char <= 0 {
			return i
		}
		char--
	}
	return len(line)
}

package document

import (
	"strings"
	"unicode/utf8"

	"go.yaml.in/yaml/v3"
)

// PosIn is where a byte of a scalar's value stands in the file, or the place of
// the scalar if that cannot be told.
func (r *Report) PosIn(n *yaml.Node, offset int) Position {
	if p, ok := r.locate(n, n.Value, min(offset, len(n.Value))); ok {
		return p
	}
	return r.Pos(n)
}

// locate finds a byte of a scalar's value in the source. The value has lost
// indentation, folded line breaks and quoting, but the characters that are no
// space stand in the same order in both: it counts those.
func (r *Report) locate(n *yaml.Node, value string, offset int) (Position, bool) {
	c := cursor{text: r.text, line: n.Line}
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
	return Position{File: r.File, Line: c.line, Column: utf8.RuneCountInString(src[:min(c.at, len(src))]) + 1}, true
}

// cursor walks over the source of one scalar.
type cursor struct {
	text     *Text
	line, at int
	quote    byte
}

func (c *cursor) src() (string, bool) { return c.text.Line(c.line) }

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

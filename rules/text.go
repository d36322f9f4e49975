package rules

import (
	"strings"
	"unicode/utf8"
)

// text is a file split into lines, to quote from.
type text struct {
	lines []string
}

func newText(data []byte) *text {
	lines := strings.Split(string(data), "\n")
	for i := range lines {
		lines[i] = strings.TrimSuffix(lines[i], "\r")
	}
	return &text{lines: lines}
}

// line returns a line by its number from 1.
func (t *text) line(n int) (string, bool) {
	if t == nil || n < 1 || n > len(t.lines) {
		return "", false
	}
	return t.lines[n-1], true
}

// snippetWidth is how much of a long line is shown, in characters.
const snippetWidth = 120

// snippet is the line of a position with a caret below its column.
func (t *text) snippet(p Position) string {
	line, ok := t.line(p.Line)
	if !ok || strings.TrimSpace(line) == "" {
		return ""
	}
	runes := []rune(line)
	at := min(max(p.Column-1, 0), len(runes))
	start := 0
	if at > snippetWidth*2/3 {
		start = at - snippetWidth*2/3
	}
	end := min(len(runes), start+snippetWidth)
	before, after := "", ""
	if start > 0 {
		before = "…"
	}
	if end < len(runes) {
		after = "…"
	}
	// Tabs stay tabs below, so that the caret stands right at any tab width.
	pad := []rune(before + string(runes[start:at]))
	for i, r := range pad {
		if r != '\t' {
			pad[i] = ' '
		}
	}
	return "    " + before + printable(string(runes[start:end])) + after + "\n    " + string(pad) + "^"
}

// printable keeps control characters of a file away from a terminal.
func printable(s string) string {
	return strings.Map(func(r rune) rune {
		if r != '\t' && (r < ' ' || r == 0x7f || r >= 0x80 && r < 0xa0) {
			return utf8.RuneError
		}
		return r
	}, s)
}

package document

import "strings"

// Text is a file split into lines, to quote from.
type Text struct {
	lines []string
}

// newText splits a file into lines.
func newText(data []byte) *Text {
	lines := strings.Split(string(data), "\n")
	for i := range lines {
		lines[i] = strings.TrimSuffix(lines[i], "\r")
	}
	return &Text{lines: lines}
}

// String is the whole text.
func (t *Text) String() string { return strings.Join(t.lines, "\n") }

// Line returns a line by its number from 1.
func (t *Text) Line(n int) (string, bool) {
	if t == nil || n < 1 || n > len(t.lines) {
		return "", false
	}
	return t.lines[n-1], true
}

// snippetWidth is how much of a long line is shown, in characters.
const snippetWidth = 120

// Snippet is the line of a position with a caret below its column, empty
// where the text has no such line.
func (t *Text) Snippet(p Position) string {
	line, ok := t.Line(p.Line)
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
	return "    " + before + Printable(string(runes[start:end]), "\t") + after + "\n    " + string(pad) + "^"
}

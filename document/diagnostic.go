package document

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

// Severity tells what stops a load from what is only worth a look.
type Severity string

// The severities. Only an error stops a load.
const (
	SeverityError   Severity = "error"
	SeverityWarning Severity = "warning"
	SeverityInfo    Severity = "info"
)

// Position is a place in a file; Line and Column count from 1, 0 is unknown.
type Position struct {
	File   string `json:"file"`
	Line   int    `json:"line"`
	Column int    `json:"column"`
}

// Diagnostic is one finding in a file.
type Diagnostic struct {
	Pos      Position `json:"pos"`
	Severity Severity `json:"severity"`
	// Check is the stable name of the check; docs/lints.md and
	// docs/configuration.md have a section for each.
	Check string `json:"check"`
	// Message says what is wrong and what was expected, in one line.
	Message string `json:"message"`
	// Hint says what to do about it; may be empty.
	Hint string `json:"hint,omitempty"`
	// Snippet is the source line with a caret below the place; empty when the
	// place is unknown.
	Snippet string `json:"snippet,omitempty"`
}

// String is the diagnostic in one line: file:line:column: message.
func (d Diagnostic) String() string {
	s := d.Pos.String() + ": "
	if d.Severity != SeverityError {
		s += string(d.Severity) + ": "
	}
	return s + d.Message + " [" + d.Check + "]"
}

// Render is the diagnostic for a terminal: the line of String, the source line
// with a caret, and the hint.
func (d Diagnostic) Render() string {
	s := Printable(d.String(), "\t") + "\n"
	if d.Snippet != "" {
		s += d.Snippet + "\n"
	}
	if d.Hint != "" {
		s += "  hint: " + Printable(d.Hint, "\t") + "\n"
	}
	return s
}

// Render writes diagnostics one after the other.
func Render(ds []Diagnostic) string {
	var b strings.Builder
	for _, d := range ds {
		b.WriteString(d.Render())
	}
	return b.String()
}

// ErrorList is every error of one file. Nothing of such a file is used.
type ErrorList struct {
	Diagnostics []Diagnostic
}

// Error renders all errors, so that a log line or a terminal shows them all.
func (e *ErrorList) Error() string {
	return strings.TrimSuffix(Render(e.Diagnostics), "\n")
}

// String is file:line:column, without what is unknown.
func (p Position) String() string {
	file := p.File
	if file == "" {
		file = "<text>"
	}
	if p.Line == 0 {
		return file
	}
	return fmt.Sprintf("%s:%d:%d", file, p.Line, max(p.Column, 1))
}

// Sort orders the findings of one file by place; those of one place keep their
// order.
func Sort(ds []Diagnostic) {
	slices.SortStableFunc(ds, func(a, b Diagnostic) int {
		return cmp.Or(cmp.Compare(a.Pos.Line, b.Pos.Line), cmp.Compare(a.Pos.Column, b.Pos.Column))
	})
}

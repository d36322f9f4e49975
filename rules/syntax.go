package rules

import (
	"bytes"
	"regexp"
	"strconv"
	"strings"
	"unicode/utf8"

	"go.yaml.in/yaml/v3"
)

// SyntaxError is what keeps a text from being YAML.
type SyntaxError struct {
	Line, Column int
	Message      string
	// Hint says what to do about it; may be empty.
	Hint string
}

// yamlError finds the place in an error of the YAML library.
var yamlError = regexp.MustCompile(`^yaml: (?:line (\d+): )?((?s).*)$`)

// LocateSyntaxError finds where a text stops being YAML, given what Documents
// said about it. The library names the line before, the one where the
// surrounding list or mapping begins, or none.
func LocateSyntaxError(data []byte, err error) SyntaxError {
	e := SyntaxError{Line: 1, Message: err.Error()}
	if m := yamlError.FindStringSubmatch(e.Message); m != nil {
		e.Message = m[2]
		if line, err := strconv.Atoi(m[1]); err == nil && line > 0 {
			e.Line = line
		}
	}
	if len(data) <= maxSearchBytes {
		e.Line = badLine(data)
	}
	line, _ := newText(data).line(e.Line)
	indent := line[:len(line)-len(strings.TrimLeft(line, " \t"))]
	at := len(indent)
	switch tab := strings.IndexByte(indent, '\t'); {
	case strings.Contains(e.Message, "control characters"):
		at = max(0, strings.IndexFunc(line, isControl))
	case tab >= 0:
		at, e.Hint = tab, "indent with spaces, not with tabs"
	default:
		e.Hint = syntaxHint(e.Message, line)
	}
	e.Column = utf8.RuneCountInString(line[:at]) + 1
	return e
}

func isControl(r rune) bool { return r != '\t' && (r < ' ' || r >= 0x7f && r < 0xa0) }

func syntaxHint(message, line string) string {
	switch {
	case strings.Contains(message, "YAML document"):
		return "drop the line that begins with %YAML"
	case strings.Contains(message, "cannot start any token"), strings.Contains(message, "mapping values"):
		return "quote the value, or write an expression as a block: expr: |"
	case strings.Contains(message, "expected ',' or"):
		return "close the brackets, and quote what has brackets or commas of its own: {expr: 'max by (a, b) (x)'}"
	case strings.Contains(message, "could not find expected ':'"):
		return "a key is followed by a colon and a space"
	case strings.Contains(message, "anchor"):
		return "write the value out"
	case !strings.Contains(message, "expected"):
		return ""
	case strings.ContainsAny(line, `"'`):
		return "check the quotes and the indentation; a value that begins with a quote has to end with it: write an expression as a block: expr: |"
	}
	return "check the indentation: keys of one mapping begin in the same column"
}

// maxSearchBytes bounds the texts that badLine parses again and again.
const maxSearchBytes = 64 << 10

// probes is how many lines a value in brackets or quotes may go on for before
// badLine takes its first line for the wrong one.
const probes = 24

// maxParses bounds how often badLine tries.
const maxParses = 200

// badLine is the line before which a text is YAML, and with which it is not any
// more.
func badLine(data []byte) int {
	lines := bytes.SplitAfter(data, []byte("\n"))
	parses := 0
	good := func(n int) bool {
		parses++
		_, err := Documents(bytes.Join(lines[:n], nil))
		return err == nil
	}
	least, most := 0, len(lines)
	for {
		for most-least > 1 {
			if middle := (least + most) / 2; good(middle) {
				least = middle
			} else {
				most = middle
			}
		}
		// A value that goes on over several lines is bad while it is cut short.
		next := least + 2
		for next < len(lines) && next < least+probes && !good(next) {
			next++
		}
		if next >= len(lines) || next == least+probes || parses > maxParses {
			return least + 1
		}
		least, most = next, len(lines)
	}
}

func (d *decoder) syntax(data []byte, err error) {
	e := LocateSyntaxError(data, err)
	d.failf(&yaml.Node{Line: e.Line, Column: e.Column}, CheckYAML, e.Hint, "not YAML: %s", e.Message)
}

// cutByCommas counts the pieces that commas of an expression without quotes
// have cut from a value in braces: {expr: max by (a, b) (x)} is the key expr and
// a key "b) (x)" without a value.
func cutByCommas(n *yaml.Node, i int, fields []field) (pieces int) {
	value := n.Content[i+1]
	if n.Style&yaml.FlowStyle == 0 || value.Kind != yaml.ScalarNode || value.Style != 0 {
		return 0
	}
	open := unclosed(value.Value)
	for j := i + 2; open > 0 && j+1 < len(n.Content); j += 2 {
		key, empty := n.Content[j], n.Content[j+1]
		if find(fields, key) != nil || key.Kind != yaml.ScalarNode || empty.Kind != yaml.ScalarNode || empty.Value != "" {
			break
		}
		open += unclosed(key.Value)
		pieces++
	}
	return pieces
}

// unclosed counts the parentheses that a piece of an expression leaves open.
func unclosed(s string) int { return strings.Count(s, "(") - strings.Count(s, ")") }

// cutValue says once what happened to a value, instead of what follows from it.
func (d *decoder) cutValue(n *yaml.Node, i, pieces int) {
	texts := []string{n.Content[i+1].Value}
	for j := i + 2; j <= i+2*pieces; j += 2 {
		texts = append(texts, n.Content[j].Value)
	}
	d.failf(n.Content[i+1], CheckYAML, "quote it: "+n.Content[i].Value+": "+quoted(strings.Join(texts, ", ")),
		"a comma ends a value within braces: the value of %s is only %q here", n.Content[i].Value, n.Content[i+1].Value)
}

// quoted is a text as a YAML scalar in quotes.
func quoted(s string) string {
	if strings.Contains(s, "'") {
		return strconv.Quote(s)
	}
	return "'" + s + "'"
}

package document

import (
	"bytes"
	"regexp"
	"strconv"
	"strings"
	"unicode/utf8"
)

// syntaxError is what keeps a text from being YAML.
type syntaxError struct {
	line, column int
	message      string
	// hint says what to do about it; may be empty.
	hint string
}

// yamlError finds the place in an error of the YAML library.
var yamlError = regexp.MustCompile(`^yaml: (?:line (\d+): )?((?s).*)$`)

// locate finds where a text stops being YAML, given what documents said about
// it. The library names the line before, the one where the
// surrounding list or mapping begins, or none.
func locate(data []byte, err error) syntaxError {
	e := syntaxError{line: 1, message: err.Error()}
	if m := yamlError.FindStringSubmatch(e.message); m != nil {
		e.message = m[2]
		if line, err := strconv.Atoi(m[1]); err == nil && line > 0 {
			e.line = line
		}
	}
	if len(data) <= maxSearchBytes {
		e.line = badLine(data)
	}
	line, _ := newText(data).Line(e.line)
	indent := line[:len(line)-len(strings.TrimLeft(line, " \t"))]
	at := len(indent)
	switch tab := strings.IndexByte(indent, '\t'); {
	case strings.Contains(e.message, "control characters"):
		at = max(0, strings.IndexFunc(line, isControl))
	case tab >= 0:
		at, e.hint = tab, "indent with spaces, not with tabs"
	default:
		e.hint = syntaxHint(e.message, line)
	}
	e.column = utf8.RuneCountInString(line[:at]) + 1
	return e
}

func isControl(r rune) bool { return r != '\t' && (r < ' ' || r >= 0x7f && r < 0xa0) }

func syntaxHint(message, line string) string {
	expr := strings.Contains(line, "expr")
	switch {
	case strings.Contains(message, "YAML document"):
		return "drop the line that begins with %YAML"
	case strings.Contains(message, "cannot start any token"), strings.Contains(message, "mapping values"):
		if expr {
			return "quote the value, or write an expression as a block: expr: |"
		}
		return "quote the value"
	case strings.Contains(message, "expected ',' or"):
		hint := "close the brackets, and quote what has brackets or commas of its own"
		if expr {
			hint += ": {expr: 'max by (a, b) (x)'}"
		}
		return hint
	case strings.Contains(message, "could not find expected ':'"):
		return "a key is followed by a colon and a space"
	case strings.Contains(message, "anchor"):
		return "write the value out"
	case !strings.Contains(message, "expected"):
		return ""
	case expr && strings.ContainsAny(line, `"'`):
		return "check the quotes and the indentation; a value that begins with a quote has to end with it: write an expression as a block: expr: |"
	case strings.ContainsAny(line, `"'`):
		return "check the quotes and the indentation; a value that begins with a quote has to end with it"
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
		_, err := documents(bytes.Join(lines[:n], nil))
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

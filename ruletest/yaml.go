package ruletest

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"

	"github.com/prometheus/common/model"
	"go.yaml.in/yaml/v3"

	"github.com/zeta-scaler/zeta-scaler/rules"
)

// check is the name of the check that all problems of test files belong to.
const check = "rule-test"

// decoder walks a YAML tree and collects everything that is wrong with it.
type decoder struct {
	file     string
	lines    []string
	problems []rules.Diagnostic
	// values counts those of all series.
	values int
}

func newDecoder(file string, content []byte) *decoder {
	return &decoder{file: file, lines: strings.Split(string(content), "\n")}
}

func (d *decoder) pos(n *yaml.Node) rules.Position {
	return rules.Position{File: d.file, Line: n.Line, Column: n.Column}
}

func (d *decoder) failf(n *yaml.Node, format string, args ...any) {
	d.problems = append(d.problems, d.diagnostic(d.pos(n), fmt.Sprintf(format, args...)))
}

func (d *decoder) diagnostic(pos rules.Position, message string) rules.Diagnostic {
	return rules.Diagnostic{
		Pos: pos, Severity: rules.SeverityError, Check: check, Message: message, Snippet: d.snippet(pos),
	}
}

// snippetWidth is how much of a line is quoted, in characters.
const snippetWidth = 120

// snippet quotes a line with a caret below the column, where both fit.
func (d *decoder) snippet(pos rules.Position) string {
	if pos.Line < 1 || pos.Line > len(d.lines) {
		return ""
	}
	line := []rune(strings.TrimSuffix(d.lines[pos.Line-1], "\r"))
	if len(line) > snippetWidth || pos.Column < 1 || pos.Column > len(line) || slices.ContainsFunc(line, unicode.IsControl) {
		return ""
	}
	return "    " + string(line) + "\n    " + strings.Repeat(" ", pos.Column-1) + "^"
}

// root parses the text and returns its only document, nil after a problem.
func (d *decoder) root(content []byte) *yaml.Node {
	docs, err := rules.Documents(content)
	switch {
	case err != nil:
		e := rules.LocateSyntaxError(content, err)
		d.failf(&yaml.Node{Line: e.Line, Column: e.Column}, "not YAML: %s", e.Message)
		d.problems[len(d.problems)-1].Hint = e.Hint
		return nil
	case len(docs) == 0 || len(docs[0].Content) == 0:
		d.failf(&yaml.Node{Line: 1, Column: 1}, "the file is empty, expected rule_files or packs, and tests")
		return nil
	case len(docs) > 1:
		d.failf(docs[1], "a second document, expected one per file")
		return nil
	}
	d.refuseAliases(docs[0])
	return docs[0].Content[0]
}

// refuseAliases keeps a small file from standing for a huge one.
func (d *decoder) refuseAliases(n *yaml.Node) {
	if n.Kind == yaml.AliasNode {
		d.failf(n, "YAML alias *%s, write the value out", n.Value)
		return
	}
	for _, c := range n.Content {
		d.refuseAliases(c)
	}
}

// field is one known key of a mapping.
type field struct {
	name     string
	required bool
	decode   func(*yaml.Node)
}

// mapping decodes the known keys of a mapping; any other key, a key that is
// there twice and a required one that is missing are problems. It returns the
// keys that are there.
func (d *decoder) mapping(n *yaml.Node, what string, fields ...field) map[string]bool {
	seen := map[string]bool{}
	if n.Kind != yaml.MappingNode {
		d.failf(n, "%s is %s, expected a mapping", what, kindOf(n))
		return seen
	}
	for i := 0; i+1 < len(n.Content); i += 2 {
		key, value := n.Content[i], n.Content[i+1]
		f := find(fields, key.Value)
		switch {
		case f == nil || key.Kind != yaml.ScalarNode:
			d.failf(key, "unknown key %q in %s, expected %s", key.Value, what, names(fields))
		case seen[f.name]:
			d.failf(key, "key %q is there twice in %s", key.Value, what)
		default:
			seen[f.name] = true
			f.decode(value)
		}
	}
	for _, f := range fields {
		if f.required && !seen[f.name] {
			d.failf(n, "%s lacks %s", what, f.name)
		}
	}
	return seen
}

func find(fields []field, name string) *field {
	for i := range fields {
		if fields[i].name == name {
			return &fields[i]
		}
	}
	return nil
}

func names(fields []field) string {
	ns := make([]string, len(fields))
	for i, f := range fields {
		ns[i] = f.name
	}
	return oneOf(ns)
}

// oneOf lists choices for an error.
func oneOf[S ~string](choices []S) string {
	parts := make([]string, len(choices))
	for i, c := range choices {
		parts[i] = string(c)
	}
	if len(parts) < 2 {
		return strings.Join(parts, "")
	}
	return strings.Join(parts[:len(parts)-1], ", ") + " or " + parts[len(parts)-1]
}

func (d *decoder) list(n *yaml.Node, what string, each func(*yaml.Node)) {
	if n.Kind != yaml.SequenceNode {
		d.failf(n, "%s is %s, expected a list", what, kindOf(n))
		return
	}
	for _, c := range n.Content {
		each(c)
	}
}

func kindOf(n *yaml.Node) string {
	switch {
	case n.Kind == yaml.MappingNode:
		return "a mapping"
	case n.Kind == yaml.SequenceNode:
		return "a list"
	case n.Kind == yaml.AliasNode:
		return "an alias"
	case isNull(n):
		return "null"
	default:
		return strconv.Quote(n.Value)
	}
}

func isNull(n *yaml.Node) bool { return n.Kind == yaml.ScalarNode && n.ShortTag() == "!!null" }

// text decodes a string; a number or a word is one, too.
func (d *decoder) text(n *yaml.Node, what string) (string, bool) {
	if n.Kind != yaml.ScalarNode || isNull(n) {
		d.failf(n, "%s is %s, expected a string", what, kindOf(n))
		return "", false
	}
	return n.Value, true
}

// word decodes one of a few strings.
func word[S ~string](d *decoder, n *yaml.Node, what string, choices []S) (S, bool) {
	s, ok := d.text(n, what)
	if !ok {
		return "", false
	}
	for _, c := range choices {
		if s == string(c) {
			return c, true
		}
	}
	d.failf(n, "%s is %q, expected %s", what, s, oneOf(choices))
	return "", false
}

// duration decodes a Prometheus duration, such as 12m30s or 0.
func (d *decoder) duration(n *yaml.Node, what string) (time.Duration, bool) {
	if n.Kind == yaml.ScalarNode && !isNull(n) {
		if v, err := model.ParseDuration(n.Value); err == nil {
			return time.Duration(v), true
		}
	}
	d.failf(n, "%s is %s, expected a duration such as 12m30s", what, kindOf(n))
	return 0, false
}

// maxInterval bounds intervals, as rule sets do: a replay adds up many of them.
const maxInterval = 24 * time.Hour

// interval decodes a duration that is longer than nothing.
func (d *decoder) interval(n *yaml.Node, what string) time.Duration {
	v, ok := d.duration(n, what)
	switch {
	case ok && v == 0:
		d.failf(n, "%s is 0, expected at least 1ms", what)
	case v > maxInterval:
		d.failf(n, "%s is %s, expected at most %s", what, model.Duration(v), model.Duration(maxInterval))
	}
	return v
}

func (d *decoder) integer(n *yaml.Node, what string, least int) (int, bool) {
	v, err := strconv.Atoi(n.Value)
	if n.Kind != yaml.ScalarNode || n.ShortTag() != "!!int" || err != nil || v < least {
		d.failf(n, "%s is %s, expected a whole number of %d or more", what, kindOf(n), least)
		return 0, false
	}
	return v, true
}

func (d *decoder) boolean(n *yaml.Node, what string) (bool, bool) {
	var v bool
	if n.Kind != yaml.ScalarNode || n.ShortTag() != "!!bool" || n.Decode(&v) != nil {
		d.failf(n, "%s is %s, expected true or false", what, kindOf(n))
		return false, false
	}
	return v, true
}

// float decodes a number as promtool does: NaN and Inf are numbers, too.
func (d *decoder) float(n *yaml.Node, what string) float64 {
	v, err := strconv.ParseFloat(n.Value, 64)
	if n.Kind != yaml.ScalarNode || err != nil {
		var f float64
		if n.Kind == yaml.ScalarNode && !isNull(n) && n.Decode(&f) == nil {
			return f // .nan, .inf
		}
		d.failf(n, "%s is %s, expected a number", what, kindOf(n))
		return 0
	}
	return v
}

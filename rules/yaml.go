package rules

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"unicode/utf8"

	"go.yaml.in/yaml/v3"
)

// Limits on what is read at all: rule sets are written by people.
const (
	maxFileBytes = 1 << 20
	maxDepth     = 32
	maxExprBytes = 16 << 10
	maxSignals   = 64 // the evaluator keeps a bit per signal
)

// decoder walks a YAML tree and collects everything that is wrong with it.
type decoder struct {
	file string
	text *text
	ds   []Diagnostic
}

// report adds a finding at a place.
func (d *decoder) report(p Position, severity Severity, check, hint, message string) {
	d.ds = append(d.ds, Diagnostic{
		Pos: p, Severity: severity, Check: check, Message: message, Hint: hint, Snippet: d.text.snippet(p),
	})
}

// failf adds an error at a node.
func (d *decoder) failf(n *yaml.Node, check, hint, format string, args ...any) {
	d.report(d.pos(n), SeverityError, check, hint, fmt.Sprintf(format, args...))
}

func (d *decoder) pos(n *yaml.Node) Position {
	return Position{File: d.file, Line: n.Line, Column: n.Column}
}

// root parses the bytes and returns the only document's root, or nil after an
// error.
func (d *decoder) root(data []byte) *yaml.Node {
	start := &yaml.Node{Line: 1, Column: 1}
	if len(data) > maxFileBytes {
		d.text = nil
		d.failf(start, CheckTooLarge, "", "the file has more than %d bytes, which is the most that is read", maxFileBytes)
		return nil
	}
	if !utf8.Valid(data) {
		d.failf(firstInvalid(data), CheckYAML, "save the file as UTF-8", "the file is not UTF-8 text")
		return nil
	}
	docs, err := Documents(data)
	switch {
	case err != nil:
		d.syntax(data, err)
		return nil
	case len(docs) == 0 || len(docs[0].Content) == 0:
		d.failf(start, CheckYAML, "start with the line format: "+Format, "the file is empty, expected a rule set")
		return nil
	case len(docs) > 1:
		d.failf(docs[1], CheckDocuments, "put each rule set into a file of its own",
			"a second YAML document, expected one rule set per file")
		return nil
	}
	before := len(d.ds)
	d.refuseAliases(docs[0].Content[0], 0)
	if len(d.ds) > before {
		return nil
	}
	return docs[0].Content[0]
}

// firstInvalid is where bytes stop being UTF-8.
func firstInvalid(data []byte) *yaml.Node {
	n := &yaml.Node{Line: 1, Column: 1}
	for len(data) > 0 {
		r, size := utf8.DecodeRune(data)
		switch {
		case r == utf8.RuneError && size == 1:
			return n
		case r == '\n':
			n.Line, n.Column = n.Line+1, 1
		default:
			n.Column++
		}
		data = data[size:]
	}
	return n
}

// Documents parses up to two YAML documents of a file: the second one is an error
// already. The YAML library panics on input that it did not foresee; that is
// an error like any other.
func Documents(data []byte) (docs []*yaml.Node, err error) {
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("yaml: %v", r)
		}
	}()
	dec := yaml.NewDecoder(bytes.NewReader(data))
	for len(docs) < 2 {
		doc := &yaml.Node{}
		if err := dec.Decode(doc); errors.Is(err, io.EOF) {
			return docs, nil
		} else if err != nil {
			return nil, err
		}
		docs = append(docs, doc)
	}
	return docs, nil
}

// refuseAliases refuses anchors, aliases and merge keys (what they stand for
// would have no place of its own to point at), and trees too deep to be meant.
func (d *decoder) refuseAliases(n *yaml.Node, depth int) {
	const hint = "write the value out"
	switch {
	case depth > maxDepth:
		d.failf(n, CheckTooLarge, "", "nested more than %d levels deep", maxDepth)
		return
	case n.Kind == yaml.AliasNode:
		d.failf(n, CheckAlias, hint, "YAML alias *%s, which rule sets do not allow", n.Value)
		return
	case n.Anchor != "":
		d.failf(n, CheckAlias, hint, "YAML anchor &%s, which rule sets do not allow", n.Anchor)
	}
	for i, c := range n.Content {
		if n.Kind == yaml.MappingNode && i%2 == 0 && c.ShortTag() == "!!merge" {
			d.failf(c, CheckAlias, hint, "YAML merge key <<, which rule sets do not allow")
			continue
		}
		d.refuseAliases(c, depth+1)
	}
}

// field is one known key of a mapping.
type field struct {
	name     string
	required bool
	decode   func(*yaml.Node)
}

// mapping decodes the known keys of a mapping into their fields. An unknown
// key, one that is there twice and a required one that is missing are errors.
// The places of the keys are noted under prefix + name.
func (d *decoder) mapping(n *yaml.Node, what, prefix string, keys map[string]Position, fields ...field) bool {
	if n.Kind != yaml.MappingNode || n.ShortTag() != "!!map" {
		hint := ""
		if n.Kind == yaml.ScalarNode && n.ShortTag() == "!!str" && len(fields) > 0 && fields[0].name == "expr" {
			hint = "write {expr: " + quoted(n.Value) + "}"
		}
		d.failf(n, CheckType, hint, "%s is %s, expected a mapping", what, kindOf(n))
		return false
	}
	seen, meant := map[string]int{}, map[string]bool{}
	for i := 0; i+1 < len(n.Content); i += 2 {
		key, value := n.Content[i], n.Content[i+1]
		f := find(fields, key)
		switch {
		case f == nil:
			d.failf(key, CheckUnknownKey, unknownKeyHint(key.Value, fields), "unknown key %q in %s", key.Value, what)
			meant[nearest(key.Value, fieldNames(fields))] = true
		case seen[f.name] > 0:
			d.failf(key, CheckDuplicateKey, "", "key %q is there twice in %s, first in line %d", key.Value, what, seen[f.name])
		default:
			seen[f.name] = key.Line
			at := key
			if value.Kind == yaml.ScalarNode {
				at = value
			}
			keys[prefix+f.name] = d.pos(at)
			if pieces := cutByCommas(n, i, fields); pieces > 0 {
				d.cutValue(n, i, pieces)
				i += 2 * pieces
				continue
			}
			f.decode(value)
		}
	}
	for _, f := range fields {
		// A key that was misspelt is there.
		if f.required && seen[f.name] == 0 && !meant[f.name] {
			d.failf(n, CheckMissingKey, missingHint(what, f.name), "%s lacks the key %q", what, f.name)
		}
	}
	return true
}

func find(fields []field, key *yaml.Node) *field {
	for i := range fields {
		if key.Kind == yaml.ScalarNode && fields[i].name == key.Value {
			return &fields[i]
		}
	}
	return nil
}

// signalLevel are the keys that people look for inside of scale_out.
var signalLevel = []string{"keep_firing_for", "absent", "required", "holds", "advice", "summary", "export"}

func fieldNames(fields []field) []string {
	names := make([]string, len(fields))
	for i, f := range fields {
		names[i] = f.name
	}
	return names
}

func unknownKeyHint(key string, fields []field) string {
	if slices.Contains(signalLevel, key) {
		return key + " stands at the level of the signal, beside scale_out"
	}
	return didYouMean(key, fieldNames(fields))
}

func missingHint(what, key string) string {
	switch {
	case what == "workers" && key == "reporting":
		return "reporting counts the workers whose samples are fresh; without it nothing could tell a dead sample from an idle worker, so it must be given together with current"
	case what == "workers" || key == "workers":
		return "workers.current and workers.reporting must both be given: how many workers are registered, and how many of them report"
	case key == "format":
		return "add the line format: " + Format
	}
	return ""
}

func kindOf(n *yaml.Node) string {
	switch tag := n.ShortTag(); {
	case !slices.Contains([]string{"!!map", "!!seq", "!!null", "!!str", "!!bool", "!!int", "!!float", "!!timestamp"}, tag):
		return "tagged " + tag
	case n.Kind == yaml.MappingNode:
		return "a mapping"
	case n.Kind == yaml.SequenceNode:
		return "a list"
	case tag == "!!null":
		return "null"
	}
	v := []rune(n.Value)
	if len(v) > 60 {
		v = append(v[:60], '…')
	}
	name := map[string]string{"!!str": "the text ", "!!bool": "", "!!int": "the number ", "!!float": "the number "}
	if s, ok := name[n.ShortTag()]; ok && s != "the text " {
		return s + string(v)
	}
	return "the text " + strconv.Quote(string(v))
}

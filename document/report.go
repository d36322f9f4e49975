package document

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"regexp"
	"unicode/utf8"

	"go.yaml.in/yaml/v3"
)

// ParseOptions bound what is read at all, and say whether secrets may be in it.
type ParseOptions struct {
	// MaxBytes and MaxDepth are the largest file and the deepest nesting.
	MaxBytes, MaxDepth int
	// Check, if not empty, is the check that all findings belong to.
	Check string
	// Secrets keeps lines and values that may be secrets out of every message.
	Secrets bool
}

// Report collects what is wrong with one file, in the order in which it was
// found.
type Report struct {
	// File is what places are named by.
	File             string
	Errors, Warnings []Diagnostic

	text    *Text
	check   string
	secrets bool
	// hidden are the lines that secrets stand in.
	hidden map[int]bool
}

// Parse returns the root of a file's only document and the report to add
// findings to. The root is nil if the file is empty, or after an error.
func Parse(file string, data []byte, o ParseOptions) (*Report, *yaml.Node) {
	r := &Report{File: file, check: o.Check, secrets: o.Secrets, hidden: map[int]bool{}}
	if len(data) > o.MaxBytes {
		r.Add(SeverityError, Position{File: file, Line: 1, Column: 1}, CheckTooLarge, "",
			"the file has more than %d bytes, which is the most that is read", o.MaxBytes)
		return r, nil
	}
	r.text = newText(data)
	if !utf8.Valid(data) {
		at := firstInvalid(data)
		r.hidden[at.Line] = o.Secrets
		at.File = file
		r.Add(SeverityError, at, CheckYAML, "save the file as UTF-8", "the file is not UTF-8 text")
		return r, nil
	}
	docs, err := documents(data)
	switch {
	case err != nil:
		r.syntax(data, err)
		return r, nil
	case len(docs) == 0 || len(docs[0].Content) == 0:
		return r, nil
	case len(docs) > 1:
		r.Fail(docs[1], CheckDocuments, "remove the line ---, or put what follows into a file of its own",
			"a second YAML document, expected one per file")
		return r, nil
	}
	root := docs[0].Content[0]
	if r.refuseAliases(root, o.MaxDepth); len(r.Errors) > 0 {
		return r, nil
	}
	if o.Secrets {
		r.hide(root, false)
	}
	return r, root
}

// Text is the file to quote from; nil if it is too large.
func (r *Report) Text() *Text { return r.text }

// Pos is the place of a node.
func (r *Report) Pos(n *yaml.Node) Position {
	return Position{File: r.File, Line: n.Line, Column: n.Column}
}

// Fail adds an error at a node.
func (r *Report) Fail(n *yaml.Node, check, hint, format string, args ...any) {
	r.Add(SeverityError, r.Pos(n), check, hint, format, args...)
}

// Add adds a finding at a place.
func (r *Report) Add(severity Severity, p Position, check, hint, format string, args ...any) {
	d := r.Diagnostic(severity, p, check, hint, fmt.Sprintf(format, args...))
	if severity == SeverityError {
		r.Errors = append(r.Errors, d)
		return
	}
	r.Warnings = append(r.Warnings, d)
}

// Diagnostic makes a finding at a place without adding it.
func (r *Report) Diagnostic(severity Severity, p Position, check, hint, message string) Diagnostic {
	return Diagnostic{
		Pos: p, Severity: severity, Check: cmp.Or(r.check, check), Message: message, Hint: hint, Snippet: r.snippet(p),
	}
}

// snippet quotes a line of the file, unless it may hold a secret: errors end up
// in logs.
func (r *Report) snippet(p Position) string {
	if p.File != r.File || p.Line == 0 || r.hidden[p.Line] {
		return ""
	}
	s := r.text.Snippet(p)
	if r.secrets && holdsSecret(s) {
		return ""
	}
	return s
}

// firstInvalid is where bytes stop being UTF-8.
func firstInvalid(data []byte) Position {
	p := Position{Line: 1, Column: 1}
	for len(data) > 0 {
		r, size := utf8.DecodeRune(data)
		switch {
		case r == utf8.RuneError && size == 1:
			return p
		case r == '\n':
			p.Line, p.Column = p.Line+1, 1
		default:
			p.Column++
		}
		data = data[size:]
	}
	return p
}

// documents parses up to two YAML documents of a file: the second one is an
// error already. The YAML library panics on input that it did not foresee; that
// is an error like any other.
func documents(data []byte) (docs []*yaml.Node, err error) {
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
func (r *Report) refuseAliases(root *yaml.Node, maxDepth int) {
	const hint = "write the value out"
	var walk func(n *yaml.Node, depth int)
	walk = func(n *yaml.Node, depth int) {
		switch {
		case depth > maxDepth:
			r.Fail(n, CheckTooLarge, "", "nested more than %d levels deep", maxDepth)
			return
		case n.Kind == yaml.AliasNode:
			r.Fail(n, CheckAlias, hint, "YAML alias *%s, which is not allowed here", n.Value)
			return
		case n.Anchor != "":
			r.Fail(n, CheckAlias, hint, "YAML anchor &%s, which is not allowed here", n.Anchor)
		}
		for i, c := range n.Content {
			if n.Kind == yaml.MappingNode && i%2 == 0 && c.ShortTag() == "!!merge" {
				r.Fail(c, CheckAlias, hint, "YAML merge key <<, which is not allowed here")
				continue
			}
			walk(c, depth+1)
		}
	}
	walk(root, 0)
}

// anchorName is the only part of a file that the YAML library quotes.
var anchorName = regexp.MustCompile(`anchor '.*'`)

// syntax says where a file stops being YAML. What belongs to what is not known
// in such a file: a line below anything secret may be part of it.
func (r *Report) syntax(data []byte, err error) {
	e := locate(data, err)
	for line := 1; r.secrets && line <= e.line; line++ {
		if s, ok := r.text.Line(line); ok && holdsSecret(s) {
			r.hidden[e.line] = true
			e.message = anchorName.ReplaceAllString(e.message, "anchor")
			break
		}
	}
	r.Fail(&yaml.Node{Line: e.line, Column: e.column}, CheckYAML, e.hint, "not YAML: %s", e.message)
}

package config

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"

	"go.yaml.in/yaml/v3"

	"github.com/zeta-scaler/zeta-scaler/rules"
)

// Limits on what is read at all.
const (
	maxFileBytes = 4 << 20
	maxDepth     = 40
)

// readFile returns the file's content; nil if it need not exist and does not.
func readFile(path string, required bool) ([]byte, error) {
	if path == "" {
		return nil, nil
	}
	f, err := os.Open(path)
	if errors.Is(err, fs.ErrNotExist) && !required {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("opening the configuration: %w", err)
	}
	defer f.Close()
	content, err := io.ReadAll(io.LimitReader(f, maxFileBytes+1))
	if err != nil {
		return nil, fmt.Errorf("reading the configuration: %w", err)
	}
	return content, nil
}

// fileLeaves decodes the configuration file.
func (r *report) fileLeaves(dir string) []leaf {
	d := &decoder{report: r, origin: FromFile, name: r.file, dir: dir}
	n := d.root()
	if n == nil {
		return nil
	}
	return d.section(n, reflect.TypeFor[Config](), "", nil)
}

// root parses the file and returns the root of its only document, or nil if
// there is none or it is wrong.
func (d *decoder) root() *yaml.Node {
	start := &yaml.Node{Line: 1, Column: 1}
	switch {
	case len(d.content) > maxFileBytes:
		d.content = nil
		d.failf(start, rules.CheckTooLarge, "", "the file is larger than %d bytes", maxFileBytes)
		return nil
	case !utf8.Valid(d.content):
		d.content = nil
		d.failf(start, rules.CheckYAML, "save the file as UTF-8", "the file is not UTF-8 text")
		return nil
	}
	docs, err := rules.Documents(d.content)
	switch {
	case err != nil:
		d.syntax(err)
		return nil
	case len(docs) == 0 || len(docs[0].Content) == 0:
		return nil // nothing but comments: everything is a default
	case len(docs) > 1:
		d.failf(docs[1], rules.CheckDocuments, "remove the line ---", "a second YAML document, expected one")
		return nil
	}
	before := len(d.errs)
	d.refuseAliases(docs[0].Content[0], 0)
	if len(d.errs) > before {
		return nil
	}
	d.hidden = map[int]bool{}
	d.hide(docs[0].Content[0], false)
	return docs[0].Content[0]
}

// anchorName is the only part of a file that the YAML library quotes.
var anchorName = regexp.MustCompile(`anchor '.*'`)

// syntax says where the file stops being YAML. What belongs to what is not known
// in such a file: a line below anything secret may be part of it.
func (d *decoder) syntax(err error) {
	e := rules.LocateSyntaxError(d.content, err)
	lines := strings.Split(string(d.content), "\n")
	if before := lines[:min(e.Line, len(lines))]; slices.ContainsFunc(before, holdsSecret) {
		d.hidden = map[int]bool{e.Line: true}
		e.Message = anchorName.ReplaceAllString(e.Message, "anchor")
	}
	if strings.Contains(e.Hint, "expr") { // said to authors of rule sets
		e.Hint = "quote the value"
	}
	d.failf(&yaml.Node{Line: e.Line, Column: e.Column}, rules.CheckYAML, e.Hint, "not YAML: %s", e.Message)
}

// refuseAliases refuses anchors, aliases and merge keys: what they stand for
// has no place of its own to point at. So are trees too deep to be meant.
func (d *decoder) refuseAliases(n *yaml.Node, depth int) {
	const hint = "write the value out"
	switch {
	case depth > maxDepth:
		d.failf(n, rules.CheckTooLarge, "", "nested more than %d levels deep", maxDepth)
		return
	case n.Kind == yaml.AliasNode:
		d.failf(n, rules.CheckAlias, hint, "YAML alias *%s, which is not allowed here", n.Value)
		return
	case n.Anchor != "":
		d.failf(n, rules.CheckAlias, hint, "YAML anchor &%s, which is not allowed here", n.Anchor)
	}
	for i, c := range n.Content {
		if n.Kind == yaml.MappingNode && i%2 == 0 && c.ShortTag() == "!!merge" {
			d.failf(c, rules.CheckAlias, hint, "YAML merge key <<, which is not allowed here")
			continue
		}
		d.refuseAliases(c, depth+1)
	}
}

// folder is what relative paths of a file are relative to.
func folder(file string) string { return filepath.Dir(file) }

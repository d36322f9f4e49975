package config

import (
	"path/filepath"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"go.yaml.in/yaml/v3"

	"github.com/zeta-scaler/zeta-scaler/rules"
)

// leaf is one configured value: the smallest thing that a later layer can
// override. A list is one leaf.
type leaf struct {
	// path leads from the root to the value.
	path  []string
	value reflect.Value
}

// decoder turns the nodes of one layer into leaves.
type decoder struct {
	*report
	origin Origin
	// name is the file, the variable or the flag that is read.
	name string
	// dir is what relative paths are relative to, "" for the working directory.
	dir string
}

func (d *decoder) pos(n *yaml.Node) rules.Position {
	return rules.Position{File: d.name, Line: n.Line, Column: n.Column}
}

func (d *decoder) failf(n *yaml.Node, check, hint, format string, args ...any) {
	d.failAt(d.pos(n), check, hint, format, args...)
}

func (d *decoder) note(path string, n *yaml.Node) {
	d.places[path] = place{origin: d.origin, pos: d.pos(n)}
}

// join appends a key to a path as people read it.
func join(prefix, name string) string {
	if prefix == "" {
		return name
	}
	return prefix + "." + name
}

func at(list string, i int) string { return list + "[" + strconv.Itoa(i) + "]" }

// title is a path as an error begins with.
func title(path string) string {
	if path == "" {
		return "the configuration"
	}
	return path
}

// section decodes a mapping into leaves. path is where it stands as people
// read it, below are the leaves' paths relative to.
func (d *decoder) section(n *yaml.Node, t reflect.Type, path string, below []string) []leaf {
	if isNull(n) {
		return []leaf{{path: extend(below, present)}}
	}
	if n.Kind != yaml.MappingNode {
		d.failf(n, rules.CheckType, "", "%s is %s, expected a section with keys", title(path), d.kind(n, path))
		return nil
	}
	leaves := []leaf{{path: extend(below, present)}}
	fields := fieldsOf(t)
	d.eachKey(n, path, func(key, value *yaml.Node) {
		i := slices.IndexFunc(fields, func(f field) bool { return f.name == key.Value })
		if i < 0 || fields[i].checks.has("flagonly") && d.origin != FromFlag {
			d.unknown(key, path, fields)
			return
		}
		leaves = append(leaves, d.member(key, value, fields[i], join(path, fields[i].name), extend(below, fields[i].name))...)
	})
	return leaves
}

// member decodes the value of one key.
func (d *decoder) member(key, value *yaml.Node, f field, path string, below []string) []leaf {
	switch shapeOf(f.typ) {
	case section:
		d.note(path, key)
		t := f.typ
		if t.Kind() == reflect.Pointer {
			t = t.Elem()
		}
		return d.section(value, t, path, below)
	case table:
		d.note(path, key)
		return d.table(value, f, path, below)
	case list:
		d.note(path, key)
	default:
		d.note(path, value)
	}
	v, ok := d.value(value, f.typ, f.checks, path)
	if !ok && shapeOf(f.typ) != list {
		return nil
	}
	// A list with bad elements is kept, so that the others are checked too.
	return []leaf{{path: below, value: v}}
}

// table decodes a mapping with free keys.
func (d *decoder) table(n *yaml.Node, f field, path string, below []string) []leaf {
	leaves := []leaf{{path: extend(below, present)}}
	switch {
	case isNull(n):
		return leaves
	case n.Kind != yaml.MappingNode:
		d.failf(n, rules.CheckType, "", "%s is %s, expected a mapping of names to values", path, d.kind(n, path))
		return nil
	}
	d.eachKey(n, path, func(key, value *yaml.Node) {
		if key.Value == "" || strings.ContainsFunc(key.Value, unicode.IsControl) {
			d.failf(key, rules.CheckValue, "", "a key of %s is empty or has control characters in it", path)
			return
		}
		entry := field{typ: elem(f.typ), checks: f.checks}
		if d.secretEntry(key, value, path) {
			return
		}
		leaves = append(leaves, d.member(key, value, entry, join(path, key.Value), extend(below, key.Value))...)
	})
	return leaves
}

// eachKey visits the keys of a mapping; one that is there twice is an error.
func (d *decoder) eachKey(n *yaml.Node, path string, visit func(key, value *yaml.Node)) {
	first := map[string]int{}
	for i := 0; i+1 < len(n.Content); i += 2 {
		key, value := n.Content[i], n.Content[i+1]
		switch {
		case key.Kind != yaml.ScalarNode:
			d.failf(key, rules.CheckType, "", "a key of %s is %s, expected a name", title(path), d.kind(key, path))
		case first[key.Value] > 0:
			d.failf(key, rules.CheckDuplicateKey, "", "key %q is there twice in %s, first in line %d", key.Value, title(path), first[key.Value])
		default:
			first[key.Value] = max(key.Line, 1)
			visit(key, value)
		}
	}
}

// unknown reports a key that nothing reads.
func (d *decoder) unknown(key *yaml.Node, path string, fields []field) {
	hint := rules.DidYouMean(key.Value, names(fields))
	switch {
	case path == "web" && key.Value == "enable_lifecycle":
		hint = "it is a flag only: --web.enable-lifecycle"
	case path == "scope_defaults" && (key.Value == "mode" || key.Value == "actuator"):
		hint = "a default never acts: list the scope by name in scopes and set it there"
	case strings.HasSuffix(key.Value, "_ref") && strings.Contains(path, httpConfig):
		hint = "there is no secret manager here: use the key that ends in _file"
	}
	d.failf(key, rules.CheckUnknownKey, hint, "unknown key %q in %s", keyName(key.Value, path), title(path))
}

// keyName is a key as errors show it. Where secrets stand, one that lacks the
// space after its colon, as in {password:x}, is shown without what was meant to
// be the value.
func keyName(key, path string) string {
	end := strings.IndexAny(key, ": \t\"'")
	if end < 0 || !secretPath(path) {
		return key
	}
	return key[:end] + "…"
}

// structure decodes a struct that is an element of a list: nothing overrides
// its keys one by one.
func (d *decoder) structure(n *yaml.Node, t reflect.Type, path string) (reflect.Value, bool) {
	before := len(d.errs)
	v := newSection(t).Elem()
	for _, l := range d.section(n, t, path, nil) {
		assign(v, l.path, l.value)
	}
	return v, len(d.errs) == before
}

// list decodes every element.
func (d *decoder) list(n *yaml.Node, t reflect.Type, c checks, path string) (reflect.Value, bool) {
	out := reflect.MakeSlice(t, 0, len(n.Content))
	switch {
	case isNull(n):
		return out, true
	case n.Kind != yaml.SequenceNode:
		hint := ""
		if n.Kind == yaml.ScalarNode {
			hint = "write it in brackets: [value]"
		}
		d.failf(n, rules.CheckType, hint, "%s is %s, expected a list", path, d.kind(n, path))
		return out, false
	}
	ok := true
	for i, item := range n.Content {
		p := at(path, i)
		d.note(p, item)
		// A bad element keeps its place, so that the indexes of the others hold.
		v, good := d.value(item, t.Elem(), c, p)
		if !good && (!v.IsValid() || v.Kind() != reflect.Struct) {
			v = reflect.Zero(t.Elem())
		}
		out = reflect.Append(out, v)
		ok = ok && good
	}
	return out, ok
}

// path makes a relative path of the file relative to the file's folder.
func (d *decoder) path(p string) string {
	if p == "" || d.dir == "" || filepath.IsAbs(p) {
		return p
	}
	return filepath.Join(d.dir, p)
}

func extend(path []string, name string) []string {
	return append(slices.Clone(path), name)
}

func isNull(n *yaml.Node) bool { return n.Kind == yaml.ScalarNode && n.ShortTag() == "!!null" }

// kind is what a node is, for people. Its text is left out where it may be a
// secret.
func (d *decoder) kind(n *yaml.Node, path string) string {
	switch {
	case n.Kind == yaml.MappingNode:
		return "a mapping"
	case n.Kind == yaml.SequenceNode:
		return "a list"
	case n.Kind != yaml.ScalarNode:
		return "something else"
	case n.ShortTag() == "!!null":
		return "empty"
	case secretPath(path):
		return "a text"
	}
	v := []rune(n.Value)
	if len(v) > 60 {
		v = append(v[:60], '…')
	}
	switch n.ShortTag() {
	case "!!int", "!!float":
		return "the number " + string(v)
	case "!!bool":
		return string(v)
	}
	if strings.Contains(n.Value, "@") {
		return "a text" // an address may have a password in it
	}
	return "the text " + strconv.Quote(string(v))
}

package document

import (
	"reflect"
	"slices"
	"strings"
	"unicode"

	"go.yaml.in/yaml/v3"
)

// Decoder turns the nodes of a document, or of one layer of several, into
// values.
type Decoder struct {
	*Report
	Schema *Schema
	// Name is what places are named by, Report.File unless it is a layer besides
	// the file; its nodes then have no line.
	Name string
	// Note is told where every key stands, by its full path; nil: nobody.
	Note func(path string, n *yaml.Node)
	// Layered says that other layers may have what a section lacks: required keys
	// are then only missed in what lists hold, which nothing overrides.
	Layered bool
	// EmptyIsNone reads a key without a value as an empty section or list.
	EmptyIsNone bool
	// RefuseEntry may report an entry of a table as an error; nil: none.
	RefuseEntry func(key, value *yaml.Node, table Path) bool
	// LooseTexts reads a number or a word as a text, too.
	LooseTexts bool
	// FlagsToo lets keys with the word flagonly be set.
	FlagsToo bool
}

// Pos is the place of a node.
func (d *Decoder) Pos(n *yaml.Node) Position {
	return Position{File: d.Name, Line: n.Line, Column: n.Column}
}

// Fail adds an error at a node.
func (d *Decoder) Fail(n *yaml.Node, check, hint, format string, args ...any) {
	d.Add(SeverityError, d.Pos(n), check, hint, format, args...)
}

// Decode decodes a whole document into the struct that to points at. title is
// what messages call it.
func (d *Decoder) Decode(root *yaml.Node, to any, title string) {
	v := reflect.ValueOf(to).Elem()
	f := Field{Type: v.Type()}
	d.Schema.Assign(v, f, d.section(root, f, rootPath(title), nil))
}

// Into decodes a mapping into the struct that to points at, with its defaults:
// for types that are a mapping or something else.
func (d *Decoder) Into(n *yaml.Node, to any, p Path) {
	v := reflect.ValueOf(to)
	setDefaults(v)
	f := Field{Type: v.Type().Elem()}
	d.Schema.Assign(v.Elem(), f, d.section(n, f, p, nil))
}

// List decodes a list into the slice that to points at; false after an error.
func (d *Decoder) List(n *yaml.Node, to any, c Checks, p Path) bool {
	v := reflect.ValueOf(to).Elem()
	out, ok := d.list(n, Field{Type: v.Type(), Checks: c}, p)
	v.Set(out)
	return ok
}

// Leaves decodes a mapping into leaves, to be merged with those of other layers
// and given to Schema.Assign.
func (d *Decoder) Leaves(root *yaml.Node, f Field, title string) []Leaf {
	return d.section(root, f, rootPath(title), nil)
}

func (d *Decoder) note(p Path, n *yaml.Node) {
	if d.Note != nil {
		d.Note(p.Full, n)
	}
}

// section decodes a mapping into leaves whose paths begin with below.
func (d *Decoder) section(n *yaml.Node, f Field, p Path, below []string) []Leaf {
	leaves := []Leaf{{Path: extend(below, present)}}
	fields := d.Schema.Fields(f)
	isMapping := n.Kind == yaml.MappingNode && n.ShortTag() == "!!map"
	if !isMapping && (!IsNull(n) || !d.EmptyIsNone) {
		d.Fail(n, CheckType, d.mappingHint(n, fields, p), "%s is %s, expected a mapping", p.Subject, d.KindOf(n, p))
		return nil
	}
	given := map[string]bool{}
	d.eachKey(n, p, func(i int) (skip int) {
		key, value := n.Content[i], n.Content[i+1]
		at := slices.IndexFunc(fields, func(f Field) bool { return f.Name == key.Value })
		if at < 0 || fields[at].Checks.Has("flagonly") && !d.FlagsToo {
			given[Nearest(key.Value, Names(fields))] = true // a key that was misspelt is there
			d.unknown(key, p, fields)
			return 0
		}
		given[key.Value] = true
		if pieces := cutByCommas(n, i, fields); pieces > 0 {
			d.note(p.Key(key.Value), value)
			d.cutValue(n, i, pieces, p.Key(key.Value))
			return pieces
		}
		leaves = append(leaves, d.member(key, value, fields[at], p.Key(key.Value), extend(below, key.Value))...)
		return 0
	})
	if !d.Layered || strings.Contains(p.Full, "[") {
		d.missing(n, f, fields, given, p)
	}
	return leaves
}

// missing reports required keys that are not there and have no default.
func (d *Decoder) missing(n *yaml.Node, section Field, fields []Field, given map[string]bool, p Path) {
	for _, f := range fields {
		if !f.Checks.Has("required") || given[f.Name] || d.Schema.hasDefault(section, f) {
			continue
		}
		hint := ""
		if d.Schema.MissingHint != nil {
			hint = d.Schema.MissingHint(p, f.Name)
		}
		d.Fail(n, CheckMissingKey, hint, "%s lacks the key %q", p.Subject, f.Name)
	}
}

// member decodes the value of one key.
func (d *Decoder) member(key, value *yaml.Node, f Field, p Path, below []string) []Leaf {
	shape := d.Schema.Shape(f.Type)
	switch shape {
	case Section:
		d.note(p, key)
		return d.section(value, f, p.titled(f.Checks), below)
	case Table:
		d.note(p, key)
		return d.table(value, f, p, below)
	case List:
		d.note(p, key)
	default:
		if value.Kind == yaml.MappingNode {
			d.note(p, key)
		} else {
			d.note(p, value)
		}
	}
	v, ok := d.Value(value, f, p)
	if !ok && shape != List {
		return nil
	}
	// A list with bad elements is kept, so that the others are checked too.
	return []Leaf{{Path: below, Value: v}}
}

// table decodes a mapping with free keys.
func (d *Decoder) table(n *yaml.Node, f Field, p Path, below []string) []Leaf {
	leaves := []Leaf{{Path: extend(below, present)}}
	switch {
	case IsNull(n) && d.EmptyIsNone:
		return leaves
	case n.Kind != yaml.MappingNode:
		d.Fail(n, CheckType, "", "%s is %s, expected a mapping of names to values", p.Subject, d.KindOf(n, p))
		return nil
	}
	entry := Field{Type: Elem(f.Type), Checks: f.Checks}
	d.eachKey(n, p, func(i int) int {
		key, value := n.Content[i], n.Content[i+1]
		switch {
		case key.Value == "" || strings.ContainsFunc(key.Value, unicode.IsControl):
			d.Fail(key, CheckValue, "", "a key of %s is empty or has control characters in it", p.Subject)
		case d.RefuseEntry != nil && d.RefuseEntry(key, value, p):
		default:
			leaves = append(leaves, d.member(key, value, entry, p.Key(key.Value), extend(below, key.Value))...)
		}
		return 0
	})
	return leaves
}

// eachKey visits the keys of a mapping by their index; one that is there twice
// is an error. visit returns how many further keys it has taken.
func (d *Decoder) eachKey(n *yaml.Node, p Path, visit func(i int) (skip int)) {
	first := map[string]int{}
	for i := 0; i+1 < len(n.Content); i += 2 {
		key := n.Content[i]
		switch {
		case key.Kind != yaml.ScalarNode:
			d.Fail(key, CheckType, "", "a key of %s is %s, expected a name", p.Subject, d.KindOf(key, p))
		case first[key.Value] > 0:
			d.Fail(key, CheckDuplicateKey, "", "key %q is there twice in %s, first in line %d", key.Value, p.Subject, first[key.Value])
		default:
			first[key.Value] = max(key.Line, 1)
			i += 2 * visit(i)
		}
	}
}

// unknown reports a key that nothing reads.
func (d *Decoder) unknown(key *yaml.Node, p Path, fields []Field) {
	hint := ""
	if d.Schema.UnknownHint != nil {
		hint = d.Schema.UnknownHint(p, key.Value)
	}
	if hint == "" {
		hint = DidYouMean(key.Value, Names(fields))
	}
	name := key.Value
	if d.secrets {
		name = KeyName(name, p.Full)
	}
	d.Fail(key, CheckUnknownKey, hint, "unknown key %q in %s", name, p.Subject)
}

// mappingHint shows a text as the mapping that it was meant to be, if that has
// a main key.
func (d *Decoder) mappingHint(n *yaml.Node, fields []Field, p Path) string {
	if n.Kind != yaml.ScalarNode || n.ShortTag() != "!!str" || d.mayBeSecret(n, p) ||
		len(fields) == 0 || !fields[0].Checks.Has("required") {
		return ""
	}
	return "write {" + fields[0].Name + ": " + quoted(n.Value) + "}"
}

// structure decodes a struct that is an element of a list: nothing overrides
// its keys one by one.
func (d *Decoder) structure(n *yaml.Node, f Field, p Path) (reflect.Value, bool) {
	before := len(d.Errors)
	v := New(f.Type)
	if at, ok := reflect.TypeAssert[placed](v); ok && n.Kind == yaml.MappingNode {
		at.setPlace(d.Pos(n))
	}
	d.Schema.Assign(v.Elem(), f, d.section(n, f, p, nil))
	return v.Elem(), len(d.Errors) == before
}

// list decodes every element.
func (d *Decoder) list(n *yaml.Node, f Field, p Path) (reflect.Value, bool) {
	out := reflect.MakeSlice(f.Type, 0, len(n.Content))
	switch {
	case IsNull(n) && d.EmptyIsNone:
		return out, true
	case n.Kind != yaml.SequenceNode || n.ShortTag() != "!!seq":
		hint := ""
		if n.Kind == yaml.ScalarNode && !IsNull(n) {
			hint = "write it in brackets: [value]"
			if !d.mayBeSecret(n, p) {
				hint = "write it in brackets: [" + n.Value + "]"
			}
		}
		d.Fail(n, CheckType, hint, "%s is %s, expected a list", p.Subject, d.KindOf(n, p))
		return reflect.Zero(f.Type), false
	}
	ok := true
	element := Field{Type: f.Type.Elem(), Checks: f.Checks}
	for i, item := range n.Content {
		at := p.Item(i).titled(f.Checks)
		d.note(at, item)
		// A bad element keeps its place, so that the indexes of the others hold.
		v, good := d.Value(item, element, at)
		if !good && (!v.IsValid() || v.Kind() != reflect.Struct) {
			v = reflect.Zero(element.Type)
		}
		out = reflect.Append(out, v)
		ok = ok && good
	}
	return out, ok
}

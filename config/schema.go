package config

import (
	"reflect"
	"strings"

	promconfig "github.com/prometheus/common/config"
)

// field is one key of a section.
type field struct {
	name   string
	index  []int
	typ    reflect.Type
	checks checks
}

// checks is the tag check, taken apart.
type checks map[string]string

func parseChecks(tag string) checks {
	c := checks{}
	for word := range strings.SplitSeq(tag, ",") {
		if name, arg, _ := strings.Cut(word, "="); name != "" {
			c[name] = arg
		}
	}
	return c
}

func (c checks) has(name string) bool {
	_, ok := c[name]
	return ok
}

// fieldsOf lists the keys of a section: the fields with a tag yaml, those of
// inlined structs included. It reads Prometheus' own types too.
func fieldsOf(t reflect.Type) []field {
	var out []field
	foreign := t.PkgPath() == reflect.TypeFor[promconfig.HTTPClientConfig]().PkgPath()
	for f := range t.Fields() {
		name, options, _ := strings.Cut(f.Tag.Get("yaml"), ",")
		switch {
		case strings.Contains(options, "inline") && f.Type.Kind() == reflect.Struct:
			for _, inner := range fieldsOf(f.Type) {
				inner.index = append(append([]int{}, f.Index...), inner.index...)
				out = append(out, inner)
			}
		case name == "" || name == "-" || foreign && unsupported(name):
		default:
			c := parseChecks(f.Tag.Get("check"))
			if foreign && (strings.HasSuffix(name, "_file") || name == "files") {
				c["file"] = ""
			}
			if foreign && name == "token_url" {
				c["url"] = ""
			}
			out = append(out, field{name: name, index: f.Index, typ: f.Type, checks: c})
		}
	}
	return out
}

// unsupported are keys of Prometheus' http_config that have no meaning here:
// there is no secret manager to refer to, and a header for a proxy could only
// hold a secret in the file.
func unsupported(name string) bool {
	return strings.HasSuffix(name, "_ref") || name == "proxy_connect_header"
}

func fieldOf(t reflect.Type, name string) (field, bool) {
	for _, f := range fieldsOf(t) {
		if f.name == name {
			return f, true
		}
	}
	return field{}, false
}

func names(fields []field) []string {
	var out []string
	for _, f := range fields {
		if !f.checks.has("flagonly") {
			out = append(out, f.name)
		}
	}
	return out
}

// shape is what a key holds.
type shape int

const (
	scalar shape = iota
	list
	section // a struct, or a pointer to one
	table   // a map with free keys
)

func shapeOf(t reflect.Type) shape {
	switch {
	case t == reflect.TypeFor[promconfig.URL](), t == reflect.TypeFor[map[string]any]():
		return scalar
	case t == reflect.TypeFor[*promconfig.Headers]():
		return table
	case t.Kind() == reflect.Pointer:
		return shapeOf(t.Elem())
	case t.Kind() == reflect.Struct:
		return section
	case t.Kind() == reflect.Map:
		return table
	case t.Kind() == reflect.Slice:
		return list
	}
	return scalar
}

// elem is what a list or table has in it, or what a pointer points at.
func elem(t reflect.Type) reflect.Type {
	switch {
	case t == reflect.TypeFor[*promconfig.Headers]():
		return reflect.TypeFor[promconfig.Header]()
	case t.Kind() == reflect.Pointer, t.Kind() == reflect.Map, t.Kind() == reflect.Slice:
		return t.Elem()
	}
	return t
}

// newSection returns a pointer to a new struct with its defaults.
func newSection(t reflect.Type) reflect.Value {
	v := reflect.New(t)
	if d, ok := reflect.TypeAssert[defaulter](v); ok {
		d.setDefaults()
	}
	return v
}

// present is the last part of the path of a leaf that only says that a section
// is there, as in "embedded: {}".
const present = ""

// assign puts a value at a path below the struct v, creating sections with
// their defaults on the way.
func assign(v reflect.Value, path []string, value reflect.Value) {
	name, rest := path[0], path[1:]
	if name == present {
		return
	}
	f, ok := fieldOf(v.Type(), name)
	if !ok {
		return // decode only makes leaves of known keys
	}
	dst := v.FieldByIndex(f.index)
	switch shapeOf(f.typ) {
	case table:
		assignEntry(dst, rest, value)
	case section:
		if dst.Kind() == reflect.Pointer {
			if dst.IsNil() {
				dst.Set(newSection(f.typ.Elem()))
			}
			dst = dst.Elem()
		}
		assign(dst, rest, value)
	default:
		if dst.Kind() == reflect.Pointer {
			dst.Set(reflect.New(f.typ.Elem()))
			dst = dst.Elem()
		}
		dst.Set(value)
	}
}

// assignEntry puts a value into a map, or below a struct that is in it.
func assignEntry(dst reflect.Value, path []string, value reflect.Value) {
	if dst.Kind() == reflect.Pointer { // http_headers
		if dst.IsNil() {
			dst.Set(reflect.New(dst.Type().Elem()))
		}
		dst = dst.Elem().FieldByName("Headers")
	}
	if dst.IsNil() {
		dst.Set(reflect.MakeMap(dst.Type()))
	}
	if path[0] == present {
		return
	}
	key := reflect.ValueOf(path[0])
	if len(path) == 1 {
		dst.SetMapIndex(key, value)
		return
	}
	entry := reflect.New(dst.Type().Elem()).Elem()
	if old := dst.MapIndex(key); old.IsValid() {
		entry.Set(old)
	}
	assign(entry, path[1:], value)
	dst.SetMapIndex(key, entry)
}

package document

import (
	"reflect"
	"slices"
)

// Leaf is one value of a document: the smallest thing that a later layer can
// override. A list is one leaf.
type Leaf struct {
	// Path leads from the root to the value.
	Path  []string
	Value reflect.Value
}

// present is the last part of the path of a leaf that only says that a section
// is there, as in "embedded: {}".
const present = ""

func extend(path []string, name string) []string {
	return append(slices.Clone(path), name)
}

// Assign puts values into a section, creating sections with their defaults on
// the way. v must be settable.
func (s *Schema) Assign(v reflect.Value, f Field, leaves []Leaf) {
	for _, l := range leaves {
		s.assign(v, f, l.Path, l.Value)
	}
}

func (s *Schema) assign(v reflect.Value, section Field, path []string, value reflect.Value) {
	name, rest := path[0], path[1:]
	if name == present {
		return
	}
	f, ok := s.Field(section, name)
	if !ok {
		return // Leaves only makes leaves of known keys
	}
	switch v.Type() {
	case sectionsType:
		s.assignKind(v, f, rest, value)
	case choiceType:
		s.assignChoice(v.Addr().Interface().(*Choice), section, f, path, value)
	default:
		if f.kind != nil {
			s.assignKind(v.FieldByIndex(f.index), f, rest, value)
			return
		}
		s.assignField(v.FieldByIndex(f.index), f, rest, value)
	}
}

// assignField puts a value into a field of a struct, or below it.
func (s *Schema) assignField(dst reflect.Value, f Field, rest []string, value reflect.Value) {
	switch s.Shape(f.Type) {
	case Table:
		s.assignEntry(dst, f, rest, value)
	case Section:
		if dst.Kind() == reflect.Pointer {
			if dst.IsNil() {
				dst.Set(New(f.Type))
			}
			dst = dst.Elem()
		}
		s.assign(dst, f, rest, value)
	default:
		if dst.Kind() == reflect.Pointer {
			dst.Set(reflect.New(f.Type.Elem()))
			dst = dst.Elem()
		}
		dst.Set(value)
	}
}

// assignKind puts a value into the options of one kind.
func (s *Schema) assignKind(v reflect.Value, f Field, rest []string, value reflect.Value) {
	if v.IsNil() {
		v.Set(reflect.ValueOf(Sections{}))
	}
	all := v.Interface().(Sections)
	options := all[f.kind.Name]
	if options == nil {
		options = f.kind.options().Interface()
		all[f.kind.Name] = options
	}
	s.assign(reflect.ValueOf(options).Elem(), f, rest, value)
}

// assignChoice puts a value into the options of every kind that has the key.
func (s *Schema) assignChoice(c *Choice, section, f Field, path []string, value reflect.Value) {
	if f.Name == choiceKey {
		c.Type = value.String()
		return
	}
	if c.Options == nil {
		c.Options = s.Kinds[section.Checks["kinds"]].New()
	}
	for _, options := range c.Options {
		v := reflect.ValueOf(options).Elem()
		s.assign(v, Field{Type: v.Type()}, path, value)
	}
}

// assignEntry puts a value into a map, or below a struct that is in it.
func (s *Schema) assignEntry(dst reflect.Value, f Field, path []string, value reflect.Value) {
	if dst.Kind() == reflect.Pointer && dst.IsNil() {
		dst.Set(reflect.New(f.Type.Elem()))
	}
	entries := Entries(dst)
	if entries.IsNil() {
		entries.Set(reflect.MakeMap(entries.Type()))
	}
	if path[0] == present {
		return
	}
	key := reflect.ValueOf(path[0])
	if len(path) == 1 {
		entries.SetMapIndex(key, value)
		return
	}
	entry := reflect.New(entries.Type().Elem()).Elem()
	if old := entries.MapIndex(key); old.IsValid() {
		entry.Set(old)
	}
	s.assign(entry, Field{Type: entry.Type()}, path[1:], value)
	entries.SetMapIndex(key, entry)
}

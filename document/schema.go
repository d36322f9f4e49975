package document

import (
	"maps"
	"reflect"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"
)

// Schema says what the structs of a kind of file are made of, beside what
// document knows itself.
type Schema struct {
	// Types decode values of types that document does not know.
	Types map[reflect.Type]DecodeFunc
	// Words check texts by words of the tag check that document does not know.
	Words map[string]WordFunc
	// Kinds are the kinds of Sections and Choices, by the name in their tag.
	Kinds map[string]Kinds
	// Adjust may change the keys of structs that carry no tag check, as those of
	// other modules do, or drop one by returning false; nil: nothing.
	Adjust func(owner reflect.Type, f *Field) bool
	// UnknownHint and MissingHint say more about a key than document can; "" or
	// nil: nothing.
	UnknownHint, MissingHint func(section Path, key string) string
}

// DecodeFunc decodes a node into a value of one type; false after an error.
type DecodeFunc func(d *Decoder, n *yaml.Node, f Field, p Path) (any, bool)

// WordFunc checks a text that is not empty, and may change it. The argument is
// what stands behind "=" in the tag.
type WordFunc func(d *Decoder, n *yaml.Node, text, argument string, p Path) (string, bool)

// Defaulter is a struct with defaults, which are overwritten by what a file says.
type Defaulter interface{ SetDefaults() }

// Kind is one choice of a section: its name and a new options struct.
type Kind struct {
	Name string
	// New returns a pointer to a struct.
	New func() any
}

// Kinds are all choices of a section, in the order in which they are listed.
type Kinds []Kind

// Sections holds one section per kind, by its name, as in "actuator: {exec:
// {…}}": pointers to what Kind.New gave.
type Sections map[string]any

// Choice is a section whose key type names a kind and whose other keys are that
// kind's options, as in "state: {type: file, path: …}".
type Choice struct {
	Type string
	// Options are those of every kind, by its name; a key that several kinds have
	// is set in each of them.
	Options Sections
}

// New are the options of every kind with their defaults.
func (ks Kinds) New() Sections {
	out := Sections{}
	for _, k := range ks {
		out[k.Name] = k.options().Interface()
	}
	return out
}

// Choice is the first of the kinds, each of them with its defaults.
func (ks Kinds) Choice() Choice {
	if len(ks) == 0 {
		return Choice{}
	}
	return Choice{Type: ks[0].Name, Options: ks.New()}
}

func (k *Kind) options() reflect.Value {
	v := reflect.ValueOf(k.New())
	setDefaults(v)
	return v
}

// Names are those of the kinds, in order.
func (ks Kinds) Names() []string {
	out := make([]string, len(ks))
	for i := range ks {
		out[i] = ks[i].Name
	}
	return out
}

// Field is one key of a section, or the root of a document.
type Field struct {
	Name   string
	Type   reflect.Type
	Checks Checks

	index []int // of the struct's field
	kind  *Kind // of a section in Sections
}

// Root is the field of a whole document of type T.
func Root[T any]() Field { return Field{Type: reflect.TypeFor[T]()} }

// Checks is the tag check, taken apart: what stands behind "=" by its word.
type Checks map[string]string

func parseChecks(tag string) Checks {
	c := Checks{}
	for word := range strings.SplitSeq(tag, ",") {
		if name, arg, _ := strings.Cut(word, "="); name != "" {
			c[name] = arg
		}
	}
	return c
}

// Has reports whether the tag has a word.
func (c Checks) Has(word string) bool {
	_, ok := c[word]
	return ok
}

var (
	sectionsType = reflect.TypeFor[Sections]()
	choiceType   = reflect.TypeFor[Choice]()
)

// choiceKey is the key of a Choice that names the kind.
const choiceKey = "type"

// Fields lists the keys of a section: the fields with a tag yaml, those of
// inlined structs included, or what the kinds bring.
func (s *Schema) Fields(f Field) []Field {
	t := pointee(f.Type)
	kinds := s.Kinds[f.Checks["kinds"]]
	switch t {
	case sectionsType:
		out := make([]Field, len(kinds))
		for i := range kinds {
			out[i] = Field{Name: kinds[i].Name, Type: reflect.TypeOf(kinds[i].New()), Checks: Checks{}, kind: &kinds[i]}
		}
		return out
	case choiceType:
		names := strings.Join(kinds.Names(), "|")
		out := []Field{{Name: choiceKey, Type: reflect.TypeFor[string](), Checks: Checks{"oneof": names}}}
		for _, k := range kinds {
			for _, of := range s.structFields(pointee(reflect.TypeOf(k.New()))) {
				if !slices.ContainsFunc(out, func(have Field) bool { return have.Name == of.Name }) {
					out = append(out, of)
				}
			}
		}
		return out
	}
	return s.structFields(t)
}

func (s *Schema) structFields(t reflect.Type) []Field {
	var out []Field
	for sf := range t.Fields() {
		name, options, _ := strings.Cut(sf.Tag.Get("yaml"), ",")
		if strings.Contains(options, "inline") && sf.Type == sectionsType {
			out = append(out, s.inlineSections(sf)...)
			continue
		}
		if strings.Contains(options, "inline") && sf.Type.Kind() == reflect.Struct {
			for _, inner := range s.structFields(sf.Type) {
				inner.index = append(slices.Clone(sf.Index), inner.index...)
				out = append(out, inner)
			}
			continue
		}
		f := Field{Name: name, index: sf.Index, Type: sf.Type, Checks: parseChecks(sf.Tag.Get("check"))}
		if name == "" || name == "-" || s.Adjust != nil && !s.Adjust(t, &f) {
			continue
		}
		out = append(out, f)
	}
	return out
}

// inlineSections are the keys of Sections that stand beside other keys: one for
// every kind that has options.
func (s *Schema) inlineSections(sf reflect.StructField) []Field {
	c := parseChecks(sf.Tag.Get("check"))
	var out []Field
	for i, k := range s.Kinds[c["kinds"]] {
		f := Field{Name: c["prefix"] + k.Name, Type: reflect.TypeOf(k.New()), Checks: Checks{}, index: sf.Index, kind: &s.Kinds[c["kinds"]][i]}
		if len(s.Fields(f)) > 0 {
			out = append(out, f)
		}
	}
	return out
}

// Field finds a key of a section.
func (s *Schema) Field(section Field, name string) (Field, bool) {
	for _, f := range s.Fields(section) {
		if f.Name == name {
			return f, true
		}
	}
	return Field{}, false
}

// Names are the keys of a section that a document can have.
func Names(fields []Field) []string {
	var out []string
	for _, f := range fields {
		if !f.Checks.Has("flagonly") {
			out = append(out, f.Name)
		}
	}
	return out
}

// Shape is what a key holds.
type Shape int

// The shapes.
const (
	Scalar  Shape = iota
	List          // a slice
	Section       // a struct or a pointer to one, Sections, a Choice
	Table         // a map with free keys
)

// Shape is what a key holds.
func (s *Schema) Shape(t reflect.Type) Shape {
	t = pointee(t)
	switch {
	case s.Types[t] != nil:
		return Scalar
	case t == sectionsType, t == choiceType:
		return Section
	case inlined(t) != nil, t.Kind() == reflect.Map:
		return Table
	case t.Kind() == reflect.Struct:
		return Section
	case t.Kind() == reflect.Slice:
		return List
	}
	return Scalar
}

// inlined is the map that a struct consists of, nil if it is none: the type of
// Prometheus' http_headers is one.
func inlined(t reflect.Type) *reflect.StructField {
	if t.Kind() != reflect.Struct || t == choiceType {
		return nil
	}
	for sf := range t.Fields() {
		if _, options, _ := strings.Cut(sf.Tag.Get("yaml"), ","); strings.Contains(options, "inline") && sf.Type.Kind() == reflect.Map {
			return &sf
		}
	}
	return nil
}

// Elem is what a list or table has in it, or what a pointer points at.
func Elem(t reflect.Type) reflect.Type {
	if sf := inlined(pointee(t)); sf != nil {
		return sf.Type.Elem()
	}
	switch t.Kind() {
	case reflect.Pointer, reflect.Map, reflect.Slice:
		return t.Elem()
	}
	return t
}

// Entries is the map of a table, which may be wrapped in a struct.
func Entries(v reflect.Value) reflect.Value {
	if v.Kind() == reflect.Pointer {
		v = v.Elem()
	}
	if sf := inlined(v.Type()); sf != nil {
		return v.FieldByIndex(sf.Index)
	}
	return v
}

// Get is the value of a key of a section; invalid where a section of a kind is
// not there.
func (s *Schema) Get(section reflect.Value, f Field) reflect.Value {
	switch x := section.Interface().(type) {
	case Sections:
		return reflect.ValueOf(x[f.Name])
	case Choice:
		if f.Name == choiceKey {
			return reflect.ValueOf(x.Type)
		}
		// The kind that is chosen may have another default than others that have
		// the key.
		for _, kind := range append([]string{x.Type}, slices.Sorted(maps.Keys(x.Options))...) {
			options := reflect.ValueOf(x.Options[kind])
			if !options.IsValid() {
				continue
			}
			if own, ok := s.Field(Field{Type: options.Elem().Type()}, f.Name); ok {
				return options.Elem().FieldByIndex(own.index)
			}
		}
		return reflect.Value{}
	}
	v := section.FieldByIndex(f.index)
	if f.kind != nil {
		return reflect.ValueOf(v.Interface().(Sections)[f.kind.Name])
	}
	return v
}

func pointee(t reflect.Type) reflect.Type {
	if t.Kind() == reflect.Pointer {
		return t.Elem()
	}
	return t
}

func setDefaults(v reflect.Value) {
	if d, ok := reflect.TypeAssert[Defaulter](v); ok {
		d.SetDefaults()
	}
}

// hasDefault reports whether a key of a new section has a value already.
func (s *Schema) hasDefault(section, f Field) bool {
	switch pointee(section.Type) {
	case sectionsType, choiceType:
		return false
	}
	v := s.Get(New(section.Type).Elem(), f)
	return v.IsValid() && !v.IsZero()
}

// New returns a pointer to a new section with its defaults.
func New(t reflect.Type) reflect.Value {
	v := reflect.New(pointee(t))
	setDefaults(v)
	return v
}

package document

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"reflect"
	"strconv"
	"strings"
	"time"
)

// DecodeJSON reads exactly one JSON object, and nothing that could be meant
// otherwise: no unknown field, none with other capitals, none twice. With nulls,
// null stands for a field that is left out; else it is refused but for a
// Nullable. The error is in words for whoever has written the object, and
// repeats no long text of it.
func DecodeJSON(raw []byte, into any, nulls bool) error {
	dec := json.NewDecoder(bytes.NewReader(raw))
	dec.DisallowUnknownFields()
	if err := dec.Decode(into); err != nil {
		return errors.New(jsonError(err))
	}
	if _, err := dec.Token(); !errors.Is(err, io.EOF) {
		return errors.New("there is something behind the JSON object")
	}
	return checkFields(raw, reflect.TypeOf(into), nulls)
}

// maxShown caps how much of the object is repeated, in bytes.
const maxShown = 200

func shown(words string) string {
	if len(words) <= maxShown {
		return words
	}
	return strings.ToValidUTF8(words[:maxShown], "") + "…"
}

// jsonError says what is wrong in words that are not those of a program.
func jsonError(err error) string {
	if t, ok := errors.AsType[*json.UnmarshalTypeError](err); ok {
		text := fmt.Sprintf("%s where %s is expected", t.Value, expected(t.Type))
		if t.Field != "" {
			text = fmt.Sprintf("%q is %s", shown(t.Field), text)
		}
		return text
	}
	if s, ok := errors.AsType[*json.SyntaxError](err); ok {
		return fmt.Sprintf("not JSON at byte %d", s.Offset)
	}
	if name, ok := strings.CutPrefix(err.Error(), "json: unknown field "); ok {
		if plain, err := strconv.Unquote(name); err == nil {
			name = plain
		}
		return fmt.Sprintf("unknown field %q", shown(name))
	}
	if t, ok := errors.AsType[*time.ParseError](err); ok {
		return fmt.Sprintf("%s is not an RFC 3339 time, such as 2026-01-31T15:04:05Z", shown(t.Value))
	}
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return "the JSON object ends too early"
	}
	return shown(strings.TrimPrefix(err.Error(), "json: "))
}

func expected(t reflect.Type) string {
	for t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	switch t.Kind() {
	case reflect.Int, reflect.Int64:
		return "a whole number"
	case reflect.String:
		return "a text"
	case reflect.Slice:
		return "a list"
	case reflect.Bool:
		return "true or false"
	default:
		return "an object"
	}
}

// checkFields refuses what encoding/json lets pass in a body: a field whose name
// has other capitals than the document's, one that is given twice, of which only
// the last would count, and null, which it takes for "not there". The body has
// been decoded into a value of that type.
func checkFields(body []byte, t reflect.Type, nulls bool) error {
	known := map[string]reflect.Type{}
	addFields(known, t)
	w := fieldWalk{dec: json.NewDecoder(bytes.NewReader(body)), known: known, nulls: nulls}
	return w.value("it", t)
}

// addFields collects the names of a type's fields, those of its parts included.
func addFields(known map[string]reflect.Type, t reflect.Type) {
	switch t.Kind() {
	case reflect.Pointer, reflect.Slice:
		addFields(known, t.Elem())
	case reflect.Struct:
		for f := range t.Fields() {
			if name, _, _ := strings.Cut(f.Tag.Get("json"), ","); name != "" {
				known[name] = f.Type
				addFields(known, f.Type)
			}
		}
	}
}

// Nullable is a field for which null means something else than being left out.
type Nullable interface{ TakesNull() }

// fieldWalk reads a JSON value of a shape that is known to be right.
type fieldWalk struct {
	dec   *json.Decoder
	known map[string]reflect.Type
	// nulls says that null is taken for a field that is left out.
	nulls bool
}

func (w *fieldWalk) value(name string, t reflect.Type) error {
	tok, err := w.dec.Token()
	if err != nil {
		return err
	}
	switch tok {
	case nil:
		// A field that may be null reads it by itself.
		if !w.nulls && !t.Implements(reflect.TypeFor[Nullable]()) {
			return fmt.Errorf("%s is null where %s is expected", name, expected(t))
		}
		return nil
	case json.Delim('{'):
		err = w.object()
	case json.Delim('['):
		for w.dec.More() && err == nil {
			err = w.value(name, t.Elem())
		}
	default:
		return nil
	}
	if err != nil {
		return err
	}
	_, err = w.dec.Token() // the end of it
	return err
}

func (w *fieldWalk) object() error {
	seen := map[string]bool{}
	for w.dec.More() {
		tok, err := w.dec.Token()
		if err != nil {
			return err
		}
		name := fmt.Sprint(tok)
		t, ok := w.known[name]
		if !ok {
			return fmt.Errorf("unknown field %q", shown(name))
		}
		if seen[name] {
			return fmt.Errorf("%q is given twice", name)
		}
		seen[name] = true
		if err := w.value(strconv.Quote(name), t); err != nil {
			return err
		}
	}
	return nil
}

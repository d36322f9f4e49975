package api

import (
	"bytes"
	"encoding/json"
	"fmt"
	"reflect"
	"strconv"
	"strings"

	"github.com/zeta-scaler/zeta-scaler/web/handler"
)

// checkFields refuses what encoding/json lets pass in a body: a field whose name
// has other capitals than the document's, one that is given twice, of which only
// the last would count, and null, which it takes for "not there". The body has
// been decoded into a value of that type.
func checkFields(body []byte, t reflect.Type) error {
	known := map[string]reflect.Type{}
	addFields(known, t)
	w := fieldWalk{dec: json.NewDecoder(bytes.NewReader(body)), known: known}
	return w.value("the body", t)
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

// nullable is a field for which null means something: an Optional.
type nullable interface{ takesNull() }

// fieldWalk reads a JSON value of a shape that is known to be right.
type fieldWalk struct {
	dec   *json.Decoder
	known map[string]reflect.Type
}

func (w *fieldWalk) value(name string, t reflect.Type) error {
	tok, err := w.dec.Token()
	if err != nil {
		return err
	}
	switch tok {
	case nil:
		// A field that may be null reads it by itself.
		if !t.Implements(reflect.TypeFor[nullable]()) {
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
			return fmt.Errorf("unknown field %q", handler.Shown(name))
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

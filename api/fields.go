package api

import (
	"bytes"
	"encoding/json"
	"fmt"
	"reflect"
	"strings"
)

// checkFields refuses what encoding/json lets pass in a body: a field whose name
// has other capitals than the document's, and one that is given twice, of which
// only the last would count. The body has been decoded into a value of that type.
func checkFields(body []byte, t reflect.Type) error {
	known := map[string]bool{}
	addFields(known, t)
	w := fieldWalk{dec: json.NewDecoder(bytes.NewReader(body)), known: known}
	return w.value()
}

// addFields collects the names of a type's fields, those of its parts included.
func addFields(known map[string]bool, t reflect.Type) {
	switch t.Kind() {
	case reflect.Pointer, reflect.Slice:
		addFields(known, t.Elem())
	case reflect.Struct:
		for f := range t.Fields() {
			if name, _, _ := strings.Cut(f.Tag.Get("json"), ","); name != "" {
				known[name] = true
				addFields(known, f.Type)
			}
		}
	}
}

// fieldWalk reads a JSON value of a shape that is known to be right.
type fieldWalk struct {
	dec   *json.Decoder
	known map[string]bool
}

func (w *fieldWalk) value() error {
	tok, err := w.dec.Token()
	if err != nil {
		return err
	}
	switch tok {
	case json.Delim('{'):
		err = w.object()
	case json.Delim('['):
		for w.dec.More() && err == nil {
			err = w.value()
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
		if !w.known[name] {
			return fmt.Errorf("unknown field %q", shown(name))
		}
		if seen[name] {
			return fmt.Errorf("%q is given twice", name)
		}
		seen[name] = true
		if err := w.value(); err != nil {
			return err
		}
	}
	return nil
}

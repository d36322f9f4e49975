package config

import (
	"encoding/json"
	"fmt"
	"log/slog"
	"reflect"
	"slices"
	"strings"
	"time"

	promconfig "github.com/prometheus/common/config"
	"github.com/prometheus/common/model"

	"github.com/zeta-scaler/zeta-scaler/document"
)

// Setting is one effective value and where it comes from.
type Setting struct {
	// Path is the key, such as "scopes[0].bounds.max_workers".
	Path string `json:"path"`
	// Value is a text, a number, a boolean or an empty list or mapping; a secret
	// is "<secret>".
	Value any `json:"value"`
	// Origin is the layer that set the value.
	Origin Origin `json:"origin"`
	// Source is the place in it: file:line:column, the variable or the flag;
	// empty for a default.
	Source string `json:"source,omitempty"`
}

// Settings are all effective values in the order of the documentation, secrets
// masked. Sections that are not in use are left out.
func (c *Config) Settings() []Setting {
	w := &walk{Config: c, schema: schema(c.kinds)}
	w.section(reflect.ValueOf(c).Elem(), document.Root[Config](), "")
	return w.out
}

// walk collects the settings of a configuration.
type walk struct {
	*Config
	schema *document.Schema
	out    []Setting
}

func (w *walk) section(v reflect.Value, section document.Field, path string) {
	fields := w.schema.Fields(section)
	if len(fields) == 0 {
		w.add(path, struct{}{})
	}
	for _, f := range fields {
		w.value(w.schema.Get(v, f), f, document.Join(path, f.Name))
	}
}

// value adds a value, or what is in it.
func (w *walk) value(v reflect.Value, f document.Field, path string) {
	if !v.IsValid() || v.Kind() == reflect.Pointer && v.IsNil() {
		return
	}
	if v.Kind() == reflect.Pointer {
		v = v.Elem()
	}
	switch w.schema.Shape(f.Type) {
	case document.Section:
		w.section(v, f, path)
	case document.Table:
		w.table(document.Entries(v), f, path)
	case document.List:
		if v.Len() == 0 {
			w.add(path, []string{})
		}
		for i := range v.Len() {
			w.value(v.Index(i), document.Field{Type: v.Type().Elem(), Checks: f.Checks}, document.Index(path, i))
		}
	default:
		if w.origin(path).origin != FromDefault || !sparse(path) || !v.IsZero() {
			w.add(path, shown(v, f.Checks))
		}
	}
}

func (w *walk) table(entries reflect.Value, f document.Field, path string) {
	if entries.Len() == 0 && (w.origin(path).origin != FromDefault || !sparse(path)) {
		w.add(path, struct{}{})
	}
	keys := entries.MapKeys()
	slices.SortFunc(keys, func(a, b reflect.Value) int { return strings.Compare(a.String(), b.String()) })
	for _, k := range keys {
		entry := entries.MapIndex(k)
		if entry.Kind() == reflect.String && hidden(path, k.String()) {
			entry = reflect.ValueOf(masked)
		}
		w.value(entry, document.Field{Type: entry.Type(), Checks: f.Checks}, document.Join(path, k.String()))
	}
}

// sparse reports whether only the keys that are set are worth showing.
func sparse(path string) bool {
	return strings.Contains(path, httpConfig) || strings.HasPrefix(path, "rule_sets[")
}

func (w *walk) add(path string, value any) {
	p := w.origin(path)
	s := Setting{Path: path, Value: value, Origin: p.origin}
	if p.origin != FromDefault {
		s.Source = p.pos.String()
	}
	w.out = append(w.out, s)
}

// origin is the place of a path. What a list holds comes from where the list
// does, but a key that an element does not have is a default.
func (c *Config) origin(path string) place {
	if p, ok := c.places[path]; ok {
		return p
	}
	return place{origin: FromDefault}
}

// shown is show, of what the tag calls masked without what may be a secret: of a
// URL its path, as those of chats have one, of other texts all.
func shown(v reflect.Value, c document.Checks) any {
	text := v.String()
	if !c.Has("masked") || v.Kind() != reflect.String || text == "" {
		return show(v)
	}
	if !c.Has("url") {
		return masked
	}
	return shownURL(text)
}

// show is a scalar as the file would have it, secrets masked.
func show(v reflect.Value) any {
	switch x := v.Interface().(type) {
	case promconfig.Secret:
		if x == "" {
			return ""
		}
		return masked
	case promconfig.URL:
		if x.URL == nil {
			return ""
		}
		return shownURL(x.String())
	case ScrapeConfigs:
		return x.shown()
	case promconfig.TLSVersion:
		return x.String()
	case time.Duration:
		return model.Duration(x).String()
	case document.Bytes:
		return x.String()
	case map[string]any:
		return slices.Sorted(func(yield func(string) bool) {
			for k := range x {
				if !yield(k) {
					return
				}
			}
		})
	case int, bool:
		return x
	}
	return v.String()
}

// String shows the effective values, secrets masked, one a line.
func (c *Config) String() string {
	var b strings.Builder
	for _, s := range c.Settings() {
		fmt.Fprintf(&b, "%s: %v\n", s.Path, s.Value)
	}
	return b.String()
}

// GoString is String, so that no verb of fmt shows a secret.
func (c *Config) GoString() string { return c.String() }

// LogValue keeps secrets out of logs.
func (c *Config) LogValue() slog.Value { return slog.StringValue(c.String()) }

// MarshalJSON writes Settings.
func (c *Config) MarshalJSON() ([]byte, error) { return json.Marshal(c.Settings()) }

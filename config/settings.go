package config

import (
	"encoding/json"
	"fmt"
	"log/slog"
	"net/url"
	"reflect"
	"slices"
	"strings"
	"time"

	promconfig "github.com/prometheus/common/config"
	"github.com/prometheus/common/model"

	"github.com/zeta-scaler/zeta-scaler/rules"
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
	return c.settings(nil, reflect.ValueOf(c).Elem(), "")
}

func (c *Config) settings(out []Setting, v reflect.Value, path string) []Setting {
	for _, f := range fieldsOf(v.Type()) {
		out = c.setting(out, v.FieldByIndex(f.index), join(path, f.name))
	}
	return out
}

// setting appends a value, or what is in it.
func (c *Config) setting(out []Setting, v reflect.Value, path string) []Setting {
	switch {
	case v.Kind() == reflect.Pointer && v.IsNil():
		return out
	case v.Type() == reflect.TypeFor[*promconfig.Headers]():
		return c.setting(out, v.Elem().FieldByName("Headers"), path)
	case v.Kind() == reflect.Pointer:
		v = v.Elem()
	}
	switch shapeOf(v.Type()) {
	case section:
		if v.NumField() == 0 {
			return append(out, c.leaf(path, struct{}{}))
		}
		return c.settings(out, v, path)
	case table:
		if v.Len() == 0 {
			return append(out, c.leaf(path, struct{}{}))
		}
		keys := v.MapKeys()
		slices.SortFunc(keys, func(a, b reflect.Value) int { return strings.Compare(a.String(), b.String()) })
		for _, k := range keys {
			entry := v.MapIndex(k)
			if entry.Kind() == reflect.String && c.hidden(path, k.String()) {
				entry = reflect.ValueOf(masked)
			}
			out = c.setting(out, entry, join(path, k.String()))
		}
		return out
	case list:
		if v.Len() == 0 {
			return append(out, c.leaf(path, []string{}))
		}
		for i := range v.Len() {
			out = c.setting(out, v.Index(i), at(path, i))
		}
		return out
	}
	l := c.leaf(path, show(v))
	if l.Origin == FromDefault && sparse(path) && v.IsZero() {
		return out
	}
	return append(out, l)
}

// sparse reports whether only the keys that are set are worth showing.
func sparse(path string) bool {
	return strings.Contains(path, httpConfig) || strings.HasPrefix(path, "rule_sets[")
}

// hidden reports whether an entry of a table is a secret by its name.
func (c *Config) hidden(path, name string) bool {
	return secretPath(path+".") && secretName.MatchString(name)
}

func (c *Config) leaf(path string, value any) Setting {
	p := c.origin(path)
	s := Setting{Path: path, Value: value, Origin: p.origin}
	if p.origin != FromDefault {
		s.Source = sourceText(p.pos)
	}
	return s
}

// origin is the place of a path. What a list holds comes from where the list
// does, but a key that an element does not have is a default.
func (c *Config) origin(path string) place {
	if p, ok := c.places[path]; ok {
		return p
	}
	return place{origin: FromDefault}
}

func sourceText(p rules.Position) string {
	if p.Line == 0 {
		return p.File
	}
	return p.String()
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
		return redact(x.URL)
	case ScrapeConfigs:
		return x.shown()
	case promconfig.TLSVersion:
		return x.String()
	case time.Duration:
		return model.Duration(x).String()
	case Bytes:
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

func redact(u *url.URL) string {
	if u == nil {
		return ""
	}
	return u.Redacted()
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

package config

import (
	"fmt"
	"os"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"

	promconfig "github.com/prometheus/common/config"
	"github.com/prometheus/common/model"
	"github.com/stretchr/testify/require"

	"github.com/zeta-scaler/zeta-scaler/app/kinds"
	"github.com/zeta-scaler/zeta-scaler/document"
	"github.com/zeta-scaler/zeta-scaler/rules"
)

// keyDefaults are all keys of the file with their defaults as the page has
// them. Elements of lists and entries of mappings are below "[]" and ".NAME";
// the keys of http_config, which stands in several places, are below that name.
func keyDefaults() map[string]string {
	out := map[string]string{}
	c := newConfig(kinds.All())
	c.Prometheus, c.Embedded = &Prometheus{}, &Embedded{}
	c.Prometheus.SetDefaults()
	c.Embedded.SetDefaults()
	addKeys(out, reflect.ValueOf(c).Elem(), document.Root[Config](), "")
	h := promconfig.DefaultHTTPClientConfig
	h.BasicAuth, h.Authorization, h.OAuth2 = &promconfig.BasicAuth{}, &promconfig.Authorization{}, &promconfig.OAuth2{}
	addKeys(out, reflect.ValueOf(h), document.Field{Type: reflect.TypeOf(h)}, httpConfig)
	for key := range out { // those of tls_config are listed once
		if strings.HasPrefix(key, "http_config.oauth2.tls_config.") {
			delete(out, key)
		}
	}
	out["http_config.oauth2.tls_config"] = "{}"
	return out
}

func addKeys(out map[string]string, v reflect.Value, section document.Field, path string) {
	for _, f := range schema(kinds.All()).Fields(section) {
		if !f.Checks.Has("flagonly") {
			addKey(out, f, schema(kinds.All()).Get(v, f), document.Join(path, f.Name))
		}
	}
}

func addKey(out map[string]string, f document.Field, v reflect.Value, path string) {
	switch schema(kinds.All()).Shape(f.Type) {
	case document.Section:
		if f.Name == httpConfig {
			out[path] = "{}"
			return
		}
		if !v.IsValid() || v.Kind() == reflect.Pointer && v.IsNil() {
			v = document.New(f.Type)
		}
		if v.Kind() == reflect.Pointer {
			v = v.Elem()
		}
		if len(schema(kinds.All()).Fields(f)) == 0 {
			out[path] = "–"
		}
		addKeys(out, v, f, path)
	case document.Table:
		out[path] = "{}"
		// What can be set of a signal is documented with the signals.
		if e := document.Elem(f.Type); e.Kind() == reflect.Struct && e != reflect.TypeFor[rules.Change]() {
			addKeys(out, reflect.New(e).Elem(), document.Field{Type: e}, path+".NAME")
		}
	case document.List:
		out[path] = listDefault(v)
		if f.Checks.Has("required") && v.Len() == 0 {
			out[path] = "required"
		}
		if e := document.Elem(f.Type); e.Kind() == reflect.Struct {
			addKeys(out, document.New(e).Elem(), document.Field{Type: e}, path+"[]")
		}
	default:
		out[path] = "–"
		if v.Kind() == reflect.Pointer {
			return
		}
		if s := fmt.Sprint(show(v)); f.Type.Kind() != reflect.Map && s != "" {
			out[path] = s
		} else if f.Checks.Has("required") {
			out[path] = "required"
		}
	}
}

func listDefault(v reflect.Value) string {
	var items []string
	for i := range v.Len() {
		if e, ok := reflect.TypeAssert[RuleSetEntry](v.Index(i)); ok {
			items = append(items, "{pack: "+e.Pack+"}")
			continue
		}
		items = append(items, fmt.Sprint(show(v.Index(i))))
	}
	return "[" + strings.Join(items, ", ") + "]"
}

// TestKeysAreDocumented compares the page with the keys and their defaults.
func TestKeysAreDocumented(t *testing.T) {
	b, err := os.ReadFile("../docs/configuration.md")
	require.NoError(t, err)
	rows := regexp.MustCompile("(?m)^\\| `([a-z][^`]*)` \\| (.*?) \\| (.+) \\|$").FindAllStringSubmatch(string(b), -1)
	documented := map[string]string{}
	for _, row := range rows {
		require.NotContains(t, documented, row[1], "twice")
		value := strings.Trim(row[2], "`")
		if d, err := model.ParseDuration(value); err == nil && value != "0" {
			value = d.String() // 168h and 1w are the same
		}
		documented[row[1]] = value
	}
	want := keyDefaults()
	require.Greater(t, len(want), 100)
	for key, value := range want {
		require.Contains(t, documented, key, "configuration.md lacks a key, default %s", value)
		require.Equal(t, value, documented[key], "default of %s", key)
	}
	for key := range documented {
		require.Contains(t, want, key, "configuration.md has a key that nothing reads")
	}
	for flag := range flagPaths() {
		require.Contains(t, string(b), "`--"+flag+"`")
	}
	for _, check := range []string{CheckSecret, CheckEnvironment, CheckFile, CheckRuleSet, CheckScope, CheckActuator, CheckUnused} {
		require.Contains(t, string(b), "`"+check+"`")
	}
}

// TestExampleIsTheDefaults loads the example as it is.
func TestExampleIsTheDefaults(t *testing.T) {
	t.Chdir("..")
	example, err := Load(Options{Kinds: kinds.All(), File: "zeta-scaler.example.yml", FileRequired: true})
	require.NoError(t, err)
	require.Empty(t, example.Warnings)
	none, err := Load(Options{Kinds: kinds.All()})
	require.NoError(t, err)
	require.Equal(t, none.String(), example.String())
}

// TestExampleHasEveryKey turns on what is off in the example.
func TestExampleHasEveryKey(t *testing.T) {
	b, err := os.ReadFile("../zeta-scaler.example.yml")
	require.NoError(t, err)
	text := regexp.MustCompile(`(?m)^#(\S|  )`).ReplaceAllString(string(b), "$1")
	text = regexp.MustCompile(`(?m)^(\s*(?:clusters|scopes|alertmanagers):) \[\]`).ReplaceAllString(text, "$1")

	// Decoding tells keys that nothing reads; secrets and files are not the point.
	r, root := parseFile("example", []byte(text), kinds.All())
	require.NotNil(t, root)
	r.decoder(FromEnvironment, "example", "").Leaves(root, document.Root[Config](), title)
	for _, e := range r.Errors {
		require.Equal(t, CheckFile, e.Check, document.Render(r.Errors))
	}
	index, header := regexp.MustCompile(`\[\d+\]`), regexp.MustCompile(`http_headers\.X-Api-Key`)
	shared := regexp.MustCompile(`^.*\.http_config\.`)
	var have []string
	for path := range r.places {
		path = header.ReplaceAllString(index.ReplaceAllString(path, "[]"), "http_headers.NAME")
		have = append(have, path, shared.ReplaceAllString(path, "http_config."))
	}
	for key := range keyDefaults() {
		require.True(t, slices.Contains(have, key), "the example lacks %s", key)
	}
}

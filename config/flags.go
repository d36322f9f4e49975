package config

import (
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/zeta-scaler/zeta-scaler/document"
)

// flagPaths are the keys that flags set. The flags rules.file and rules.pack
// add rule sets instead.
func flagPaths() map[string]string {
	return map[string]string{
		"web.listen-address":   "web.listen_address",
		"web.config.file":      "web.config_file",
		"web.external-url":     "web.external_url",
		"web.enable-lifecycle": "web.enable_lifecycle",
		"log.level":            "log.level",
		"log.format":           "log.format",
		"prometheus.url":       "prometheus.urls",
		"state.path":           "state.path",
	}
}

// flagLeaves decodes flags by their names without dashes. Values are texts,
// lists of texts or booleans.
func (r *report) flagLeaves(flags map[string]any) ([]document.Leaf, error) {
	var out []document.Leaf
	paths := flagPaths()
	for _, name := range slices.Sorted(maps.Keys(flags)) {
		if name == "rules.file" || name == "rules.pack" {
			continue
		}
		path, ok := paths[name]
		if !ok {
			return nil, fmt.Errorf("flag --%s sets nothing in the configuration", name)
		}
		d := r.decoder(FromFlag, "--"+name, "")
		parts := strings.Split(path, ".")
		section, _ := d.Schema.Field(document.Root[Config](), parts[0])
		f, _ := d.Schema.Field(section, parts[1])
		n := flagNode(f.Type, flags[name])
		d.Note(path, n)
		if v, ok := d.Value(n, f, document.At(path)); ok {
			out = append(out, document.Leaf{Path: parts, Value: v})
		}
	}
	return out, nil
}

// flagNode makes a node of a flag's value.
func flagNode(t reflect.Type, value any) *yaml.Node {
	if t.Kind() != reflect.Slice {
		return scalarNode(t, fmt.Sprint(value))
	}
	n := &yaml.Node{Kind: yaml.SequenceNode}
	for _, s := range texts(value) {
		n.Content = append(n.Content, scalarNode(t.Elem(), s))
	}
	return n
}

// texts is the value of a flag that may be given several times.
func texts(value any) []string {
	switch v := value.(type) {
	case nil:
		return nil
	case []string:
		return v
	default:
		return []string{fmt.Sprint(v)}
	}
}

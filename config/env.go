package config

import (
	"net/http"
	"reflect"
	"slices"
	"strings"

	promconfig "github.com/prometheus/common/config"
	"go.yaml.in/yaml/v3"

	"github.com/zeta-scaler/zeta-scaler/document"
)

// EnvPrefix begins every variable that is read. The separator is doubled,
// because Kubernetes gives every container variables such as ZETA_SCALER_PORT
// when there is a Service named zeta-scaler.
const EnvPrefix = "ZETA_SCALER__"

const envSeparator = "__"

// variable is the name of the variable for a path.
func variable(path string) string {
	name := strings.ReplaceAll(strings.ReplaceAll(path, ".", envSeparator), "-", "_")
	return EnvPrefix + strings.ToUpper(name)
}

// envLeaves decodes the variables that begin with EnvPrefix.
func (r *report) envLeaves(env []string) []document.Leaf {
	var out []document.Leaf
	env = slices.Clone(env)
	slices.Sort(env)
	for _, entry := range env {
		name, value, _ := strings.Cut(entry, "=")
		if !strings.HasPrefix(name, EnvPrefix) {
			continue
		}
		if l, ok := r.decoder(FromEnvironment, name, "").fromVariable(name, value); ok {
			out = append(out, l)
		}
	}
	return out
}

// fromVariable finds the key that a variable means and decodes its value.
func (d *decoder) fromVariable(name, value string) (document.Leaf, bool) {
	parts := strings.Split(strings.ToLower(strings.TrimPrefix(name, EnvPrefix)), envSeparator)
	section, path := document.Root[Config](), []string{}
	for i, part := range parts {
		f, ok := d.Schema.Field(section, part)
		if !ok || f.Checks.Has("flagonly") {
			d.unknownVariable(name, &section, path, part)
			return document.Leaf{}, false
		}
		path = append(path, part)
		last := i == len(parts)-1
		switch shape := d.Schema.Shape(f.Type); {
		case shape == document.List || f.Type == reflect.TypeFor[map[string]any]() || f.Type == reflect.TypeFor[*promconfig.Headers]():
			d.Fail(&yaml.Node{}, CheckEnvironment, "set "+strings.Join(path, ".")+" in the configuration file",
				"%s is a list, which only the file can have", strings.Join(path, "."))
			return document.Leaf{}, false
		case shape == document.Table && i == len(parts)-2:
			return d.tableVariable(f, path, parts[i+1], value)
		case shape == document.Section && !last:
			section = f
			continue
		case shape == document.Scalar && last:
			return d.scalarVariable(f, path, value)
		case shape == document.Scalar:
			d.unknownVariable(name, nil, path, parts[i+1])
		default:
			d.Fail(&yaml.Node{}, CheckEnvironment, d.known(f, path), "%s is a section, which has no value of its own", strings.Join(path, "."))
		}
		return document.Leaf{}, false
	}
	return document.Leaf{}, false
}

// tableVariable decodes an entry of headers or query_params. Names of headers
// have dashes and no case, names of parameters are taken in lower case.
func (d *decoder) tableVariable(f document.Field, path []string, key, value string) (document.Leaf, bool) {
	if f.Checks.Has("headers") {
		key = http.CanonicalHeaderKey(strings.ReplaceAll(key, "_", "-"))
	}
	return d.scalarVariable(document.Field{Type: document.Elem(f.Type), Checks: f.Checks}, append(path, key), value)
}

func (d *decoder) scalarVariable(f document.Field, path []string, value string) (document.Leaf, bool) {
	n := scalarNode(f.Type, value)
	p := document.At(strings.Join(path, "."))
	d.Note(p.Full, n)
	v, ok := d.Value(n, f, p)
	return document.Leaf{Path: path, Value: v}, ok
}

// scalarNode makes a node of a text from outside of the file. A text stays one
// whatever it looks like.
func scalarNode(t reflect.Type, value string) *yaml.Node {
	n := &yaml.Node{Kind: yaml.ScalarNode, Value: value}
	if t.Kind() == reflect.String {
		n.Tag = "!!str"
	}
	return n
}

// unknownVariable reports a variable that means no key; section is where it
// would stand, nil if nowhere.
func (d *decoder) unknownVariable(name string, section *document.Field, path []string, part string) {
	hint := ""
	if section != nil {
		hint = d.known(*section, path)
		if near := document.Nearest(part, document.Names(d.Schema.Fields(*section))); near != "" {
			hint = "did you mean " + variable(strings.Join(append(slices.Clone(path), near), ".")) + "?"
		}
	}
	d.Fail(&yaml.Node{}, CheckEnvironment, hint, "the environment variable %s means no key of the configuration", name)
}

// known lists the variables of a section.
func (d *decoder) known(section document.Field, path []string) string {
	if d.Schema.Shape(section.Type) == document.Table {
		return "add " + envSeparator + "NAME"
	}
	var out []string
	for _, f := range d.Schema.Fields(section) {
		if d.Schema.Shape(f.Type) != document.List && !f.Checks.Has("flagonly") {
			out = append(out, variable(strings.Join(append(slices.Clone(path), f.Name), ".")))
		}
	}
	return "known here: " + strings.Join(out, ", ")
}

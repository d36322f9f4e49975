package config

import (
	"net/http"
	"reflect"
	"slices"
	"strings"

	promconfig "github.com/prometheus/common/config"
	"go.yaml.in/yaml/v3"

	"github.com/zeta-scaler/zeta-scaler/rules"
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
func (r *report) envLeaves(env []string) []leaf {
	var out []leaf
	env = slices.Clone(env)
	slices.Sort(env)
	for _, entry := range env {
		name, value, _ := strings.Cut(entry, "=")
		if !strings.HasPrefix(name, EnvPrefix) {
			continue
		}
		d := &decoder{report: r, origin: FromEnvironment, name: name}
		if l, ok := d.fromVariable(name, value); ok {
			out = append(out, l)
		}
	}
	return out
}

// fromVariable finds the key that a variable means and decodes its value.
func (d *decoder) fromVariable(name, value string) (leaf, bool) {
	parts := strings.Split(strings.ToLower(strings.TrimPrefix(name, EnvPrefix)), envSeparator)
	t, path := reflect.TypeFor[Config](), []string{}
	for i, part := range parts {
		f, ok := fieldOf(t, part)
		if !ok || f.checks.has("flagonly") {
			d.unknownVariable(name, t, path, part)
			return leaf{}, false
		}
		path = append(path, part)
		last := i == len(parts)-1
		switch kind := shapeOf(f.typ); {
		case kind == list || f.typ == reflect.TypeFor[map[string]any]() || f.typ == reflect.TypeFor[*promconfig.Headers]():
			d.failf(&yaml.Node{}, CheckEnvironment, "set "+strings.Join(path, ".")+" in the configuration file",
				"%s is a list, which only the file can have", strings.Join(path, "."))
			return leaf{}, false
		case kind == table && i == len(parts)-2:
			return d.tableVariable(f, path, parts[i+1], value)
		case kind == section && !last:
			t = elem(f.typ)
			continue
		case kind == scalar && last:
			return d.scalarVariable(f.typ, f.checks, path, value)
		case kind == scalar:
			d.unknownVariable(name, nil, path, parts[i+1])
		default:
			d.failf(&yaml.Node{}, CheckEnvironment, d.known(elem(f.typ), path), "%s is a section, which has no value of its own", strings.Join(path, "."))
		}
		return leaf{}, false
	}
	return leaf{}, false
}

// tableVariable decodes an entry of headers or query_params. Names of headers
// have dashes and no case, names of parameters are taken in lower case.
func (d *decoder) tableVariable(f field, path []string, key, value string) (leaf, bool) {
	if f.checks.has("headers") {
		key = http.CanonicalHeaderKey(strings.ReplaceAll(key, "_", "-"))
	}
	return d.scalarVariable(elem(f.typ), f.checks, append(path, key), value)
}

func (d *decoder) scalarVariable(t reflect.Type, c checks, path []string, value string) (leaf, bool) {
	n := scalarNode(t, value)
	p := strings.Join(path, ".")
	d.note(p, n)
	v, ok := d.value(n, t, c, p)
	return leaf{path: path, value: v}, ok
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

func (d *decoder) unknownVariable(name string, t reflect.Type, path []string, part string) {
	hint := ""
	if t != nil {
		hint = d.known(t, path)
		if near := rules.DidYouMean(part, names(fieldsOf(t))); strings.HasPrefix(near, "did you mean ") {
			word := strings.TrimSuffix(strings.TrimPrefix(near, "did you mean "), "?")
			hint = "did you mean " + variable(strings.Join(append(slices.Clone(path), word), ".")) + "?"
		}
	}
	d.failf(&yaml.Node{}, CheckEnvironment, hint, "the environment variable %s means no key of the configuration", name)
}

// known lists the variables of a section.
func (d *decoder) known(t reflect.Type, path []string) string {
	if t.Kind() != reflect.Struct {
		return "add " + envSeparator + "NAME"
	}
	var out []string
	for _, f := range fieldsOf(t) {
		if shapeOf(f.typ) != list && !f.checks.has("flagonly") {
			out = append(out, variable(strings.Join(append(slices.Clone(path), f.name), ".")))
		}
	}
	return "known here: " + strings.Join(out, ", ")
}

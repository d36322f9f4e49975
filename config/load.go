package config

import (
	"fmt"
	"reflect"
	"slices"
	"strings"

	"github.com/knadh/koanf/providers/confmap"
	"github.com/knadh/koanf/v2"

	"github.com/zeta-scaler/zeta-scaler/document"
	"github.com/zeta-scaler/zeta-scaler/rules"
)

// Options say what Load reads.
type Options struct {
	// File is the path of the configuration file; empty: none.
	File string
	// FileRequired makes it an error if File does not exist.
	FileRequired bool
	// Env are variables as of os.Environ.
	Env []string
	// Flags are the flags that were given, by name without dashes, such as
	// "web.listen-address": texts, lists of texts, booleans.
	Flags map[string]any
	// Kinds are what the configuration can choose from, by the keys actuator,
	// state, leadership and events. The first of each is the default.
	Kinds map[string]document.Kinds
	// Local says that the service is to run here: what it writes has to be writable.
	Local bool
	// ListenAddress is the default of web.listen_address; empty:
	// DefaultListenAddress.
	ListenAddress string
}

// Load reads, merges and checks the configuration and loads its rule sets. The
// error has everything that is wrong: a *document.ErrorList, unless the file
// itself cannot be read.
func Load(o Options) (*Config, error) {
	content, err := readFile(o.File, o.FileRequired)
	if err != nil {
		return nil, err
	}
	return load(content, o)
}

func load(content []byte, o Options) (*Config, error) {
	r, root := parseFile(o.File, content, o.Kinds)
	r.local = o.Local
	dir := folder(o.File)
	// Later layers overwrite the places of earlier ones.
	layers := [][]document.Leaf{r.fileLeaves(root, dir), r.envLeaves(o.Env)}
	flags, err := r.flagLeaves(o.Flags)
	if err != nil {
		return nil, err
	}
	merged, err := merge(append(layers, flags))
	if err != nil {
		return nil, err
	}
	c := newConfig(o.Kinds)
	c.places, c.dir = r.places, dir
	if content != nil {
		c.File = o.File
	}
	if o.ListenAddress != "" {
		c.Web.ListenAddress = o.ListenAddress
	}
	schema(o.Kinds).Assign(reflect.ValueOf(c).Elem(), document.Root[Config](), merged)
	c.settle(r)
	if c.Prometheus == nil && c.Embedded == nil {
		c.Prometheus = &Prometheus{}
		c.Prometheus.SetDefaults()
	}
	c.loadRules(r, o.Flags)
	c.validate(r)
	if err := r.list(); err != nil {
		return nil, err
	}
	c.Warnings = r.warnings(c.Rules)
	return c, nil
}

// warnings are those of the configuration and then those of the rule sets.
func (r *report) warnings(sets []*rules.RuleSet) []document.Diagnostic {
	r.sort(r.Warnings)
	for _, rs := range sets {
		r.Warnings = append(r.Warnings, rs.Warnings...)
	}
	return r.Warnings
}

// delimiter joins the parts of a path for koanf. No key can have it: control
// characters are refused.
const delimiter = "\x1f"

// merge lays the layers over each other and returns the leaves that remain.
// koanf sees indexes of leaves instead of values, so that they keep their types.
func merge(layers [][]document.Leaf) ([]document.Leaf, error) {
	var all []document.Leaf
	k := koanf.New(delimiter)
	for i, layer := range layers {
		flat := make(map[string]any, len(layer))
		for _, l := range layer {
			flat[strings.Join(l.Path, delimiter)] = len(all)
			all = append(all, l)
		}
		if err := k.Load(confmap.Provider(flat, delimiter), nil); err != nil {
			return nil, fmt.Errorf("merging configuration layer %d: %w", i, err)
		}
	}
	keys := k.Keys()
	slices.Sort(keys) // a section's presence before its keys
	out := make([]document.Leaf, len(keys))
	for i, key := range keys {
		out[i] = all[k.Int(key)]
	}
	return out, nil
}

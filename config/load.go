package config

import (
	"fmt"
	"reflect"
	"slices"
	"strings"

	"github.com/knadh/koanf/providers/confmap"
	"github.com/knadh/koanf/v2"

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
	// ListenAddress is the default of web.listen_address; empty:
	// DefaultListenAddress.
	ListenAddress string
}

// Load reads, merges and checks the configuration and loads its rule sets. The
// error has everything that is wrong: a *rules.ErrorList, unless the file
// itself cannot be read.
func Load(o Options) (*Config, error) {
	content, err := readFile(o.File, o.FileRequired)
	if err != nil {
		return nil, err
	}
	return load(content, o)
}

func load(content []byte, o Options) (*Config, error) {
	r := &report{file: o.File, content: content, places: map[string]place{}}
	dir := folder(o.File)
	// Later layers overwrite the places of earlier ones.
	layers := [][]leaf{r.fileLeaves(dir), r.envLeaves(o.Env)}
	flags, err := r.flagLeaves(o.Flags)
	if err != nil {
		return nil, err
	}
	merged, err := merge(append(layers, flags))
	if err != nil {
		return nil, err
	}
	c := &Config{places: r.places, dir: dir}
	c.setDefaults()
	if o.ListenAddress != "" {
		c.Web.ListenAddress = o.ListenAddress
	}
	for _, l := range merged {
		assign(reflect.ValueOf(c).Elem(), l.path, l.value)
	}
	c.lockBesideState()
	if c.Prometheus == nil && c.Embedded == nil {
		c.Prometheus = &Prometheus{}
		c.Prometheus.setDefaults()
	}
	c.loadRules(r, o.Flags)
	c.validate(r)
	if err := r.list(); err != nil {
		return nil, err
	}
	c.Warnings = r.warnings(c.Rules)
	return c, nil
}

// lockBesideState keeps two processes from one state file that is not at its
// default place: the lock then lies beside it, unless it has a place of its own.
func (c *Config) lockBesideState() {
	_, state := c.places["state.path"]
	if _, lock := c.places["leadership.lock_file"]; state && !lock {
		c.Leadership.LockFile = c.State.Path + ".lock"
	}
}

// warnings are those of the configuration and then those of the rule sets.
func (r *report) warnings(sets []*rules.RuleSet) []rules.Diagnostic {
	r.sort(r.warns)
	for _, rs := range sets {
		r.warns = append(r.warns, rs.Warnings...)
	}
	return r.warns
}

// delimiter joins the parts of a path for koanf. No key can have it: control
// characters are refused.
const delimiter = "\x1f"

// merge lays the layers over each other and returns the leaves that remain.
// koanf sees indexes of leaves instead of values, so that they keep their types.
func merge(layers [][]leaf) ([]leaf, error) {
	var all []leaf
	k := koanf.New(delimiter)
	for i, layer := range layers {
		flat := make(map[string]any, len(layer))
		for _, l := range layer {
			flat[strings.Join(l.path, delimiter)] = len(all)
			all = append(all, l)
		}
		if err := k.Load(confmap.Provider(flat, delimiter), nil); err != nil {
			return nil, fmt.Errorf("merging configuration layer %d: %w", i, err)
		}
	}
	keys := k.Keys()
	slices.Sort(keys) // a section's presence before its keys
	out := make([]leaf, len(keys))
	for i, key := range keys {
		out[i] = all[k.Int(key)]
	}
	return out, nil
}

package jobs

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"github.com/zeta-scaler/zeta-scaler/web/handler"
)

// outline is what of a config Zeta tells, too.
type outline struct {
	env map[string]any
	// sources and sinks are the plugins' names.
	sources, sinks []string
}

// readOutline reads a config in JSON, and says what it has to have and has not.
func readOutline(text []byte) (outline, error) {
	var c struct {
		Env    map[string]any  `json:"env"`
		Source json.RawMessage `json:"source"`
		Sink   json.RawMessage `json:"sink"`
	}
	if err := decodeOne(text, &c); err != nil {
		return outline{}, fmt.Errorf("it is not a job's config in JSON: %w", err)
	}
	o := outline{env: c.Env}
	var err error
	if o.sources, err = pluginNames("source", c.Source); err != nil {
		return outline{}, err
	}
	if o.sinks, err = pluginNames("sink", c.Sink); err != nil {
		return outline{}, err
	}
	if o.mode() == "" {
		return outline{}, errors.New("env has no job.mode")
	}
	return o, nil
}

func decodeOne(text []byte, into any) error {
	dec := json.NewDecoder(bytes.NewReader(text))
	dec.UseNumber()
	if err := dec.Decode(into); err != nil {
		return jsonError(err)
	}
	if _, err := dec.Token(); !errors.Is(err, io.EOF) {
		return errors.New("there is something behind the object")
	}
	return nil
}

// jsonError leaves out the values of the text, which may be secrets.
func jsonError(err error) error {
	if s, ok := errors.AsType[*json.SyntaxError](err); ok {
		return fmt.Errorf("at byte %d", s.Offset)
	}
	if t, ok := errors.AsType[*json.UnmarshalTypeError](err); ok {
		return fmt.Errorf("%q is a JSON %s", handler.Shown(t.Field), strings.Fields(t.Value)[0])
	}
	return errors.New("it ends too early")
}

// pluginNames reads one block: a list of objects that say plugin_name, or an
// object with a key for each.
func pluginNames(block string, raw json.RawMessage) ([]string, error) {
	var list []struct {
		Plugin string `json:"plugin_name"`
	}
	if err := json.Unmarshal(raw, &list); err == nil && len(list) > 0 {
		names := make([]string, len(list))
		for i, p := range list {
			if p.Plugin == "" {
				return nil, fmt.Errorf("%s %d has no plugin_name", block, i+1)
			}
			names[i] = p.Plugin
		}
		return names, nil
	}
	var object map[string]json.RawMessage
	if err := json.Unmarshal(raw, &object); err == nil && len(object) > 0 {
		return slices.Sorted(maps.Keys(object)), nil
	}
	return nil, fmt.Errorf("it has no %s", block)
}

// mode is the job.mode, "" for none.
func (o outline) mode() string {
	mode, _ := o.option("job.mode")
	return mode
}

// option is the value of an option as Zeta would write it. An option with dots
// in its name may stand as one key or as several that lie in each other.
func (o outline) option(name string) (string, bool) {
	v, ok := find(o.env, name)
	if !ok {
		return "", false
	}
	return written(v), true
}

func find(in map[string]any, name string) (any, bool) {
	if v, ok := in[name]; ok {
		return v, true
	}
	for i, r := range name {
		if r != '.' {
			continue
		}
		if below, ok := in[name[:i]].(map[string]any); ok {
			if v, ok := find(below, name[i+1:]); ok {
				return v, true
			}
		}
	}
	return nil, false
}

// written is a value as Java writes it.
func written(v any) string {
	switch x := v.(type) {
	case map[string]any:
		entries := make([]string, 0, len(x))
		for k, v := range x {
			entries = append(entries, k+"="+written(v))
		}
		return sortedMap("{" + strings.Join(entries, ", ") + "}")
	case []any:
		items := make([]string, len(x))
		for i, v := range x {
			items[i] = written(v)
		}
		return "[" + strings.Join(items, ", ") + "]"
	default:
		return fmt.Sprint(x)
	}
}

// options are the names of all options, sorted.
func (o outline) options() []string {
	var names []string
	var walk func(prefix string, in map[string]any)
	walk = func(prefix string, in map[string]any) {
		for k, v := range in {
			if below, ok := v.(map[string]any); ok && len(below) > 0 {
				walk(prefix+k+".", below)
				continue
			}
			names = append(names, prefix+k)
		}
	}
	walk("", o.env)
	slices.Sort(names)
	return names
}

package config

import (
	"maps"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"github.com/zeta-scaler/zeta-scaler/actuators"
	"github.com/zeta-scaler/zeta-scaler/document"
	"github.com/zeta-scaler/zeta-scaler/events"
	"github.com/zeta-scaler/zeta-scaler/leadership"
	"github.com/zeta-scaler/zeta-scaler/state"
)

// newConfig has all defaults.
func newConfig(kinds map[string]document.Kinds) *Config {
	c := &Config{kinds: kinds}
	c.SetDefaults()
	c.State, c.Leadership = kinds["state"].Choice(), kinds["leadership"].Choice()
	if handlers := kinds["events"]; len(handlers) > 0 {
		c.Events = []string{handlers[0].Name}
	}
	return c
}

// Store is what the configuration says about the store.
func (c *Config) Store() state.Opener {
	o, _ := c.State.Options[c.State.Type].(state.Opener)
	return o
}

// Elector is what the configuration says about leadership.
func (c *Config) Elector() leadership.Maker {
	m, _ := c.Leadership.Options[c.Leadership.Type].(leadership.Maker)
	return m
}

// Actuator is the actuator of a scope with its name; the default kind if it sets
// none.
func (c *Config) Actuator(s *Scope) (string, actuators.Maker) {
	for _, k := range c.kinds["actuator"] {
		if m, ok := s.Actuator[k.Name].(actuators.Maker); ok {
			return k.Name, m
		}
	}
	byDefault := c.kinds["actuator"].Choice()
	m, _ := byDefault.Options[byDefault.Type].(actuators.Maker)
	return byDefault.Type, m
}

// Handlers are the event handlers that are told, by their names.
func (c *Config) Handlers() map[string]events.Maker {
	all := c.kinds["events"].New()
	maps.Copy(all, c.EventOptions)
	out := map[string]events.Maker{}
	for _, name := range c.Events {
		if m, ok := all[name].(events.Maker); ok {
			out[name] = m
		}
	}
	return out
}

// settle completes what one kind takes from another.
func (c *Config) settle(r *report) {
	for _, options := range c.Leadership.Options {
		if o, ok := options.(interface {
			Beside(store state.Opener, isSet func(key string) bool)
		}); ok {
			o.Beside(c.Store(), func(key string) bool { return r.isSet(document.Join("leadership", key)) })
		}
	}
}

// first names the first kind of a section that is as asked for, for hints.
func (r *report) first(section string, is func(options any) bool) string {
	for _, k := range r.kinds[section] {
		if is(k.New()) {
			return k.Name
		}
	}
	return ""
}

// checkKinds checks what one kind says about another, and each about itself.
func (c *Config) checkKinds(r *report) {
	store, elector := c.Store(), c.Elector()
	if store != nil && elector != nil && !elector.Fits(store) {
		fits := r.first("state", func(o any) bool { return elector.Fits(o.(state.Opener)) })
		alone := r.first("leadership", func(o any) bool { return o.(leadership.Maker).Alone() })
		needs := "a store that replicas share"
		if store.Shared() {
			needs = "a store beside which it can keep its lease"
		}
		r.fail("leadership.type", document.CheckValue, "state.type: "+fits+", or leadership.type: "+alone+" with one replica",
			"leadership.type %s needs %s, and state.type %s is none", c.Leadership.Type, needs, strconv.Quote(c.State.Type))
	}
	for section, options := range map[string]document.Sections{"state": c.State.Options, "leadership": c.Leadership.Options} {
		for _, name := range slices.Sorted(maps.Keys(options)) {
			r.checkOptions(options[name], section)
		}
	}
}

// checkOptions lets options say which of their values do not go together.
func (r *report) checkOptions(options any, path string) {
	if o, ok := options.(interface {
		Check(fail func(key, format string, args ...any))
	}); ok {
		o.Check(func(key, format string, args ...any) {
			p := document.Join(path, key)
			// What is no value at all is no wrong one besides, and two kinds that have the
			// key say the same.
			if !slices.ContainsFunc(r.Errors, func(d document.Diagnostic) bool { return strings.HasPrefix(d.Message, p+" ") }) {
				r.fail(p, document.CheckValue, "", "%s "+format, append([]any{p}, args...)...)
			}
		})
	}
}

// checkActuator requires at most one actuator.
func (c *Config) checkActuator(r *report, s *Scope, path string) {
	var set []string
	for _, k := range c.kinds["actuator"] {
		if options, ok := s.Actuator[k.Name]; ok {
			set = append(set, k.Name)
			r.checkOptions(options, document.Join(path, k.Name))
		}
	}
	if len(set) > 1 {
		r.fail(path, CheckActuator, "keep one", "%s has %s, expected one actuator", path, strings.Join(set, " and "))
	}
}

// checkEvents requires what the event handlers need.
func (c *Config) checkEvents(r *report) {
	r.unique(c.Events, "events")
	defaults := c.kinds["events"].New()
	for _, name := range c.kinds["events"].Names() {
		section, on := "event_"+name, slices.Contains(c.Events, name)
		options, set := c.EventOptions[name]
		if !set {
			if lacks := r.lacks(defaults[name]); on && len(lacks) > 0 {
				r.fail("events", document.CheckMissingKey, "", "events names %s, which needs %s", name, document.Join(section, lacks[0]))
			}
			continue
		}
		for _, key := range r.lacks(options) {
			if !r.isSet(document.Join(section, key)) { // else its value was already refused
				r.fail(section, document.CheckMissingKey, "", "%s lacks the key %q", section, key)
			}
		}
		r.checkOptions(options, section)
		if !on {
			r.warn(section, CheckUnused, "add "+name+" to events", "%s is not used: events does not name %s", section, name)
		}
	}
}

// lacks are the keys that options must have and have not.
func (r *report) lacks(options any) []string {
	v := reflect.ValueOf(options).Elem()
	s := schema(r.kinds)
	var out []string
	for _, f := range s.Fields(document.Field{Type: v.Type()}) {
		if f.Checks.Has("required") && s.Get(v, f).IsZero() {
			out = append(out, f.Name)
		}
	}
	return out
}

package config

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/zeta-scaler/zeta-scaler/rules"
	"github.com/zeta-scaler/zeta-scaler/scaling"
)

// checkScopes completes the listed scopes from the defaults and checks them.
func (c *Config) checkScopes(r *report) {
	d := &c.ScopeDefaults
	var active *rules.RuleSet
	if d.Discover || d.RuleSet != DefaultRuleSet {
		active = c.checkRuleSet(r, d.RuleSet, "scope_defaults.rule_set")
	}
	c.checkShadows(r, active, d.Shadows, "scope_defaults.shadows")
	matches, targets := map[string]int{}, map[string]int{}
	for i := range c.Scopes {
		s, p := &c.Scopes[i], at("scopes", i)
		if s.Shadows == nil && (s.RuleSet == "" || s.RuleSet == d.RuleSet) {
			s.Shadows = d.Shadows
		}
		s.RuleSet = cmp.Or(s.RuleSet, d.RuleSet)
		rs := c.checkRuleSet(r, s.RuleSet, join(p, "rule_set"))
		c.checkShadows(r, rs, s.Shadows, join(p, "shadows"))
		if rs != nil {
			r.checkMatch(s.Match, rs, p)
			r.checkBounds(s, rs, p)
		}
		r.once(matches, matchText(s.Match), i, join(p, "match"), "has the same match as")
		r.checkActuator(&s.Actuator, join(p, "actuator"))
		if t := s.Actuator.Target(); t != "" {
			r.once(targets, t, i, join(p, "actuator"), fmt.Sprintf("writes to %q, as does", t))
		}
	}
}

// once reports the second scope with the same text.
func (r *report) once(seen map[string]int, text string, i int, path, message string) {
	if j, twice := seen[text]; twice {
		r.fail(path, CheckScope, "", "scopes[%d] %s scopes[%d]", i, message, j)
		return
	}
	seen[text] = i
}

// matchText is a match in one spelling.
func matchText(match map[string]string) string {
	var b strings.Builder
	for _, k := range slices.Sorted(maps.Keys(match)) {
		fmt.Fprintf(&b, "%s=%q,", k, match[k])
	}
	return b.String()
}

// checkMatch requires one value for each label of scope_by and no other.
func (r *report) checkMatch(match map[string]string, rs *rules.RuleSet, path string) {
	p := join(path, "match")
	var lacks []string
	for _, label := range rs.ScopeBy {
		if match[label] == "" {
			lacks = append(lacks, label)
		}
	}
	if len(lacks) > 0 {
		r.fail(p, CheckScope, "", "%s lacks a value for %s: the rule set %q has scope_by %s",
			p, strings.Join(lacks, ", "), rs.Name, labelList(rs.ScopeBy))
	}
	for _, label := range slices.Sorted(maps.Keys(match)) {
		if !slices.Contains(rs.ScopeBy, label) {
			hint := ""
			if len(rs.ScopeBy) > 0 {
				hint = rules.DidYouMean(label, rs.ScopeBy)
			}
			r.fail(join(p, label), CheckScope, hint, "%s has the label %q, but the rule set %q has scope_by %s",
				p, label, rs.Name, labelList(rs.ScopeBy))
		}
	}
}

// resolve lays the keys that a scope sets over the bounds of its rule set.
func (b Bounds) resolve(rs *rules.RuleSet) scaling.Bounds {
	out := scaling.DefaultBounds()
	if rs.Bounds != nil {
		out = *rs.Bounds
	}
	if b.MinWorkers != nil {
		out.Min = *b.MinWorkers
	}
	if b.MaxWorkers != nil {
		out.Max = *b.MaxWorkers
	}
	if b.FloorDelay != nil {
		out.FloorDelay = *b.FloorDelay
	}
	return out
}

func (r *report) checkBounds(s *Scope, rs *rules.RuleSet, path string) {
	p := join(path, "bounds")
	for _, err := range rules.ValidateBounds(s.Bounds.resolve(rs), rs.Step) {
		hint := ""
		if strings.Contains(err.Error(), "step.") || s.Bounds.MinWorkers == nil || s.Bounds.MaxWorkers == nil {
			hint = "what the scope does not set is as in the rule set " + rs.Name
		}
		r.fail(p, rules.CheckBounds, hint, "%s: %v", p, err)
	}
	if s.Mode != scaling.Advisory && s.Bounds.MaxWorkers == nil {
		r.fail(join(path, "mode"), CheckScope, "set bounds.max_workers", "%s is %s, which needs bounds.max_workers",
			join(path, "mode"), s.Mode)
	}
}

// checkActuator requires at most one actuator, with the keys that it needs.
func (r *report) checkActuator(a *Actuator, path string) {
	if kinds := a.kinds(); len(kinds) > 1 {
		r.fail(path, CheckActuator, "keep one", "%s has %s, expected one actuator", path, strings.Join(kinds, " and "))
	}
	need := func(kind string, keys ...string) {
		for i := 0; i < len(keys); i += 2 {
			if keys[i+1] == "" {
				r.missing(join(path, kind), keys[i])
			}
		}
	}
	if e := a.Exec; e != nil {
		need("exec", "command", e.Command, "target", e.Target)
	}
	if w := a.Webhook; w != nil {
		need("webhook", "url", w.URL, "target", w.Target)
		r.httpConfig(&w.HTTPConfig, join(path, "webhook.http_config"))
	}
	if k := a.Kubernetes; k != nil {
		need("kubernetes", "namespace", k.Namespace, "kind", k.Kind, "name", k.Name)
	}
	if y := a.YARN; y != nil {
		need("yarn", "urls", strings.Join(y.URLs, " "), "service", y.Service, "component", y.Component)
		r.httpConfig(&y.HTTPConfig, join(path, "yarn.http_config"))
	}
}

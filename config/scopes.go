package config

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/zeta-scaler/zeta-scaler/document"
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
		s, p := &c.Scopes[i], document.Index("scopes", i)
		if s.Shadows == nil && (s.RuleSet == "" || s.RuleSet == d.RuleSet) {
			s.Shadows = d.Shadows
		}
		s.RuleSet = cmp.Or(s.RuleSet, d.RuleSet)
		rs := c.checkRuleSet(r, s.RuleSet, document.Join(p, "rule_set"))
		c.checkShadows(r, rs, s.Shadows, document.Join(p, "shadows"))
		if rs != nil {
			r.checkMatch(s.Match, rs, p)
			c.checkKey(r, s, p)
			r.checkBounds(s, rs, p)
		}
		// What could not be read is no match; that has been said.
		if m := document.Join(p, "match"); rs == nil || !slices.ContainsFunc(rs.ScopeBy, func(label string) bool { return r.failed(document.Join(m, label)) }) {
			r.once(matches, matchText(s.Match), i, m, "has the same match as")
		}
		c.checkActuator(r, s, document.Join(p, "actuator"))
		c.checkDrain(r, s, document.Join(p, "drain"))
		if _, a := c.Actuator(s); a != nil && a.WritesTo() != "" {
			r.once(targets, a.WritesTo(), i, document.Join(p, "actuator"), fmt.Sprintf("writes to %q, as does", a.WritesTo()))
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

// checkKey refuses to act where alerts could not carry the recommendation's id.
func (c *Config) checkKey(r *report, s *Scope, path string) {
	if n := len(c.Resolved(s).Key); s.Mode != scaling.Advisory && n > scaling.MaxActingKey {
		r.fail(document.Join(path, "match"), CheckScope, "relabel it to a shorter value in the scrape configuration",
			"%s makes a scope key of %d bytes, and a scope of more than %d cannot act: its recommendations could not be named",
			document.Join(path, "match"), n, scaling.MaxActingKey)
	}
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
	p := document.Join(path, "match")
	var lacks []string
	for _, label := range rs.ScopeBy {
		if match[label] == "" && !r.failed(document.Join(p, label)) {
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
				hint = document.DidYouMean(label, rs.ScopeBy)
			}
			r.fail(document.Join(p, label), CheckScope, hint, "%s has the label %q, but the rule set %q has scope_by %s",
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
	p := document.Join(path, "bounds")
	for _, err := range rules.ValidateBounds(s.Bounds.resolve(rs), rs.Step) {
		hint := ""
		if strings.Contains(err.Error(), "step.") || s.Bounds.MinWorkers == nil || s.Bounds.MaxWorkers == nil {
			hint = "what the scope does not set is as in the rule set " + rs.Name
		}
		r.fail(p, rules.CheckBounds, hint, "%s: %v", p, err)
	}
	if s.Mode != scaling.Advisory && s.Bounds.MaxWorkers == nil {
		r.fail(document.Join(path, "mode"), CheckScope, "set bounds.max_workers", "%s is %s, which needs bounds.max_workers",
			document.Join(path, "mode"), s.Mode)
	}
}

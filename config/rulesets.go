package config

import (
	"cmp"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/zeta-scaler/zeta-scaler/document"
	"github.com/zeta-scaler/zeta-scaler/rules"
)

// loader collects rule sets by name.
type loader struct {
	*report
	sets []loaded
	// files are those that were read, so that two patterns may overlap.
	files map[string]bool
	// misread says that an entry could not be read, which has been said.
	misread bool
}

// loaded is a rule set and the entry that named it.
type loaded struct {
	*rules.RuleSet
	entry string
}

// loadRules loads what rule_sets and the flags name. Flags add rule sets; one
// with the name of a rule set of the file takes its place. Without rule_sets in
// the file, those of the flags are all there are.
func (c *Config) loadRules(r *report, flags map[string]any) {
	before := len(r.Errors)
	l := &loader{report: r, files: map[string]bool{}}
	files, packs := texts(flags["rules.file"]), texts(flags["rules.pack"])
	_, configured := r.places["rule_sets"]
	if configured || len(files)+len(packs) == 0 {
		for i, e := range c.RuleSets {
			l.entry(e, document.Index("rule_sets", i))
		}
	}
	fl := &loader{report: r, files: map[string]bool{}}
	for i, p := range packs {
		fl.flag("rules.pack", i, RuleSetEntry{Pack: p})
	}
	for i, f := range files {
		fl.flag("rules.file", i, RuleSetEntry{File: f})
	}
	r.rulesFailed = len(r.Errors) > before || l.misread
	l.sets = slices.DeleteFunc(l.sets, func(s loaded) bool { return fl.find(s.Name) != nil })
	for _, s := range append(l.sets, fl.sets...) {
		c.Rules = append(c.Rules, s.RuleSet)
	}
	slices.SortFunc(c.Rules, func(a, b *rules.RuleSet) int { return cmp.Compare(a.Name, b.Name) })
	c.chooseDefault(r, fl.sets)
}

// chooseDefault settles scope_defaults.rule_set when nothing sets it: the one
// that a flag names, else zeta-auto, else the only one.
func (c *Config) chooseDefault(r *report, given []loaded) {
	if _, set := r.places["scope_defaults.rule_set"]; set {
		return
	}
	switch {
	case len(given) == 1:
		c.ScopeDefaults.RuleSet = given[0].Name
	case c.RuleSet(DefaultRuleSet) == nil && len(c.Rules) == 1:
		c.ScopeDefaults.RuleSet = c.Rules[0].Name
	}
}

// RuleSet returns a loaded rule set by name, or nil.
func (c *Config) RuleSet(name string) *rules.RuleSet {
	for _, rs := range c.Rules {
		if rs.Name == name {
			return rs
		}
	}
	return nil
}

func (l *loader) find(name string) *loaded {
	for i := range l.sets {
		if l.sets[i].Name == name {
			return &l.sets[i]
		}
	}
	return nil
}

func (l *loader) flag(name string, i int, e RuleSetEntry) {
	path := document.Index("--"+name, i)
	l.places[path] = place{origin: FromFlag, pos: document.Position{File: "--" + name}}
	l.entry(e, path)
}

// entry loads one entry of rule_sets.
func (l *loader) entry(e RuleSetEntry, path string) {
	switch {
	case (e.Pack == "") == (e.File == ""):
		l.fail(path, document.CheckValue, "write pack: NAME or file: PATTERN", "%s has neither or both of pack and file, expected one", path)
	case e.Pack != "":
		l.pack(e, path)
	case e.Set != nil:
		l.fail(document.Join(path, "set"), CheckRuleSet, "change the file: it is yours", "%s has set beside file, it changes packs only", path)
	default:
		l.pattern(e.File, path)
	}
}

// pack loads a pack, with what the entry sets of it.
func (l *loader) pack(e RuleSetEntry, path string) {
	at := document.Join(path, "pack")
	if !slices.Contains(rules.Packs(), e.Pack) {
		l.fail(at, CheckRuleSet, document.DidYouMean(e.Pack, rules.Packs()), "there is no pack named %q", e.Pack)
		return
	}
	if e.Set == nil {
		rs, _, err := rules.Pack(e.Pack)
		l.add(rs, err, at)
		return
	}
	set := document.Join(path, "set")
	misread := func(d document.Diagnostic) bool { return strings.Contains(d.Message, set) }
	if slices.ContainsFunc(l.Errors, misread) {
		l.misread = true // what was read of it is not what was meant
		return
	}
	rs, err := rules.Changed(e.Pack, e.Set, func(below, check, message, hint string) document.Diagnostic {
		at := set
		if below != "" {
			at = document.Join(set, below)
		}
		return l.Diagnostic(document.SeverityError, l.at(at), cmp.Or(check, CheckRuleSet), hint, message)
	})
	l.add(rs, err, at)
}

// pattern loads the files that a pattern matches, in the order of their names.
func (l *loader) pattern(pattern, path string) {
	path = document.Join(path, "file")
	matches, err := filepath.Glob(pattern)
	switch {
	case err != nil:
		l.fail(path, document.CheckValue, "close every [, or escape it with \\", "%s is not a pattern of file names: %q", path, pattern)
	case len(matches) == 0:
		l.fail(path, CheckFile, "", "no file matches %s", pattern)
	}
	for _, file := range matches {
		if clean := filepath.Clean(file); !l.files[clean] {
			l.files[clean] = true
			rs, err := rules.ParseFile(file)
			l.add(rs, err, path)
		}
	}
}

func (l *loader) add(rs *rules.RuleSet, err error, path string) {
	var list *document.ErrorList
	switch {
	case errors.As(err, &list):
		l.Errors = append(l.Errors, list.Diagnostics...)
	case err != nil:
		l.fail(path, CheckFile, "", "%v", err)
	default:
		if other := l.find(rs.Name); other != nil {
			hint := "give one of them another name"
			if len(rs.Set) > 0 {
				hint = "keep one of them, and own a copy for the other: zeta-scaler rules show PACK > my-rules.yaml"
			}
			l.fail(path, CheckRuleSet, hint, "the rule set %q is in %s and in %s", rs.Name, other.File, rs.File)
			return
		}
		l.sets = append(l.sets, loaded{RuleSet: rs, entry: path})
	}
}

// checkRuleSet reports a name that no loaded rule set has.
func (c *Config) checkRuleSet(r *report, name, path string) *rules.RuleSet {
	rs := c.RuleSet(name)
	if rs == nil && !r.rulesFailed {
		var known []string
		for _, rs := range c.Rules {
			known = append(known, rs.Name)
		}
		hint := "no rule set is loaded"
		if len(known) > 0 {
			hint = document.DidYouMean(name, known)
		}
		switch {
		case c.RuleSet(rules.ChangedName(name)) != nil:
			hint = "with set the pack is named " + rules.ChangedName(name)
		case slices.Contains(rules.Packs(), name):
			hint = "add it to rule_sets: - pack: " + name
		}
		r.fail(path, CheckRuleSet, hint, "%s names the rule set %q, which is not loaded", path, name)
	}
	return rs
}

// checkShadows checks the rule sets that are evaluated besides.
func (c *Config) checkShadows(r *report, active *rules.RuleSet, names []string, path string) {
	seen := map[string]bool{}
	for i, name := range names {
		p := document.Index(path, i)
		rs := c.checkRuleSet(r, name, p)
		switch {
		case seen[name]:
			r.fail(p, CheckScope, "", "%s: the rule set %q is there twice", p, name)
		case rs == nil || active == nil:
		case rs == active:
			r.fail(p, CheckScope, "", "%s: the rule set %q decides already, a shadow of itself says nothing new", p, name)
		case !slices.Equal(rs.ScopeBy, active.ScopeBy):
			r.fail(p, CheckScope, "", "%s: the rule set %q has scope_by %s, but %q has %s: a shadow judges the same scopes",
				p, name, labelList(rs.ScopeBy), active.Name, labelList(active.ScopeBy))
		}
		seen[name] = true
	}
}

func labelList(labels []string) string { return fmt.Sprintf("[%s]", strings.Join(labels, ", ")) }

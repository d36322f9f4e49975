package config

import (
	"time"

	"github.com/zeta-scaler/zeta-scaler/rules"
	"github.com/zeta-scaler/zeta-scaler/scaling"
)

// Resolved is the scope that an entry names, with its labels in the order of
// its rule set.
func (c *Config) Resolved(s *Scope) scaling.Scope {
	var labels []scaling.Label
	for _, name := range c.RuleSet(s.RuleSet).ScopeBy {
		labels = append(labels, scaling.Label{Name: name, Value: s.Match[name]})
	}
	return scaling.NewScope(labels)
}

// Listed returns the entry of a scope by its key, nil if none lists it.
func (c *Config) Listed(key string) *Scope {
	for i := range c.Scopes {
		if c.Resolved(&c.Scopes[i]).Key == key {
			return &c.Scopes[i]
		}
	}
	return nil
}

// EffectiveBounds are a listed scope's bounds before anything was set at run
// time.
func (c *Config) EffectiveBounds(s *Scope) scaling.Bounds {
	return s.Bounds.resolve(c.RuleSet(s.RuleSet))
}

// TriggerWindow is the longest window that can ask for more workers: what
// triggered an action and is still there that long after it converged was not
// helped by it.
func TriggerWindow(rs *rules.RuleSet) time.Duration {
	var longest time.Duration
	for i := range rs.Signals {
		if out := rs.Signals[i].Out; out != nil {
			longest = max(longest, out.For)
		}
	}
	return longest
}

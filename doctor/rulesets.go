package doctor

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/prometheus/prometheus/model/labels"

	"github.com/zeta-scaler/zeta-scaler/document"
	"github.com/zeta-scaler/zeta-scaler/rules"
	"github.com/zeta-scaler/zeta-scaler/scaling"
	"github.com/zeta-scaler/zeta-scaler/source"
)

const (
	linkRules = "rules"
	linkScope = "scope"
)

// ruleSets asks Prometheus about every rule set, and looks for the listed scopes
// in what says how many workers there are.
func (c *chain) ruleSets(ctx context.Context) {
	if len(c.cfg.Rules) == 0 {
		c.bad(linkRules, "", "set rule_sets: [{pack: zeta-auto}]", "no rule set is loaded: nothing would be decided")
		return
	}
	if c.cfg.Prometheus == nil {
		for _, rs := range c.cfg.Rules {
			c.ok(linkRules, rs.Name, "version %s, %s", rs.Version, rs.Digest)
		}
		return
	}
	if !c.answers {
		c.skip(linkRules, "", "without Prometheus nothing can be asked")
		return
	}
	remote, err := source.NewRemote(c.cfg.RemoteOptions())
	if err != nil {
		return // said at the link prometheus
	}
	defer func() { _ = remote.Close() }()
	for _, rs := range c.cfg.Rules {
		if c.ruleSet(ctx, rs, querier{remote, c.Timeout}) {
			c.scopes(ctx, rs, remote)
		}
	}
}

// ruleSet reports whether the server answered.
func (c *chain) ruleSet(ctx context.Context, rs *rules.RuleSet, q rules.Querier) bool {
	var errs, warnings []string
	for _, d := range rules.CheckServer(ctx, rs, q, rules.ServerOptions{Now: c.Now}) {
		switch d.Severity {
		case document.SeverityError:
			errs = append(errs, d.Message)
		case document.SeverityWarning:
			warnings = append(warnings, d.Message)
		}
	}
	subject := rs.Name + " " + rs.Version
	switch {
	case len(errs) > 0:
		c.bad(linkRules, subject, "see the link prometheus above", "%s", errs[0])
		return false
	case len(warnings) > 0:
		more := ""
		if len(warnings) > 1 {
			more = fmt.Sprintf(" (and %d more)", len(warnings)-1)
		}
		c.doubt(linkRules, subject, "what this version of Zeta does not tell is no fault; all remarks: zeta-scaler check rules --prometheus.url URL FILE",
			"%s%s", warnings[0], more)
	default:
		c.ok(linkRules, subject, "every signal has samples")
	}
	return true
}

// scopes looks for the listed scopes of a rule set.
func (c *chain) scopes(ctx context.Context, rs *rules.RuleSet, q asker) {
	if rs.Workers.Current == nil {
		return
	}
	ctx, cancel := c.within(ctx)
	defer cancel()
	v, err := q.Instant(ctx, rs.Workers.Current.Text, c.Now())
	if err != nil {
		c.bad(linkScope, "", "see the link rules", "workers.current of %s: %s", rs.Name, oneLine(err))
		return
	}
	found := map[string]float64{}
	for i := range v.Samples {
		if scope, ok := scopeOf(&v.Samples[i], rs.ScopeBy); ok {
			found[scope.Key] = v.Samples[i].Value
		}
	}
	for i := range c.cfg.Scopes {
		s := &c.cfg.Scopes[i]
		if c.cfg.RuleSet(s.RuleSet) != rs {
			continue
		}
		scope := c.cfg.Resolved(s)
		if n, ok := found[scope.Key]; ok {
			c.ok(linkScope, scope.Shown(), "%g %s registered, mode %s", n, scaling.Plural(int64(n), "worker is", "workers are"), s.Mode)
			continue
		}
		c.bad(linkScope, scope.Shown(), "spell scopes[].match as the labels of the series are", "workers.current of %s has no sample for it; it has %s", rs.Name, quoted(found))
	}
}

// querier asks for the labels alone.
type querier struct {
	asker
	timeout time.Duration
}

// Instant implements rules.Querier.
func (q querier) Instant(ctx context.Context, expr string, at time.Time) (rules.Answer, error) {
	ctx, cancel := context.WithTimeout(ctx, q.timeout)
	defer cancel()
	v, err := q.asker.Instant(ctx, expr, at)
	if err != nil {
		return rules.Answer{}, err
	}
	a := rules.Answer{Warnings: slices.Clone(v.Warnings), Samples: make([]labels.Labels, len(v.Samples))}
	for i := range v.Samples {
		a.Samples[i] = v.Samples[i].Labels
	}
	return a, nil
}

// listed joins names for people.
func listed(names []string) string { return strings.Join(names, ", ") }

package app

import (
	"errors"
	"fmt"
	"sync"

	"github.com/zeta-scaler/zeta-scaler/api"
	"github.com/zeta-scaler/zeta-scaler/config"
	"github.com/zeta-scaler/zeta-scaler/evaluator"
	"github.com/zeta-scaler/zeta-scaler/rules"
	"github.com/zeta-scaler/zeta-scaler/scaling"
	"github.com/zeta-scaler/zeta-scaler/state"
)

// configuredAPI gives the API what it shows of the configuration that runs.
// It is made once; current may give another configuration after a reload. page is
// under which URL users reach the service.
func configuredAPI(o *api.Options, current func() *config.Config, page func(config.Web) string, source evaluator.Source) {
	v := &configView{current: current}
	if source != nil {
		o.Past = &past{
			source: source, history: o.Store, configured: func(scope string) api.Configured { return v.get().configured(scope) },
			current: v.get, logger: o.Logger, turn: make(chan struct{}, 1),
		}
	}
	o.Settings = func() []api.Setting { return v.get().settings }
	o.Configured = func(scope string) api.Configured { return v.get().configured(scope) }
	o.CheckRuntime = func(scope string, b scaling.Bounds) error { return v.get().check(scope, b) }
	o.Queries = func(ref scaling.RuleSetRef) map[string]evaluator.Query { return v.get().queries(ref) }
	o.RuleSets = func() []*rules.RuleSet { return current().Rules }
	o.RuleSetOrigin = func(ref scaling.RuleSetRef) string { return v.get().origins[ref.Digest] }
	o.PrometheusURL = func() string {
		cfg := current()
		if cfg.Embedded != nil {
			return page(cfg.Web) // which serves promapi
		}
		if p := cfg.Prometheus; p != nil && len(p.URLs) > 0 {
			return p.URLs[0]
		}
		return ""
	}
}

// configView keeps what is derived from a configuration until there is another.
type configView struct {
	current func() *config.Config
	mu      sync.Mutex
	last    *derived
}

// derived is one configuration as the API asks for it.
type derived struct {
	cfg      *config.Config
	settings []api.Setting
	// places are where the settings come from, by path; listed the index of a
	// listed scope by its key.
	places map[string]api.Place
	listed map[string]int
	// origins are where the rule sets were read from, by digest.
	origins map[string]string
}

func (v *configView) get() *derived {
	v.mu.Lock()
	defer v.mu.Unlock()
	if cfg := v.current(); v.last == nil || v.last.cfg != cfg {
		v.last = derive(cfg)
	}
	return v.last
}

func derive(cfg *config.Config) *derived {
	d := &derived{cfg: cfg, places: map[string]api.Place{}, listed: map[string]int{}, origins: map[string]string{}}
	for _, rs := range cfg.Rules {
		d.origins[rs.Digest] = rs.Origin()
	}
	for _, s := range cfg.Settings() {
		d.settings = append(d.settings, api.Setting{Path: s.Path, Value: s.Value, Origin: api.Origin(s.Origin), Source: s.Source})
		d.places[s.Path] = api.Place{Origin: api.Origin(s.Origin), Source: s.Source}
	}
	for i := range cfg.Scopes {
		d.listed[cfg.Resolved(&cfg.Scopes[i]).Key] = i
	}
	return d
}

// ruleSet evaluates a scope; nil if none is loaded for it.
func (d *derived) ruleSet(scope string) *rules.RuleSet {
	if i, ok := d.listed[scope]; ok {
		return d.cfg.RuleSet(d.cfg.Scopes[i].RuleSet)
	}
	return d.cfg.RuleSet(d.cfg.ScopeDefaults.RuleSet)
}

// configured lays a listed scope over its rule set over the defaults.
func (d *derived) configured(scope string) api.Configured {
	byDefault := api.Place{Origin: api.FromDefault}
	c := api.Configured{
		Configured: state.Configured{Bounds: scaling.DefaultBounds(), Mode: scaling.Advisory}, MinFrom: byDefault, MaxFrom: byDefault, ModeFrom: byDefault,
	}
	if rs := d.ruleSet(scope); rs != nil && rs.Bounds != nil {
		c.Bounds = *rs.Bounds
		c.MinFrom = api.Place{Origin: api.FromRuleSet, Source: rs.File}
		c.MaxFrom = c.MinFrom
	}
	i, ok := d.listed[scope]
	if !ok {
		return c
	}
	s := &d.cfg.Scopes[i]
	place := func(key string) api.Place { return d.places[fmt.Sprintf("scopes[%d].%s", i, key)] }
	c.Listed, c.Mode, c.ModeFrom = true, s.Mode, place("mode")
	if s.Bounds.MinWorkers != nil {
		c.Bounds.Min, c.MinFrom = *s.Bounds.MinWorkers, place("bounds.min_workers")
	}
	if s.Bounds.MaxWorkers != nil {
		c.Bounds.Max, c.MaxFrom = *s.Bounds.MaxWorkers, place("bounds.max_workers")
	}
	if s.Bounds.FloorDelay != nil {
		c.Bounds.FloorDelay = *s.Bounds.FloorDelay
	}
	return c
}

// check says why the step policy of a scope's rule set cannot work with bounds.
func (d *derived) check(scope string, b scaling.Bounds) error {
	rs := d.ruleSet(scope)
	if rs == nil {
		return nil
	}
	return errors.Join(rules.ValidateBounds(b, rs.Step)...)
}

// queries are those of the very rules that decided, not of others with the same
// name.
func (d *derived) queries(ref scaling.RuleSetRef) map[string]evaluator.Query {
	rs := d.cfg.RuleSet(ref.Name)
	if rs == nil || rs.Digest != ref.Digest {
		return nil
	}
	return evaluator.Queries(rs)
}

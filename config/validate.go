package config

import (
	"maps"
	"slices"
	"strconv"
	"strings"

	promconfig "github.com/prometheus/common/config"

	"github.com/zeta-scaler/zeta-scaler/rules"
)

// validate checks what no value can be judged by alone.
func (c *Config) validate(r *report) {
	c.checkSource(r)
	c.checkClusters(r)
	c.checkProbe(r)
	c.checkScopes(r)
	c.checkLeadership(r)
	c.checkEvents(r)
	first := map[string]int{}
	for i, a := range c.Alerting.Alertmanagers {
		p := at("alerting.alertmanagers", i)
		if a.URL == "" {
			r.missing(p, "url")
		} else if j, twice := first[a.URL]; twice {
			r.fail(join(p, "url"), rules.CheckValue, "", "%s is the same as alerting.alertmanagers[%d].url", join(p, "url"), j)
		} else {
			first[a.URL] = i
		}
		r.httpConfig(&a.HTTPConfig, join(p, httpConfig))
		c.Alerting.Alertmanagers[i] = a
	}
	c.checkActive(r)
	c.checkAvailable(r)
	c.warnUnused(r)
}

// missing reports a key that must be there; if it is there, its value was
// already refused.
func (r *report) missing(path, key string) {
	if _, set := r.places[join(path, key)]; !set {
		r.fail(path, rules.CheckMissingKey, "", "%s lacks the key %q", path, key)
	}
}

// httpConfig checks which credentials exclude each other.
func (r *report) httpConfig(h *promconfig.HTTPClientConfig, path string) {
	errs := []error{h.Validate(), h.TLSConfig.Validate()}
	if h.OAuth2 != nil {
		errs = append(errs, h.OAuth2.Validate())
	}
	for _, err := range errs {
		if err != nil {
			r.fail(path, rules.CheckValue, "", "%s: %v", path, err)
		}
	}
}

// checkSource checks where samples come from.
func (c *Config) checkSource(r *report) {
	if c.Prometheus != nil && c.Embedded != nil {
		r.fail("embedded", rules.CheckValue, "remove one of the two",
			"both prometheus (set by %s) and embedded, expected one", sourceText(r.at("prometheus")))
	}
	if p := c.Prometheus; p != nil {
		if len(p.URLs) == 0 {
			r.fail("prometheus.urls", rules.CheckValue, "", "prometheus.urls is empty, expected at least one URL")
		}
		r.unique(p.URLs, "prometheus.urls")
		r.checkHeaders(p.Headers, "prometheus.headers")
		for _, name := range slices.Sorted(maps.Keys(p.QueryParams)) {
			if slices.Contains([]string{"query", "time", "start", "end", "step", "timeout", "lookback_delta"}, name) {
				path := join("prometheus.query_params", name)
				r.fail(path, rules.CheckValue, "", "%s is set by every query itself", path)
			}
		}
		r.httpConfig(&p.HTTPConfig, "prometheus.http_config")
	}
	if e := c.Embedded; e != nil && len(c.Clusters) == 0 && e.ScrapeConfigs == "" {
		r.warn("embedded", CheckUnused, "add clusters, or embedded.scrape_configs", "embedded scrapes nothing: no scope can ever appear")
	}
	if e := c.Embedded; e != nil && e.ScrapeConfigs != "" {
		r.checkJobs(c.scrapeOptions())
	}
}

// unique reports entries of a list that are there twice.
func (r *report) unique(values []string, path string) {
	for i, v := range values {
		if j := slices.Index(values, v); j < i && v != "" {
			r.fail(at(path, i), rules.CheckValue, "", "%s is the same as %s", at(path, i), at(path, j))
		}
	}
}

func (c *Config) checkClusters(r *report) {
	first := map[string]int{}
	for i := range c.Clusters {
		cl, p := &c.Clusters[i], at("clusters", i)
		if cl.Name == "" {
			r.missing(p, "name")
		} else if j, twice := first[cl.Name]; twice {
			r.fail(join(p, "name"), rules.CheckValue, "", "%s is %q, as is clusters[%d].name", join(p, "name"), cl.Name, j)
		} else {
			first[cl.Name] = i
		}
		if len(cl.URLs) == 0 {
			r.missing(p, "urls")
		}
		r.httpConfig(&cl.HTTPConfig, join(p, httpConfig))
		r.located(p, cl.exporter().Validate())
	}
}

func (c *Config) checkProbe(r *report) {
	r.httpConfig(&c.Probe.HTTPConfig, "probe.http_config")
	r.located("probe", c.ProbeConfig().Validate())
	if _, set := r.places["probe.http_config"]; set && len(c.Probe.AllowedTargets) == 0 {
		r.warn("probe.http_config", CheckUnused, "list the targets in probe.allowed_targets",
			"probe.http_config is not used: without allowed_targets, no credentials are sent")
	}
}

// located reports errors of package zeta, which begin with the key's path, at
// that key, unless the key has an error already.
func (r *report) located(section string, err error) {
	for _, e := range split(err) {
		key, message, ok := strings.Cut(e.Error(), ": ")
		if !ok {
			key, message = "", e.Error()
		}
		path := join(section, key)
		here := r.at(path)
		known := func(d rules.Diagnostic) bool { return d.Pos == here }
		if !slices.ContainsFunc(r.errs, known) {
			r.fail(path, rules.CheckValue, "", "%s: %s", path, message)
		}
	}
}

// split takes a joined error apart.
func split(err error) []error {
	if err == nil {
		return nil
	}
	if joined, ok := err.(interface{ Unwrap() []error }); ok {
		return joined.Unwrap()
	}
	return []error{err}
}

// checkLeadership refuses a choice of leader that nothing could be shared by.
func (c *Config) checkLeadership(r *report) {
	l := &c.Leadership
	if l.Type == "kubernetes" && c.State.Type != "kubernetes" {
		r.fail("leadership.type", rules.CheckValue, "state.type: kubernetes, or leadership.type: none with one replica",
			"leadership.type %s needs a store that replicas share, and state.type %s is none", l.Type, strconv.Quote(c.State.Type))
	}
	if l.RenewDeadline >= l.LeaseDuration {
		r.fail("leadership.renew_deadline", rules.CheckValue, "", "leadership.renew_deadline %s is not shorter than lease_duration %s: the old leader could still act while the next one does",
			l.RenewDeadline, l.LeaseDuration)
	}
	if 12*l.RetryPeriod >= 10*l.RenewDeadline {
		r.fail("leadership.retry_period", rules.CheckValue, "", "leadership.retry_period %s is too long for renew_deadline %s: expected less than five sixths of it",
			l.RetryPeriod, l.RenewDeadline)
	}
}

// checkEvents requires what the event handlers need.
func (c *Config) checkEvents(r *report) {
	r.unique(c.Events, "events")
	if w := c.EventWebhook; w != nil {
		if w.URL == "" {
			r.missing("event_webhook", "url")
		}
		r.httpConfig(&w.HTTPConfig, "event_webhook.http_config")
	}
	switch on := slices.Contains(c.Events, "webhook"); {
	case on && c.EventWebhook == nil:
		r.fail("events", rules.CheckMissingKey, "", "events names webhook, which needs event_webhook.url")
	case !on && c.EventWebhook != nil:
		r.warn("event_webhook", CheckUnused, "add webhook to events", "event_webhook is not used: events does not name webhook")
	}
}

// warnUnused names rule sets that nothing uses: nobody loads one for nothing.
func (c *Config) warnUnused(r *report) {
	used := map[string]bool{}
	use := func(active string, shadows []string) {
		used[active] = true
		for _, s := range shadows {
			used[s] = true
		}
	}
	if c.ScopeDefaults.Discover {
		use(c.ScopeDefaults.RuleSet, c.ScopeDefaults.Shadows)
	}
	for _, s := range c.Scopes {
		use(s.RuleSet, s.Shadows)
	}
	for _, rs := range c.Rules {
		if !used[rs.Name] {
			r.warn("rule_sets", CheckUnused, "name it in scopes or scope_defaults, as rule_set or as a shadow",
				"the rule set %q is loaded, but no scope uses it", rs.Name)
		}
	}
}

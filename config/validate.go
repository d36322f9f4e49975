package config

import (
	"maps"
	"net/url"
	"slices"
	"strings"

	"github.com/zeta-scaler/zeta-scaler/document"
)

// validate checks what one value alone does not show.
func (c *Config) validate(r *report) {
	c.checkHTTP(r)
	c.checkSource(r)
	c.checkCredentials(r)
	c.checkClusters(r)
	c.checkProbe(r)
	c.checkScopes(r)
	c.checkKinds(r)
	c.checkEvents(r)
	c.checkKeys(r)
	first := map[string]int{}
	for i, a := range c.Alerting.Alertmanagers {
		p := document.Index("alerting.alertmanagers", i)
		if j, twice := first[address(a.URL)]; twice && a.URL != "" {
			r.fail(document.Join(p, "url"), document.CheckValue, "", "%s is the same as alerting.alertmanagers[%d].url", document.Join(p, "url"), j)
		} else {
			first[address(a.URL)] = i
		}
	}
	c.checkActive(r)
	c.warnUnused(r)
}

// checkSource checks where samples come from.
func (c *Config) checkSource(r *report) {
	if c.Prometheus != nil && c.Embedded != nil {
		r.fail("embedded", document.CheckValue, "remove one of the two",
			"both prometheus (set by %s) and embedded, expected one", r.at("prometheus").String())
	}
	if p := c.Prometheus; p != nil {
		if len(p.URLs) == 0 {
			r.fail("prometheus.urls", document.CheckValue, "", "prometheus.urls is empty, expected at least one URL")
		}
		addresses := make([]string, len(p.URLs))
		for i, u := range p.URLs {
			addresses[i] = address(u)
		}
		r.unique(addresses, "prometheus.urls")
		r.checkHeaders(p.Headers, "prometheus.headers")
		for _, name := range slices.Sorted(maps.Keys(p.QueryParams)) {
			if slices.Contains([]string{"query", "time", "start", "end", "step", "timeout", "lookback_delta"}, name) {
				path := document.Join("prometheus.query_params", name)
				r.fail(path, document.CheckValue, "", "%s is set by every query itself", path)
			}
		}
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
			r.fail(document.Index(path, i), document.CheckValue, "", "%s is the same as %s", document.Index(path, i), document.Index(path, j))
		}
	}
}

// address is a URL in the one form of all that lead to the same place.
func address(raw string) string {
	u, err := url.Parse(raw)
	if err != nil {
		return raw
	}
	u.Host, u.Path = strings.ToLower(u.Host), strings.TrimRight(u.Path, "/")
	return u.String()
}

func (c *Config) checkClusters(r *report) {
	first := map[string]int{}
	for i := range c.Clusters {
		cl, p := &c.Clusters[i], document.Index("clusters", i)
		if j, twice := first[cl.Name]; twice && cl.Name != "" {
			r.fail(document.Join(p, "name"), document.CheckValue, "", "%s is %q, as is clusters[%d].name", document.Join(p, "name"), cl.Name, j)
		} else {
			first[cl.Name] = i
		}
		r.located(p, cl.exporter().Validate())
	}
}

func (c *Config) checkProbe(r *report) {
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
		path := document.Join(section, key)
		here := r.at(path)
		known := func(d document.Diagnostic) bool { return d.Pos == here }
		if !slices.ContainsFunc(r.Errors, known) {
			r.fail(path, document.CheckValue, "", "%s: %s", path, message)
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

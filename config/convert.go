package config

import (
	"net/url"

	"github.com/zeta-scaler/zeta-scaler/evaluator"
	"github.com/zeta-scaler/zeta-scaler/scaling"
	"github.com/zeta-scaler/zeta-scaler/source"
	"github.com/zeta-scaler/zeta-scaler/zeta"
)

// EvaluatorConfig is what the evaluator needs and can reload.
func (c *Config) EvaluatorConfig() evaluator.Config {
	out := evaluator.Config{
		RuleSets: c.Rules, Discover: c.ScopeDefaults.Discover, DefaultRuleSet: c.ScopeDefaults.RuleSet,
		DefaultShadows: c.ScopeDefaults.Shadows, ForgetAfter: c.ScopeDefaults.ForgetAfter,
	}
	for i := range c.Clusters {
		out.Clusters = append(out.Clusters, c.Clusters[i].Name)
	}
	for _, s := range c.Scopes {
		out.Scopes = append(out.Scopes, evaluator.ScopeConfig{
			Match: s.Match, RuleSet: s.RuleSet, Shadows: s.Shadows, Bounds: c.scopeBounds(s),
			Mode: s.Mode, Deployment: s.Deployment,
		})
	}
	return out
}

// scopeBounds is nil where the scope sets none: then the rule set's hold.
func (c *Config) scopeBounds(s Scope) *scaling.Bounds {
	if s.Bounds == (Bounds{}) {
		return nil
	}
	b := s.Bounds.resolve(c.RuleSet(s.RuleSet))
	return &b
}

// autoMethod is the http_method that is found out.
const autoMethod = "auto"

// RemoteOptions are those of the section prometheus, which must not be nil.
// Logger, registerer and user agent are the caller's to add.
func (c *Config) RemoteOptions() source.RemoteOptions {
	p := c.Prometheus
	o := source.RemoteOptions{
		URLs: p.URLs, Timeout: p.Timeout, MaxResponse: int64(p.MaxResponse), LookbackDelta: p.LookbackDelta,
		Headers: p.Headers, QueryParams: url.Values{}, HTTPClientConfig: &p.HTTPConfig,
	}
	if p.HTTPMethod != autoMethod {
		o.Method = p.HTTPMethod
	}
	for k, v := range p.QueryParams {
		o.QueryParams.Set(k, v)
	}
	return o
}

// EmbeddedOptions are those of the section embedded, which must not be nil.
// Logger, registerers and in-process targets are the caller's to add.
func (c *Config) EmbeddedOptions() source.EmbeddedOptions {
	return source.EmbeddedOptions{Path: c.Embedded.Path, Retention: c.Embedded.Retention, Scrape: c.scrapeOptions()}
}

func (c *Config) scrapeOptions() source.ScrapeOptions {
	return source.ScrapeOptions{Configs: string(c.Embedded.ScrapeConfigs), Dir: c.dir}
}

// ClusterConfigs are the clusters as the exporter takes them.
func (c *Config) ClusterConfigs() []zeta.ClusterConfig {
	out := make([]zeta.ClusterConfig, len(c.Clusters))
	for i := range c.Clusters {
		out[i] = c.Clusters[i].exporter()
	}
	return out
}

func (c *Cluster) exporter() zeta.ClusterConfig {
	return zeta.ClusterConfig{
		Name: c.Name, URLs: c.URLs, EndpointTimeout: c.EndpointTimeout,
		MaxResponse: int64(c.MaxResponse), HTTPClientConfig: c.HTTPConfig,
	}
}

// ProbeConfig is the section probe as the exporter takes it.
func (c *Config) ProbeConfig() zeta.ProbeConfig {
	return zeta.ProbeConfig{AllowedTargets: c.Probe.AllowedTargets, HTTPClientConfig: c.Probe.HTTPConfig}
}

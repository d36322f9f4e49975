package config

import (
	"github.com/zeta-scaler/zeta-scaler/rules"
	"github.com/zeta-scaler/zeta-scaler/scaling"
)

// checkActive requires what a scope that acts cannot do without (spec 4).
func (c *Config) checkActive(r *report) {
	for i := range c.Scopes {
		s, p := &c.Scopes[i], at("scopes", i)
		if s.Mode != scaling.Webhook && s.Mode != scaling.Direct {
			continue
		}
		mode := join(p, "mode")
		if c.State.Type == "memory" {
			r.fail(mode, CheckScope, "state.type: file", "%s is %s, but state.type memory forgets at a restart what was done", mode, s.Mode)
		}
		if s.Deployment == scaling.Application {
			r.fail(mode, CheckScope, "mode: advisory", "%s is %s, but an application's capacity is fixed: losing a worker fails its job", mode, s.Mode)
		}
		if s.Mode == scaling.Webhook {
			c.checkCallback(r, mode)
		}
		if len(s.Actuator.kinds()) == 0 {
			r.warn(mode, CheckUnused, "set "+join(p, "actuator"), "%s is %s without an actuator: what would be done is only logged", mode, s.Mode)
		}
	}
}

// checkCallback says what keeps Alertmanager from calling back.
func (c *Config) checkCallback(r *report, mode string) {
	// A file that cannot be read is an error by itself.
	if c.Web.BearerTokensFile == "" && c.Web.ConfigFile == "" && !r.isSet("web.bearer_tokens_file") && !r.isSet("web.config_file") {
		r.fail(mode, rules.CheckMissingKey, "set web.bearer_tokens_file, or basic_auth_users in web.config_file",
			"%s is webhook, but nobody has a credential: Alertmanager's calls would be refused", mode)
	}
	if len(c.Alerting.Alertmanagers) == 0 {
		r.warn(mode, CheckUnused, "set alerting.alertmanagers", "%s is webhook, but no Alertmanager is told of recommendations: none can call back", mode)
	}
}

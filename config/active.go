package config

import (
	"github.com/zeta-scaler/zeta-scaler/document"
	"github.com/zeta-scaler/zeta-scaler/scaling"
	"github.com/zeta-scaler/zeta-scaler/state"
	"github.com/zeta-scaler/zeta-scaler/web"
)

// checkActive requires what a scope that acts cannot do without (spec 4).
func (c *Config) checkActive(r *report) {
	for i := range c.Scopes {
		s, p := &c.Scopes[i], document.Index("scopes", i)
		if s.Mode != scaling.Webhook && s.Mode != scaling.Direct {
			continue
		}
		mode := document.Join(p, "mode")
		if store := c.Store(); store != nil && !store.Durable() {
			hint := "state.type: " + r.first("state", func(o any) bool { return o.(state.Opener).Durable() })
			r.fail(mode, CheckScope, hint, "%s is %s, but state.type %s forgets at a restart what was done", mode, s.Mode, c.State.Type)
		}
		if s.Deployment == scaling.Application {
			r.fail(mode, CheckScope, "mode: advisory", "%s is %s, but an application's capacity is fixed: losing a worker fails its job", mode, s.Mode)
		}
		if s.Mode == scaling.Webhook {
			c.checkCallback(r, mode)
		}
		if len(s.Actuator) == 0 {
			r.warn(mode, CheckUnused, "set "+document.Join(p, "actuator"), "%s is %s without an actuator: what would be done is only logged", mode, s.Mode)
		}
	}
}

// checkCredentials reads the files with the server's users and tokens as the
// server will, and says what keeps everybody out.
func (c *Config) checkCredentials(r *report) {
	w := &c.Web
	if w.ConfigFile != "" {
		users, err := web.Users(w.ConfigFile)
		r.others("web.config_file", err)
		c.hasCredential = len(users) > 0
	}
	if w.BearerTokensFile != "" {
		err := web.CheckTokens(w.BearerTokensFile)
		r.others("web.bearer_tokens_file", err)
		c.hasCredential = true
	}
	// A file that cannot be used is an error by itself.
	c.hasCredential = c.hasCredential || r.failed("web.config_file") || r.failed("web.bearer_tokens_file")
	if !w.OpenReads && !c.hasCredential {
		r.fail("web.open_reads", document.CheckMissingKey, credentialHint,
			"web.open_reads is false, but nobody has a credential: nothing could be read")
	}
}

const credentialHint = "set web.bearer_tokens_file, or basic_auth_users in web.config_file"

// checkCallback says what keeps Alertmanager from calling back.
func (c *Config) checkCallback(r *report, mode string) {
	if !c.hasCredential {
		r.fail(mode, document.CheckMissingKey, credentialHint,
			"%s is webhook, but nobody has a credential: Alertmanager's calls would be refused", mode)
	}
	if len(c.Alerting.Alertmanagers) == 0 {
		r.warn(mode, CheckUnused, "set alerting.alertmanagers", "%s is webhook, but no Alertmanager is told of recommendations: none can call back", mode)
	}
}

package config

import "github.com/zeta-scaler/zeta-scaler/scaling"

// checkAvailable refuses what the configuration can already say but this
// version cannot do: whoever sets it would wait for it in vain. It is the only
// place that knows, to be removed with the parts that come.
func (c *Config) checkAvailable(r *report) {
	for i := range c.Scopes {
		s := &c.Scopes[i]
		if s.Actuator.YARN != nil && (s.Mode == scaling.Webhook || s.Mode == scaling.Direct) {
			p := join(at("scopes", i), "actuator.yarn")
			r.fail(p, CheckNotAvailable, "use exec or webhook", "%s: this version has no actuator for YARN", p)
		}
	}
}

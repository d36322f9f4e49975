package config

import "github.com/zeta-scaler/zeta-scaler/scaling"

// checkAvailable refuses what the configuration can already say but this
// version cannot do: whoever sets it would wait for it in vain. It is the only
// place that knows, to be removed with the parts that come.
func (c *Config) checkAvailable(r *report) {
	for i, s := range c.Scopes {
		if s.Mode != scaling.Advisory {
			p := join(at("scopes", i), "mode")
			r.fail(p, CheckNotAvailable, "use mode: advisory", "%s: mode %s needs an executor, which this version does not have", p, s.Mode)
		}
	}
}

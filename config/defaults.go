package config

import (
	"time"

	promconfig "github.com/prometheus/common/config"

	"github.com/zeta-scaler/zeta-scaler/document"
	"github.com/zeta-scaler/zeta-scaler/scaling"
)

// DefaultRuleSet is the pack that is used when nothing names a rule set.
const DefaultRuleSet = "zeta-auto"

// DefaultListenAddress is the service's; the exporter and the demo give their
// own to Load.
const DefaultListenAddress = ":9880"

// SetDefaults implements document.Defaulter, as do those below.
func (c *Config) SetDefaults() {
	c.Log = Log{Level: "info", Format: "logfmt"}
	c.Web = Web{ListenAddress: DefaultListenAddress, OpenReads: true}
	c.Probe.HTTPConfig = promconfig.DefaultHTTPClientConfig
	c.RuleSets = []RuleSetEntry{{Pack: DefaultRuleSet}}
	c.ScopeDefaults = ScopeDefaults{Discover: true, RuleSet: DefaultRuleSet, ForgetAfter: time.Hour}
	c.History = History{MaxRecords: 1000, MaxAge: 7 * 24 * time.Hour}
	c.Alerting = Alerting{ResendDelay: time.Minute, QueueCapacity: 10000}
	c.Metrics = Metrics{PerSignal: true}
}

// SetDefaults asks the server on this machine.
func (p *Prometheus) SetDefaults() {
	p.URLs = []string{"http://localhost:9090"}
	p.Timeout = 10 * time.Second
	p.MaxResponse = 64 * document.MiB
	p.LookbackDelta = 5 * time.Minute
	p.HTTPMethod = autoMethod
	p.HTTPConfig = promconfig.DefaultHTTPClientConfig
}

// SetDefaults keeps 15 days below the working directory.
func (e *Embedded) SetDefaults() {
	e.Path = "data/tsdb"
	e.Retention = 15 * 24 * time.Hour
}

// SetDefaults bounds what one endpoint may take of time and memory.
func (c *Cluster) SetDefaults() {
	c.EndpointTimeout = 3 * time.Second
	c.MaxResponse = 32 * document.MiB
	c.HTTPConfig = promconfig.DefaultHTTPClientConfig
}

// SetDefaults lets a scope do nothing by itself.
func (s *Scope) SetDefaults() {
	s.Mode = scaling.Advisory
	s.Deployment = scaling.Session
	s.Cooldown = 5 * time.Minute
	s.FailureBackoff = 3 * time.Minute
	s.ConvergenceTimeout = 10 * time.Minute
	s.Drain.SetDefaults()
}

// SetDefaults drains nothing.
func (d *Drain) SetDefaults() {
	d.WorkerAttribute = "worker"
	d.Timeout = 15 * time.Minute
	d.Batch = "wait"
	d.Hold = true
}

// SetDefaults asks as Prometheus does.
func (a *Alertmanager) SetDefaults() { a.HTTPConfig = promconfig.DefaultHTTPClientConfig }

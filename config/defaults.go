package config

import (
	"time"

	promconfig "github.com/prometheus/common/config"

	"github.com/zeta-scaler/zeta-scaler/scaling"
)

// DefaultRuleSet is the pack that is used when nothing names a rule set.
const DefaultRuleSet = "zeta-auto"

// DefaultListenAddress is the service's; the exporter and the demo give their
// own to Load.
const DefaultListenAddress = ":9880"

// defaulter is a struct with defaults. What it sets is overwritten by what is
// configured.
type defaulter interface{ setDefaults() }

func (c *Config) setDefaults() {
	c.Log = Log{Level: "info", Format: "logfmt"}
	c.Web = Web{ListenAddress: DefaultListenAddress, OpenReads: true}
	c.Probe.HTTPConfig = promconfig.DefaultHTTPClientConfig
	c.RuleSets = []RuleSetEntry{{Pack: DefaultRuleSet}}
	c.ScopeDefaults = ScopeDefaults{Discover: true, RuleSet: DefaultRuleSet, ForgetAfter: time.Hour}
	c.State = State{Type: "file", Path: "data/state.db", Name: "zeta-scaler"}
	c.Leadership = Leadership{
		Type: "none", LockFile: "data/lock",
		LeaseDuration: 15 * time.Second, RenewDeadline: 10 * time.Second, RetryPeriod: 2 * time.Second,
	}
	c.History = History{MaxRecords: 1000, MaxAge: 7 * 24 * time.Hour}
	c.Alerting = Alerting{ResendDelay: time.Minute, QueueCapacity: 10000}
	c.Events = []string{"log"}
	c.Metrics = Metrics{PerSignal: true}
}

func (p *Prometheus) setDefaults() {
	p.URLs = []string{"http://localhost:9090"}
	p.Timeout = 10 * time.Second
	p.MaxResponse = 64 * MiB
	p.LookbackDelta = 5 * time.Minute
	p.HTTPConfig = promconfig.DefaultHTTPClientConfig
}

func (e *Embedded) setDefaults() {
	e.Path = "data/tsdb"
	e.Retention = 15 * 24 * time.Hour
}

func (c *Cluster) setDefaults() {
	c.EndpointTimeout = 3 * time.Second
	c.MaxResponse = 32 * MiB
	c.HTTPConfig = promconfig.DefaultHTTPClientConfig
}

func (s *Scope) setDefaults() {
	s.Mode = scaling.Advisory
	s.Deployment = scaling.Session
	s.Cooldown = 5 * time.Minute
	s.FailureBackoff = 3 * time.Minute
	s.ConvergenceTimeout = 10 * time.Minute
}

func (a *Alertmanager) setDefaults() { a.HTTPConfig = promconfig.DefaultHTTPClientConfig }

func (e *EventWebhook) setDefaults() {
	e.Timeout = 10 * time.Second
	e.HTTPConfig = promconfig.DefaultHTTPClientConfig
}

func (a *ExecActuator) setDefaults() { a.Timeout = time.Minute }

func (a *WebhookActuator) setDefaults() {
	a.Timeout = 10 * time.Second
	a.HTTPConfig = promconfig.DefaultHTTPClientConfig
}

func (a *YARNActuator) setDefaults() { a.HTTPConfig = promconfig.DefaultHTTPClientConfig }

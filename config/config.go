package config

import (
	"time"

	promconfig "github.com/prometheus/common/config"

	"github.com/zeta-scaler/zeta-scaler/rules"
	"github.com/zeta-scaler/zeta-scaler/scaling"
)

// Config is the whole configuration, checked, defaults filled in. It is not
// changed after Load. The tag yaml names a key; the tag check says what its
// value must be, in the words of checks.go.
type Config struct {
	// Log is how the process logs.
	Log Log `yaml:"log"`
	// Web is the HTTP server.
	Web Web `yaml:"web"`
	// Prometheus is the server that the rule sets ask; nil with Embedded.
	Prometheus *Prometheus `yaml:"prometheus"`
	// Embedded is a Prometheus inside this process; nil with Prometheus.
	Embedded *Embedded `yaml:"embedded"`
	// Clusters are the Zeta clusters that the exporter asks. With Embedded, the
	// service collects them itself.
	Clusters []Cluster `yaml:"clusters"`
	// Probe is for the exporter's /probe.
	Probe Probe `yaml:"probe"`
	// RuleSets are the rule sets to load, as the file names them.
	RuleSets []RuleSetEntry `yaml:"rule_sets"`
	// ScopeDefaults is for the scopes that no entry of Scopes matches.
	ScopeDefaults ScopeDefaults `yaml:"scope_defaults"`
	// Scopes are the scopes that are listed by name.
	Scopes []Scope `yaml:"scopes"`
	// State is where decisions, pauses and history are kept.
	State State `yaml:"state"`
	// Leadership says how replicas agree on who decides.
	Leadership Leadership `yaml:"leadership"`
	// History bounds what is kept per scope; whichever is less.
	History History `yaml:"history"`
	// Alerting is who is told by alerts.
	Alerting Alerting `yaml:"alerting"`
	// Events are the event handlers, by name.
	Events []string `yaml:"events" check:"oneof=log|kubernetes|webhook"`
	// EventWebhook is for the event handler webhook; nil without it.
	EventWebhook *EventWebhook `yaml:"event_webhook"`
	// Metrics says which series are exported.
	Metrics Metrics `yaml:"metrics"`

	// Rules are the loaded rule sets, those of flags included, by name.
	Rules []*rules.RuleSet `yaml:"-"`
	// Warnings are worth a look, but stop nothing; those of the rule sets are
	// among them.
	Warnings []rules.Diagnostic `yaml:"-"`

	// places are where values were set, by path; what is not there is a default.
	places map[string]place
	// dir is the folder of the file, which scrape_configs is relative to.
	dir string
}

// Log is how the process logs.
type Log struct {
	// Level is the least level that is logged: debug, info, warn or error.
	Level string `yaml:"level" check:"oneof=debug|info|warn|error"`
	// Format is logfmt or json.
	Format string `yaml:"format" check:"oneof=logfmt|json"`
}

// Web is the HTTP server.
type Web struct {
	// ListenAddress is host:port; the host may be left out.
	ListenAddress string `yaml:"listen_address" check:"address"`
	// ExternalURL is under which users reach the service, for links in alerts;
	// empty: made from the host name and the port.
	ExternalURL string `yaml:"external_url" check:"url"`
	// ConfigFile has TLS and basic_auth_users in the format of Prometheus'
	// exporter toolkit; empty: neither.
	ConfigFile string `yaml:"config_file" check:"file"`
	// BearerTokensFile has one bearer token per line; empty: none.
	BearerTokensFile string `yaml:"bearer_tokens_file" check:"file"`
	// OpenReads lets requests that change nothing pass without a credential.
	OpenReads bool `yaml:"open_reads"`
	// EnableLifecycle lets /-/reload pass without a credential on a loopback
	// address. Only the flag --web.enable-lifecycle sets it.
	EnableLifecycle bool `yaml:"enable_lifecycle" check:"flagonly"`
}

// Prometheus is a server that speaks the HTTP API of Prometheus.
type Prometheus struct {
	// URLs are the replicas of one logical server; one is pinned until it fails.
	URLs []string `yaml:"urls" check:"required,url"`
	// Timeout bounds one query, failover included.
	Timeout time.Duration `yaml:"timeout" check:"least=1ms"`
	// MaxResponse bounds one reply.
	MaxResponse Bytes `yaml:"max_response" check:"least=1KiB"`
	// LookbackDelta is how old the newest sample of a series may be; 0s leaves
	// it to the server.
	LookbackDelta time.Duration `yaml:"lookback_delta"`
	// Headers go with every request, such as X-Scope-OrgID.
	Headers map[string]string `yaml:"headers" check:"headers"`
	// QueryParams go with every request.
	QueryParams map[string]string `yaml:"query_params"`
	// HTTPConfig has credentials, TLS and proxy, as Prometheus has them.
	HTTPConfig promconfig.HTTPClientConfig `yaml:"http_config"`
}

// Embedded is a Prometheus inside this process.
type Embedded struct {
	// Path is the folder of the time series database.
	Path string `yaml:"path" check:"required,path"`
	// Retention is how long samples are kept.
	Retention time.Duration `yaml:"retention" check:"least=1h"`
	// ScrapeConfigs are what is scraped besides Clusters, as in Prometheus.
	ScrapeConfigs ScrapeConfigs `yaml:"scrape_configs"`
}

// ScrapeConfigs is a list as below scrape_configs of a Prometheus
// configuration, as YAML text.
type ScrapeConfigs string

// Cluster is one Zeta cluster.
type Cluster struct {
	// Name is the value of the label cluster.
	Name string `yaml:"name" check:"required"`
	// URLs are the nodes to ask, one of them at a time: http://host:8080 with
	// the context path for REST v2, http://host:5801 for REST v1.
	URLs []string `yaml:"urls" check:"required,url"`
	// EndpointTimeout is how long a scrape waits for one endpoint.
	EndpointTimeout time.Duration `yaml:"endpoint_timeout" check:"least=1ms"`
	// MaxResponse bounds one reply.
	MaxResponse Bytes `yaml:"max_response" check:"least=1KiB"`
	// HTTPConfig has credentials, TLS and proxy, as Prometheus has them.
	HTTPConfig promconfig.HTTPClientConfig `yaml:"http_config"`
}

// Probe is for the exporter's /probe.
type Probe struct {
	// AllowedTargets are the URLs that may be probed; empty: every one, but then
	// HTTPConfig is not used, so that no credential leaves.
	AllowedTargets []string `yaml:"allowed_targets" check:"url"`
	// HTTPConfig is for the allowed targets.
	HTTPConfig promconfig.HTTPClientConfig `yaml:"http_config"`
}

// RuleSetEntry is one pack or one pattern of files.
type RuleSetEntry struct {
	// Pack is the name of an embedded rule set.
	Pack string `yaml:"pack"`
	// File is a path, which may have * and ? in it.
	File string `yaml:"file" check:"path"`
}

// ScopeDefaults is for the scopes that are not listed. They are never more
// than advisory.
type ScopeDefaults struct {
	// Discover makes scopes appear by themselves when they have workers.
	Discover bool `yaml:"discover"`
	// RuleSet judges them. If it is not set and zeta-auto is not loaded, it is
	// the only rule set that is.
	RuleSet string `yaml:"rule_set"`
	// Shadows are rule sets that are evaluated besides, for comparison.
	Shadows []string `yaml:"shadows"`
	// ForgetAfter is how long a discovered scope is kept after its last sample.
	ForgetAfter time.Duration `yaml:"forget_after" check:"least=1s"`
}

// Scope is one listed scope.
type Scope struct {
	// Match has one value for each label of the rule set's scope_by.
	Match map[string]string `yaml:"match"`
	// RuleSet judges the scope; empty in the file: that of ScopeDefaults.
	RuleSet string `yaml:"rule_set"`
	// Shadows are evaluated besides; not set: those of ScopeDefaults, if the rule
	// set is the same too.
	Shadows []string `yaml:"shadows"`
	// Bounds win over those of the rule set, key by key.
	Bounds Bounds `yaml:"bounds"`
	// Mode is what a recommendation may lead to.
	Mode scaling.Mode `yaml:"mode" check:"oneof=advisory|webhook|direct"`
	// Deployment is session, or application for Zeta's Application Mode.
	Deployment scaling.Deployment `yaml:"deployment" check:"oneof=session|application"`
	// Cooldown is how long the scope rests after an action converged.
	Cooldown time.Duration `yaml:"cooldown"`
	// FailureBackoff is how long it rests after an action failed, the first time.
	FailureBackoff time.Duration `yaml:"failure_backoff" check:"least=1s"`
	// ConvergenceTimeout is how long workers may take to register.
	ConvergenceTimeout time.Duration `yaml:"convergence_timeout" check:"least=1s"`
	// Actuator is what changes the worker count.
	Actuator Actuator `yaml:"actuator"`
}

// Bounds are the keys that a scope sets; nil: as the rule set has it.
type Bounds struct {
	// MinWorkers is the least number of workers.
	MinWorkers *int `yaml:"min_workers" check:"least=0"`
	// MaxWorkers is the greatest number of workers.
	MaxWorkers *int `yaml:"max_workers" check:"least=1"`
	// FloorDelay is how long the scope may stay below MinWorkers.
	FloorDelay *time.Duration `yaml:"floor_delay"`
}

// State is where decisions, pauses and history are kept.
type State struct {
	// Type is file, memory or kubernetes.
	Type string `yaml:"type" check:"oneof=file|memory|kubernetes"`
	// Path is the file of type file.
	Path string `yaml:"path" check:"required,path"`
	// Namespace is where type kubernetes keeps its ConfigMaps, and leadership
	// its Lease.
	Namespace string `yaml:"namespace"`
	// Name begins the names of both.
	Name string `yaml:"name" check:"required"`
	// Kubeconfig is how to reach the cluster; empty: the one that we run in.
	Kubeconfig string `yaml:"kubeconfig" check:"file"`
}

// Leadership says how replicas agree on who decides.
type Leadership struct {
	// Type is none, one replica, or kubernetes, any number of them.
	Type string `yaml:"type" check:"oneof=none|kubernetes"`
	// LockFile keeps a second process from deciding; empty: no lock.
	LockFile string `yaml:"lock_file" check:"path"`
	// LeaseDuration is how long the others wait for a leader that is silent,
	// RenewDeadline when that leader has stopped at the latest, RetryPeriod how
	// often each of them tries.
	LeaseDuration time.Duration `yaml:"lease_duration" check:"least=1s"`
	RenewDeadline time.Duration `yaml:"renew_deadline" check:"least=1s"`
	RetryPeriod   time.Duration `yaml:"retry_period" check:"least=100ms"`
}

// History bounds what is kept per scope.
type History struct {
	// MaxRecords is how many records are kept per scope.
	MaxRecords int `yaml:"max_records" check:"least=1"`
	// MaxAge is how long a record is kept.
	MaxAge time.Duration `yaml:"max_age" check:"least=1m"`
}

// Alerting is who is told by alerts.
type Alerting struct {
	// Alertmanagers all get every alert.
	Alertmanagers []Alertmanager `yaml:"alertmanagers"`
	// ResendDelay is how often an active alert is sent again.
	ResendDelay time.Duration `yaml:"resend_delay" check:"least=1s"`
	// QueueCapacity is how many alerts wait while Alertmanager is away.
	QueueCapacity int `yaml:"queue_capacity" check:"least=1"`
}

// Alertmanager is one Alertmanager.
type Alertmanager struct {
	// URL is its address, with the path in front of /api/v2 if there is one.
	URL string `yaml:"url" check:"required,url"`
	// HTTPConfig has credentials, TLS and proxy, as Prometheus has them.
	HTTPConfig promconfig.HTTPClientConfig `yaml:"http_config"`
}

// EventWebhook is told every event.
type EventWebhook struct {
	// URL is posted to.
	URL string `yaml:"url" check:"required,url"`
	// Timeout is how long one call may take.
	Timeout time.Duration `yaml:"timeout" check:"least=1s"`
	// SecretFile has the key that signs the body; empty: no signature.
	SecretFile string `yaml:"secret_file" check:"file"`
	// HTTPConfig has credentials, TLS and proxy, as Prometheus has them.
	HTTPConfig promconfig.HTTPClientConfig `yaml:"http_config"`
}

// Metrics says which series are exported.
type Metrics struct {
	// PerSignal exports the signal_* metrics, which are most of the series.
	PerSignal bool `yaml:"per_signal"`
}

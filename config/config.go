package config

import (
	"time"

	promconfig "github.com/prometheus/common/config"

	"github.com/zeta-scaler/zeta-scaler/document"
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
	// Jobs are what jobs can be restored from.
	Jobs Jobs `yaml:"jobs"`
	// State is where decisions, pauses and history are kept: one of the kinds of
	// store.
	State document.Choice `yaml:"state" check:"kinds=state"`
	// Leadership says how replicas agree on who decides: one of the kinds.
	Leadership document.Choice `yaml:"leadership" check:"kinds=leadership"`
	// History bounds what is kept per scope; whichever is less.
	History History `yaml:"history"`
	// Alerting is who is told by alerts.
	Alerting Alerting `yaml:"alerting"`
	// Events are the kinds of event handlers that are told.
	Events []string `yaml:"events" check:"kind=events"`
	// EventOptions are what the file says about them, by their names.
	EventOptions document.Sections `yaml:",inline" check:"kinds=events,prefix=event_"`
	// Metrics says which series are exported.
	Metrics Metrics `yaml:"metrics"`

	// File is the configuration file that was read, empty if there was none.
	File string `yaml:"-"`
	// Rules are the loaded rule sets, those of flags included, by name.
	Rules []*rules.RuleSet `yaml:"-"`
	// Warnings are worth a look, but stop nothing; those of the rule sets are
	// among them.
	Warnings []document.Diagnostic `yaml:"-"`

	// kinds are what can be chosen from.
	kinds map[string]document.Kinds
	// places are where values were set, by path; what is not there is a default.
	places map[string]place
	// hasCredential says that somebody can be known to the server, or would be if
	// the file with them were right.
	hasCredential bool
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
	// AdvertiseURL is where other replicas reach this one; empty: made from what is
	// listened on.
	AdvertiseURL string `yaml:"advertise_url" check:"url"`
	// Leader is how a replica that does not lead asks the one that does.
	Leader Leader `yaml:"leader"`
	// ConfigFile has TLS and basic_auth_users in the format of Prometheus'
	// exporter toolkit; empty: neither.
	ConfigFile string `yaml:"config_file" check:"file"`
	// BearerTokensFile has one bearer token per line; empty: none.
	BearerTokensFile string `yaml:"bearer_tokens_file" check:"file"`
	// OpenReads lets requests that change nothing pass without a credential.
	OpenReads bool `yaml:"open_reads"`
	// AllowedHosts are names, beside that of ExternalURL, by which the service is
	// read without a credential: "*.example.com" is every name below, "*" every
	// name. Addresses, the machine's own name and names that no public domain has
	// are allowed anyway.
	AllowedHosts []string `yaml:"allowed_hosts" check:"host"`
	// EnableLifecycle lets /-/reload pass without a credential on a loopback
	// address. Only the flag --web.enable-lifecycle sets it.
	EnableLifecycle bool `yaml:"enable_lifecycle" check:"flagonly"`
}

// Leader is the way from a replica that does not lead to the one that does. No
// credential is added to what was asked.
type Leader struct {
	TLSConfig LeaderTLS `yaml:"tls_config"`
}

// LeaderTLS says which certificate the leader must have, and which one it is
// shown.
type LeaderTLS struct {
	// CAFile has the authorities that are trusted; empty: those of the system.
	CAFile string `yaml:"ca_file" check:"file"`
	// ServerName is the name that the leader's certificate must have; empty: the
	// host of its URL.
	ServerName string `yaml:"server_name"`
	// CertFile and KeyFile are a certificate of ours, for servers that want one of
	// their clients.
	CertFile string `yaml:"cert_file" check:"file"`
	KeyFile  string `yaml:"key_file" check:"file"`
}

// Prometheus has them in the form of Prometheus' clients.
func (t *LeaderTLS) Prometheus() promconfig.TLSConfig {
	return promconfig.TLSConfig{CAFile: t.CAFile, ServerName: t.ServerName, CertFile: t.CertFile, KeyFile: t.KeyFile}
}

// Prometheus is a server that speaks the HTTP API of Prometheus.
type Prometheus struct {
	// URLs are the replicas of one logical server; one is pinned until it fails.
	URLs []string `yaml:"urls" check:"required,url"`
	// Timeout bounds one query, failover included.
	Timeout time.Duration `yaml:"timeout" check:"least=1ms"`
	// MaxResponse bounds one reply.
	MaxResponse document.Bytes `yaml:"max_response" check:"least=1KiB"`
	// LookbackDelta is how old the newest sample of a series may be; 0s leaves
	// it to the server.
	LookbackDelta time.Duration `yaml:"lookback_delta"`
	// HTTPMethod is that of queries; auto tries POST, because expressions can be
	// longer than a URL, and falls back to GET where only that gets through.
	HTTPMethod string `yaml:"http_method" check:"oneof=auto|GET|POST"`
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
	Path string `yaml:"path" check:"required,path=folder"`
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
	MaxResponse document.Bytes `yaml:"max_response" check:"least=1KiB"`
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
	// Set changes numbers of the pack, whose name then ends in "+set".
	Set rules.Changes `yaml:"set"`
	// File is a path, which may have * and ? in it.
	File string `yaml:"file" check:"path"`
}

// ScopeDefaults is for the scopes that are not listed. They are never more
// than advisory.
type ScopeDefaults struct {
	// Discover makes scopes appear by themselves when they have workers.
	Discover bool `yaml:"discover"`
	// RuleSet evaluates them. If it is not set and zeta-auto is not loaded, it is
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
	// RuleSet evaluates the scope; empty in the file: that of ScopeDefaults.
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
	// Drain says whether, and how, a worker may be emptied and removed.
	Drain Drain `yaml:"drain"`
	// Actuator is what changes the worker count: one of the kinds, or none.
	Actuator document.Sections `yaml:"actuator" check:"kinds=actuator"`
}

// Drain is how a worker of a scope is emptied before it is removed.
type Drain struct {
	// Enabled lets recommendations, in a mode that acts, and people drain workers.
	Enabled bool `yaml:"enabled"`
	// Cluster is the name of the scope's cluster in Clusters; empty: the value of
	// the label cluster in Match, or else the only cluster that there is.
	Cluster string `yaml:"cluster"`
	// WorkerAttribute is the member attribute whose value is the name that the
	// platform has for the worker; empty: the workers bear none.
	WorkerAttribute string `yaml:"worker_attribute"`
	// Timeout is how long a drain waits for jobs in batch mode, and for everything
	// else before the worker is empty.
	Timeout time.Duration `yaml:"timeout" check:"least=1s"`
	// Batch says what is done about jobs in batch mode.
	Batch string `yaml:"batch" check:"oneof=wait"`
	// Hold has a job of our own take the worker's slots while it goes, where they
	// are fixed.
	Hold bool `yaml:"hold"`
	// AllowStateMembers lets a worker go that holds a part of Zeta's state.
	AllowStateMembers bool `yaml:"allow_state_members"`
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

// Jobs are what jobs can be restored from, because Zeta does not give back what
// they were submitted with.
type Jobs struct {
	// Folder has the configs of jobs by id or name, for all clusters, and in folders
	// that are called as a cluster for that one; empty: none are registered.
	Folder string `yaml:"folder" check:"path=read"`
	// SecretsFolder has the files that ${file:NAME} in a config names; empty: none
	// may be named.
	SecretsFolder string `yaml:"secrets_folder" check:"path=read"`
	// Key seals the configs that are submitted through the API; empty, with KeyFile
	// empty: none are kept.
	Key promconfig.Secret `yaml:"key"`
	// KeyFile has keys, one a line, the first of which seals.
	KeyFile string `yaml:"key_file" check:"file=filled"`
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
	// RunbookURL is what alerts link to, with the alert's name behind a #; empty:
	// the runbook that the service serves itself.
	RunbookURL string `yaml:"runbook_url" check:"url"`
}

// Alertmanager is one Alertmanager.
type Alertmanager struct {
	// URL is its address, with the path in front of /api/v2 if there is one.
	URL string `yaml:"url" check:"required,url"`
	// HTTPConfig has credentials, TLS and proxy, as Prometheus has them.
	HTTPConfig promconfig.HTTPClientConfig `yaml:"http_config"`
}

// Metrics says which series are exported.
type Metrics struct {
	// PerSignal exports the signal_* metrics, which are most of the series.
	PerSignal bool `yaml:"per_signal"`
}

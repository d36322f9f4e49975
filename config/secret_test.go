package config

import (
	"bytes"
	"encoding/json"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/zeta-scaler/zeta-scaler/app/kinds"
)

// TestBadFilesKeepSecrets looks for the secret that some bad files have in them.
func TestBadFilesKeepSecrets(t *testing.T) {
	files, err := filepath.Glob("testdata/bad/*.yml")
	require.NoError(t, err)
	with := 0
	for _, file := range files {
		b, err := os.ReadFile(file)
		require.NoError(t, err)
		if strings.Contains(string(b), "hunter2") {
			with++
			_, err = Load(Options{Kinds: kinds.All(), File: file, FileRequired: true})
			require.Error(t, err)
			require.NotContains(t, err.Error(), "hunter2", file)
		}
	}
	require.Greater(t, with, 5)
}

// TestSecretsInOddPlacesStayThere covers mistakes around secrets: the error
// must not quote the line.
func TestSecretsInOddPlacesStayThere(t *testing.T) {
	for _, text := range []string{
		"prometheus:\n  http_config:\n    basic_auth: hunter2\n",
		"prometheus:\n  http_config: hunter2\n",
		"prometheus:\n  http_config:\n    basic_auth: {password: [hunter2]}\n",
		"prometheus:\n  http_config:\n    basic_auth: {password: {a: hunter2}}\n",
		"prometheus:\n  http_config:\n    authorization: {credentials: 'hunter2', credentials: hunter2}\n",
		"prometheus:\n  http_config:\n    basic_auth:\n      password:\n        - hunter2\n",
		"prometheus:\n  headers:\n    A:\n      - hunter2\n",
		"prometheus:\n  http_config:\n    authorization:\n      credentials: |\n        hunter2\n      type: [hunter2]\n",
		"prometheus: {pasword: hunter2}\n",
		"prometheus: {urls: 'http://u:hunter2@p'}\n",
		"prometheus: {urls: ['http://u:hunter2@p:bad']}\n",
		"prometheus: {urls: ['ftp://u:hunter2@p']}\n",
		"prometheus: {headers: {X-Token: [hunter2]}}\n",
		"prometheus: {headers: {A: [hunter2]}}\n",
		"web: {bearer_tokens: hunter2}\n",
		"clusters: [{name: a, urls: ['http://u:hunter2@m:8080']}]\n",
		"clusters: [{name: a, urls: ['http://m'], http_config: {tls_config: {key: hunter2}}}]\n",
		"prometheus: {http_config: {http_headers: {X: {secrets: [hunter2]}}}}\n",
		"prometheus: {http_config: {http_headers: {X-Api-Key: {values: [hunter2]}}}}\n",
		"prometheus: {http_config: {proxy_url: 'foo://u:hunter2@p'}}\n",
		"prometheus: {http_config: {oauth2: {client_id: a, token_url: 'http://u:hunter2@t'}}}\n",
		"prometheus: {http_config: {oauth2: {client_id: a, token_url: 'http://t?key=hunter2'}}}\n",
		"prometheus: {http_config: {oauth2: {client_id: a, token_url: 'http://t', endpoint_params: {client_assertion: hunter2}}}}\n",
		"clusters: [{name: a, urls: ['http://m'], http_config: {oauth2: {client_id: a, token_url: 'http://t', endpoint_params: {password: hunter2}}}}]\n",
		"probe: {allowed_targets: ['http://u:hunter2@m:8080']}\n",
		"embedded: {scrape_configs: [{job_name: a, authorization: {credentials: hunter2}}]}\n",
		"embedded: {scrape_configs: [{job_name: a, static_configs: [{targets: ['http://u:hunter2@x']}]}]}\n",
		"embedded: {scrape_configs: [{job_name: a, proxy_url: 'http://u:hunter2@x'}]}\n",
		"embedded: {scrape_configs: [{job_name: a, http_sd_configs: [{url: 'http://u:hunter2@x'}]}]}\n",
		// A space or a slash too few.
		"prometheus: {http_config: {basic_auth: {username: ann, password:hunter2}}}\n",
		"prometheus: {query_params: {token:hunter2}}\n",
		"prometheus: {headers: {X-Api-Key:\"hunter2\"}}\n",
		"clusters:\n- name: a\n  urls: ['http:/u:hunter2@m:8080']\n",
		"embedded: {scrape_configs: [{job_name: a, authorization: {credentials:hunter2}}]}\n",
		"embedded: {scrape_configs: [{job_name: a, basic_auth: hunter2}]}\n",
		"embedded: {scrape_configs: [{job_name: a, http_headers: {X-Api-Key: hunter2}}]}\n",
	} {
		_, err := loadText(t, text, nil, nil)
		require.Error(t, err, text)
		require.NotContains(t, err.Error(), "hunter2", text)
	}
}

func TestSecretsOfTheEnvironmentAreMasked(t *testing.T) {
	env := []string{
		"ZETA_SCALER__PROMETHEUS__HEADERS__X_API_KEY=hunter2",
		"ZETA_SCALER__PROMETHEUS__QUERY_PARAMS__TOKEN=hunter2",
		"ZETA_SCALER__PROMETHEUS__HTTP_CONFIG__BASIC_AUTH__PASSWORD=hunter2",
		"ZETA_SCALER__PROMETHEUS__HTTP_CONFIG__BASIC_AUTH__USERNAME=ann",
		"ZETA_SCALER__PROMETHEUS__HTTP_CONFIG__PROXY_URL=http://u:hunter2@proxy:3128",
		"ZETA_SCALER__PROBE__HTTP_CONFIG__AUTHORIZATION__CREDENTIALS=hunter2",
	}
	c, err := loadText(t, "probe: {allowed_targets: ['http://m:8080']}", env, nil)
	require.NoError(t, err)
	require.Equal(t, "hunter2", c.Prometheus.Headers["X-Api-Key"])
	js, err := json.Marshal(c)
	require.NoError(t, err)
	var log bytes.Buffer
	slog.New(slog.NewJSONHandler(&log, nil)).Info("loaded", "config", c)
	for _, shown := range []string{
		c.String(), string(js), log.String(), fmt.Sprint(c), fmt.Sprintf("%v %+v %#v", c, c, c), fmt.Sprint(c.Settings()),
	} {
		require.NotContains(t, shown, "hunter2")
		require.Contains(t, shown, "X-Api-Key")
	}
	s := settingOf(t, c, "prometheus.headers.X-Api-Key")
	require.Equal(t, Setting{
		Path: "prometheus.headers.X-Api-Key", Value: masked, Origin: FromEnvironment,
		Source: "ZETA_SCALER__PROMETHEUS__HEADERS__X_API_KEY",
	}, s)
	require.Equal(t, masked, settingOf(t, c, "prometheus.http_config.basic_auth.password").Value)
	require.Equal(t, "ann", settingOf(t, c, "prometheus.http_config.basic_auth.username").Value)
	require.Equal(t, "http://<secret>@proxy:3128", settingOf(t, c, "prometheus.http_config.proxy_url").Value)

	// A secret variable that is wrong is not quoted either.
	for _, env := range [][]string{
		{"ZETA_SCALER__PROMETHEUS__HTTP_CONFIG__PROXY_URL=foo://u:hunter2@proxy"},
		{"ZETA_SCALER__PROMETHEUS__HTTP_CONFIG__TLS_CONFIG__CERT=text", "ZETA_SCALER__PROMETHEUS__HTTP_CONFIG__TLS_CONFIG__KEY=hunter2"},
	} {
		_, err = Load(Options{Kinds: kinds.All(), Env: env})
		require.Error(t, err)
		require.NotContains(t, err.Error(), "hunter2")
	}
}

// Jobs may have secrets where Prometheus takes them from nowhere but the file.
func TestSecretsOfJobsAreMasked(t *testing.T) {
	c, err := loadText(t, `embedded:
  scrape_configs:
    - job_name: a
      params: {token: [hunter2], module: [http]}
      authorization: {type: Bearer}
      http_headers: {X-Api-Key: {values: [hunter2]}}
      http_sd_configs: [{url: "http://inventory/targets?key=hunter2"}]
`, nil, nil)
	require.NoError(t, err)
	require.NotContains(t, c.String(), "hunter2")
	shown := settingOf(t, c, "embedded.scrape_configs").Value
	require.Equal(t, `- job_name: a
  params: {token: [<secret>], module: [<secret>]}
  authorization: {type: Bearer}
  http_headers: {X-Api-Key: {values: [<secret>]}}
  http_sd_configs: [{url: "http://inventory/<secret>"}]
`, shown)
}

// What may be a secret by its kind is hidden wherever it stands in a job, and what
// everybody can see in Prometheus is not.
func TestJobsAreShownWithoutSecrets(t *testing.T) {
	c, err := loadText(t, `embedded:
  scrape_configs:
    - job_name: a
      scrape_interval: 15s
      metrics_path: /hunter1/metrics
      params: {"match[]": [hunter2], module: [hunter3]}
      static_configs:
        - targets: ["m1:8080"]
          labels: {cluster: prod, __param_target: hunter4, __metrics_path__: /hunter5}
      relabel_configs:
        - {target_label: team, replacement: zeta}
        - {source_labels: [__address__], target_label: __param_target, replacement: $1}
        - {target_label: __param_key, replacement: hunter6}
        - {target_label: __metrics_path__, replacement: "/hunter7/$1"}
        - {action: labelmap, regex: x_(.+), replacement: "__param_hunter8_$1"}
      http_sd_configs: [{url: "http://inventory/hunter9"}]
      oauth2: {client_id: a, client_secret_file: f, token_url: "http://id/hunter10?x=y", endpoint_params: {zone: hunter11}}
      http_headers: {X-Zone: {values: [hunter12]}}
      proxy_url: "http://hunter13@proxy:3128"
    - job_name: b
      metrics_path: /hazelcast/rest/instance/metrics
      metric_relabel_configs: [{source_labels: [a], target_label: b, replacement: "c-$1"}]
`, nil, nil)
	require.NoError(t, err)
	require.NotContains(t, c.String(), "hunter")
	require.Equal(t, `- job_name: a
  scrape_interval: 15s
  metrics_path: <secret>
  params: {"match[]": [<secret>], module: [<secret>]}
  static_configs:
    - targets: ["m1:8080"]
      labels: {cluster: prod, __param_target: <secret>, __metrics_path__: <secret>}
  relabel_configs:
    - {target_label: team, replacement: zeta}
    - {source_labels: [__address__], target_label: __param_target, replacement: $1}
    - {target_label: __param_key, replacement: <secret>}
    - {target_label: __metrics_path__, replacement: "<secret>"}
    - {action: labelmap, regex: x_(.+), replacement: "<secret>"}
  http_sd_configs: [{url: "http://inventory/<secret>"}]
  oauth2: {client_id: a, client_secret_file: f, token_url: "http://id/<secret>", endpoint_params: {zone: <secret>}}
  http_headers: {X-Zone: {values: [<secret>]}}
  proxy_url: "http://<secret>@proxy:3128"
- job_name: b
  metrics_path: /hazelcast/rest/instance/metrics
  metric_relabel_configs: [{source_labels: [a], target_label: b, replacement: "c-$1"}]
`, settingOf(t, c, "embedded.scrape_configs").Value)

	// Nor does an error quote a line that may hold one.
	for _, job := range []string{
		"metrics_path: [hunter2]", "params: hunter2", "relabel_configs: [{target_label: __param_key, replacement: [hunter2]}]",
		"http_sd_configs: [{url: 'ftp://x/hunter2'}]",
	} {
		_, err := loadText(t, "embedded:\n  scrape_configs:\n    - job_name: a\n      "+job+"\n", nil, nil)
		require.Error(t, err, job)
		require.NotContains(t, err.Error(), "hunter2", job)
	}
}

// In a file that is not YAML nobody knows where a secret ends.
func TestSecretsOfBrokenFilesAreNotQuoted(t *testing.T) {
	for _, text := range []string{
		"prometheus:\n  http_config:\n    basic_auth: {username: u, password: \"x\n      hunter2: [",
		"prometheus:\n  headers:\n    X-Api-Key:\n      - |\n   hunter2\n",
		"prometheus:\n  http_config:\n    authorization:\n      credentials: >\n        a\n     hunter2: b\n",
		"prometheus:\n  http_config: {authorization: {credentials: *hunter2}}\n",
		"web: {listen_address: ':9880'}\nprometheus: {http_config: {basic_auth: {password: hunter2}}\nstate: {}\n",
		"prometheus:\n  http_config:\n    basic_auth:\n      password:\n\t\thunter2\n",
	} {
		_, err := loadText(t, text, nil, nil)
		require.ErrorContains(t, err, "not YAML", text)
		require.NotContains(t, err.Error(), "hunter2", text)
	}
}

// The URL of a chat is a secret as a whole, and commands take secrets as
// arguments; whoever may read without a credential sees the settings.
func TestPathsOfWebhooksAndArgumentsAreMasked(t *testing.T) {
	c, err := loadText(t, `events: [log, webhook]
event_webhook: {url: "https://hooks.example/services/hunter2"}
scopes:
  - match: {cluster: a}
    actuator: {exec: {command: /bin/true, args: [--token, hunter2], target: a}}
  - match: {cluster: b}
    actuator: {webhook: {url: "http://scaler.example:8080/hunter2/scale", target: b}}
  - match: {cluster: c}
    actuator: {webhook: {url: "http://scaler.example:8080", target: c}}
`, nil, nil)
	require.NoError(t, err)
	require.NotContains(t, c.String(), "hunter2")
	require.Equal(t, "https://hooks.example/<secret>", settingOf(t, c, "event_webhook.url").Value)
	require.Equal(t, "http://scaler.example:8080/<secret>", settingOf(t, c, "scopes[1].actuator.webhook.url").Value)
	require.Equal(t, "http://scaler.example:8080", settingOf(t, c, "scopes[2].actuator.webhook.url").Value)
	require.Equal(t, masked, settingOf(t, c, "scopes[0].actuator.exec.args[1]").Value)
	require.Equal(t, "/bin/true", settingOf(t, c, "scopes[0].actuator.exec.command").Value)
}

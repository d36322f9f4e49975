package app

import (
	"bytes"
	"context"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/zeta-scaler/zeta-scaler/app/kinds"
	"github.com/zeta-scaler/zeta-scaler/config"
	"github.com/zeta-scaler/zeta-scaler/leadership"
)

// lines is a log that many write.
type lines struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (l *lines) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

func (l *lines) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}

// A file full of secrets: none is seen in what is served, in the log of start,
// reload and failed requests, or in the error of a reload that fails.
func TestNoSecretIsShown(t *testing.T) {
	remote := `prometheus:
  urls: ["http://127.0.0.1:1/prom"]
  timeout: 1s
  headers: {X-Zone: hunter1}
  query_params: {zone: hunter2}
  http_config:
    basic_auth: {username: ann, password_file: password}
    http_headers: {X-Other: {files: [other]}}
`
	embedded := `embedded:
  path: DIR/tsdb
  scrape_configs:
    - job_name: a
      scrape_interval: 1s
      metrics_path: /hunter4/metrics
      params: {zone: [hunter5]}
      static_configs: [{targets: ["127.0.0.1:1"], labels: {__param_key: hunter6}}]
      relabel_configs: [{target_label: __param_other, replacement: hunter7}]
      http_sd_configs: [{url: "http://127.0.0.1:1/hunter8?x=hunter9"}]
`
	rest := `log: {level: debug}
alerting: {alertmanagers: [{url: "http://127.0.0.1:1/am", http_config: {authorization: {credentials_file: password}}}]}
clusters: [{name: prod, urls: ["http://127.0.0.1:1"], http_config: {basic_auth: {username: bob, password_file: password}}}]
events: [log, webhook]
event_webhook: {url: "http://127.0.0.1:1/hunter10", secret_file: other}
rule_sets: [{file: quick.yaml}]
scopes:
  - match: {cluster: prod}
    bounds: {max_workers: 9}
    actuator: {exec: {command: /bin/true, args: [--token, hunter11], target: a}}
  - match: {cluster: test}
    bounds: {max_workers: 9}
    actuator: {webhook: {url: "http://127.0.0.1:1/hunter12", target: b}}
`
	for name, source := range map[string]string{"remote": remote, "embedded": embedded} {
		t.Run(name, func(t *testing.T) {
			dir, all := nowhere(t), kinds.All()
			write := func(name, text string) {
				require.NoError(t, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600))
			}
			write("password", "hunter13")
			write("other", "hunter14")
			text := strings.ReplaceAll(source+rest, "DIR", dir)
			write("zeta-scaler.yml", text)
			log := &lines{}
			s, err := newService(t.Context(), Options{Log: log, Load: func() (*config.Config, error) {
				return config.Load(config.Options{Kinds: all, File: filepath.Join(dir, "zeta-scaler.yml"), Flags: map[string]any{
					"web.listen-address": "127.0.0.1:0", "state.path": filepath.Join(dir, "state.db"),
				}})
			}})
			require.NoError(t, err)
			defer func() { require.NoError(t, s.close()) }()
			ctx, lose := context.WithCancel(t.Context())
			s.logRead(s.cfg)
			done := make(chan error, 2)
			go func() { done <- s.samples.run(ctx) }()
			go func() { done <- s.lead(ctx, leadership.NewTerm(1, time.Now(), ctx.Err)) }()
			defer func() {
				lose()
				require.NoError(t, <-done)
				require.NoError(t, <-done)
			}()
			eventually(t, "something was decided", func() bool { return len(s.board.Evaluations()) == 2 })
			h, err := s.handler(ctx)
			require.NoError(t, err)
			get := func(path string) string {
				rec := httptest.NewRecorder()
				h.ServeHTTP(rec, httptest.NewRequest("GET", path, nil))
				require.Equal(t, 200, rec.Code, "%s: %s", path, rec.Body)
				return rec.Body.String()
			}
			clean := func() {
				for _, path := range []string{"/config", "/autoscaler/config", "/autoscaler/status", "/", "/?scope=prod", "/rules", "/metrics", "/history", "/actions"} {
					require.NotContains(t, get(path), "hunter", path)
				}
				require.NotContains(t, log.String(), "hunter")
				require.NotContains(t, s.cfg.String(), "hunter")
			}
			require.Contains(t, get("/config"), "&lt;secret&gt;", "they are there")
			clean()
			write("zeta-scaler.yml", strings.NewReplacer("hunter5", "hunter25", "hunter2}", "hunter22}", "hunter11", "hunter31").Replace(text))
			require.NoError(t, s.reload(ctx))
			clean()
			write("zeta-scaler.yml", text+"      metrics_paht: /hunter40\n")
			err = s.reload(ctx)
			require.Error(t, err)
			require.NotContains(t, err.Error(), "hunter")
			clean()
		})
	}
}

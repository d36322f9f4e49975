//go:build e2e && unix

package e2e

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/zeta-scaler/zeta-scaler/e2e/harness"
)

// alertmanagerModule has the versions of both programs.
const (
	alertmanagerModule  = "e2e/alertmanager"
	alertmanagerPackage = "github.com/prometheus/alertmanager/cmd/"
)

// alertsWithin is how long an alert may take from a scrape to the receiver on
// a busy machine.
const alertsWithin = 2 * time.Minute

func alertmanagerProgram(name string) harness.Program {
	return harness.Program{Name: name, Module: alertmanagerModule, Package: alertmanagerPackage + name, LDFlags: "-s -w"}
}

// notified is one alert of a webhook notification, version 4.
type notified struct {
	Status      string            `json:"status"`
	Labels      map[string]string `json:"labels"`
	Annotations map[string]string `json:"annotations"`
	StartsAt    time.Time         `json:"startsAt"`
	EndsAt      time.Time         `json:"endsAt"`
}

// webhookReceiver remembers notifications.
type webhookReceiver struct {
	*httptest.Server
	mu     sync.Mutex
	alerts []notified
}

func newWebhookReceiver(t *testing.T) *webhookReceiver {
	t.Helper()
	r := &webhookReceiver{}
	r.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		var message struct {
			Version string     `json:"version"`
			Alerts  []notified `json:"alerts"`
		}
		if json.NewDecoder(req.Body).Decode(&message) != nil || message.Version != "4" {
			w.WriteHeader(http.StatusBadRequest)
			return
		}
		r.mu.Lock()
		defer r.mu.Unlock()
		r.alerts = append(r.alerts, message.Alerts...)
	}))
	t.Cleanup(r.Close)
	return r
}

// find returns the last notification about an alert with that status.
func (r *webhookReceiver) find(name, status string) (notified, bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, a := range slices.Backward(r.alerts) {
		if a.Labels["alertname"] == name && a.Status == status {
			return a, true
		}
	}
	return notified{}, false
}

func (r *webhookReceiver) wait(t *testing.T, name, status string) notified {
	t.Helper()
	var found notified
	harness.Wait(t, alertsWithin, fmt.Sprintf("a notification that %s is %s", name, status), func(context.Context) error {
		a, ok := r.find(name, status)
		if !ok {
			return fmt.Errorf("the receiver has none")
		}
		found = a
		return nil
	})
	return found
}

func (r *webhookReceiver) forget() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.alerts = nil
}

// startAlertmanager starts a real one; a second call with the same command
// starts it again on its data.
func startAlertmanager(t *testing.T, c harness.Command, url string) *harness.Process {
	t.Helper()
	p := lab.Start(t, c)
	harness.Wait(t, readyWithin, "Alertmanager is ready", func(ctx context.Context) error {
		if err := p.Err(); err != nil {
			return err
		}
		_, err := harness.Get(ctx, url+"/-/ready")
		return err
	})
	return p
}

const alertRules = `format: zeta-scaler/v1
ruleset: alerts
version: 1.0.0
interval: 1s
scope_by: [cluster]
slot_mode: fixed
workers:
  current: {expr: max by (cluster) (zeta_workers)}
  reporting: {expr: max by (cluster) (zeta_workers)}
signals:
  - {signal: waiting, class: blocking, expr: max by (cluster) (zeta_waiting), scale_out: {above: 0, for: 5s}}
  - {signal: cpu, class: saturation, expr: max by (cluster) (zeta_cpu), unit: ratio, scale_out: {above: 0.8, for: 5s}}
`

// A decision reaches a receiver through a real Alertmanager: it fires with its
// labels, survives a restart of Alertmanager, is held by a silence, and
// resolves.
func TestAlertsThroughAlertmanager(t *testing.T) {
	t.Parallel()
	receiver := newWebhookReceiver(t)
	var workers atomic.Int64
	workers.Store(1)
	target := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		fmt.Fprintf(w, "zeta_workers{cluster=\"prod\"} %d\nzeta_waiting{cluster=\"prod\"} 0\nzeta_cpu{cluster=\"prod\"} 0.5\n", workers.Load())
	}))
	defer target.Close()

	address := harness.FreeAddress(t)
	url := harness.URL(address)
	config := filepath.Join(lab.Dir, "alertmanager.yml")
	require.NoError(t, os.WriteFile(config, fmt.Appendf(nil, `route: {receiver: r, group_by: [scope, recommendation], group_wait: 0s, group_interval: 1s, repeat_interval: 1h}
receivers: [{name: r, webhook_configs: [{url: %q}]}]
`, receiver.URL), 0o600))
	command := harness.Command{Name: "alertmanager", Path: lab.Build(t, alertmanagerProgram("alertmanager")), Args: []string{
		"--config.file=" + config, "--storage.path=" + filepath.Join(lab.Dir, "alertmanager-data"), "--web.listen-address=" + address,
		"--cluster.listen-address=", "--log.level=warn",
	}}
	am := startAlertmanager(t, command, url)

	rules := filepath.Join(lab.Dir, "alert-rules.yaml")
	require.NoError(t, os.WriteFile(rules, []byte(alertRules), 0o600))
	data := t.TempDir()
	s := newScaler(t, "serve", "alerting", fmt.Sprintf(`web: {listen_address: "%%s"}
embedded:
  path: %s
  scrape_configs:
    - {job_name: zeta, scrape_interval: 1s, scrape_timeout: 1s, fallback_scrape_protocol: PrometheusText0.0.4, static_configs: [{targets: [%q]}]}
rule_sets: [{file: %s}]
scopes: [{match: {cluster: prod}, bounds: {min_workers: 3}}]
state: {path: %s}
leadership: {lock_file: %s}
alerting: {alertmanagers: [{url: %q}], resend_delay: 1s}
`, filepath.Join(data, "tsdb"), target.Listener.Addr(), rules, filepath.Join(data, "state.db"), filepath.Join(data, "lock"), url))
	s.start(t)

	const name = "ZetaScaleOutRecommended"
	fired := receiver.wait(t, name, "firing")
	require.Equal(t, "prod", fired.Labels["cluster"])
	require.Equal(t, "prod", fired.Labels["scope"])
	require.Equal(t, "SCALE_OUT", fired.Labels["action"])
	require.Equal(t, "warning", fired.Labels["severity"])
	require.Regexp(t, `^1-\d+-prod$`, fired.Labels["recommendation"])
	require.Len(t, fired.Labels, 6, "identity and nothing else")
	require.Equal(t, "3", fired.Annotations["recommended_workers"])
	status, err := s.status(t.Context())
	require.NoError(t, err)
	require.Equal(t, status.Recommendation.RecommendationID, fired.Labels["recommendation"])

	am.Kill()
	receiver.forget()
	harness.Wait(t, alertsWithin, "requests fail", func(ctx context.Context) error {
		page, err := harness.Get(ctx, s.url("/metrics"))
		if err == nil && !bytes.Contains([]byte(page), fmt.Appendf(nil, "zeta_scaler_notifications_queue_length{alertmanager=%q} 1", url)) {
			err = fmt.Errorf("nothing waits")
		}
		return err
	})
	am = startAlertmanager(t, command, url)
	waitForAlert(t, url, name)
	workers.Store(3)
	resolved := receiver.wait(t, name, "resolved")
	require.Equal(t, fired.Labels, resolved.Labels)
	require.True(t, resolved.StartsAt.Equal(fired.StartsAt), "the same alert: %s, %s", fired.StartsAt, resolved.StartsAt)

	// A silence is a pause.
	receiver.forget()
	silence := silenceScope(t, url, "prod")
	workers.Store(2)
	waitForAlert(t, url, name)
	before := s.sent(t.Context(), url)
	harness.Wait(t, alertsWithin, "the silenced alert is sent four more times, each a group interval", func(ctx context.Context) error {
		if n := s.sent(ctx, url); n < before+4 {
			return fmt.Errorf("%v after %v", n, before)
		}
		return nil
	})
	_, told := receiver.find(name, "firing")
	require.False(t, told, "silenced")
	request(t, http.MethodDelete, url+"/api/v2/silence/"+silence, nil)
	again := receiver.wait(t, name, "firing")
	require.NotEqual(t, fired.Labels["recommendation"], again.Labels["recommendation"], "a new generation")
	am.Kill()
}

// sent is how many alerts that Alertmanager has taken, 0 if it cannot be told.
func (s *scaler) sent(ctx context.Context, alertmanager string) float64 {
	page, err := harness.Get(ctx, s.url("/metrics"))
	if err != nil {
		return 0
	}
	sample := fmt.Sprintf("zeta_scaler_notifications_sent_total{alertmanager=%q} ", alertmanager)
	for line := range strings.Lines(page) {
		if text, ok := strings.CutPrefix(line, sample); ok {
			n, err := strconv.ParseFloat(strings.TrimSpace(text), 64)
			if err == nil {
				return n
			}
		}
	}
	return 0
}

// waitForAlert waits until Alertmanager itself has the alert as active.
func waitForAlert(t *testing.T, url, name string) {
	t.Helper()
	harness.Wait(t, alertsWithin, "Alertmanager has "+name, func(ctx context.Context) error {
		body, err := harness.Get(ctx, url+"/api/v2/alerts?active=true&silenced=true&filter=alertname%3D"+name)
		if err != nil {
			return err
		}
		var list []json.RawMessage
		if err := json.Unmarshal([]byte(body), &list); err != nil {
			return err
		}
		if len(list) != 1 {
			return fmt.Errorf("it has %d", len(list))
		}
		return nil
	})
}

func silenceScope(t *testing.T, url, scope string) string {
	t.Helper()
	var reply struct{ SilenceID string }
	require.NoError(t, json.Unmarshal(request(t, http.MethodPost, url+"/api/v2/silences", map[string]any{
		"matchers":  []map[string]any{{"name": "scope", "value": scope, "isRegex": false, "isEqual": true}},
		"startsAt":  time.Now().UTC().Format(time.RFC3339),
		"endsAt":    time.Now().Add(time.Hour).UTC().Format(time.RFC3339),
		"createdBy": "e2e", "comment": "a pause",
	}), &reply))
	return reply.SilenceID
}

func request(t *testing.T, method, url string, body any) []byte {
	t.Helper()
	b, err := json.Marshal(body)
	require.NoError(t, err)
	req, err := http.NewRequestWithContext(t.Context(), method, url, bytes.NewReader(b))
	require.NoError(t, err)
	req.Header.Set("Content-Type", "application/json")
	resp, err := http.DefaultClient.Do(req)
	require.NoError(t, err)
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	require.NoError(t, err)
	require.Equal(t, http.StatusOK, resp.StatusCode, "%s", text)
	return text
}

// The files that ship are good for the programs that read them.
func TestAlertFilesWithTheRealTools(t *testing.T) {
	dir := filepath.Join(lab.Root, "alerts")
	promtool, amtool := lab.Build(t, harness.Promtool), lab.Build(t, alertmanagerProgram("amtool"))
	for _, args := range [][]string{
		{promtool, "check", "rules", "zeta-scaler.rules.yml", "zeta-scaler-decisions.rules.yml"},
		{promtool, "test", "rules", "zeta-scaler.rules_test.yml"},
		{amtool, "check-config", "alertmanager.yml"},
		{amtool, "config", "routes", "test", "--config.file=alertmanager.yml", "--verify.receivers=scaler,team", "alertname=ZetaScaleOutRecommended", "severity=warning", "recommendation=1-2-prod"},
		{amtool, "config", "routes", "test", "--config.file=alertmanager.yml", "--verify.receivers=on-call", "alertname=ZetaMetricsInvalid", "severity=page"},
		{amtool, "config", "routes", "test", "--config.file=alertmanager.yml", "--verify.receivers=nobody", "alertname=ZetaScaleInBlocked", "severity=info"},
	} {
		cmd := exec.CommandContext(t.Context(), args[0], args[1:]...)
		cmd.Dir = dir
		out, err := cmd.CombinedOutput()
		require.NoError(t, err, "%v\n%s", args[1:], out)
		t.Logf("%s %v: ok", filepath.Base(args[0]), args[1:])
	}
}

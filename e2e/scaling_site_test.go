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
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/zeta-scaler/zeta-scaler/api"
	"github.com/zeta-scaler/zeta-scaler/e2e/harness"
	"github.com/zeta-scaler/zeta-scaler/scaling"
	"github.com/zeta-scaler/zeta-scaler/webhook"
)

// carriedOutWithin is how long a recommendation may take to be carried out on a
// busy machine; idle it takes about five seconds.
const carriedOutWithin = 2 * time.Minute

// relay stands between Alertmanager and the webhook: it can be shut, and
// remembers what went through.
type relay struct {
	*httptest.Server
	to string

	mu   sync.Mutex
	shut bool
	// refused counts notifications that found it shut.
	refused int
	// notifications are those that got an answer, results their results.
	notifications [][]notified
	results       []webhook.Result
}

func newRelay(t *testing.T, to string) *relay {
	t.Helper()
	r := &relay{to: to}
	r.Server = httptest.NewServer(http.HandlerFunc(r.pass))
	t.Cleanup(r.Close)
	return r
}

func (r *relay) pass(w http.ResponseWriter, req *http.Request) {
	r.mu.Lock()
	if r.shut {
		r.refused++
		r.mu.Unlock()
		panic(http.ErrAbortHandler)
	}
	r.mu.Unlock()
	body, err := io.ReadAll(req.Body)
	if err != nil {
		panic(http.ErrAbortHandler)
	}
	on, err := http.NewRequestWithContext(req.Context(), req.Method, r.to+req.URL.Path, bytes.NewReader(body))
	if err != nil {
		panic(http.ErrAbortHandler)
	}
	on.Header = req.Header.Clone()
	resp, err := http.DefaultClient.Do(on)
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadGateway)
		return
	}
	defer resp.Body.Close()
	answer, err := io.ReadAll(resp.Body)
	if err != nil {
		panic(http.ErrAbortHandler)
	}
	var m struct {
		Alerts []notified `json:"alerts"`
	}
	var reply webhook.Reply
	if resp.StatusCode == http.StatusOK && json.Unmarshal(body, &m) == nil && json.Unmarshal(answer, &reply) == nil {
		r.mu.Lock()
		r.notifications = append(r.notifications, m.Alerts)
		r.results = append(r.results, reply.Results...)
		r.mu.Unlock()
	}
	w.WriteHeader(resp.StatusCode)
	_, _ = w.Write(answer)
}

func (r *relay) setShut(shut bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.shut, r.refused = shut, 0
}

// waitForRefusal waits until Alertmanager has come in vain.
func (r *relay) waitForRefusal(t *testing.T) {
	t.Helper()
	harness.Wait(t, carriedOutWithin, "Alertmanager notifies and finds the webhook shut", func(context.Context) error {
		r.mu.Lock()
		defer r.mu.Unlock()
		if r.refused == 0 {
			return fmt.Errorf("it has not come")
		}
		return nil
	})
}

// said are the results of a recommendation's firing alert.
func (r *relay) said(id string) (out []scaling.VerdictResult) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, x := range r.results {
		if x.Recommendation == id && x.Status == "firing" {
			out = append(out, x.Result)
		}
	}
	return out
}

func (r *relay) waitForResult(t *testing.T, id string, want scaling.VerdictResult) {
	t.Helper()
	harness.Wait(t, carriedOutWithin, fmt.Sprintf("Alertmanager is told that %s is %s", id, want), func(context.Context) error {
		if got := r.said(id); !slices.Contains(got, want) {
			return fmt.Errorf("it was told %v", got)
		}
		return nil
	})
}

// together reports whether one notification had the firing alerts of all ids.
func (r *relay) together(ids ...string) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, alerts := range r.notifications {
		if !slices.ContainsFunc(ids, func(id string) bool {
			return !slices.ContainsFunc(alerts, func(a notified) bool { return a.Status == "firing" && a.Labels["recommendation"] == id })
		}) {
			return true
		}
	}
	return false
}

const poolRules = `format: zeta-scaler/v1
ruleset: pools
version: 1.0.0
interval: 2s
scope_by: [cluster]
slot_mode: fixed
workers:
  current: {expr: max by (cluster) (zeta_workers)}
  reporting: {expr: max by (cluster) (zeta_workers)}
signals:
  - {signal: waiting, class: blocking, expr: max by (cluster) (zeta_waiting), scale_out: {above: 0, for: 0s}}
  - {signal: cpu, class: saturation, expr: max by (cluster) (zeta_cpu), unit: ratio, scale_out: {above: 0.8, for: 2s}}
`

// pipeline is everything from the pools' metrics to the pools: a real service,
// a real Alertmanager, the relay between them, and people who are told.
type pipeline struct {
	*scaler
	pools  *pools
	relay  *relay
	am     *manager
	people *webhookReceiver
}

// newPipeline starts everything. scopes is the list of the configuration, repeat
// when Alertmanager tells again what it has told.
func newPipeline(t *testing.T, name string, p *pools, scopes string, repeat time.Duration) *pipeline {
	t.Helper()
	address, data := harness.FreeAddress(t), t.TempDir()
	_, port, _ := strings.Cut(address, ":")
	// Nothing of another run of the same test may be there: ids repeat.
	name += "-" + port
	out := &pipeline{pools: p, relay: newRelay(t, harness.URL(address)), people: newWebhookReceiver(t)}
	out.am = newManager(t, name+"-alertmanager", out.relay.URL+"/webhook/alertmanager")
	// People hear of everything else; alerts of one tick come together.
	config := strings.NewReplacer(
		"  receiver: nobody\n", "  receiver: nobody\n  group_by: [alertname, scope]\n  group_wait: 0s\n  group_interval: 1s\n",
		"  - name: nobody\n", fmt.Sprintf("  - name: nobody\n    webhook_configs: [{url: %q}]\n", out.people.URL),
		"group_wait: 0s", "group_wait: 500ms", "repeat_interval: 1h", "repeat_interval: "+repeat.String(),
	).Replace(calling(out.relay.URL+"/webhook/alertmanager", tokenFile(t)))
	require.NoError(t, os.WriteFile(filepath.Join(lab.Dir, name+"-alertmanager.yml"), []byte(config), 0o600))
	out.am.start(t)

	rules := filepath.Join(lab.Dir, name+"-rules.yaml")
	require.NoError(t, os.WriteFile(rules, []byte(poolRules), 0o600))
	out.scaler = newScaler(t, "serve", name, fmt.Sprintf(`# %%s
web: {listen_address: %q, bearer_tokens_file: %q}
embedded:
  path: %q
  retention: 1h
  scrape_configs:
    - {job_name: pools, scrape_interval: 1s, scrape_timeout: 1s, fallback_scrape_protocol: PrometheusText0.0.4, static_configs: [{targets: [%q]}]}
rule_sets: [{file: %q}]
scopes:
%s
scope_defaults: {rule_set: pools}
state: {path: %q}
leadership: {lock_file: %q}
alerting: {alertmanagers: [{url: %q}], resend_delay: 1s}
`, address, tokenFile(t), filepath.Join(data, "tsdb"), p.metrics.Listener.Addr(), rules, scopes,
		filepath.Join(data, "state.db"), filepath.Join(data, "lock"), out.am.url))
	out.address = address
	out.start(t)
	return out
}

const actsByWebhook = "    mode: webhook"

// asks waits until a scope asks for a number of workers.
func (p *pipeline) asks(t *testing.T, scope string, target int) scaling.Recommendation {
	t.Helper()
	var out scaling.Recommendation
	client := api.Client{BaseURL: p.url("")}
	harness.Wait(t, carriedOutWithin, fmt.Sprintf("%s asks for %d workers", scope, target), func(ctx context.Context) error {
		reply, err := client.Status(ctx, scope)
		if err != nil {
			return err
		}
		out = reply.Scopes[0].Recommendation
		if out.Action != scaling.ScaleOut || *out.RecommendedWorkers != target {
			return fmt.Errorf("%s: %s", out.Action, out.Reason)
		}
		return nil
	})
	return out
}

// ends waits for the newest action of a scope to end in a state with a target.
func (p *pipeline) ends(t *testing.T, scope string, target int, state scaling.ActionState) scaling.Execution {
	t.Helper()
	return p.waitForAction(t, carriedOutWithin, fmt.Sprintf("an action of %s, %d workers, %s", scope, target, state), func(x *scaling.Execution) bool {
		return x.Scope == scope && x.Target == target && x.State == state
	})
}

// told waits until people hear of an alert of a scope.
func (p *pipeline) told(t *testing.T, name, scope, status string) (found notified) {
	t.Helper()
	harness.Wait(t, alertsWithin, fmt.Sprintf("people hear that %s of %s is %s", name, scope, status), func(context.Context) error {
		p.people.mu.Lock()
		defer p.people.mu.Unlock()
		for _, a := range slices.Backward(p.people.alerts) {
			if a.Labels["alertname"] == name && a.Labels["scope"] == scope && a.Status == status {
				found = a
				return nil
			}
		}
		return fmt.Errorf("they have heard %d alerts", len(p.people.alerts))
	})
	return found
}

// held waits until Alertmanager keeps an alert of a scope from its receiver.
func (p *pipeline) held(t *testing.T, scope, by string) {
	t.Helper()
	harness.Wait(t, alertsWithin, fmt.Sprintf("Alertmanager holds the alert of %s (%s)", scope, by), func(ctx context.Context) error {
		body, err := harness.Get(ctx, p.am.url+"/api/v2/alerts?"+url.Values{"filter": {`alertname="ZetaScaleOutRecommended"`, "scope=" + scope}}.Encode())
		if err != nil {
			return err
		}
		var list []struct{ Status map[string]json.RawMessage }
		if err := json.Unmarshal([]byte(body), &list); err != nil {
			return err
		}
		for _, a := range list {
			if got := string(a.Status[by]); got != "" && got != "[]" && got != "null" {
				return nil
			}
		}
		return fmt.Errorf("%s", body)
	})
}

// call makes a call with a bearer token, none if that is empty.
func call(ctx context.Context, client *http.Client, method, url, bearer string, body []byte, header ...string) (int, http.Header, []byte, error) {
	req, err := http.NewRequestWithContext(ctx, method, url, bytes.NewReader(body))
	if err != nil {
		return 0, nil, nil, err
	}
	req.Header.Set("Content-Type", "application/json")
	if bearer != "" {
		req.Header.Set("Authorization", "Bearer "+bearer)
	}
	for i := 0; i+1 < len(header); i += 2 {
		req.Header.Set(header[i], header[i+1])
	}
	resp, err := client.Do(req)
	if err != nil {
		return 0, nil, nil, err
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	return resp.StatusCode, resp.Header, text, err
}

// setMode changes the mode of a scope at run time.
func (p *pipeline) setMode(t *testing.T, scope string, mode scaling.Mode) (int, []byte) {
	t.Helper()
	code, header, text, err := call(t.Context(), http.DefaultClient, http.MethodGet, p.url("/autoscaler/config"), token, nil)
	require.NoError(t, err)
	require.Equal(t, http.StatusOK, code, "%s", text)
	body, err := json.Marshal(map[string]any{"scopes": []map[string]any{{"scope": scope, "mode": mode}}})
	require.NoError(t, err)
	code, _, text, err = call(t.Context(), http.DefaultClient, http.MethodPut, p.url("/autoscaler/config"), token, body, "If-Match", header.Get("ETag"))
	require.NoError(t, err)
	return code, text
}

// counted is the value of one series of /metrics, 0 if it is not there.
func (p *pipeline) counted(t *testing.T, series string) float64 {
	t.Helper()
	page, err := harness.Get(t.Context(), p.url("/metrics"))
	require.NoError(t, err)
	for line := range strings.Lines(page) {
		if text, ok := strings.CutPrefix(line, series+" "); ok {
			n, err := strconv.ParseFloat(strings.TrimSpace(text), 64)
			require.NoError(t, err)
			return n
		}
	}
	return 0
}

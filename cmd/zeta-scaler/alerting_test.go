package main

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// receiver is an Alertmanager that remembers what it was sent.
type receiver struct {
	*httptest.Server
	mu   sync.Mutex
	told []map[string]any
}

func newReceiver(t *testing.T) *receiver {
	t.Helper()
	r := &receiver{}
	r.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		var batch []map[string]any
		if req.URL.Path != "/api/v2/alerts" || json.NewDecoder(req.Body).Decode(&batch) != nil {
			w.WriteHeader(http.StatusBadRequest)
			return
		}
		r.mu.Lock()
		defer r.mu.Unlock()
		r.told = append(r.told, batch...)
	}))
	t.Cleanup(r.Close)
	return r
}

// has reports whether a scale-out alert came, active or resolved.
func (r *receiver) has(t *testing.T, resolved bool) bool {
	t.Helper()
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, a := range r.told {
		ends, err := time.Parse(time.RFC3339, a["endsAt"].(string))
		require.NoError(t, err)
		labels := a["labels"].(map[string]any)
		if labels["alertname"] == "ZetaScaleOutRecommended" && labels["cluster"] == "prod" && ends.Before(time.Now()) == resolved {
			return true
		}
	}
	return false
}

// Alerts reach the Alertmanagers of the configuration; a reload changes which,
// and sends at once.
func TestServeAlerts(t *testing.T) {
	t.Parallel()
	a, b := newReceiver(t), newReceiver(t)
	dir := t.TempDir()
	zeta := zetaServer(t, 3)
	configure := func(minWorkers int, r *receiver, delay string) {
		write(t, dir, "zeta-scaler.yml", fmt.Sprintf(`embedded: {path: tsdb}
clusters: [{name: prod, urls: [%q]}]
rule_sets: [{file: quick.yaml}]
scopes: [{match: {cluster: prod}, bounds: {min_workers: %d}}]
alerting: {alertmanagers: [{url: %q}], resend_delay: %s}
`, zeta, minWorkers, r.URL, delay))
	}
	write(t, dir, "quick.yaml", quickRules("1.0.0"))
	configure(5, a, "10m")
	p := start(t, dir, "serve", "--web.enable-lifecycle")
	eventually(t, "an alert", func() bool { return a.has(t, false) })
	require.Equal(t, "0", p.metric(fmt.Sprintf(`zeta_scaler_notifications_errors_total{alertmanager=%q}`, a.URL)))

	configure(5, b, "10m")
	status, body := p.request(http.MethodPost, "/-/reload")
	require.Equal(t, http.StatusOK, status, body)
	eventually(t, "the alert at the other one, long before it is due", func() bool { return b.has(t, false) })

	configure(1, b, "10m")
	status, body = p.request(http.MethodPost, "/-/reload")
	require.Equal(t, http.StatusOK, status, body)
	eventually(t, "its end", func() bool { return b.has(t, true) })
	require.False(t, a.has(t, true), "it is not told any more")

	write(t, dir, "zeta-scaler.yml", fmt.Sprintf(
		"embedded: {path: tsdb}\nclusters: [{name: prod, urls: [%q]}]\nrule_sets: [{file: quick.yaml}]\nalerting: {alertmanagers: [{url: %q}, {url: %q}]}\n",
		zeta, b.URL, b.URL))
	status, body = p.request(http.MethodPost, "/-/reload")
	require.GreaterOrEqual(t, status, 400)
	require.Contains(t, body, "alertmanagers[1].url is the same")
	p.stop()
}

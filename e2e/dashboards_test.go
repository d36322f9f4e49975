//go:build e2e && unix

package e2e

import (
	"context"
	"encoding/json"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/zeta-scaler/zeta-scaler/e2e/harness"
	"github.com/zeta-scaler/zeta-scaler/scaling"
)

// panelsWithin is how long all panels may take to have data: the first tick of
// a pack comes after its interval of 30 s at the latest.
const panelsWithin = 3 * time.Minute

// withoutData are panels that may be empty here, and why.
func withoutData() map[string]string {
	return map[string]string{
		"Actuation / State of the drain": "nothing is drained here",
	}
}

// panelQuery is one query of one panel.
type panelQuery struct{ panel, expr string }

// panelQueries reads every query of the checked-in dashboards.
func panelQueries(t *testing.T) []panelQuery {
	t.Helper()
	type panel struct {
		Title   string
		Targets []struct{ Expr string }
		Panels  []panel
	}
	files, err := filepath.Glob(filepath.Join(lab.Root, "dashboards", "*.json"))
	require.NoError(t, err)
	require.Len(t, files, 4)
	var out []panelQuery
	for _, file := range files {
		b, err := os.ReadFile(file)
		require.NoError(t, err)
		var board struct {
			Title  string
			Panels []panel
		}
		require.NoError(t, json.Unmarshal(b, &board), file)
		var add func(list []panel)
		add = func(list []panel) {
			for _, p := range list {
				for _, target := range p.Targets {
					out = append(out, panelQuery{strings.TrimPrefix(board.Title, "zeta-scaler / ") + " / " + p.Title, target.Expr})
				}
				add(p.Panels)
			}
		}
		add(board.Panels)
	}
	return out
}

// interpolated puts Grafana's variables in as Grafana would with All.
func interpolated(expr string) string {
	return strings.NewReplacer("$scope", ".*", "$ruleset", ".*", "$instance", ".*", "$__rate_interval", "1m").Replace(expr)
}

// series asks how many series an expression has. A query that Prometheus
// refuses is an error.
func series(ctx context.Context, prom *harness.PrometheusServer, expr string) (int, error) {
	body, err := harness.Get(ctx, prom.URL+"/api/v1/query?"+url.Values{"query": {expr}}.Encode())
	if err != nil {
		return 0, err
	}
	var reply struct {
		Data struct{ Result []json.RawMessage }
	}
	if err := json.Unmarshal([]byte(body), &reply); err != nil {
		return 0, fmt.Errorf("reading Prometheus' answer: %w", err)
	}
	return len(reply.Data.Result), nil
}

// Every query of every panel, sent to a real Prometheus that scrapes the demo,
// an exporter of a simulated cluster and a service that asks that Prometheus.
func TestEveryPanelHasData(t *testing.T) {
	prom := startDashboardStack(t)
	queries := panelQueries(t)
	allowed := withoutData()
	for panel := range allowed {
		require.True(t, slices.ContainsFunc(queries, func(q panelQuery) bool { return q.panel == panel }), "no panel %q", panel)
	}
	harness.Wait(t, panelsWithin, "every panel has data", func(ctx context.Context) error {
		for _, q := range queries {
			n, err := series(ctx, prom, interpolated(q.expr))
			if err != nil {
				return fmt.Errorf("%s: %w", q.panel, err)
			}
			if n == 0 && allowed[q.panel] == "" {
				return fmt.Errorf("%s: no data for %s", q.panel, q.expr)
			}
		}
		return nil
	})
	for _, q := range queries {
		n, err := series(t.Context(), prom, interpolated(q.expr))
		require.NoError(t, err)
		switch {
		case n == 0:
			t.Logf("%s: no data: %s", q.panel, allowed[q.panel])
		case allowed[q.panel] != "":
			t.Logf("%s: %d series, though it may be empty: take it off the list", q.panel, n)
		default:
			t.Logf("%s: %d series", q.panel, n)
		}
	}
}

// startDashboardStack starts what the compose stack has, without images.
func startDashboardStack(t *testing.T) *harness.PrometheusServer {
	t.Helper()
	simulator := harness.FreeAddress(t)
	lab.Start(t, harness.Command{
		Name: "dashboards-simulator", Path: lab.Build(t, harness.Program{Name: "simulator", Module: ".", Package: "./deploy/simulator"}),
		Args: []string{"cluster", "--web.listen-address=" + simulator},
	})
	exporter := newScaler(t, "exporter", "dashboards-exporter", fmt.Sprintf(`web: {listen_address: "%%s"}
clusters: [{name: simulated, urls: [%q]}]
`, harness.URL(simulator)))
	exporter.start(t)
	demo := harness.FreeAddress(t)
	lab.Start(t, harness.Command{
		Name: "dashboards-demo", Path: lab.Build(t, harness.ZetaScaler), Args: []string{"demo", "--speed=60", "--web.listen-address=" + demo},
	})
	service := harness.FreeAddress(t)
	prom := lab.StartPrometheus(t, harness.PrometheusOptions{Name: "dashboards-prometheus", Config: fmt.Sprintf(`
global: {scrape_interval: 1s, scrape_timeout: 1s}
scrape_configs:
  - {job_name: zeta-exporter, static_configs: [{targets: [%q]}]}
  - {job_name: zeta-scaler, static_configs: [{targets: [%q, %q]}]}
`, exporter.address, demo, service)})

	sink := newWebhookReceiver(t)
	address := harness.FreeAddress(t)
	config := filepath.Join(lab.Dir, "dashboards-alertmanager.yml")
	require.NoError(t, os.WriteFile(config, fmt.Appendf(nil, "route: {receiver: r}\nreceivers: [{name: r, webhook_configs: [{url: %q}]}]\n", sink.URL), 0o600))
	startAlertmanager(t, harness.Command{Name: "dashboards-alertmanager", Path: lab.Build(t, alertmanagerProgram("alertmanager")), Args: []string{
		"--config.file=" + config, "--storage.path=" + filepath.Join(lab.Dir, "dashboards-alertmanager-data"),
		"--web.listen-address=" + address, "--cluster.listen-address=", "--log.level=warn",
	}}, harness.URL(address))

	data := t.TempDir()
	s := newScaler(t, "serve", "dashboards-serve", fmt.Sprintf(`web: {listen_address: %q, bearer_tokens_file: %q} # not %%s: Prometheus knows it already
prometheus: {urls: [%q]}
rule_sets: [{pack: zeta-auto}, {pack: zeta-fixed-slot}]
scopes:
  - match: {cluster: simulated}
    shadows: [zeta-fixed-slot]
    bounds: {min_workers: 6, max_workers: 6} # more than there are: it asks at once
    mode: webhook
    convergence_timeout: 2s # nobody starts the workers, so the action ends
    actuator: {exec: {command: "true", target: simulated}}
state: {path: %q}
leadership: {lock_file: %q}
alerting: {alertmanagers: [{url: %q}]}
`, service, tokenFile(t), prom.URL, filepath.Join(data, "state.db"), filepath.Join(data, "lock"), harness.URL(address)))
	s.address = service
	s.start(t)
	r := s.waitFor(t, patience, "below the minimum", func(d decision) bool { return d.Row == scaling.RowBelowMin })
	require.Equal(t, "accepted", s.deliver(t, "firing", r.RecommendationID)[r.RecommendationID])
	s.waitForAction(t, patience, "an action that nobody answered", inState(6, scaling.ActionFailed))
	return prom
}

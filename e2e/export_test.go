//go:build e2e && unix

package e2e

import (
	"context"
	"fmt"
	"net/http/httptest"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/zeta-scaler/zeta-scaler/e2e/harness"
	"github.com/zeta-scaler/zeta-scaler/evaluator"
	"github.com/zeta-scaler/zeta-scaler/rules"
	"github.com/zeta-scaler/zeta-scaler/scaling"
	"github.com/zeta-scaler/zeta-scaler/source"
)

// exportedRules have nothing of which the output says that it is not equal: no
// guard, no gap, one window for scale-in, workers above the minimum.
const exportedRules = `
format: zeta-scaler/v1
ruleset: exported
version: 1.0.0
interval: 1s
query_offset: 2s
scope_by: [cluster]
slot_mode: fixed
workers:
  current: {expr: max by (cluster) (sig_workers)}
  reporting: {expr: max by (cluster) (sig_reporting)}
signals:
  - signal: age
    class: blocking
    expr: max by (cluster) (sig_age)
    scale_out: {above: 60, for: 3s}
    scale_in: {at_most: 0, for: 4s}
  - signal: cpu
    class: saturation
    expr: max by (cluster) (sig_cpu)
    scale_out: {above: 0.8, for: 2s}
    scale_in: {below: 0.3, for: 4s}
`

// exportedTicks is how many evaluations of Prometheus are compared.
const exportedTicks = 45

// The rules that "rules export --as prometheus" writes fire on a real Prometheus
// exactly when the table says SCALE_OUT or SCALE_IN_CANDIDATE.
func TestExportedRulesFireWhenTheTableSaysSo(t *testing.T) {
	rs, err := rules.Parse("exported.yaml", []byte(exportedRules))
	require.NoError(t, err)
	file, _, err := rules.ExportPrometheus(rs)
	require.NoError(t, err)
	path := filepath.Join(t.TempDir(), "exported.rules.yml")
	require.NoError(t, os.WriteFile(path, file, 0o600))
	target := httptest.NewServer(liveTarget(t))
	t.Cleanup(target.Close)
	prometheus := lab.StartPrometheus(t, harness.PrometheusOptions{Name: "prometheus-export", Config: fmt.Sprintf(
		"rule_files: [%q]\nscrape_configs:\n  - job_name: live\n    scrape_interval: 500ms\n    scrape_timeout: 500ms\n    static_configs: [{targets: [%q]}]\n",
		path, target.Listener.Addr().String())})
	src, err := source.NewRemote(source.RemoteOptions{URLs: []string{prometheus.URL}, LookbackDelta: source.DefaultLookbackDelta})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, src.Close()) })

	const evaluated = `zeta_scaler:workers_current{cluster="a"}`
	harness.Wait(t, 2*time.Minute, "the rules were evaluated often enough", func(ctx context.Context) error {
		n, err := prometheus.Value(ctx, "count_over_time("+evaluated+"[10m])")
		if err == nil && n < exportedTicks {
			err = fmt.Errorf("%g times", n)
		}
		return err
	})
	first, last := evaluations(t, src, evaluated)
	t.Logf("evaluations of Prometheus from %s to %s", first.Format(time.TimeOnly), last.Format(time.TimeOnly))

	// A tick reads what is an offset older; Prometheus writes that time.
	compared, firing := 0, map[scaling.Action]int{}
	err = evaluator.Replay(t.Context(), src, evaluator.ReplayOptions{
		RuleSet: rs, Start: first.Add(rs.QueryOffset), End: last.Add(rs.QueryOffset),
	}, func(at time.Time, evaluations []scaling.Evaluation) error {
		if at.Sub(first) < 10*time.Second {
			return nil // the windows of both are filling
		}
		for _, ev := range evaluations {
			r := ev.Recommendation
			for action, alert := range map[scaling.Action]string{scaling.ScaleOut: "ZetaRulesScaleOut", scaling.ScaleInCandidate: "ZetaRulesScaleInCandidate"} {
				fires := alertFires(t, src, alert, ev.Scope.Key, at.Add(-rs.QueryOffset))
				require.Equal(t, r.Action == action, fires, "%s of %s at %s, the table says %s by %s: %s", alert, ev.Scope.Key, at, r.Action, r.Row, r.Reason)
				if fires {
					firing[action]++
				}
				compared++
			}
		}
		return nil
	})
	require.NoError(t, err)
	t.Logf("%d comparisons, firing %v", compared, firing)
	require.NotEmpty(t, firing, "the run is too dull to prove anything")
}

// evaluations are the first and the last instant at which a rule was recorded.
func evaluations(t *testing.T, src *source.Remote, series string) (first, last time.Time) {
	t.Helper()
	at := func(expr string) time.Time {
		v, err := src.Instant(t.Context(), expr, time.Now())
		require.NoError(t, err)
		require.Len(t, v.Samples, 1)
		return time.UnixMilli(int64(v.Samples[0].Value*1000 + 0.5)).UTC()
	}
	return at("min_over_time(timestamp(" + series + ")[10m:100ms])"), at("timestamp(" + series + ")")
}

// alertFires reports whether an alert of a scope fired at the very instant.
func alertFires(t *testing.T, src *source.Remote, alert, scope string, at time.Time) bool {
	t.Helper()
	expr := fmt.Sprintf(`count_over_time(ALERTS{alertname=%q, alertstate="firing", cluster=%q}[500ms])`, alert, scope)
	v, err := src.Instant(t.Context(), expr, at)
	require.NoError(t, err)
	return len(v.Samples) > 0
}

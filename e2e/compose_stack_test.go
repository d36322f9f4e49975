//go:build e2e && unix

package e2e

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/zeta-scaler/zeta-scaler/e2e/harness"
)

// A recommendation goes through a real Alertmanager with the compose stack's
// own configuration to its sink, and from there to the simulated cluster.
func TestComposeStackClosesTheLoop(t *testing.T) {
	simulator := startSimulator(t, "stack-simulator")
	sink := harness.FreeAddress(t)
	sinkLog := lab.Start(t, harness.Command{
		Name: "stack-sink", Path: lab.Build(t, harness.Program{Name: "simulator", Module: ".", Package: "./deploy/simulator"}),
		Args: []string{"sink", "--web.listen-address=" + sink, "--zeta=" + simulator},
	})
	b, err := os.ReadFile(filepath.Join(lab.Root, "deploy", "compose", "alertmanager.yml"))
	require.NoError(t, err)
	require.Contains(t, string(b), "webhook-sink:8081")
	config := filepath.Join(lab.Dir, "stack-alertmanager.yml")
	require.NoError(t, os.WriteFile(config, []byte(strings.ReplaceAll(string(b), "webhook-sink:8081", sink)), 0o600))
	url := harness.URL(harness.FreeAddress(t))
	startAlertmanager(t, harness.Command{Name: "stack-alertmanager", Path: lab.Build(t, alertmanagerProgram("alertmanager")), Args: []string{
		"--config.file=" + config, "--storage.path=" + filepath.Join(lab.Dir, "stack-alertmanager-data"),
		"--web.listen-address=" + strings.TrimPrefix(url, "http://"), "--cluster.listen-address=", "--log.level=warn",
	}}, url)
	workers := func(want string) {
		t.Helper()
		harness.Wait(t, alertsWithin, "the cluster has "+want+" workers", func(ctx context.Context) error {
			body, err := harness.Get(ctx, simulator+"/overview")
			if err != nil {
				return err
			}
			var overview struct{ Workers string }
			if err := json.Unmarshal([]byte(body), &overview); err != nil {
				return fmt.Errorf("reading the overview: %w", err)
			}
			if overview.Workers != want {
				return fmt.Errorf("it has %s", overview.Workers)
			}
			return nil
		})
	}
	workers("2")
	alert := func(recommendation, target string) {
		request(t, http.MethodPost, url+"/api/v2/alerts", []map[string]any{{
			"labels": map[string]string{
				"alertname": "ZetaScaleOutRecommended", "scope": "simulated", "severity": "warning", "recommendation": recommendation,
			},
			"annotations": map[string]string{"recommended_workers": target, "summary": "a test"},
			"endsAt":      time.Now().Add(time.Hour).UTC().Format(time.RFC3339),
		}})
	}
	alert("1-2-simulated", "4")
	workers("4")
	harness.Wait(t, alertsWithin, "people hear of it, too", func(context.Context) error {
		if !strings.Contains(sinkLog.Tail(50), "path=/team ") {
			return fmt.Errorf("the log of the sink is %s", sinkLog.Tail(5))
		}
		return nil
	})
}

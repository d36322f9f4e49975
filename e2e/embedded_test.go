//go:build e2e && unix

package e2e

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net/url"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/zeta-scaler/zeta-scaler/e2e/harness"
	"github.com/zeta-scaler/zeta-scaler/e2e/zeta"
	"github.com/zeta-scaler/zeta-scaler/scaling"
)

// One process, no exporter and no Prometheus beside it: serve collects a real
// cluster into its embedded Prometheus and decides. A second start goes on
// with what the first one stored.
func TestServeAloneWatchesRealCluster(t *testing.T) {
	t.Parallel()
	lab.Build(t, harness.ZetaScaler) // what does not compile is known before a cluster is there
	cluster := zeta.Start(t, lab, 2)
	cluster.StartWorkers(t, 1)
	alone := newScaler(t, "serve", "alone", fmt.Sprintf(`
web: {listen_address: "%%s"}
embedded: {path: %q, retention: 1h}
clusters: [{name: %s, urls: ["%s"]}]
rule_sets: [{file: %q}]
scope_defaults: {rule_set: e2e}
state: {path: %q}
leadership: {lock_file: %q}
`, filepath.Join(lab.Dir, "alone-tsdb"), clusterName, cluster.URL, filepath.Join(lab.Root, "e2e", "testdata", "rules.yaml"),
		filepath.Join(lab.Dir, "alone.db"), filepath.Join(lab.Dir, "alone.lock")))
	alone.start(t)
	alone.waitForRow(t, patience, scaling.RowIdleAtMin, scaling.NoAction, 1, 1)

	_, err := cluster.Submit(t.Context(), "job", 1)
	require.NoError(t, err)
	before := alone.waitForRow(t, patience, scaling.RowTightAlone, scaling.NoAction, 1, 1)
	require.NoError(t, alone.Terminate(readyWithin), "SIGTERM is a clean end")
	ended, published := time.Now(), watchDecisions(t, alone)
	alone.start(t)
	after := alone.waitForRow(t, patience, scaling.RowTightAlone, scaling.NoAction, 1, 1)
	var ticks map[time.Time]seen
	harness.Wait(t, patience, "a tick is published", func(context.Context) error {
		if ticks = published.since(ended); len(ticks) == 0 {
			return errors.New("none so far")
		}
		return nil
	})
	first := slices.MinFunc(slices.Collect(maps.Keys(ticks)), time.Time.Compare)
	require.Equal(t, scaling.RowTightAlone, ticks[first].Row, "the window was read back, not filled anew")
	require.Greater(t, after.MasterEpoch, before.MasterEpoch)
	require.Equal(t, before.Generation, after.Generation, "the same intent is the same generation")
}

// The exporter asks a real cluster that no configuration names.
func TestProbeOfRealCluster(t *testing.T) {
	t.Parallel()
	lab.Build(t, harness.ZetaScaler) // what does not compile is known before a cluster is there
	cluster := zeta.Start(t, lab, 2)
	cluster.StartWorkers(t, 1)
	exporter := newScaler(t, "exporter", "prober", `web: {listen_address: "%s"}`)
	exporter.start(t)
	page, err := harness.Get(t.Context(), exporter.url("/probe?"+url.Values{"target": {cluster.URL}, "cluster": {"found"}}.Encode()))
	require.NoError(t, err)
	require.Contains(t, page, `seatunnel_zeta_up{cluster="found"} 1`)
	require.Contains(t, page, `seatunnel_zeta_workers{cluster="found"} 1`)
	require.Contains(t, page, `seatunnel_zeta_slots{cluster="found",state="unassigned"} 2`)
	checkMetricsPage(t, page)
}

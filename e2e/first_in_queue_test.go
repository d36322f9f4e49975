//go:build e2e && unix

package e2e

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/zeta-scaler/zeta-scaler/e2e/harness"
	"github.com/zeta-scaler/zeta-scaler/scaling"
)

// queueRules ask for one more worker while the first job of the queue lacks slots.
const queueRules = `format: zeta-scaler/v1
ruleset: queue
version: 1.0.0
interval: 5s
query_offset: 2s
scope_by: [cluster]
slot_mode: fixed
workers:
  current: {expr: max by (cluster) (seatunnel_zeta_workers)}
  reporting: {expr: max by (cluster) (seatunnel_zeta_workers)}
step: {policy: fixed, workers: 1}
signals:
  - {signal: unsatisfied_slots, class: blocking, expr: max by (cluster) (seatunnel_zeta_pending_head_lacking_slots), unit: slots, scale_out: {above: 0, for: 5s}}
  - {signal: avg_cpu, class: saturation, expr: avg by (cluster) (seatunnel_zeta_worker_cpu_ratio), unit: ratio, scale_out: {above: 0.99, for: 5m}}
`

// replayed is a Zeta that answers as a real one did in a recorded state.
type replayed struct{ state atomic.Pointer[string] }

func (r *replayed) now(state string) { r.state.Store(&state) }

func (r *replayed) ServeHTTP(w http.ResponseWriter, req *http.Request) {
	asked := req.Clone(req.Context())
	asked.URL.Host = "master:8080" // as it was recorded
	rec := recording{dir: filepath.Join("..", "zeta", "testdata", "replies", "2.3.13", *r.state.Load())}
	resp, err := rec.RoundTrip(asked)
	if err != nil {
		http.NotFound(w, req)
		return
	}
	defer func() { _ = resp.Body.Close() }() // of a file
	w.Header().Set("Content-Type", resp.Header.Get("Content-Type"))
	w.Header()["Date"] = resp.Header["Date"] // ages are counted from then
	w.WriteHeader(resp.StatusCode)
	_, _ = io.Copy(w, resp.Body) // who asked may have gone
}

// startReplayed serves a recorded state and runs an exporter of it.
func startReplayed(t *testing.T, name, state string) (*replayed, *scaler) {
	t.Helper()
	zeta := &replayed{}
	zeta.now(state)
	server := httptest.NewServer(zeta)
	t.Cleanup(server.Close)
	exporter := newScaler(t, "exporter", name, fmt.Sprintf("web: {listen_address: \"%%s\"}\nclusters: [{name: %s, urls: [%q]}]\n", clusterName, server.URL))
	exporter.start(t)
	return zeta, exporter
}

// The job that waits first is named by what a real Zeta 2.3.13 said, through exporter
// and Prometheus, and by nothing else: not once another one waits first, not while
// two exporters name two jobs, not when nobody waits.
func TestFirstInQueueOfARecordedZeta(t *testing.T) {
	t.Parallel()
	lab.Build(t, harness.ZetaScaler)
	const waits, waitsLonger = "1179405570449735681", "1179405570449801217"
	zeta, one := startReplayed(t, "queue-exporter", "pending")
	other, two := startReplayed(t, "queue-exporter-2", "idle")
	rules := filepath.Join(lab.Dir, "queue.yaml")
	require.NoError(t, os.WriteFile(rules, []byte(queueRules), 0o600))
	s := newScaler(t, "serve", "queue", fmt.Sprintf(`
web: {listen_address: "%%s"}
embedded: {path: %q, retention: 1h, scrape_configs: [{job_name: zeta, scrape_interval: 1s, scrape_timeout: 1s, static_configs: [{targets: [%q, %q]}]}]}
rule_sets: [{file: %q}]
scope_defaults: {rule_set: queue}
state: {path: %q}
leadership: {lock_file: %q}
`, filepath.Join(lab.Dir, "queue-tsdb"), one.address, two.address, rules, filepath.Join(lab.Dir, "queue.db"), filepath.Join(lab.Dir, "queue.lock")))
	s.start(t)
	named := func(want string) (head scaling.QueueHead) {
		harness.Wait(t, patience, "the job that waits first is "+want, func(ctx context.Context) error {
			st, err := s.status(ctx)
			if err != nil {
				return err
			}
			got := ""
			if st.FirstInQueue != nil {
				head, got = *st.FirstInQueue, st.FirstInQueue.JobID
			}
			if got != want {
				return fmt.Errorf("it is %q: %s", got, st.Recommendation.Reason)
			}
			return nil
		})
		return head
	}

	head := named(waits)
	require.Equal(t, "RESOURCE_NOT_ENOUGH", head.Reason)
	require.Equal(t, "job "+waits+" needs 2 slots, lacks 2, waits 12s", head.String())
	require.Contains(t, waitForPage(t, s.url("/"), waits), "First in the queue: job "+waits+" needs 2 slots, lacks 2, waits 12s")
	for _, args := range [][]string{{"status"}, {"explain", clusterName}} {
		out, err := exec.CommandContext(t.Context(), lab.Build(t, harness.ZetaScaler), append(args, "--server", s.url(""))...).CombinedOutput()
		require.NoError(t, err, "%s", out)
		require.Contains(t, string(out), "irst in the queue: job "+waits+" needs 2 slots, lacks 2, waits ", "%s", args)
	}

	zeta.now("hol-head-unsatisfiable")
	named(waitsLonger)
	other.now("pending")
	named("")
	other.now("idle")
	named(waitsLonger)
	s.Kill()
	s.start(t)
	named(waitsLonger)
	zeta.now("idle")
	named("")
}

//go:build e2e && unix

package e2e

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/zeta-scaler/zeta-scaler/e2e/harness"
	"github.com/zeta-scaler/zeta-scaler/evaluator"
	"github.com/zeta-scaler/zeta-scaler/rules"
	"github.com/zeta-scaler/zeta-scaler/scaling"
	"github.com/zeta-scaler/zeta-scaler/source"
	"github.com/zeta-scaler/zeta-scaler/state"
	"github.com/zeta-scaler/zeta-scaler/state/memory"
)

// liveRules have windows of a few seconds. The offset leaves every sample time to
// arrive before it is asked for: what comes later no live service has seen.
const liveRules = `
format: zeta-scaler/v1
ruleset: live
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
    expr: avg_over_time(sig_cpu[3s])
    scale_out: {above: 0.8, for: 3s}
    scale_in: {below: 0.3, for: 5s}
  - signal: big
    class: guard
    expr: max by (cluster) (sig_big)
    scale_out: {above: max_workers, for: 2s}
`

// What happens to the live service at which of its ticks.
const (
	liveTicks   = 60
	boundsAt    = 12
	pauseAt     = 20
	resumeAt    = 26
	prometheus0 = 34 // goes away
	prometheus1 = 40 // is there again
)

// A backtest over the history of a live run decides what that has decided, tick
// by tick, with the limits that changed on the way. Ticks at which Prometheus
// was away were provisional: they are listed, and decided anew.
func TestBacktestOfALiveRun(t *testing.T) {
	rs, err := rules.Parse("live.yaml", []byte(liveRules))
	require.NoError(t, err)
	target := httptest.NewServer(liveTarget(t))
	t.Cleanup(target.Close)
	prometheus := lab.StartPrometheus(t, harness.PrometheusOptions{Name: "prometheus-backtest", Config: fmt.Sprintf(
		"scrape_configs:\n  - job_name: live\n    scrape_interval: 500ms\n    scrape_timeout: 500ms\n    static_configs: [{targets: [%q]}]\n",
		target.Listener.Addr().String())})
	prometheus.WaitFor(t, time.Minute, "count(sig_workers)", 2)

	live := runLive(t, rs, prometheus)
	dir := t.TempDir()
	file := func(name string, content []byte) string {
		path := filepath.Join(dir, name)
		require.NoError(t, os.WriteFile(path, content, 0o600))
		return path
	}
	command := func(place ...string) []byte {
		args := append([]string{
			"backtest", file("live.yaml", []byte(liveRules)), "--limits", file("limits.yaml", live.limits()),
			"--start", live.first.Format(time.RFC3339Nano), "--end", live.last.Format(time.RFC3339Nano), "-o", "jsonl", "--every", "tick",
		}, place...)
		var out, errs bytes.Buffer
		cmd := exec.CommandContext(t.Context(), lab.Build(t, harness.ZetaScaler), args...)
		cmd.Stdout, cmd.Stderr = &out, &errs
		require.NoError(t, cmd.Run(), errs.String())
		return out.Bytes()
	}
	remote := command("--prometheus.url", prometheus.URL)
	live.compare(t, remote)
	data := filepath.Join(lab.Dir, "prometheus-backtest-data")
	require.Equal(t, string(remote), string(command("--tsdb", data)), "the folder, while Prometheus writes it, says the same")
}

// liveTarget exposes two clusters whose inputs change every second or so.
func liveTarget(t *testing.T) http.Handler {
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	began := time.Now()
	pick := func(name, cluster string, hold int, values ...float64) float64 {
		n := uint64(time.Since(began)/time.Second) / uint64(hold)
		r := rand.New(rand.NewPCG(seed^n, uint64(len(name))*31+uint64(cluster[0]))) //nolint:gosec // a test's data
		return values[r.IntN(len(values))]
	}
	return http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		for _, c := range []string{"a", "b"} {
			workers := pick("workers", c, 11, 2, 3, 3, 4)
			reporting := workers - pick("reporting", c, 7, 0, 0, 0, 1)
			for name, v := range map[string]float64{
				"sig_workers": workers, "sig_reporting": reporting, "sig_age": pick("sig_age", c, 7, 0, 0, 90, 200),
				"sig_cpu": pick("sig_cpu", c, 8, 0.1, 0.1, 0.5, 0.95), "sig_big": pick("sig_big", c, 6, 1, 1, 5, 50),
			} {
				fmt.Fprintf(w, "%s{cluster=%q} %g\n", name, c, v)
			}
		}
	})
}

// liveRun is what a live service has published.
type liveRun struct {
	mu    sync.Mutex
	ticks map[time.Time]map[string]scaling.Evaluation
	order []time.Time
	more  chan struct{}

	first, last time.Time
}

// Publish takes every tick's evaluations.
func (l *liveRun) Publish(_ context.Context, evaluations []scaling.Evaluation, _ []scaling.Scope) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, ev := range evaluations {
		if l.ticks[ev.Tick] == nil {
			l.ticks[ev.Tick] = map[string]scaling.Evaluation{}
			l.order = append(l.order, ev.Tick)
		}
		l.ticks[ev.Tick][ev.Scope.Key] = ev
	}
	select {
	case l.more <- struct{}{}:
	default:
	}
}

// await waits until so many ticks were published.
func (l *liveRun) await(t *testing.T, n int) {
	t.Helper()
	for {
		l.mu.Lock()
		have := len(l.order)
		l.mu.Unlock()
		if have >= n {
			return
		}
		select {
		case <-l.more:
		case <-time.After(time.Minute):
			t.Fatalf("%d ticks were published within a minute, expected %d", have, n)
		}
	}
}

// wallClock is the real time.
type wallClock struct{}

func (wallClock) Now() time.Time { return time.Now() }

func (wallClock) WaitUntil(ctx context.Context, at time.Time) error {
	timer := time.NewTimer(time.Until(at))
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// runLive runs the service's own loop against a Prometheus, and lets things
// happen to it.
func runLive(t *testing.T, rs *rules.RuleSet, prometheus *harness.PrometheusServer) *liveRun {
	t.Helper()
	src, err := source.NewRemote(source.RemoteOptions{URLs: []string{prometheus.URL}, LookbackDelta: source.DefaultLookbackDelta})
	require.NoError(t, err)
	defer func() { require.NoError(t, src.Close()) }()
	store := memory.New()
	defer func() { require.NoError(t, store.Close()) }()
	live := &liveRun{ticks: map[time.Time]map[string]scaling.Evaluation{}, more: make(chan struct{}, 1)}
	loop := evaluator.NewLoop(evaluator.Options{
		Source: src, Clock: wallClock{}, Store: store, Epoch: 1,
		Logger: slog.New(slog.DiscardHandler), Publishers: []evaluator.Publisher{live},
	})
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() {
		done <- loop.Run(ctx, evaluator.Config{RuleSets: []*rules.RuleSet{rs}, DefaultRuleSet: rs.Name, Discover: true, ForgetAfter: time.Hour})
	}()
	defer func() { cancel(); require.NoError(t, <-done) }()
	controls := state.Controls(store)
	change := func(scope string, edit func(*state.ControlRecord)) {
		_, err := controls.Change(t.Context(), scope, func(old state.Row[state.ControlRecord]) (state.ControlRecord, []state.Entry, bool) {
			next := old.Value
			edit(&next)
			return next, nil, true
		})
		require.NoError(t, err)
	}
	low, high := 2, 4
	live.await(t, boundsAt)
	change("a", func(c *state.ControlRecord) { c.MinWorkers, c.MaxWorkers = &low, &high })
	live.await(t, pauseAt)
	change("b", func(c *state.ControlRecord) { c.Paused, c.PausedSince = true, time.Now() })
	live.await(t, resumeAt)
	change("b", func(c *state.ControlRecord) { c.Paused, c.ResumedAt = false, time.Now() })
	live.await(t, prometheus0)
	prometheus.Stop(t)
	live.await(t, prometheus1)
	prometheus.Start(t)
	live.await(t, liveTicks)
	live.mu.Lock()
	defer live.mu.Unlock()
	live.first, live.last = live.order[0], live.order[len(live.order)-1]
	return live
}

// limits are the limits that every tick had, as a file of changes.
func (l *liveRun) limits() []byte {
	l.mu.Lock()
	defer l.mu.Unlock()
	var out bytes.Buffer
	out.WriteString("limits:\n")
	type said struct {
		low    int
		high   string
		paused bool
	}
	last := map[string]said{}
	for _, at := range l.order {
		for key, ev := range l.ticks[at] {
			now := said{ev.MinWorkers, number(ev.MaxWorkers), ev.Paused}
			if last[key] == now {
				continue
			}
			last[key] = now
			fmt.Fprintf(&out, "  - {scope: %s, from: %s, min_workers: %d, paused: %t", key, at.Format(time.RFC3339Nano), now.low, now.paused)
			if ev.MaxWorkers != nil {
				fmt.Fprintf(&out, ", max_workers: %d", *ev.MaxWorkers)
			}
			out.WriteString("}\n")
		}
	}
	return out.Bytes()
}

// compare compares every tick with a backtest's.
func (l *liveRun) compare(t *testing.T, text []byte) {
	t.Helper()
	l.mu.Lock()
	defer l.mu.Unlock()
	var provisional []string
	rows, judged := map[scaling.RowID]int{}, 0
	lines := bufio.NewScanner(bytes.NewReader(text))
	for lines.Scan() {
		var got struct {
			Time        time.Time
			Scope       string
			Row         scaling.RowID
			Action      scaling.Action
			Current     *int `json:"currentWorkers"`
			Recommended *int `json:"recommendedWorkers"`
		}
		require.NoError(t, json.Unmarshal(lines.Bytes(), &got))
		ev, ok := l.ticks[got.Time][got.Scope]
		if !ok {
			continue // the loop missed the tick: what it did not publish is no decision
		}
		if ev.Provisional {
			provisional = append(provisional, got.Time.Format("15:04:05")+" "+got.Scope)
			continue
		}
		r := ev.Recommendation
		require.Equal(t,
			decision{Row: r.Row, Action: r.Action, Current: number(r.CurrentWorkers), Target: number(r.RecommendedWorkers)},
			decision{Row: got.Row, Action: got.Action, Current: number(got.Current), Target: number(got.Recommended)},
			"%s at %s: live, then backtest", got.Scope, got.Time)
		rows[got.Row]++
		judged++
	}
	t.Logf("%d decisions of %d ticks are equal, by rows %v; provisional, and decided anew: %v", judged, len(l.order), rows, provisional)
	require.Greater(t, judged, 2*(liveTicks-(prometheus1-prometheus0)-10))
	require.NotEmpty(t, provisional)
	require.Greater(t, len(rows), 4, "the run is too dull to prove anything")
}

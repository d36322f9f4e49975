package main

import (
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/zeta-scaler/zeta-scaler/api"
	"github.com/zeta-scaler/zeta-scaler/contact"
	"github.com/zeta-scaler/zeta-scaler/demo/sim"
)

// quickRules is a rule set that ticks every second.
func quickRules(version string) string {
	return fmt.Sprintf(`format: zeta-scaler/v1
ruleset: quick
version: %s
interval: 1s
scope_by: [cluster]
slot_mode: fixed
workers:
  current: {expr: max by (cluster) (seatunnel_zeta_workers)}
  reporting: {expr: count by (cluster) (seatunnel_zeta_worker_sample_age_seconds < 120) or 0 * max by (cluster) (seatunnel_zeta_workers)}
signals:
  - signal: waiting
    class: blocking
    expr: max by (cluster) (seatunnel_zeta_pending_job_oldest_seconds)
    scale_out: {above: 60, for: 5s}
  - signal: cpu
    class: saturation
    expr: avg by (cluster) (seatunnel_zeta_worker_cpu_ratio)
    unit: ratio
    scale_out: {above: 0.8, for: 5s}
`, version)
}

// nowhere is a Prometheus that does not answer, and one scope that is listed.
const nowhere = `prometheus: {urls: ["http://127.0.0.1:1"], timeout: 1s}
rule_sets: [{file: quick.yaml}]
scopes: [{match: {cluster: prod}}]
`

// nowhereDir is a folder with that configuration.
func nowhereDir(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	write(t, dir, "zeta-scaler.yml", nowhere)
	write(t, dir, "quick.yaml", quickRules("1.0.0"))
	return dir
}

func (p *process) status() api.Status {
	p.t.Helper()
	var s api.Status
	require.NoError(p.t, json.Unmarshal([]byte(p.client("status", "-o", "json")), &s))
	return s
}

func (p *process) evaluations() float64 {
	p.t.Helper()
	n, err := strconv.ParseFloat(p.metric("seatunnel_autoscaler_evaluations_total"), 64)
	require.NoError(p.t, err)
	return n
}

// A Prometheus that does not answer: the service starts, is ready, says that it
// does not know, and does not fill the log.
func TestServeWithoutPrometheus(t *testing.T) {
	t.Parallel()
	p := start(t, nowhereDir(t), "serve")
	require.Contains(t, p.get("/-/ready"), "ready")
	require.Contains(t, p.get("/-/healthy"), "healthy")
	eventually(t, "the listed scope", func() bool { return len(p.status().Scopes) == 1 })

	r := p.status().Scopes[0].Recommendation
	require.Equal(t, "workers_unknown", string(r.Row))
	require.Nil(t, r.CurrentWorkers)
	require.Nil(t, r.RecommendedWorkers)
	require.Nil(t, r.StaleWorkerCount)
	text := p.client("status")
	require.Regexp(t, `(?m)^prod +unknown +NO_ACTION +workers_unknown `, text)
	_, line, found := strings.Cut(text, "\nprod ")
	require.True(t, found, text)
	require.NotRegexp(t, `\b0\b`, strings.Split(line, r.Since.Format(time.RFC3339))[0])
	require.Contains(t, text, "! Prometheus http://127.0.0.1:1 gives no answer since ")
	require.Equal(t, 1, p.log.count(`msg="rule set read" name=quick version=1.0.0 digest=sha256:`))
	require.Equal(t, 1, p.log.count(`msg="asks Prometheus" urls=http://127.0.0.1:1`))
	require.Equal(t, 1, p.log.count(`msg="page for people" url=http://`))
	require.Regexp(t, `(?m)^zeta_scaler_contact_up\{kind="prometheus",name="http://127.0.0.1:1"\} 0$`, p.get("/metrics"))
	require.Regexp(t, `(?m)^zeta_scaler_contact_up\{kind="store",name=".*state.db"\} 1$`, p.get("/metrics"))

	eventually(t, "failures to be counted", func() bool {
		return p.metric(`seatunnel_autoscaler_evaluation_failures_total{reason="no_answer"}`) != "0"
	})
	page := p.get("/metrics")
	for _, unknown := range []string{
		"recommended_workers", "current_workers", "recommended_delta", "stale_workers", "input_", "signal_value",
	} {
		require.NotContains(t, page, "\nseatunnel_autoscaler_"+unknown)
	}
	require.NotContains(t, page, "NaN")

	warnings, evaluated := p.log.count("level=WARN"), p.evaluations()
	require.Positive(t, warnings)
	eventually(t, "five more ticks", func() bool { return p.evaluations() >= evaluated+5 })
	require.LessOrEqual(t, p.log.count("level=WARN"), warnings+1, "one line per change, not per tick")
	require.Zero(t, p.log.count("level=ERROR"))
	p.stop()
}

// A service that has nothing to decide about says what is missing.
func TestStatusWithoutScopes(t *testing.T) {
	t.Parallel()
	p := start(t, t.TempDir(), "serve", "--prometheus.url", "http://127.0.0.1:1", "--state.path", "here/state.db", "--log.format", "json")
	eventually(t, "the first query", func() bool { return p.status().Sources[0].State == contact.Down })
	text := p.client("status")
	require.Contains(t, text, "! Prometheus http://127.0.0.1:1 gives no answer since ")
	require.Contains(t, text, noScopes+"\nThe next evaluation is due at ")
	require.Regexp(t, `(?m)^Prometheus +http://127.0.0.1:1 +down +never `, text)
	require.Equal(t, "No recorded decision matches.\n", p.client("history"))
	s := p.status()
	require.True(t, s.Leader)
	require.Empty(t, s.Scopes)
	require.JSONEq(t, `{"entries":[],"changes":[],"nextCursor":null,"unreadable":0}`, p.client("history", "-o", "json"))

	code, _, stderr := runArgs(t, "status", "--server", p.url, "--scope", "prod")
	require.Equal(t, exitBad, code)
	require.Contains(t, stderr, `there is no scope "prod"`)
	p.stop()
	for line := range strings.Lines(p.log.String()) {
		require.True(t, json.Valid([]byte(line)), line)
	}
}

// One process may decide. The second one says who does, and harms nobody.
func TestServeTwiceOnOneState(t *testing.T) {
	t.Parallel()
	dir := nowhereDir(t)
	p := start(t, dir, "serve")
	said := refused(t, dir, "serve", "--web.listen-address", "127.0.0.1:0")
	require.Regexp(t, `^zeta-scaler: lock file data/lock is held by another process \(pid `+strconv.Itoa(p.cmd.Process.Pid), said)
	require.Contains(t, p.get("/-/ready"), "ready")
	p.stop()

	// After it, another one may, and its epoch is larger.
	p = start(t, dir, "serve")
	require.EqualValues(t, 2, p.status().MasterEpoch)
	p.stop()
}

// Two with lock files of their own share the state all the same: the second one
// is refused before it has changed anything.
func TestServeLocksTheState(t *testing.T) {
	t.Parallel()
	dir := nowhereDir(t)
	write(t, dir, "other.yml", nowhere+"leadership: {lock_file: other.lock}\n")
	first := start(t, dir, "serve")
	eventually(t, "a decision", func() bool { return len(first.status().Scopes) == 1 })
	for _, args := range [][]string{
		{"serve", "--config.file", "other.yml"},
		{"serve", "--config.file", "other.yml", "--state.path", filepath.Join(dir, "data", "state.db")},
	} {
		said := refused(t, dir, append(args, "--web.listen-address", "127.0.0.1:0")...)
		require.Regexp(t, `data/state\.db\.lock is held by another process \(pid `+strconv.Itoa(first.cmd.Process.Pid), said)
	}
	said := refused(t, dir, "serve", "--state.path", "data/state.db", "--web.listen-address", "127.0.0.1:0")
	require.Contains(t, said, "data/lock is held by another process", "the default file, by its name")
	require.EqualValues(t, 1, first.status().MasterEpoch)
	first.stop()
}

// A port that is taken is an error at once, and the lock is free again.
func TestServeOnATakenPort(t *testing.T) {
	t.Parallel()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	t.Cleanup(func() { _ = l.Close() })
	dir := nowhereDir(t)
	for _, program := range []string{"serve", "exporter"} {
		said := refused(t, dir, program, "--web.listen-address", l.Addr().String())
		require.Regexp(t, `zeta-scaler: .*`+l.Addr().String()+`.*address already in use; another program has this port: stop it, or set another web.listen_address`, said)
	}
	start(t, dir, "serve").stop()
}

// --token-file is for a service whose reads are not open.
func TestClientsSendTheirToken(t *testing.T) {
	t.Parallel()
	dir := nowhereDir(t)
	write(t, dir, "zeta-scaler.yml", nowhere+"web: {bearer_tokens_file: tokens, open_reads: false}\n")
	write(t, dir, "tokens", "# of those who read\ncorrect-horse-battery-staple\n")
	p := start(t, dir, "serve")
	code, stdout, stderr := runArgs(t, "status", "--server", p.url)
	require.Equal(t, exitBad, code)
	require.Empty(t, stdout)
	require.Contains(t, stderr, "401")
	for _, cmd := range []string{"status", "history"} {
		code, _, stderr = runArgs(t, cmd, "--server", p.url, "--token-file", filepath.Join(dir, "tokens"))
		require.Zero(t, code, stderr)
	}
	require.NotContains(t, p.log.String(), "correct-horse")
	p.stop()
}

// What does not answer must not keep a program from ending.
func TestStopWhileOthersHang(t *testing.T) {
	t.Parallel()
	url := hangs(t)
	t.Run("Prometheus", func(t *testing.T) {
		t.Parallel()
		dir := t.TempDir()
		write(t, dir, "zeta-scaler.yml", fmt.Sprintf("prometheus: {urls: [%q]}\n", url))
		p := start(t, dir, "serve")
		require.Contains(t, p.get("/-/ready"), "ready")
		p.stop()
	})
	t.Run("Zeta", func(t *testing.T) {
		t.Parallel()
		dir := t.TempDir()
		write(t, dir, "zeta-scaler.yml", fmt.Sprintf(
			"embedded: {path: tsdb}\nclusters: [{name: prod, urls: [%q], endpoint_timeout: 1s}]\n", url))
		start(t, dir, "serve").stop()
		p := start(t, dir, "exporter")
		require.Equal(t, "0", p.metric(`seatunnel_zeta_up{cluster="prod"}`), "answers although Zeta does not")
		require.Empty(t, p.metric(`seatunnel_zeta_workers{cluster="prod"}`))
		p.stop()
	})
}

// zetaServer is a small simulated cluster that lives in real time.
func zetaServer(t *testing.T, workers int) string {
	t.Helper()
	c, err := sim.New(sim.Options{
		Name: "prod", Version: sim.V2313, Start: time.Now(), Workers: workers, SlotsPerWorker: 2, Seed: 1,
	})
	require.NoError(t, err)
	handler := c.Handler()
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		c.Advance(time.Now())
		handler.ServeHTTP(w, r)
	}))
	t.Cleanup(s.Close)
	return s.URL
}

// A Zeta cluster and one process, nothing else: the cluster is collected, its
// scope appears, is decided about, and is remembered over a restart.
func TestServeEmbedded(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	write(t, dir, "quick.yaml", quickRules("1.0.0"))
	write(t, dir, "all.yml", fmt.Sprintf(`embedded: {path: tsdb}
clusters: [{name: prod, urls: ["%s"]}]
rule_sets: [{file: quick.yaml}]
`, zetaServer(t, 3)))
	p := start(t, dir, "serve", "--config.file", "all.yml")
	eventually(t, "a scope with its workers", func() bool {
		s := p.status()
		return len(s.Scopes) == 1 && s.Scopes[0].Recommendation.CurrentWorkers != nil
	})
	s := p.status().Scopes[0]
	require.Equal(t, "prod", s.Scope)
	require.Equal(t, 3, *s.Recommendation.CurrentWorkers)
	require.True(t, s.Recommendation.MetricsValid)
	require.True(t, s.Recommendation.RecommendationOnly)
	require.Regexp(t, `(?m)^prod +3 +NO_ACTION +steady `, p.client("status"))
	require.Equal(t, "3", p.metric(`seatunnel_autoscaler_current_workers{cluster="prod",scope="prod"}`))
	require.Equal(t, "3", p.metric(`seatunnel_autoscaler_recommended_workers{cluster="prod",scope="prod"}`))

	history := p.client("history", "--scope", "prod")
	require.Regexp(t, `(?m)^TIME +SCOPE +WORKERS +ACTION +ROW +REASON$`, history)
	require.Regexp(t, `(?m)^\S+Z +prod +3 +NO_ACTION +steady `, history)
	var page api.HistoryPage
	require.NoError(t, json.Unmarshal([]byte(p.client("history", "-o", "json", "--action", "NO_ACTION")), &page))
	require.NotEmpty(t, page.Entries)
	require.NoError(t, json.Unmarshal([]byte(p.client("history", "-o", "json", "--action", "SCALE_OUT")), &page))
	require.Empty(t, page.Entries)
	p.stop()

	p = start(t, dir, "serve", "--config.file", "all.yml")
	require.Contains(t, p.client("history"), "steady", "recorded before the restart")
	eventually(t, "the scope again", func() bool { return len(p.status().Scopes) == 1 })
	again := p.status()
	require.EqualValues(t, 2, again.MasterEpoch)
	require.Equal(t, s.Recommendation.Generation, again.Scopes[0].Recommendation.Generation)
	require.Equal(t, 3, *again.Scopes[0].Recommendation.CurrentWorkers)
	p.stop()
}

func TestExporter(t *testing.T) {
	t.Parallel()
	zeta := zetaServer(t, 2)
	dir := t.TempDir()
	write(t, dir, "zeta-scaler.yml", fmt.Sprintf("clusters: [{name: prod, urls: [%q]}]\n", zeta))
	p := start(t, dir, "exporter")
	require.Contains(t, p.get("/-/healthy"), "healthy")
	require.Equal(t, "2", p.metric(`seatunnel_zeta_workers{cluster="prod"}`))
	require.Equal(t, "1", p.metric(`seatunnel_zeta_up{cluster="prod"}`))
	require.Contains(t, p.get("/"), "/probe")
	require.Contains(t, p.get("/metrics"), "\nzeta_scaler_build_info{")
	require.Contains(t, p.get("/probe?target="+zeta+"&cluster=other"), "\nseatunnel_zeta_workers{cluster=\"other\"} 2\n")

	// A cluster that does not answer is down: its counts are absent, not 0.
	down := p.get("/probe?target=http://127.0.0.1:1&cluster=down")
	require.Contains(t, down, "\nseatunnel_zeta_up{cluster=\"down\"} 0\n")
	require.NotContains(t, down, "\nseatunnel_zeta_workers{")
	require.NotContains(t, down, "\nseatunnel_zeta_pending_jobs{")
	status, body := p.request(http.MethodGet, "/probe")
	require.Equal(t, http.StatusBadRequest, status)
	require.Contains(t, body, "target")
	p.stop()

	// The exporter keeps nothing.
	entries, err := os.ReadDir(dir)
	require.NoError(t, err)
	require.Len(t, entries, 1)
}

// Without --once the demo serves what the service serves.
func TestDemoServes(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	p := start(t, dir, "demo", "--scenario", "burst", "--speed", "600", "--follow")
	require.Contains(t, p.get("/-/ready"), "ready")
	eventually(t, "a decision", func() bool { return len(p.status().Scopes) == 1 })
	eventually(t, "a scale-out", func() bool { return strings.Contains(p.client("history"), "SCALE_OUT") })
	eventually(t, "an action", func() bool { return strings.Contains(p.client("actions"), "SUCCEEDED") })
	require.Contains(t, p.get("/"), "<html")
	require.Contains(t, p.get("/metrics"), "\nseatunnel_autoscaler_recommended_workers{")
	require.NotContains(t, p.get("/metrics"), "NaN")
	p.stop()
	entries, err := os.ReadDir(dir)
	require.NoError(t, err)
	require.Empty(t, entries)
}

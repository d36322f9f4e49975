package main

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"
)

// Reload, by signal and by request: all of a configuration or nothing of it.
func TestServeReloads(t *testing.T) {
	t.Parallel()
	dir := nowhereDir(t)
	p := start(t, dir, "serve", "--web.enable-lifecycle")
	version := func() string {
		s := p.status()
		if len(s.Scopes) != 1 {
			return ""
		}
		return s.Scopes[0].Recommendation.RuleSet.Version
	}
	successful := func() string { return p.metric("zeta_scaler_config_last_reload_successful") }
	eventually(t, "the first version", func() bool { return version() == "1.0.0" })
	require.Equal(t, "1", successful())

	write(t, dir, "quick.yaml", quickRules("1.1.0"))
	status, body := p.request(http.MethodPost, "/-/reload")
	require.Equal(t, http.StatusOK, status, body)
	eventually(t, "the new version", func() bool { return version() == "1.1.0" })

	// A rule set that is wrong: the reply says where, the old one stays.
	write(t, dir, "quick.yaml", strings.Replace(quickRules("1.2.0"), "for: 5s", "for: soon", 1))
	status, body = p.request(http.MethodPost, "/-/reload")
	require.GreaterOrEqual(t, status, 400)
	require.Contains(t, body, "quick.yaml:14:33: ")
	require.NotRegexp(t, internals, body)
	require.Equal(t, "0", successful())
	require.Contains(t, p.status().ReloadFailure.Error, "quick.yaml:14:33: ")
	require.NotContains(t, p.status().ReloadFailure.Error, "\n")
	evaluated := p.evaluations()
	eventually(t, "more ticks", func() bool { return p.evaluations() >= evaluated+2 })
	require.Equal(t, "1.1.0", version())
	require.Equal(t, 1, p.log.count("reload failed"))
	require.Zero(t, p.log.count("request failed"), "said once")
	require.Contains(t, p.get("/-/ready"), "ready")

	// The same by signal, with a broken configuration.
	write(t, dir, "quick.yaml", quickRules("1.2.0"))
	write(t, dir, "zeta-scaler.yml", nowhere+"scoops: []\n")
	require.NoError(t, p.cmd.Process.Signal(syscall.SIGHUP))
	eventually(t, "the second failure", func() bool { return p.log.count("reload failed") == 2 })
	require.Contains(t, p.log.String(), "zeta-scaler.yml:4:1")
	require.Equal(t, "0", successful())
	require.Equal(t, "1.1.0", version())

	// What is only read at a start is refused, too.
	write(t, dir, "zeta-scaler.yml", nowhere+"state: {path: elsewhere.db}\n")
	status, body = p.request(http.MethodPost, "/-/reload")
	require.GreaterOrEqual(t, status, 400)
	require.Contains(t, body, "state, leadership have changed, which needs a restart")
	require.Equal(t, "1.1.0", version())

	write(t, dir, "zeta-scaler.yml", nowhere)
	require.NoError(t, p.cmd.Process.Signal(syscall.SIGHUP))
	eventually(t, "the good one", func() bool { return version() == "1.2.0" })
	require.Equal(t, "1", successful())
	require.Nil(t, p.status().ReloadFailure)
	p.stop()
}

// A reload of other things leaves the source alone: the replica that is pinned
// stays so, and what was counted about queries is not forgotten.
func TestReloadKeepsThePinnedReplica(t *testing.T) {
	t.Parallel()
	up := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		kind := map[bool]string{true: "matrix", false: "vector"}[strings.HasSuffix(r.URL.Path, "_range")]
		_, _ = fmt.Fprintf(w, `{"status":"success","data":{"resultType":%q,"result":[]}}`, kind)
	})
	var mended atomic.Bool
	first := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !mended.Load() {
			http.Error(w, "starting", http.StatusServiceUnavailable)
			return
		}
		up(w, r)
	}))
	t.Cleanup(first.Close)
	second := httptest.NewServer(up)
	t.Cleanup(second.Close)
	dir := nowhereDir(t)
	file := filepath.Join(dir, "zeta-scaler.yml")
	write(t, dir, "zeta-scaler.yml", strings.Replace(nowhere, `["http://127.0.0.1:1"]`, `["`+first.URL+`", "`+second.URL+`"]`, 1))
	p := start(t, dir, "serve", "--config.file", file)
	pinned := fmt.Sprintf("zeta_scaler_prometheus_replica{url=%q}", second.URL)
	eventually(t, "failover", func() bool { return p.metric(pinned) == "1" })
	mended.Store(true)
	write(t, dir, "quick.yaml", quickRules("1.1.0"))
	evaluated := p.evaluations()
	require.NoError(t, p.cmd.Process.Signal(syscall.SIGHUP))
	eventually(t, "the reload", func() bool { return strings.Contains(p.get("/metrics"), `version="1.1.0"`) })
	eventually(t, "two ticks after it", func() bool { return p.evaluations() >= evaluated+2 })
	require.Equal(t, "1", p.metric(pinned))
	require.Equal(t, "1", p.metric("zeta_scaler_prometheus_failovers_total"))
	p.stop()
}

// Without being told so, nobody may reload by request.
func TestReloadNeedsLeave(t *testing.T) {
	t.Parallel()
	dir := nowhereDir(t)
	p := start(t, dir, "serve")
	status, body := p.request(http.MethodPost, "/-/reload")
	require.Equal(t, http.StatusForbidden, status, body)
	require.Equal(t, "1", p.metric("zeta_scaler_config_last_reload_successful"))
	require.Zero(t, p.log.count("configuration reloaded"))
	p.stop()
}

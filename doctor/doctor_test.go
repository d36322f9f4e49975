package doctor_test

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/zeta-scaler/zeta-scaler/app/kinds"
	"github.com/zeta-scaler/zeta-scaler/config"
	"github.com/zeta-scaler/zeta-scaler/doctor"
)

// examine walks the chain of a configuration and returns what is said of each
// link, one line each.
func examine(t *testing.T, text string, o doctor.Options) (said []string, broken int) {
	t.Helper()
	file := filepath.Join(t.TempDir(), "zeta-scaler.yml")
	require.NoError(t, os.WriteFile(file, []byte(text), 0o600))
	var err error
	o.Config, err = config.Load(config.Options{Kinds: kinds.All(), File: file, FileRequired: true})
	require.NoError(t, err)
	broken = doctor.Walk(t.Context(), o, func(f doctor.Finding) {
		var b strings.Builder
		require.NoError(t, doctor.Print(&b, f))
		said = append(said, b.String())
	})
	return said, broken
}

// prometheus answers every query with one old or new sample, by a clock that may
// be wrong.
func prometheus(t *testing.T, clock time.Duration, up, age string) string {
	t.Helper()
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		w.Header().Set("Date", time.Now().Add(clock).UTC().Format(http.TimeFormat))
		value := "1"
		switch query := r.FormValue("query"); {
		case strings.Contains(query, "timestamp(seatunnel_zeta_up)"):
			value = age
		case strings.Contains(query, "seatunnel_zeta_up"):
			value = up
		}
		_, _ = fmt.Fprintf(w, `{"status":"success","data":{"resultType":"vector","result":[{"metric":{"cluster":"prod"},"value":[0,%q]}]}}`, value)
	}))
	t.Cleanup(s.Close)
	return s.URL
}

func TestClocksAndAges(t *testing.T) {
	for name, tc := range map[string]struct {
		clock   time.Duration
		up, age string
		want    string
		broken  int
	}{
		"well":            {0, "1", "3", "✓ series prod: seatunnel_zeta_up is 1, newest sample 3s ago", 0},
		"clock ahead":     {time.Minute, "1", "3", "ahead of ours", 1},
		"clock behind":    {-time.Minute, "1", "3", "behind ours", 1},
		"Zeta is away":    {0, "0", "3", "✗ series prod: seatunnel_zeta_up is 0", 1},
		"old samples":     {0, "1", "400", "the newest sample is 6m40s old", 1},
		"samples to come": {0, "1", "-60", "1m0s in the future", 1},
	} {
		t.Run(name, func(t *testing.T) {
			said, broken := examine(t, fmt.Sprintf("prometheus: {urls: [%q]}\nrule_sets: [{pack: zeta-auto}]\n", prometheus(t, tc.clock, tc.up, tc.age)), doctor.Options{})
			require.Contains(t, strings.Join(said, ""), tc.want)
			require.Equal(t, tc.broken, broken, "%s", said)
		})
	}
}

// A password in an address is never shown.
func TestSecretsAreNotShown(t *testing.T) {
	said, _ := examine(t, "rule_sets: [{pack: zeta-auto}]\n", doctor.Options{Service: "http://u:hush@127.0.0.1:1"})
	require.Contains(t, strings.Join(said, ""), "127.0.0.1:1: it does not run here")
	require.NotContains(t, strings.Join(said, ""), "hush")
}

// A state that the service would not start with is no healthy link.
func TestAStateThatCannotBeOpenedIsBroken(t *testing.T) {
	path := filepath.Join(t.TempDir(), "state.db")
	require.NoError(t, os.WriteFile(path, []byte(strings.Repeat("remember the milk\n", 100)), 0o600))
	text := fmt.Sprintf("prometheus: {urls: [%q]}\nrule_sets: [{pack: zeta-auto}]\nstate: {path: %q}\n", prometheus(t, 0, "1", "3"), path)
	said, broken := examine(t, text, doctor.Options{})
	require.Contains(t, strings.Join(said, ""), "✗ state "+path)
	require.Contains(t, strings.Join(said, ""), "not SQLite")
	require.Equal(t, 1, broken)
}

// A scope whose metrics are not valid is no healthy link, whichever row decides.
func TestInvalidMetricsOfTheServiceAreBroken(t *testing.T) {
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		_, _ = io.WriteString(w, `{"leader":true,"scopes":[
			{"scope":"well","recommendation":{"row":"steady","metricsValid":true}},
			{"scope":"stale","recommendation":{"row":"steady","metricsValid":false}},
			{"scope":"gone","recommendation":{"row":"workers_unknown","metricsValid":false}}]}`)
	}))
	t.Cleanup(s.Close)
	text := fmt.Sprintf("prometheus: {urls: [%q]}\nrule_sets: [{pack: zeta-auto}]\nstate: {type: memory}\n", prometheus(t, 0, "1", "3"))
	said, broken := examine(t, text, doctor.Options{Service: s.URL})
	require.Contains(t, strings.Join(said, ""), "✗ service "+s.URL+": metrics of stale, gone are not valid")
	require.Contains(t, strings.Join(said, ""), "zeta-scaler explain stale")
	require.Equal(t, 1, broken)
}

// A sample without the label cluster belongs to nobody.
func TestASeriesWithoutAClusterIsBroken(t *testing.T) {
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		_, _ = io.WriteString(w, `{"status":"success","data":{"resultType":"vector","result":[{"metric":{},"value":[0,"1"]}]}}`)
	}))
	t.Cleanup(s.Close)
	said, broken := examine(t, fmt.Sprintf("prometheus: {urls: [%q]}\nrule_sets: [{pack: zeta-auto}]\n", s.URL), doctor.Options{})
	require.Contains(t, strings.Join(said, ""), "✗ series: seatunnel_zeta_up has no label cluster")
	require.Equal(t, 1, broken)

	said, _ = examine(t, fmt.Sprintf("prometheus: {urls: [%q]}\nscopes: [{match: {cluster: prod}}]\n", s.URL), doctor.Options{})
	require.Contains(t, strings.Join(said, ""), "✗ series prod: seatunnel_zeta_up has no label cluster")
}

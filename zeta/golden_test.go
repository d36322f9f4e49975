package zeta

import (
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/prometheus/client_golang/prometheus/testutil/promlint"
	"github.com/stretchr/testify/require"
)

var update = flag.Bool("update", false, "write the golden files anew")

// TestGolden collects every recorded state once and compares the page.
func TestGolden(t *testing.T) {
	states, err := filepath.Glob("testdata/replies/*/*")
	require.NoError(t, err)
	require.NotEmpty(t, states)
	for _, dir := range states {
		version, state := filepath.Base(filepath.Dir(dir)), filepath.Base(dir)
		t.Run(version+"/"+state, func(t *testing.T) {
			checkGolden(t, version+"-"+state, &replay{dir: dir, suffix: goldenSuffix(state), hang: goldenHang(state)}, urlOf(version))
		})
	}
	t.Run("2.3.13/basic-auth-missing", func(t *testing.T) {
		checkGolden(t, "2.3.13-basic-auth-missing", &replay{dir: "testdata/replies/2.3.13/basic-auth", suffix: "-noauth"}, urlOf("2.3.13"))
	})
}

func goldenSuffix(state string) string {
	if state == "basic-auth" {
		return "-auth"
	}
	return ""
}

// goldenHang is what timeline.txt says of a cluster with a frozen worker.
func goldenHang(state string) map[string]bool {
	if state == "worker-hung" {
		return map[string]bool{"/system-monitoring-information": true}
	}
	return nil
}

func urlOf(version string) string {
	if version == "2.3.8" {
		return "http://127.0.0.1:5801"
	}
	return "http://127.0.0.1:8080"
}

func checkGolden(t *testing.T, name string, transport *replay, url string) {
	t.Helper()
	if name == "2.3.8-worker-hung" {
		// The rest of the cluster was as in this state when the worker froze.
		transport.dir = "testdata/replies/2.3.8/full"
	}
	var got string
	synctest.Test(t, func(t *testing.T) {
		got = page(t, newTestCollector(t, transport, withURLs(url)))
	})
	problems, err := promlint.New(strings.NewReader(got)).Lint()
	require.NoError(t, err)
	require.Empty(t, problems)
	file := filepath.Join("testdata/golden", name+".prom")
	if *update {
		require.NoError(t, os.MkdirAll("testdata/golden", 0o755))
		require.NoError(t, os.WriteFile(file, []byte(got), 0o644))
	}
	want, err := os.ReadFile(file)
	require.NoError(t, err)
	require.Equal(t, string(want), got)
}

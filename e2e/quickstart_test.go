//go:build e2e && unix

package e2e

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/zeta-scaler/zeta-scaler/e2e/harness"
)

// appearsWithin is how long a scope may take to appear: a scrape and a tick.
const appearsWithin = 2 * time.Minute

// quickStartFile is the block of docs/quick-start.md that begins with
// "# NAME", adapted: documented addresses become those of this machine.
func quickStartFile(t *testing.T, name string, replace ...string) string {
	t.Helper()
	b, err := os.ReadFile(filepath.Join(lab.Root, "docs", "quick-start.md"))
	require.NoError(t, err)
	m := regexp.MustCompile("(?ms)^```yaml\n# " + regexp.QuoteMeta(name) + "\n(.*?)^```").FindSubmatch(b)
	require.NotNil(t, m, "docs/quick-start.md has no %s", name)
	text := string(m[1])
	for i := 0; i < len(replace); i += 2 {
		require.Contains(t, text, replace[i], name)
		text = strings.Replace(text, replace[i], replace[i+1], 1)
	}
	return text
}

func startSimulator(t *testing.T, name string) string {
	t.Helper()
	address := harness.FreeAddress(t)
	lab.Start(t, harness.Command{
		Name: name, Path: lab.Build(t, harness.Program{Name: "simulator", Module: ".", Package: "./deploy/simulator"}),
		Args: []string{"cluster", "--web.listen-address=" + address},
	})
	return harness.URL(address)
}

// scopeAppears waits until `zeta-scaler status` shows the scope with its workers.
func scopeAppears(t *testing.T, url string) {
	t.Helper()
	scaler := lab.Build(t, harness.ZetaScaler)
	harness.Wait(t, appearsWithin, "zeta-scaler status shows the cluster", func(ctx context.Context) error {
		out, err := exec.CommandContext(ctx, scaler, "status", "--server="+url).CombinedOutput()
		if err != nil {
			return fmt.Errorf("%w: %s", err, out)
		}
		if !regexp.MustCompile(`(?m)\bprod\b.*\bNO_ACTION\b`).Match(out) || strings.Contains(string(out), "workers_unknown") {
			return fmt.Errorf("it says %s", out)
		}
		return nil
	})
}

// As docs/quick-start.md says, on other ports.
func TestQuickStartOfAnExistingPrometheus(t *testing.T) {
	zeta := startSimulator(t, "quick-simulator")
	exporter := newScaler(t, "exporter", "quick-exporter", "web: {listen_address: \"%s\"}\n"+
		quickStartFile(t, "exporter.yml", "http://m1:8080, http://m2:8080", zeta))
	exporter.start(t)
	service := harness.FreeAddress(t)
	prom := lab.StartPrometheus(t, harness.PrometheusOptions{
		Name:   "quick-prometheus",
		Config: "global: {scrape_interval: 1s, scrape_timeout: 1s}\n" + quickStartFile(t, "prometheus.yml", "localhost:9881", exporter.address, "localhost:9880", service),
	})
	prom.WaitFor(t, appearsWithin, `seatunnel_zeta_up{cluster="prod"}`, 1)
	lab.Start(t, harness.Command{
		Name: "quick-serve", Path: lab.Build(t, harness.ZetaScaler), Dir: t.TempDir(),
		Args: []string{"serve", "--prometheus.url=" + prom.URL, "--web.listen-address=" + service},
	})
	scopeAppears(t, harness.URL(service))
	prom.WaitFor(t, appearsWithin, `seatunnel_autoscaler_current_workers{scope="prod"}`, 2)
}

func TestQuickStartOnBareMetal(t *testing.T) {
	zeta := startSimulator(t, "bare-simulator")
	dir := t.TempDir()
	file := filepath.Join(dir, "zeta-scaler.yml")
	require.NoError(t, os.WriteFile(file, []byte(quickStartFile(t, "zeta-scaler.yml", "http://m1:8080", zeta)), 0o600))
	scaler := lab.Build(t, harness.ZetaScaler)
	run(t, ".", scaler, "check", "config", file)
	address := harness.FreeAddress(t)
	lab.Start(t, harness.Command{
		Name: "bare-serve", Path: scaler, Dir: dir, Args: []string{"serve", "--config.file=" + file, "--web.listen-address=" + address},
	})
	scopeAppears(t, harness.URL(address))
}

// What the documentation tells to type exists: command and flags.
func TestDocumentedCommandsExist(t *testing.T) {
	scaler := lab.Build(t, harness.ZetaScaler)
	files, err := filepath.Glob(filepath.Join(lab.Root, "docs", "*.md"))
	require.NoError(t, err)
	files = append(files, filepath.Join(lab.Root, "README.md"))
	line := regexp.MustCompile("(?m)^(?:\\$ |    )?zeta-scaler ([a-z][^#|\n]*)|`zeta-scaler ([a-z][^`\n]*)`")
	seen := 0
	for _, file := range files {
		b, err := os.ReadFile(file)
		require.NoError(t, err)
		for _, m := range line.FindAllStringSubmatch(string(b), -1) {
			words := strings.Fields(m[1] + m[2])
			var command []string
			for _, w := range words {
				if !regexp.MustCompile(`^[a-z]+$`).MatchString(w) || len(command) == 2 {
					break
				}
				command = append(command, w)
			}
			out, err := exec.CommandContext(t.Context(), scaler, append(command, "--help")...).CombinedOutput()
			require.NoError(t, err, "%s: zeta-scaler %s\n%s", filepath.Base(file), strings.Join(words, " "), out)
			for _, w := range words {
				if flag, _, _ := strings.Cut(w, "="); strings.HasPrefix(flag, "--") {
					require.Contains(t, string(out), flag, "%s: zeta-scaler %s", filepath.Base(file), strings.Join(words, " "))
				}
			}
			seen++
		}
	}
	require.Greater(t, seen, 20)
}

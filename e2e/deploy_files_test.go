//go:build e2e && unix

package e2e

import (
	"crypto/sha256"
	"debug/elf"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"go.yaml.in/yaml/v3"

	"github.com/zeta-scaler/zeta-scaler/e2e/harness"
)

// run runs a program in a folder of the repository and returns what it said.
func run(t *testing.T, dir, path string, args ...string) string {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), path, args...)
	cmd.Dir = filepath.Join(lab.Root, dir)
	out, err := cmd.CombinedOutput()
	require.NoError(t, err, "%s %v in %s\n%s", filepath.Base(path), args, dir, out)
	t.Logf("%s %v in %s: ok", filepath.Base(path), args, dir)
	return string(out)
}

// Every file that the compose stack mounts is good for the program that reads
// it. Grafana is not here: its files are checked by the SDK and as YAML.
func TestMountedFilesWithTheProgramsThatReadThem(t *testing.T) {
	run(t, "deploy/compose", lab.Build(t, harness.Promtool), "check", "config", "prometheus.yml")
	amtool := lab.Build(t, alertmanagerProgram("amtool"))
	run(t, "deploy/compose", amtool, "check-config", "alertmanager.yml")
	run(t, "deploy/compose", amtool, "config", "routes", "test", "--config.file=alertmanager.yml", "--verify.receivers=scaler,team",
		"alertname=ZetaScaleOutRecommended", "severity=warning", "recommendation=1-2-prod")
	scaler := lab.Build(t, harness.ZetaScaler)
	run(t, "deploy/compose", scaler, "check", "config", "serve.yml", "exporter.yml", "exporter-zeta.yml")
	run(t, "deploy/kubernetes/overlays/advisory", scaler, "check", "config", "zeta-scaler.yml", "exporter.yml")
	run(t, "deploy/kubernetes/overlays/active/scaler", scaler, "check", "config", "exporter.yml")
	for _, pattern := range []string{"dashboards/provisioning/*/*.yml", "deploy/compose/seatunnel.yaml"} {
		files, err := filepath.Glob(filepath.Join(lab.Root, pattern))
		require.NoError(t, err)
		require.NotEmpty(t, files)
		for _, file := range files {
			b, err := os.ReadFile(file)
			require.NoError(t, err)
			var v map[string]any
			require.NoError(t, yaml.Unmarshal(b, &v), file)
		}
	}
}

// The configuration of the active overlay, whose tokens are in a secret.
func TestActiveConfigurationIsAccepted(t *testing.T) {
	b, err := os.ReadFile(filepath.Join(lab.Root, "deploy/kubernetes/overlays/active/scaler/zeta-scaler.yml"))
	require.NoError(t, err)
	dir := t.TempDir()
	tokens := filepath.Join(dir, "tokens")
	require.NoError(t, os.WriteFile(tokens, []byte("a-token-for-this-test-alone\n"), 0o600))
	text := strings.Replace(string(b), "/etc/zeta-scaler-tokens/tokens", tokens, 1)
	require.NotEqual(t, string(b), text)
	file := filepath.Join(dir, "zeta-scaler.yml")
	require.NoError(t, os.WriteFile(file, []byte(text), 0o600))
	run(t, ".", lab.Build(t, harness.ZetaScaler), "check", "config", file)
}

// The image's build stage runs what the README names, on what go.mod asks for,
// and the binary needs nothing of the image that it lands in.
func TestImageIsWhatMakeBuilds(t *testing.T) {
	b, err := os.ReadFile(filepath.Join(lab.Root, "Dockerfile"))
	require.NoError(t, err)
	dockerfile := string(b)
	require.Regexp(t, `(?m)^RUN .*\bmake build\b`, dockerfile)
	require.Regexp(t, `(?m)^COPY --from=build /src/bin/zeta-scaler /zeta-scaler$`, dockerfile)
	require.Regexp(t, `(?m)^USER \d+:\d+$`, dockerfile)
	for _, from := range regexp.MustCompile(`(?m)^FROM (?:--\S+ )?(\S+)`).FindAllStringSubmatch(dockerfile, -1) {
		require.Regexp(t, `^(build|golang:\d+\.\d+\.\d+-bookworm|gcr\.io/distroless/static-debian12:nonroot)$`, from[1])
	}
	mod, err := os.ReadFile(filepath.Join(lab.Root, "go.mod"))
	require.NoError(t, err)
	needs := regexp.MustCompile(`(?m)^go (\d+\.\d+)`).FindSubmatch(mod)
	require.NotNil(t, needs)
	require.Contains(t, dockerfile, "FROM --platform=$BUILDPLATFORM golang:"+string(needs[1])+".")

	bin := t.TempDir()
	run(t, ".", "/usr/bin/env", "make", "build", "BIN="+bin)
	f, err := elf.Open(filepath.Join(bin, "zeta-scaler"))
	require.NoError(t, err)
	defer f.Close()
	for _, p := range f.Progs {
		require.NotEqual(t, elf.PT_INTERP, p.Type, "the binary needs a dynamic loader, which the image has not")
	}
	libraries, err := f.ImportedLibraries()
	require.NoError(t, err)
	require.Empty(t, libraries)
	require.Contains(t, run(t, ".", filepath.Join(bin, "zeta-scaler"), "version"), "zeta-scaler")
}

// A release is the same whoever makes it, knows its version, and has its
// checksum.
func TestRelease(t *testing.T) {
	archives := map[string][]byte{}
	const name = "zeta-scaler-v9.8.7-linux-" + runtime.GOARCH
	for _, dist := range []string{t.TempDir(), t.TempDir()} {
		run(t, ".", "/usr/bin/env", "make", "release", "VERSION=v9.8.7", "PLATFORMS=linux/"+runtime.GOARCH, "DIST="+dist)
		b, err := os.ReadFile(filepath.Join(dist, name+".tar.gz"))
		require.NoError(t, err)
		archives[dist] = b
		sums, err := os.ReadFile(filepath.Join(dist, "SHA256SUMS"))
		require.NoError(t, err)
		require.Equal(t, fmt.Sprintf("%x  %s.tar.gz\n", sha256.Sum256(b), name), string(sums))
		run(t, ".", "/usr/bin/env", "tar", "-xzf", filepath.Join(dist, name+".tar.gz"), "-C", dist)
		require.Contains(t, run(t, ".", filepath.Join(dist, name, "zeta-scaler"), "version"), "v9.8.7")
		for _, file := range []string{"LICENSE", "README.md", "alerts/zeta-scaler.rules.yml", "dashboards/overview.json", "systemd/zeta-scaler.service"} {
			require.FileExists(t, filepath.Join(dist, name, file))
		}
	}
	all := slices.Collect(maps.Values(archives))
	require.Len(t, all, 2)
	require.Equal(t, sha256.Sum256(all[0]), sha256.Sum256(all[1]), "two runs on one commit differ")
}

func TestSystemdUnits(t *testing.T) {
	units, err := filepath.Glob(filepath.Join(lab.Root, "deploy/systemd/*.service"))
	require.NoError(t, err)
	require.Len(t, units, 2)
	for _, unit := range units {
		b, err := os.ReadFile(unit)
		require.NoError(t, err)
		for _, line := range []string{"DynamicUser=yes", "ProtectSystem=strict", "NoNewPrivileges=yes", "CapabilityBoundingSet=", "SystemCallFilter=@system-service"} {
			require.Contains(t, string(b), "\n"+line+"\n", unit)
		}
	}
	analyze, err := exec.LookPath("systemd-analyze")
	if err != nil {
		harness.Unavailable(t, "systemd-analyze is not here")
	}
	for _, unit := range units {
		// The program is not installed where the tests run.
		b, err := os.ReadFile(unit)
		require.NoError(t, err)
		copied := filepath.Join(t.TempDir(), filepath.Base(unit))
		text := strings.ReplaceAll(string(b), "/usr/local/bin/zeta-scaler", lab.Build(t, harness.ZetaScaler))
		require.NoError(t, os.WriteFile(copied, []byte(text), 0o600))
		require.Empty(t, run(t, ".", analyze, "verify", "--man=no", copied))
	}
}

// The modules that are not the main one have tests of their own.
func TestNestedModules(t *testing.T) {
	for _, dir := range []string{"dashboards/generator", "e2e/deploy"} {
		run(t, dir, "/usr/bin/env", "go", "test", "./...")
	}
}

package harness

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"
)

// Program is a Go program that is built from source.
type Program struct {
	// Name of the file below bin/e2e.
	Name string
	// Module is the folder of its module, relative to the root.
	Module  string
	Package string
	Tags    string
	LDFlags string
}

// Programs that the tests run. Those of others have modules of their own;
// Prometheus is at the version that the service embeds.
var (
	ZetaScaler = Program{Name: "zeta-scaler", Module: ".", Package: "./cmd/zeta-scaler"}
	Prometheus = Program{
		Name: "prometheus", Module: "e2e/prom", Package: "github.com/prometheus/prometheus/cmd/prometheus",
		Tags: promTags, LDFlags: "-s -w -X github.com/prometheus/common/version.Version=" + PrometheusVersion,
	}
	VictoriaMetrics = Program{
		Name: "victoria-metrics", Module: "e2e/victoriametrics", Package: "github.com/VictoriaMetrics/VictoriaMetrics/app/victoria-metrics",
		LDFlags: "-s -w",
	}
	Promtool = Program{
		Name: "promtool", Module: "e2e/prom", Package: "github.com/prometheus/prometheus/cmd/promtool",
		Tags: promTags, LDFlags: "-s -w -X github.com/prometheus/common/version.Version=" + PrometheusVersion,
	}
)

// promTags leaves out how Prometheus finds targets at clouds, which is most of it.
const promTags = "remove_all_sd,enable_dns_sd"

// PrometheusVersion is the release that e2e/prom/go.mod names as v0.316.0.
const PrometheusVersion = "3.16.0"

// Build builds a program with the flags of the Makefile, so that they share a
// build cache, and returns its path. It is built once per lab; an up-to-date
// file below bin/e2e costs a second.
func (l *Lab) Build(t testing.TB, p Program) string {
	t.Helper()
	path := filepath.Join(l.Root, "bin", "e2e", p.Name)
	l.mu.Lock()
	defer l.mu.Unlock()
	err, done := l.built[p.Name]
	if !done {
		began := time.Now()
		err = l.build(p, path)
		l.built[p.Name] = err
		t.Logf("built %s in %s", p.Name, time.Since(began).Round(pollEvery))
	}
	if err != nil {
		t.Fatalf("building %s: %v", p.Name, err)
	}
	return path
}

func (l *Lab) build(p Program, path string) error {
	args := []string{"build", "-trimpath", "-buildvcs=false", "-o", path, "-tags", p.Tags, "-ldflags", p.LDFlags, p.Package}
	//nolint:noctx // ends with the test binary's own time-out
	cmd := exec.Command("go", args...)
	cmd.Dir = filepath.Join(l.Root, p.Module)
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	if err := cmd.Run(); err != nil {
		return fmt.Errorf("go build %s: %w\n%s", p.Package, err, out.String())
	}
	return nil
}

// Unavailable skips the test and says why, or fails it where RequireEnv is set.
func Unavailable(t testing.TB, format string, args ...any) {
	t.Helper()
	reason := fmt.Sprintf(format, args...)
	if os.Getenv(RequireEnv) != "" {
		t.Fatalf("%s=%s: %s", RequireEnv, os.Getenv(RequireEnv), reason)
	}
	t.Skip("skipped: " + reason)
}

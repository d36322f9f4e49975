package app

import (
	"context"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/zeta-scaler/zeta-scaler/app/kinds"
	"github.com/zeta-scaler/zeta-scaler/config"
	"github.com/zeta-scaler/zeta-scaler/leadership"
)

// A reload while a term ends waits for nobody: it is read, and the next term
// begins with it.
func TestReloadWhileATermEnds(t *testing.T) {
	dir, all := nowhere(t), kinds.All()
	s, err := newService(t.Context(), Options{Log: io.Discard, Load: func() (*config.Config, error) {
		return config.Load(config.Options{Kinds: all, File: filepath.Join(dir, "zeta-scaler.yml"), Flags: map[string]any{
			"web.listen-address": "127.0.0.1:0", "state.path": filepath.Join(dir, "state.db"),
		}})
	}})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, s.close()) })
	ctx, lose := context.WithCancel(t.Context())
	defer lose()
	done := make(chan error, 1)
	go func() { done <- s.lead(ctx, leadership.NewTerm(1, time.Now(), ctx.Err)) }()
	eventually(t, "it leads", func() bool { return s.term.Load() != nil })

	loop, cfg := s.term.Load().loop, s.cfg.EvaluatorConfig()
	s.mu.Lock() // as a reload has it
	lose()
	eventually(t, "the loop has ended", func() bool {
		short, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
		defer cancel()
		return loop.Reload(short, cfg) != nil
	})
	writeRules(t, dir, "1.0.1")
	limited, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	next, err := s.load()
	require.NoError(t, err)
	err = s.swap(limited, next)
	s.mu.Unlock()
	require.NoError(t, err)
	require.NoError(t, <-done)
	require.Nil(t, s.term.Load())
	require.Equal(t, "1.0.1", s.cfg.Rules[0].Version)
}

// eventually polls until a condition holds.
func eventually(t *testing.T, what string, cond func() bool) {
	t.Helper()
	require.Eventually(t, cond, time.Minute, 10*time.Millisecond, what)
}

// nowhere is a folder with the configuration of a Prometheus that does not
// answer, and one scope that is listed.
func nowhere(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(dir, "zeta-scaler.yml"), []byte(`prometheus: {urls: ["http://127.0.0.1:1"], timeout: 1s}
rule_sets: [{file: quick.yaml}]
scopes: [{match: {cluster: prod}}]
`), 0o600))
	writeRules(t, dir, "1.0.0")
	return dir
}

// writeRules writes a rule set that ticks every second.
func writeRules(t *testing.T, dir, version string) {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("testdata", "quick.yaml"))
	require.NoError(t, err)
	text = []byte(strings.Replace(string(text), "version: 1.0.0", "version: "+version, 1))
	require.NoError(t, os.WriteFile(filepath.Join(dir, "quick.yaml"), text, 0o600))
}

// A stop that comes before the first term has begun is no failure.
func TestStopBeforeATermBegins(t *testing.T) {
	dir, all := nowhere(t), kinds.All()
	s, err := newService(t.Context(), Options{Log: io.Discard, Load: func() (*config.Config, error) {
		return config.Load(config.Options{Kinds: all, File: filepath.Join(dir, "zeta-scaler.yml"), Flags: map[string]any{
			"web.listen-address": "127.0.0.1:0", "state.path": filepath.Join(dir, "state.db"),
		}})
	}})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, s.close()) })
	ctx, stop := context.WithCancel(t.Context())
	stop()
	require.NoError(t, s.lead(ctx, leadership.NewTerm(1, time.Now(), nil)))
	require.Nil(t, s.term.Load())
}

package main

import (
	"context"
	"io"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/zeta-scaler/zeta-scaler/config"
	"github.com/zeta-scaler/zeta-scaler/leadership"
)

// A reload while a term ends waits for nobody: it is read, and the next term
// begins with it.
func TestReloadWhileATermEnds(t *testing.T) {
	dir := nowhereDir(t)
	s, err := newService(t.Context(), io.Discard, func() (*config.Config, error) {
		return config.Load(config.Options{File: filepath.Join(dir, "zeta-scaler.yml"), Flags: map[string]any{
			"web.listen-address": "127.0.0.1:0", "state.path": filepath.Join(dir, "state.db"),
		}})
	})
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
	write(t, dir, "quick.yaml", quickRules("1.0.1"))
	limited, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	err = s.swap(limited)
	s.mu.Unlock()
	require.NoError(t, err)
	require.NoError(t, <-done)
	require.Nil(t, s.term.Load())
	require.Equal(t, "1.0.1", s.cfg.Rules[0].Version)
}

package app

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/zeta-scaler/zeta-scaler/app/kinds"
	"github.com/zeta-scaler/zeta-scaler/config"
)

// TestRoundsComeFromTheRuleSet: whether a shortage that goes on waits for the
// cooldown is the rule set's to say.
func TestRoundsComeFromTheRuleSet(t *testing.T) {
	dir, all := nowhere(t), kinds.All()
	file := filepath.Join(dir, "zeta-scaler.yml")
	text, err := os.ReadFile(file)
	require.NoError(t, err)
	text = bytes.Replace(text, []byte("[{file: quick.yaml}]"), []byte("[{file: quick.yaml}, {pack: zeta-auto}, {pack: zeta-responsive}]"), 1)
	require.NoError(t, os.WriteFile(file, text, 0o600))
	load := func() (*config.Config, error) {
		return config.Load(config.Options{Kinds: all, File: file, Flags: map[string]any{
			"web.listen-address": "127.0.0.1:0", "state.path": filepath.Join(dir, "state.db"),
		}})
	}
	cfg, err := load()
	require.NoError(t, err)
	s, err := newService(t.Context(), Options{Log: t.Output(), Load: load})
	require.NoError(t, err)
	defer func() { require.NoError(t, s.close()) }()
	for name, rounds := range map[string]bool{"zeta-auto": false, "zeta-responsive": true} {
		cfg.Scopes[0].RuleSet = name
		scopes, err := s.actuation(cfg)
		require.NoError(t, err)
		require.Equal(t, rounds, scopes[0].Rounds, name)
	}
}

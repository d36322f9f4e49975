package ruletest

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

// The limits of a test are laid over the bounds of the rule set.
func TestLimitsAreLaidOverTheBounds(t *testing.T) {
	dir := t.TempDir()
	set, err := os.ReadFile("testdata/sets/basic.yaml")
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(filepath.Join(dir, "basic.yaml"), set, 0o600))
	run := func(limits, row string) bool {
		f, err := RunContent(t.Context(), filepath.Join(dir, "t.yaml"), []byte(`rule_files: [basic.yaml]
tests:
  - interval: 30s
    input_series:
      - {series: 'sig_workers{cluster="a"}', values: '3x20'}
      - {series: 'sig_reporting{cluster="a"}', values: '3x20'}
      - {series: 'sig_cpu{cluster="a"}', values: '0.5x20'}
      - {series: 'sig_slots{cluster="a"}', values: '0.5x20'}
      - {series: 'sig_oldest{cluster="a"}', values: '0x20'}
    limits: `+limits+`
    decision_test: [{eval_time: 5m, scope: a, row: `+row+`}]
`), Options{})
		require.NoError(t, err)
		require.Empty(t, f.Problems)
		return f.Tests[0].Passed
	}
	require.True(t, run("{min_workers: 1, max_workers: 9}", "steady"))
	require.True(t, run("{min_workers: 1, max_workers: 2}", "above_max_blocked"))
	require.True(t, run("{min_workers: 5, max_workers: 9, floor_delay: 1m}", "below_min"))
}

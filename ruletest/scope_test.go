package ruletest

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

// A scope whose workers nobody counts exists all the same: its count is
// unknown.
func TestScopeExistsFromAnySample(t *testing.T) {
	dir := t.TempDir()
	rules, err := os.ReadFile("testdata/sets/basic.yaml")
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(filepath.Join(dir, "basic.yaml"), rules, 0o600))
	file := filepath.Join(dir, "t.yaml")
	require.NoError(t, os.WriteFile(file, []byte(`rule_files: [basic.yaml]
tests:
  - name: nobody counts the workers
    interval: 30s
    input_series: [{series: 'sig_cpu{cluster="a"}', values: '0.2x10'}]
    decision_test: [{eval_time: 2m, scope: a, row: workers_unknown, recommended_workers: null}]
`), 0o600))
	report, err := Run(t.Context(), Options{Files: []string{file}})
	require.NoError(t, err)
	require.True(t, report.Passed())
}

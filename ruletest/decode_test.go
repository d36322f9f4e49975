package ruletest

import (
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/prometheus/model/labels"
	"github.com/stretchr/testify/require"

	"github.com/zeta-scaler/zeta-scaler/scaling"
)

var update = flag.Bool("update", false, "write the golden files")

func golden(t *testing.T, file, got string) {
	t.Helper()
	if *update {
		require.NoError(t, os.WriteFile(file, []byte(got), 0o644))
	}
	want, err := os.ReadFile(file)
	require.NoError(t, err)
	require.Equal(t, string(want), got)
}

func TestParseReadsEveryField(t *testing.T) {
	f, problems := parse("dir/x.test.yaml", []byte(`
rule_files: [a.yaml, ../b.yaml]
packs: [zeta-auto]
evaluation_interval: 30s
tests:
  - name: story
    rule_set: one
    interval: 1m
    input_series:
      - {series: 'sig{cluster="a"}', values: '1+1x3 _ stale'}
    limits: {min_workers: 0, max_workers: 7, floor_delay: 2m}
    decision_test:
      - eval_time: 12m30s
        scope: a
        row: shortage
        action: SCALE_OUT
        recommended_workers: 4
        current_workers: null
        metrics_valid: false
        stale_workers: 0
        triggers: [x, y]
        blockers: []
        reason: oldest
    promql_expr_test:
      - expr: sum(sig)
        eval_time: 0
        exp_samples: [{labels: '{}', value: 1}, {value: NaN}]
  - promql_expr_test: [{expr: "1", eval_time: 1m}]
`))
	require.Empty(t, problems)
	require.Equal(t, []string{"a.yaml", "../b.yaml"}, []string{f.RuleFiles[0].Name, f.RuleFiles[1].Name})
	require.Equal(t, "zeta-auto", f.Packs[0].Name)
	require.Equal(t, 30*time.Second, f.EvaluationInterval)
	require.Len(t, f.Tests, 2)
	require.Equal(t, "unnamed#1", f.Tests[1].Name)

	test := f.Tests[0]
	require.Equal(t, "one", test.RuleSet.Name)
	require.Equal(t, time.Minute, test.Interval)
	require.Equal(t, `sig{cluster="a"}`, test.Series[0].Series)
	require.Equal(t, []any{0, 7, 2 * time.Minute},
		[]any{*test.Limits.MinWorkers, *test.Limits.MaxWorkers, *test.Limits.FloorDelay})
	d := test.Decisions[0]
	require.Equal(t, 12*time.Minute+30*time.Second, d.EvalTime)
	require.Equal(t, "a", *d.Scope)
	require.Equal(t, scaling.RowShortage, *d.Row)
	require.Equal(t, scaling.ScaleOut, *d.Action)
	require.Equal(t, Count{Known: true, N: 4}, *d.RecommendedWorkers)
	require.Equal(t, Count{}, *d.CurrentWorkers)
	require.False(t, *d.MetricsValid)
	require.Equal(t, Count{Known: true}, *d.StaleWorkers)
	require.Equal(t, []string{"x", "y"}, *d.Triggers)
	require.Equal(t, []string{}, *d.Blockers)
	require.Equal(t, "oldest", *d.Reason)
	require.Equal(t, labels.EmptyLabels(), test.PromQL[0].Samples[0].Labels)
	require.Len(t, test.PromQL[0].Samples, 2)

	require.Equal(t, filepath.Join("dir", "a.yaml"), f.resolve("a.yaml"))
	require.Equal(t, "b.yaml", f.resolve("../b.yaml"))
	require.Equal(t, "/abs.yaml", f.resolve("/abs.yaml"))
}

// Each file of testdata/bad has one kind of fault; the golden file beside it
// has every problem with its place.
func TestParseReportsEveryProblemWithItsPlace(t *testing.T) {
	files, err := filepath.Glob("testdata/bad/*.yaml")
	require.NoError(t, err)
	require.NotEmpty(t, files)
	for _, file := range files {
		t.Run(filepath.Base(file), func(t *testing.T) {
			content, err := os.ReadFile(file)
			require.NoError(t, err)
			_, problems := parse(filepath.Base(file), content)
			require.NotEmpty(t, problems)
			var lines []string
			for _, p := range problems {
				lines = append(lines, strings.TrimSuffix(p.Render(), "\n"))
			}
			golden(t, strings.TrimSuffix(file, ".yaml")+".txt", strings.Join(lines, "\n")+"\n")
		})
	}
}

func TestParseRefusesHugeFiles(t *testing.T) {
	_, problems := parse("x", make([]byte, maxFileBytes+1))
	require.Len(t, problems, 1)
	require.Contains(t, problems[0].String(), "more than 16777216 bytes")

	series := strings.Repeat("      - {series: a, values: '0x900000'}\n", 9)
	_, problems = parse("x", []byte("packs: [a]\ntests:\n  - input_series:\n"+series+"    decision_test: [{eval_time: 0, row: idle}]\n"))
	require.Len(t, problems, 1, "said once")
	require.Contains(t, problems[0].String(), "more than 5000000 values")
}

// Whatever the bytes: a file or problems, never both and never neither, and
// every problem has a place.
func FuzzParse(f *testing.F) {
	for _, glob := range []string{"testdata/*.yaml", "testdata/bad/*.yaml"} {
		files, err := filepath.Glob(glob)
		require.NoError(f, err)
		for _, file := range files {
			content, err := os.ReadFile(file)
			require.NoError(f, err)
			f.Add(content)
		}
	}
	f.Fuzz(func(t *testing.T, content []byte) {
		if len(content) > 4096 {
			return // long inputs only make the search slow
		}
		file, problems := parse("fuzz.yaml", content)
		for _, p := range problems {
			require.Positive(t, p.Pos.Line, p.String())
			require.NotEmpty(t, p.Message)
		}
		if len(problems) == 0 {
			require.NotEmpty(t, file.Tests)
		}
	})
}

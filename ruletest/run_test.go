package ruletest

import (
	"bytes"
	"context"
	"encoding/json"
	"encoding/xml"
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func run(t *testing.T, o Options) Report {
	t.Helper()
	r, err := Run(t.Context(), o)
	require.NoError(t, err)
	return r
}

func text(t *testing.T, r Report) string {
	t.Helper()
	var b bytes.Buffer
	require.NoError(t, r.WriteText(&b))
	return b.String()
}

func TestRunPasses(t *testing.T) {
	r := run(t, Options{Files: []string{"testdata/pass.test.yaml"}})
	require.True(t, r.Passed(), text(t, r))
	require.Equal(t, "ok    testdata/pass.test.yaml (3 tests)\n3 tests, 0 failed\n", text(t, r))
}

func TestRunSaysWhatIsNotAsExpectedAndWhy(t *testing.T) {
	r := run(t, Options{Files: []string{"testdata/fail.test.yaml"}})
	require.False(t, r.Passed())
	tests, failed := r.Counts()
	require.Equal(t, []int{5, 4}, []int{tests, failed})
	golden(t, "testdata/fail.txt", text(t, r))

	written, err := json.Marshal(r)
	require.NoError(t, err)
	var back Report
	require.NoError(t, json.Unmarshal(written, &back))
	require.Equal(t, r.Files[0].Tests[0].Failures[0].Differences, back.Files[0].Tests[0].Failures[0].Differences)
	require.Len(t, r.Files[0].Tests[0].Failures[0].Differences, 9, "one difference for each of the nine fields")
	require.NotEmpty(t, back.Files[0].Tests[0].Failures[0].Why.Inputs)
}

// A name from a file neither moves the cursor of a terminal nor makes up a line.
func TestTextHasNoControlCharacters(t *testing.T) {
	r := Report{Files: []FileResult{
		{File: "a\x1b[2J.yaml", Problems: []string{"a.yaml:1:1: odd\n    \tname: \x07"}},
		{File: "b\nok    c.yaml", Tests: []TestResult{{Name: "falls\r\nok", Failures: []Failure{{Line: 3, Message: "got \u202e"}}}}},
	}}
	require.Equal(t, `ERROR a?[2J.yaml
  a.yaml:1:1: odd
      	name: ?
FAIL  b?ok    c.yaml (1 test)
  FAIL falls??ok [ ]
    line 3
      got ?
1 test, 1 failed
`, text(t, r))
}

func TestRunFilter(t *testing.T) {
	r := run(t, Options{Files: []string{"testdata/fail.test.yaml"}, Run: regexp.MustCompile("passes$")})
	require.True(t, r.Passed(), text(t, r))
	require.Len(t, r.Files[0].Tests, 1)
}

func TestRunReportsFilesThatCannotBeRead(t *testing.T) {
	files := []string{
		"testdata/none.yaml", "testdata/bad/syntax.yaml", "testdata/unknown-set.test.yaml", "testdata/unknown-name.test.yaml",
	}
	r := run(t, Options{Files: files})
	require.False(t, r.Passed())
	golden(t, "testdata/unreadable.txt", text(t, r))
}

// Errors of a rule set are shown in its own file, all of them.
func TestRunShowsTheErrorsOfARuleSet(t *testing.T) {
	r := run(t, Options{Files: []string{"testdata/broken-set.test.yaml"}})
	require.False(t, r.Passed())
	got := text(t, r)
	require.Contains(t, got, "broken-set.test.yaml:1:14: sets/broken.yaml cannot be used")
	require.Greater(t, strings.Count(got, "testdata/sets/broken.yaml:"), 2, got)
}

// What is wrong with a test file and with its rule sets is said at once.
func TestRunShowsTheErrorsOfFileAndRuleSets(t *testing.T) {
	content := []byte("rule_files: [none.yaml]\ntests:\n  - decision_test: [{eval_time: 1m, row: idel}]\n")
	f, err := RunContent(t.Context(), "testdata/x.yaml", content, Options{})
	require.NoError(t, err)
	require.Len(t, f.Problems, 2)
	require.Contains(t, f.Problems[0], `row is "idel"`)
	require.Contains(t, f.Problems[1], "none.yaml")

	content = []byte("rule_files: x.yaml\ntests:\n  - rule_set: basic\n    decision_test: [{eval_time: 1m, row: idle}]\n")
	f, err = RunContent(t.Context(), "testdata/x.yaml", content, Options{})
	require.NoError(t, err)
	require.Len(t, f.Problems, 1, "which rule sets were meant is not known")
	require.Contains(t, f.Problems[0], "rule_files is the text \"x.yaml\", expected a list")
}

func TestRunContentNeedsNoFile(t *testing.T) {
	content, err := os.ReadFile("testdata/pass.test.yaml")
	require.NoError(t, err)
	f, err := RunContent(t.Context(), "testdata/pack_test.yaml", content, Options{})
	require.NoError(t, err)
	require.True(t, f.Passed())
	require.Equal(t, "testdata/pack_test.yaml", f.File)
}

func TestJUnit(t *testing.T) {
	r := run(t, Options{Files: []string{"testdata/pass.test.yaml", "testdata/fail.test.yaml", "testdata/bad/syntax.yaml"}})
	var b bytes.Buffer
	require.NoError(t, r.WriteJUnit(&b))
	var suites junitSuites
	require.NoError(t, xml.Unmarshal(b.Bytes(), &suites))
	require.Equal(t, []int{9, 4, 1}, []int{suites.Tests, suites.Failures, suites.Errors})
	require.Len(t, suites.Suites, 3)
	require.Equal(t, "a job waits for six minutes [basic]", suites.Suites[0].Cases[0].Name)
	require.Contains(t, suites.Suites[1].Cases[0].Failure.Text, "expected: NO_ACTION")
	require.Contains(t, suites.Suites[2].Cases[0].Error.Message, "not YAML")
	// Several expectations of one test are one failure that names them all.
	r = Report{Files: []FileResult{{File: "f", Tests: []TestResult{{Name: "t", Failures: []Failure{{Line: 3, Message: "a"}, {Line: 9, Message: "b"}}}}}}}
	b.Reset()
	require.NoError(t, r.WriteJUnit(&b))
	require.Equal(t, 1, strings.Count(b.String(), "<failure "), b.String())
	require.Contains(t, b.String(), "(and 1 more)")
	require.Contains(t, b.String(), "line 9")
}

func TestRunEndsWithItsContext(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err := Run(ctx, Options{Files: []string{"testdata/pass.test.yaml"}})
	require.ErrorIs(t, err, context.Canceled)
}

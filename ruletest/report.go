package ruletest

import (
	"time"

	"github.com/prometheus/common/model"

	"github.com/zeta-scaler/zeta-scaler/scaling"
)

// Report is the outcome of a run.
type Report struct {
	Files []FileResult `json:"files"`
}

// FileResult is the outcome of one test file.
type FileResult struct {
	File string `json:"file"`
	// Problems kept the file, or a rule set that it names, from being read; no
	// test has run then.
	Problems []string     `json:"problems,omitempty"`
	Tests    []TestResult `json:"tests"`
}

// TestResult is one test against one rule set.
type TestResult struct {
	Name    string             `json:"name"`
	RuleSet scaling.RuleSetRef `json:"ruleSet"`
	Passed  bool               `json:"passed"`
	// Failures are empty if and only if the test passed.
	Failures []Failure     `json:"failures,omitempty"`
	Took     time.Duration `json:"-"`
}

// Failure is one expectation that was not met.
type Failure struct {
	// Line is where the expectation stands in the test file.
	Line int `json:"line"`
	// EvalTime is what the test asks for, Tick the instant that was evaluated; nil
	// where the test as a whole failed.
	EvalTime *model.Duration `json:"evalTime,omitempty"`
	Tick     *model.Duration `json:"tick,omitempty"`
	Scope    string          `json:"scope,omitempty"`
	Expr     string          `json:"expr,omitempty"`
	// Message is set where there is nothing to compare, such as a query error.
	Message     string       `json:"message,omitempty"`
	Differences []Difference `json:"differences,omitempty"`
	// Why is the decision that was taken instead, nil if there is none.
	Why *Why `json:"why,omitempty"`
}

// Difference is one field that is not as expected.
type Difference struct {
	Field    string `json:"field"`
	Expected string `json:"expected"`
	Got      string `json:"got"`
}

// Why says how a decision came about.
type Why struct {
	Row      scaling.RowID                  `json:"row"`
	Reason   string                         `json:"reason"`
	Inputs   []scaling.Input                `json:"inputs"`
	Snapshot map[string]scaling.Measurement `json:"snapshot"`
}

// Passed reports whether every file was read and every test passed.
func (r *Report) Passed() bool {
	for i := range r.Files {
		if !r.Files[i].Passed() {
			return false
		}
	}
	return true
}

// Counts are how many tests ran and how many of them failed.
func (r *Report) Counts() (tests, failed int) {
	for i := range r.Files {
		tests += len(r.Files[i].Tests)
		failed += r.Files[i].failed()
	}
	return tests, failed
}

// Passed reports whether the file was read and every test in it passed.
func (f *FileResult) Passed() bool { return len(f.Problems) == 0 && f.failed() == 0 }

func (f *FileResult) failed() int {
	n := 0
	for i := range f.Tests {
		if !f.Tests[i].Passed {
			n++
		}
	}
	return n
}

package ruletest

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/zeta-scaler/zeta-scaler/document"
	"github.com/zeta-scaler/zeta-scaler/rules"
	"github.com/zeta-scaler/zeta-scaler/scaling"
)

// Options say what to run.
type Options struct {
	// Files are test files.
	Files []string
	// Run restricts the tests to those whose name matches; nil runs all.
	Run *regexp.Regexp
	// Packs are rule sets that take the place of the packs that they were made
	// from, by the names of those.
	Packs map[string]*rules.RuleSet
}

// Run runs the tests of all files. What is wrong with a file or fails in a
// test is in the report; an error means that ctx has ended.
func Run(ctx context.Context, o Options) (Report, error) {
	r := Report{Files: make([]FileResult, 0, len(o.Files))}
	for _, path := range o.Files {
		f, err := runFile(ctx, path, o)
		if err != nil {
			return r, err
		}
		r.Files = append(r.Files, f)
	}
	return r, nil
}

func runFile(ctx context.Context, path string, o Options) (FileResult, error) {
	content, err := document.ReadFile(path, maxFileBytes)
	if err != nil {
		return FileResult{File: path, Problems: []string{err.Error()}, Tests: []TestResult{}}, nil
	}
	return RunContent(ctx, path, content, o)
}

// RunContent runs the tests of a file that has been read already, such as one
// that lies beside an embedded pack. Path names it and is the base of
// rule_files; of the options, the files do not count.
func RunContent(ctx context.Context, path string, content []byte, o Options) (FileResult, error) {
	result := FileResult{File: path, Tests: []TestResult{}}
	f, problems := parse(path, content)
	sets, more := f.ruleSets(o.Packs)
	problems = append(problems, more...)
	if len(problems) > 0 {
		for _, p := range problems {
			result.Problems = append(result.Problems, strings.TrimSuffix(p.Render(), "\n"))
		}
		return result, nil
	}
	for i := range f.Tests {
		t := &f.Tests[i]
		if o.Run != nil && !o.Run.MatchString(t.Name) {
			continue
		}
		for _, rs := range sets {
			if t.RuleSet.Name != "" && !isNamed(rs, t.RuleSet.Name) {
				continue
			}
			outcome, err := f.runTest(ctx, t, rs)
			if err != nil {
				return result, err
			}
			result.Tests = append(result.Tests, outcome)
		}
	}
	return result, nil
}

// ruleSets loads every rule set that the file names, and checks that the tests
// name only those; without any, nobody knows which were meant.
func (f *File) ruleSets(packs map[string]*rules.RuleSet) (sets []*rules.RuleSet, problems []document.Diagnostic) {
	from := map[string]string{}
	fail := func(ref Reference, format string, args ...any) {
		problems = append(problems, f.source.Diagnostic(document.SeverityError, ref.Pos, check, "", fmt.Sprintf(format, args...)))
	}
	add := func(ref Reference, rs *rules.RuleSet, err error) {
		switch {
		case err != nil:
			var list *document.ErrorList
			if !errors.As(err, &list) {
				fail(ref, "%v", err)
				return
			}
			fail(ref, "%s cannot be used", ref.Name)
			problems = append(problems, list.Diagnostics...)
		case from[rs.Name] != "":
			fail(ref, "rule set %s is there already, from %s", rs.Name, from[rs.Name])
		default:
			from[rs.Name] = ref.Name
			sets = append(sets, rs)
		}
	}
	for _, ref := range f.RuleFiles {
		rs, err := rules.ParseFile(f.resolve(ref.Name))
		add(ref, rs, err)
	}
	for _, ref := range f.Packs {
		if rs := packs[ref.Name]; rs != nil {
			add(ref, rs, nil)
			continue
		}
		rs, _, err := rules.Pack(ref.Name)
		add(ref, rs, err)
	}
	for i := range f.Tests {
		if ref := f.Tests[i].RuleSet; ref.Name != "" && !slices.ContainsFunc(sets, func(rs *rules.RuleSet) bool { return isNamed(rs, ref.Name) }) && len(sets) > 0 && len(problems) == 0 {
			fail(ref, "rule_set %q is none of the file's", ref.Name)
		}
	}
	return sets, problems
}

// isNamed reports whether a test means a rule set by a name: its own, or that of
// the pack that was changed.
func isNamed(rs *rules.RuleSet, name string) bool {
	return rs.Name == name || rs.Name == rules.ChangedName(name)
}

// runTest runs one test against one rule set. What keeps it from running
// is a failure of the test, unless ctx has ended.
func (f *File) runTest(ctx context.Context, t *Test, rs *rules.RuleSet) (TestResult, error) {
	began := time.Now()
	interval := f.EvaluationInterval
	if interval == 0 {
		interval = rs.Interval
	}
	failures, err := (&trial{test: t, rs: rs, interval: interval}).run(ctx)
	if ctx.Err() != nil {
		return TestResult{}, fmt.Errorf("running test %q of %s: %w", t.Name, f.Path, ctx.Err())
	}
	if err != nil {
		failures = append(failures, Failure{Line: t.Pos.Line, Message: err.Error()})
	}
	return TestResult{
		Name:     t.Name,
		RuleSet:  scaling.RuleSetRef{Name: rs.Name, Version: rs.Version, Digest: rs.Digest},
		Passed:   len(failures) == 0,
		Failures: failures,
		Took:     time.Since(began),
	}, nil
}

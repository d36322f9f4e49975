package docs

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// command is a line of a sh or console block.
type command struct {
	page, line string
	// marker is the comment in front of its block, "run by: TestX" or
	// "not run: why"; empty without one.
	marker string
}

var (
	fence   = regexp.MustCompile("^\\s*```\\s*(\\w*)")
	comment = regexp.MustCompile(`^\s*<!-- ((?:not run|run by): .+) -->$`)
)

// commands reads every command of every page.
func commands(t *testing.T) []command {
	t.Helper()
	var out []command
	for _, page := range pages(t) {
		b, err := os.ReadFile(page)
		require.NoError(t, err)
		out = append(out, commandsOf(filepath.Base(page), string(b))...)
	}
	return out
}

// commandsOf reads the commands of one page. In a console block they begin
// with a dollar sign, what follows is their output.
func commandsOf(page, text string) []command {
	var out []command
	marker, language := "", ""
	inside := false
	for line := range strings.SplitSeq(text, "\n") {
		if m := fence.FindStringSubmatch(line); m != nil {
			inside = !inside
			language = m[1]
			if !inside {
				marker = ""
			}
			continue
		}
		if !inside {
			if m := comment.FindStringSubmatch(line); m != nil {
				marker = m[1]
			} else if strings.TrimSpace(line) != "" {
				marker = ""
			}
			continue
		}
		line = strings.TrimSpace(line)
		switch language {
		case "console":
			prompt, found := strings.CutPrefix(line, "$ ")
			if !found {
				continue
			}
			line = prompt
		case "sh", "bash", "shell":
		default:
			continue
		}
		if line != "" && !strings.HasPrefix(line, "#") {
			out = append(out, command{page: page, line: line, marker: marker})
		}
	}
	return out
}

// known are commands that need no marker: which test runs them, or why none
// does. The first pattern that matches "page: command" counts.
var known = []struct{ pattern, test, why string }{
	{pattern: `^api\.md: curl `, test: "TestDocsExcerptsAreReal"},
	{pattern: `: make (test|lint|build|e2e)\b`, why: "a step of .ci/run"},
	{pattern: `: make demo\b`, why: "builds, and starts what TestEveryPanelHasData starts"},
	{pattern: `: make (bench|help|fuzz)\b`, why: "takes long, or prints targets"},
	{pattern: `^performance\.md: go test .*-bench`, why: "a benchmark; make test compiles it"},
	{pattern: `^performance\.md: bin/bench/`, why: "a measurement by hand; bench/run.sh builds and runs the program"},
	{pattern: `^demo\.md: zeta-scaler demo --once`, test: "TestDocumentedTranscriptsAreReal"},
	{pattern: `^demo\.md: zeta-scaler demo`, test: "TestDemoServes"},
	{pattern: `^rule-(sets|tests)\.md: zeta-scaler (rules|check|test) `, test: "TestScripts"},
	{pattern: `^runbook\.md: zeta-scaler `, test: "TestRunbookCommands"},
	{pattern: `^runbook\.md: `, why: "asks the reader's own platform"},
	{pattern: `^sources\.md: curl `, why: "asks the reader's own Prometheus"},
	{pattern: `^exporter\.md: zeta-scaler exporter`, test: "TestQuickStartOfAnExistingPrometheus"},
}

// Every command that a reader may type is run by a test, or says why not.
func TestEveryCommandIsRunOrMarked(t *testing.T) {
	sources := testSources(t)
	ci, err := os.ReadFile("../.ci/run")
	require.NoError(t, err)
	makefile, err := os.ReadFile("../Makefile")
	require.NoError(t, err)
	list := commands(t)
	require.Greater(t, len(list), 20)
	for _, c := range list {
		where := c.page + ": " + c.line
		if target, ok := strings.CutPrefix(c.line, "make "); ok {
			target = strings.Fields(target)[0]
			require.Regexp(t, `(?m)^`+regexp.QuoteMeta(target)+`:`, string(makefile), where)
		}
		if test, ok := strings.CutPrefix(c.marker, "run by: "); ok {
			require.NotEmpty(t, sources[test], "%s is marked as run by %s, which does not exist", where, test)
			require.Empty(t, missing(sources[test], c), "%s is marked as run by %s, which reads no such page and has no such words", where, test)
			continue
		}
		if c.marker != "" {
			continue
		}
		found := false
		for _, k := range known {
			if !regexp.MustCompile(k.pattern).MatchString(where) {
				continue
			}
			found = true
			if k.test != "" {
				require.NotEmpty(t, sources[k.test], "%s: %s does not exist", where, k.test)
				require.Empty(t, missing(sources[k.test], c), "%s: %s reads no such page and has no such words", where, k.test)
			}
			if k.why == "a step of .ci/run" {
				require.Contains(t, string(ci), strings.Join(strings.Fields(c.line)[:2], " "), where)
			}
			break
		}
		require.True(t, found, "%s is run by no test: put <!-- run by: TestName --> or <!-- not run: why --> in front of its block", where)
	}
}

// word matches what a test that runs a command has to have: subcommands and
// flags, but not their values.
var word = regexp.MustCompile(`^(--[a-z][a-z.-]+|[a-z]{3,})(=.*)?$`)

// missing are the words of a command that a test does not have, none if the test
// reads the page itself.
func missing(source string, c command) []string {
	if strings.Contains(source, c.page) {
		return nil
	}
	var out []string
	typed, _, _ := strings.Cut(c.line, " #")
	value := false // of the flag before
	for w := range strings.FieldsSeq(typed) {
		if m := word.FindStringSubmatch(w); m != nil && !value && !strings.Contains(source, strings.TrimPrefix(m[1], "--")) {
			out = append(out, m[1])
		}
		value = strings.HasPrefix(w, "-") && !strings.Contains(w, "=")
	}
	return out
}

func TestCommandsAreFound(t *testing.T) {
	text := "<!-- not run: why -->\n```console\n$ a b\noutput\n```\n\n```sh\n# remark\nc\n```\n<!-- run by: TestX -->\nprose\n```sh\nd\n```\n```text\n$ e\n```\n"
	require.Equal(t, []command{
		{page: "p.md", line: "a b", marker: "not run: why"}, {page: "p.md", line: "c"}, {page: "p.md", line: "d"},
	}, commandsOf("p.md", text))
	require.Empty(t, missing(`read("p.md")`, command{page: "p.md", line: "zeta-scaler frob --hard"}), "it reads the page")
	require.Empty(t, missing(`run("zeta-scaler", "frob", "--hard=3")`, command{page: "p.md", line: "zeta-scaler frob --hard=1 /X"}))
	require.Equal(t, []string{"frob", "--hard"}, missing(`run("zeta-scaler")`, command{page: "p.md", line: "zeta-scaler frob --hard=1 /X"}))
}

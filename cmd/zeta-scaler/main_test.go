package main

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"
	"github.com/stretchr/testify/require"
)

var update = flag.Bool("update", false, "rewrite the expected output in testdata/script")

// TestMain lets the test binary be the command itself, for the scripts and for
// the tests that start a service.
func TestMain(m *testing.M) {
	testscript.Main(m, map[string]func(){"zeta-scaler": main})
}

// TestScripts runs testdata/script/*.txt: a command line, the files that it
// reads and the output that is expected, in one place.
func TestScripts(t *testing.T) {
	testscript.Run(t, testscript.Params{
		Dir:                 "testdata/script",
		UpdateScripts:       *update,
		RequireExplicitExec: true,
		RequireUniqueNames:  true,
		Condition: func(cond string) (bool, error) {
			if cond != "root" {
				return false, fmt.Errorf("unknown condition %q", cond)
			}
			return os.Geteuid() == 0, nil // who may write everywhere
		},
		Cmds: map[string]func(*testscript.TestScript, bool, []string){"code": codeCmd},
	})
}

// codeCmd is "code N PROGRAM ARGS…": like exec, but the exit code is given, and
// the output must be fit for people.
func codeCmd(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: code N program [args...]")
	}
	want, err := strconv.Atoi(args[0])
	ts.Check(err)
	got := 0
	if err := ts.Exec(args[1], args[2:]...); err != nil {
		exit, ok := errors.AsType[*exec.ExitError](err)
		if !ok {
			ts.Fatalf("%v", err)
		}
		got = exit.ExitCode()
	}
	if got != want {
		ts.Fatalf("exit code %d, expected %d", got, want)
	}
	for _, stream := range []string{"stdout", "stderr"} {
		if leak := internals.FindString(ts.ReadFile(stream)); leak != "" {
			ts.Fatalf("%s has %q, which is for programmers", stream, leak)
		}
	}
}

// internals is what no output may have: traces of the program's inside, and
// slips of fmt.
var internals = regexp.MustCompile(
	`panic:|goroutine \d|runtime error|\.go:\d+ \+0x|0x[0-9a-f]{6,}|%!\w?\(|&\{|<nil>|\(nil\)|\bmap\[|` +
		`\*(app|config|rules|evaluator|scaling|api|state|source|zeta|demo|url|errors|fmt|os|net|yaml)\.\w+|` +
		`\b(reflect|interface \{\}|main\.[a-z]\w+)\b|cannot unmarshal|into Go `)

// What comes from a file's name or from a service does not move the cursor.
func TestErrorsHaveNoControlCharacters(t *testing.T) {
	for _, args := range [][]string{{"backtest", "a\x1b[2J.yaml"}, {"check", "rules", "a\x1b[2J.yaml"}, {"status", "--server", "http://a\x1b[2J"}} {
		var out, errs strings.Builder
		require.NotZero(t, run(t.Context(), nil, args, &out, &errs), args)
		require.NotContains(t, out.String()+errs.String(), "\x1b", args)
		require.Contains(t, out.String()+errs.String(), "[2J", args)
	}
}

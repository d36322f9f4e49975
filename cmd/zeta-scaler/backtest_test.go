package main

import (
	"fmt"
	"math"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// morning writes twelve hours of one cluster: a busy forenoon, in which jobs wait
// for a while.
func morning(t *testing.T, path string) {
	t.Helper()
	const begin = 1772323200 // 2026-03-01T00:00:00Z
	var b strings.Builder
	series := func(name, more string, value func(hour float64) float64) {
		for minute := range 12*60 + 1 {
			fmt.Fprintf(&b, "%s{cluster=\"prod\"%s} %g %d\n", name, more, value(float64(minute)/60), begin+60*minute)
		}
	}
	series("seatunnel_zeta_workers", "", func(float64) float64 { return 3 })
	for _, w := range []string{"a", "b", "c"} {
		series("seatunnel_zeta_worker_sample_age_seconds", `,worker="`+w+`"`, func(float64) float64 { return 5 })
	}
	series("seatunnel_zeta_pending_job_oldest_seconds", "", func(h float64) float64 {
		if h < 6 || h > 6.2 {
			return 0
		}
		return math.Round((h - 6) * 3600)
	})
	series("seatunnel_zeta_worker_cpu_ratio", `,worker="a"`, func(h float64) float64 {
		if h < 4 || h > 9 {
			return 0.2
		}
		return math.Round(1000*(0.55+0.2*math.Sin((h-4)*1.3))) / 1000
	})
	b.WriteString("# EOF\n")
	require.NoError(t, os.WriteFile(path, []byte(b.String()), 0o600))
}

// TestBacktestPage runs the commands of docs/backtest.md and compares what they
// print; with -update the page is written anew.
func TestBacktestPage(t *testing.T) {
	dir := t.TempDir()
	require.NoError(t, os.CopyFS(dir, os.DirFS("testdata/backtest")))
	morning(t, filepath.Join(dir, "past.txt"))
	pageIsTrue(t, "backtest.md", dir)
	require.FileExists(t, filepath.Join(dir, "report.html"))
}

// pageIsTrue runs the commands of a page of the documentation in dir, and compares
// what they print and which files they show; with -update the page is written anew.
func pageIsTrue(t *testing.T, page, dir string) {
	t.Helper()
	name, err := filepath.Abs("../../docs/" + page)
	require.NoError(t, err)
	text, err := os.ReadFile(name)
	require.NoError(t, err)
	t.Chdir(dir)
	block := regexp.MustCompile("(?s)<!-- (run by: " + t.Name() + "|shows [^ ]+) -->\n```(\\w+)\n(.*?)```")
	anew := block.ReplaceAllStringFunc(string(text), func(text string) string {
		m := block.FindStringSubmatch(text)
		body := ""
		if file, ok := strings.CutPrefix(m[1], "shows "); ok {
			content, err := os.ReadFile(filepath.Join(dir, file))
			require.NoError(t, err)
			body = string(content)
		} else {
			line, _, _ := strings.Cut(m[3], "\n")
			body = line + "\n" + printed(t, strings.TrimPrefix(line, "$ zeta-scaler "))
		}
		return fmt.Sprintf("<!-- %s -->\n```%s\n%s```", m[1], m[2], body)
	})
	if *update {
		require.NoError(t, os.WriteFile(name, []byte(anew), 0o600))
	}
	require.Equal(t, anew, string(text), "go test ./cmd/zeta-scaler -run "+t.Name()+" -update writes the page")
}

// printed is what a command prints.
func printed(t *testing.T, line string) string {
	t.Helper()
	code, stdout, stderr := runArgs(t, strings.Fields(line)...)
	require.Zero(t, code, stderr)
	require.Empty(t, stderr)
	return stdout
}

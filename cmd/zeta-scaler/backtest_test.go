package main

import (
	"fmt"
	"math"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

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

// Who reads the past of a service needs its configuration, and no right to write what
// it writes.
func TestThePastOfAServiceOfAnotherUser(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "zeta-scaler.yml")
	require.NoError(t, os.WriteFile(filepath.Join(dir, "taken"), nil, 0o600))
	require.NoError(t, os.WriteFile(file, []byte("state: {type: file, path: taken/state.db}\nclusters: [{name: prod, urls: [http://zeta:8080]}]\n"), 0o600))
	place, err := (&backtestFlags{config: file}).place()
	require.NoError(t, err)
	require.Equal(t, []string{"http://localhost:9090"}, place.API.URLs)
	cluster, err := (&historyFlags{config: file, cluster: "prod"}).remembered()
	require.NoError(t, err)
	require.Equal(t, []string{"http://zeta:8080"}, cluster.URLs)

	code, _, stderr := runArgs(t, "check", "config", file)
	require.Equal(t, exitBad, code, stderr)
}

func TestPeriod(t *testing.T) {
	now := time.Date(2026, 3, 14, 12, 0, 0, 0, time.UTC)
	from, to, err := periodOf("2h", "1h", now)
	require.NoError(t, err)
	require.Equal(t, []time.Time{now.Add(-3 * time.Hour), now.Add(-time.Hour)}, []time.Time{from, to}, "the start lies before the end")
	_, _, err = periodOf("2h", "tomorrow", now)
	require.ErrorContains(t, err, `--end: "tomorrow" is neither a time`)
	_, _, err = periodOf("long ago", "now", now)
	require.ErrorContains(t, err, `--start: "long ago" is neither a time`)
}

package main

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/zeta-scaler/zeta-scaler/simulate"
)

// TestSimulatePage runs the commands of docs/simulate.md and compares what they
// print; with -update the page is written anew.
func TestSimulatePage(t *testing.T) {
	dir := t.TempDir()
	require.NoError(t, os.CopyFS(dir, os.DirFS("testdata/simulate")))
	pageIsTrue(t, "simulate.md", dir)
}

// TestSimulateFlags: what the flags say holds for every workload, a file's too.
func TestSimulateFlags(t *testing.T) {
	file := filepath.Join(t.TempDir(), "jobs.csv")
	require.NoError(t, os.WriteFile(file, []byte("submitted_at,slots,seconds,kind\n0,2,60,batch\n30,2,60,batch\n7200,2,60,batch\n"), 0o600))
	code, stdout, stderr := runArgs(t, "simulate", "--workload", file, "--workload", "steady", "--duration", "30m", "--no-bound",
		"--static", "1,2", "--peers", "hpa-queue", "--min-workers", "1", "--max-workers", "2", "--slots-per-worker", "2", "--boot", "10s", "-o", "json")
	require.Zero(t, code, stderr)
	var r simulate.Report
	require.NoError(t, json.Unmarshal([]byte(stdout), &r))
	require.Len(t, r.Workloads, 2)
	require.Equal(t, 2, r.Workloads[0].Jobs, "one comes later")
	for _, w := range r.Workloads {
		require.Equal(t, 2, w.MaxWorkers)
		require.LessOrEqual(t, w.Hours, 0.5)
		require.Len(t, w.Outcomes, 4)
	}
	wait := r.Workloads[0].Outcomes[0].WaitMean
	require.InDelta(t, 15, wait, 3, "the second job waits for the first")
	require.InDelta(t, 0, r.Workloads[0].Outcomes[1].WaitMean, 1)
}

func TestSimulateRefusesWhatMakesNoSense(t *testing.T) {
	for _, test := range []struct {
		args []string
		want string
		code int
	}{
		{[]string{"--workload", "x"}, `there is no workload "x" and no such file, expected all, a file, or one of steady, diurnal`, 2},
		{[]string{"--workload", "./x.csv"}, "--workload: open ./x.csv", 1},
		{[]string{"--peers", "me"}, `there is no model "me", expected all, or some of hpa-queue`, 2},
		{[]string{"--rules.pack", "me"}, "--rules.pack: ", 2},
		{[]string{"--peers", "spark,hpa-queue,spark"}, "--peers: spark is given twice", 2},
		{[]string{"--static", "4,5,4"}, "--static: 4 is given twice", 2},
		{[]string{"--workload", "burst", "--workload", "all"}, "--workload: burst is given twice", 2},
		{[]string{"--slot-mode", "x"}, `--slot-mode is "x", expected fixed or dynamic`, 2},
		{[]string{"--strategy", "x"}, `strategy is "x", expected wait or reject`, 2},
		{[]string{"--boot", "x"}, `--boot is "x", expected a length of time`, 2},
		{[]string{"--boot", "3m..30s"}, "workers take 3m0s to 30s to boot", 2},
		{[]string{"--duration", "0s"}, `--duration is "0s", expected more than 0`, 2},
		{[]string{"--min-workers", "5", "--max-workers", "3"}, "between 5 and 3 workers", 2},
		{[]string{"--scrape-loss", "1"}, "1 of the scrapes are lost", 2},
		{[]string{"--max-workers", "10001"}, "up to 10001 workers, expected at most 10000", 2},
		{[]string{"--slots-per-worker", "100001"}, "slots per worker is 100001, expected at most 100000", 2},
		{[]string{"--static", "0"}, "a cluster of 0 workers", 1},
		{[]string{"--static", "10001"}, "a cluster of 10001 workers, expected 1 to 10000", 1},
		{[]string{"--scrape-interval", "2h"}, "the scrape interval is 2h0m0s", 1},
		{[]string{"--html", "testdata"}, "--html testdata: that is a folder, expected the name of a file", 1},
		{[]string{"--html", "/no/such/folder/x.html"}, "--html /no/such/folder/x.html: its folder", 1},
		{[]string{"--scrape-interval", "0s"}, `--scrape-interval is "0s", expected more than 0`, 2},
		{[]string{"--flap-within", "0"}, `--flap-within is "0", expected more than 0`, 2},
		{[]string{"--cluster", "prod"}, "--cluster says whose past is played: give --zeta.url", 2},
		{[]string{"--prometheus.url", "http://127.0.0.1:1"}, "--cluster is missing", 2},
		{[]string{"--prometheus.url", "http://127.0.0.1:1", "--zeta.url", "http://127.0.0.1:1"}, "give one of --zeta.url", 2},
		{[]string{"--prometheus.url", "http://127.0.0.1:1", "--cluster", "c", "--start", "x"}, `--start: "x" is neither`, 2},
		{[]string{"--zeta.url", "http://127.0.0.1:1"}, "reading the history of 127.0.0.1:1: asking http://127.0.0.1:1", 1},
	} {
		code, stdout, stderr := runArgs(t, append([]string{"simulate"}, test.args...)...)
		require.Equal(t, test.code, code, test.args)
		require.Empty(t, stdout)
		require.Contains(t, stderr, test.want)
	}
}

func TestSimulateOfAClusterThatWantsCredentialsSaysHow(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusUnauthorized) }))
	defer server.Close()
	code, _, stderr := runArgs(t, "simulate", "--zeta.url", server.URL)
	require.Equal(t, 1, code)
	require.Contains(t, stderr, "status 401 Unauthorized: give a cluster that wants credentials by --config.file and --cluster")
}

// The past of a cluster that answers over REST is played, and what is only
// estimated of it is said; the report has pictures.
func TestSimulateOwnPast(t *testing.T) {
	var history []string
	for i := range 20 {
		at := time.Date(2026, 3, 1, 10, i, 0, 0, time.UTC)
		history = append(history, fmt.Sprintf(`{"jobName":"j","jobStatus":"FINISHED","createTime":"%s","finishTime":"%s","jobDag":{"pipelineEdges":{"1":[]}}}`,
			at.Format(time.DateTime), at.Add(5*time.Minute).Format(time.DateTime)))
	}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		switch r.URL.Path {
		case "/overview":
			fmt.Fprint(w, `{"projectVersion":"2.3.13","workers":"2","runningJobs":"1"}`)
		case "/finished-jobs/FINISHED":
			fmt.Fprint(w, "["+strings.Join(history, ",")+"]")
		default:
			w.WriteHeader(http.StatusInternalServerError)
			fmt.Fprint(w, `{"status":"fail","message":"no start time"}`)
		}
	}))
	defer server.Close()
	page := filepath.Join(t.TempDir(), "report.html")
	code, stdout, stderr := runArgs(t, "simulate", "--zeta.url", server.URL, "--cluster", "prod", "--slots-per-pipeline", "3", "--no-bound", "--html", page)
	require.Zero(t, code, stderr)
	require.Contains(t, stdout, "prod (fixed slots, WAIT)")
	require.Contains(t, stdout, "note: prod: its slots are estimated by 3 for each pipeline")
	require.Contains(t, stdout, "note: prod: asking for the failed jobs: status 500 Internal Server Error: no start time: they are missing")
	text, err := os.ReadFile(page)
	require.NoError(t, err)
	for _, want := range []string{"20 jobs of Zeta", "its slots are estimated by 3", `aria-label="workers of prod under zeta-auto"`, "Waiting of each job"} {
		require.Contains(t, string(text), want)
	}
	require.NotContains(t, string(text), "NaN")
}

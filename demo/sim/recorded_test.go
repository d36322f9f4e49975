package sim

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"
	"github.com/stretchr/testify/require"
)

var start = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)

// shape lists every key of a document with the kind of its value, each once:
// what a reader of the document can rely on.
func shape(t *testing.T, doc []byte) []string {
	t.Helper()
	var v any
	dec := json.NewDecoder(bytes.NewReader(doc))
	dec.UseNumber()
	require.NoError(t, dec.Decode(&v), "%.200s", doc)
	seen := map[string]bool{}
	var walk func(path string, v any)
	walk = func(path string, v any) {
		switch v := v.(type) {
		case map[string]any:
			seen[path+" object"] = true
			for k, e := range v {
				walk(path+"/"+k, e)
			}
		case []any:
			seen[path+" array"] = true
			for _, e := range v {
				walk(path+"[]", e)
			}
		case json.Number:
			seen[path+" number"] = true
		case string:
			seen[path+" string"+suffix(v)] = true
		default:
			seen[fmt.Sprintf("%s %T", path, v)] = true
		}
	}
	walk("", v)
	lines := make([]string, 0, len(seen))
	for l := range seen {
		lines = append(lines, l)
	}
	slices.Sort(lines)
	return lines
}

// suffix tells the units of the monitoring strings apart.
func suffix(s string) string {
	switch {
	case strings.HasSuffix(s, "%"):
		return " %"
	case strings.HasSuffix(s, "ms"):
		return " ms"
	default:
		return ""
	}
}

func get(t *testing.T, c *Cluster, path string) (*http.Response, []byte) {
	t.Helper()
	client := &http.Client{Transport: c.Transport()}
	resp, err := client.Get("http://master:8080" + path) //nolint:noctx // answered from memory
	require.NoError(t, err)
	body, err := io.ReadAll(resp.Body)
	require.NoError(t, err)
	require.NoError(t, resp.Body.Close())
	return resp, body
}

func newCluster(t *testing.T, o Options) *Cluster {
	t.Helper()
	o.Name, o.Start, o.Seed = "zeta-fixture", start, 1
	c, err := New(o)
	require.NoError(t, err)
	return c
}

// The states that were recorded from real clusters, rebuilt.
func states(t *testing.T) map[string]*Cluster {
	idle := newCluster(t, Options{Version: V2313, Workers: 2, SlotsPerWorker: 2})

	pending := newCluster(t, Options{Version: V2313, Workers: 2, SlotsPerWorker: 2})
	for _, name := range []string{"fixture-a", "fixture-b", "fixture-c"} {
		pending.Submit(JobSpec{Name: name, Parallelism: 1})
	}
	pending.Advance(start.Add(12 * time.Second))

	reject := newCluster(t, Options{Version: V2313, Workers: 1, SlotsPerWorker: 2, Strategy: Reject})
	reject.Submit(JobSpec{Name: "fixture-a", Parallelism: 1})
	reject.Submit(JobSpec{Name: "fixture-r", Parallelism: 3})
	reject.Advance(start.Add(10 * time.Second))

	v1 := newCluster(t, Options{Version: V238, Workers: 2, SlotsPerWorker: 2})
	for _, name := range []string{"fixture-a", "fixture-b", "fixture-c"} {
		v1.Submit(JobSpec{Name: name, Parallelism: 1})
	}
	v1.Advance(start.Add(40 * time.Second))

	return map[string]*Cluster{
		"2.3.13/idle": idle, "2.3.13/pending": pending, "2.3.13/reject": reject, "2.3.8/reject-after": v1,
	}
}

func TestRepliesHaveTheShapeOfRecordedOnes(t *testing.T) {
	for state, c := range states(t) {
		base := ""
		if strings.HasPrefix(state, V238) {
			base = v1Maps
		}
		files, err := filepath.Glob(filepath.Join("testdata", state, "*.json"))
		require.NoError(t, err)
		require.NotEmpty(t, files)
		for _, file := range files {
			t.Run(file, func(t *testing.T) {
				want, err := os.ReadFile(file)
				require.NoError(t, err)
				path := "/" + strings.TrimSuffix(filepath.Base(file), ".json")
				path = strings.Replace(path, "-FAILED", "/FAILED", 1)
				_, got := get(t, c, base+path)
				require.Equal(t, shape(t, want), shape(t, got))
			})
		}
	}
}

// Values of the overview and the queue that a decision is made of.
func TestRepliesSayWhatTheRecordedOnesSay(t *testing.T) {
	all := states(t)
	for state, path := range map[string]string{
		"2.3.13/idle": "/overview", "2.3.13/pending": "/overview",
		"2.3.13/reject": "/overview", "2.3.8/reject-after": v1Maps + "/overview",
	} {
		want, err := os.ReadFile(filepath.Join("testdata", state, "overview.json"))
		require.NoError(t, err)
		_, got := get(t, all[state], path)
		require.Equal(t, string(bytes.TrimSpace(want)), string(got), state)
	}
	resp, _ := get(t, all["2.3.13/pending"], "/pending-jobs")
	require.Equal(t, "Thu, 01 Jan 2026 00:00:12 GMT", resp.Header.Get("Date"), "waits are measured by the server's clock")
	resp, _ = get(t, all["2.3.8/reject-after"], v1Maps+"/overview")
	require.Empty(t, resp.Header.Get("Date"), "2.3.8 sends none")

	resp, got := get(t, all["2.3.13/reject"], "/finished-jobs/FAILED")
	require.Equal(t, http.StatusInternalServerError, resp.StatusCode)
	want, err := os.ReadFile("testdata/2.3.13/reject/finished-jobs-FAILED.json")
	require.NoError(t, err)
	require.Equal(t, string(bytes.TrimSpace(want)), string(got))

	resp, got = get(t, all["2.3.13/idle"], "/resource/workers")
	require.Equal(t, http.StatusNotFound, resp.StatusCode)
	want, err = os.ReadFile("testdata/2.3.13/idle/resource-workers.html")
	require.NoError(t, err)
	require.Equal(t, string(want), string(got))
}

// Gson's escape of "=" is in the recorded queue and has to be in ours.
func TestPendingJobsEscapeAsGsonDoes(t *testing.T) {
	_, got := get(t, states(t)["2.3.13/pending"], "/pending-jobs")
	require.Contains(t, string(got), `TaskGroupLocation{jobId\u003d`)
	require.NotContains(t, string(got), "=")
	want, err := os.ReadFile("testdata/2.3.13/pending/pending-jobs.json")
	require.NoError(t, err)
	require.Contains(t, string(want), `TaskGroupLocation{jobId\u003d`)
}

func TestTelemetryIsASubsetOfTheRecordedText(t *testing.T) {
	for state, c := range states(t) {
		t.Run(state, func(t *testing.T) {
			want, err := os.ReadFile(filepath.Join("testdata", state, "metrics.txt"))
			require.NoError(t, err)
			resp, got := get(t, c, c.MetricsPath())
			require.NotContains(t, resp.Header.Get("Content-Type"), "version=", "Zeta names no format version")
			recorded, ours := telemetryShape(t, want), telemetryShape(t, got)
			require.NotEmpty(t, ours)
			require.Subset(t, recorded, ours)
			for line := range strings.SplitSeq(string(want), "\n") {
				if strings.HasPrefix(line, "job_count{") || strings.HasPrefix(line, "# HELP job_count") {
					require.Contains(t, string(got), line+"\n")
				}
			}
		})
	}
}

// telemetryShape lists name, type and label names of every series; job_count
// also with its values of type.
func telemetryShape(t *testing.T, text []byte) []string {
	t.Helper()
	parser := expfmt.NewTextParser(model.UTF8Validation)
	families, err := parser.TextToMetricFamilies(bytes.NewReader(text))
	require.NoError(t, err)
	var lines []string
	for name, f := range families {
		for _, m := range f.Metric {
			line := name + " " + f.GetType().String()
			for _, l := range m.Label {
				line += " " + l.GetName()
				if name == "job_count" {
					line += "=" + l.GetValue()
				}
			}
			lines = append(lines, line)
		}
	}
	slices.Sort(lines)
	return slices.Compact(lines)
}

package zeta

import (
	"bytes"
	"net/http"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

// seed adds the recorded bodies of an endpoint and a few broken ones.
func seed(f *testing.F, endpoint string) {
	files, err := filepath.Glob("testdata/replies/*/*/*-" + endpoint + ".json")
	require.NoError(f, err)
	require.NotEmpty(f, files)
	for _, file := range files {
		body, err := os.ReadFile(file)
		require.NoError(f, err)
		f.Add(body)
	}
	for _, s := range []string{"", "null", "{}", "[]", "[null]", `{"workers":null}`, "<html>", `{"a":`, "[{]", `{"workers":-1,"works":"NaN"}`, `{"pendingJobs":[null]}`} {
		f.Add([]byte(s))
	}
}

// fuzzPage puts the body into a cluster that is otherwise well: whatever it is,
// there is a page, and each of its values is finite and in range.
func fuzzPage(t *testing.T, path string, body []byte) {
	t.Helper()
	transport := &override{replay: &replay{dir: "testdata/replies/3.0.0/busy"}, path: path, answer: func(req *http.Request) (*http.Response, error) {
		return response(req, 200, jsonHeader(), body), nil
	}}
	for _, line := range samples(page(t, newTestCollector(t, transport))) {
		value := line[bytes.LastIndexByte([]byte(line), ' ')+1:]
		require.NotContains(t, []string{"NaN", "+Inf", "-Inf"}, value, line)
		require.NotEqual(t, byte('-'), value[0], line)
	}
}

func FuzzOverview(f *testing.F) {
	seed(f, "overview")
	f.Fuzz(func(t *testing.T, body []byte) {
		o, err := DecodeOverview(bytes.NewReader(body))
		if err == nil && o.ProjectVersion == "" && !o.Workers.Known {
			t.Fatal("accepted what is no overview")
		}
		fuzzPage(t, "/overview", body)
	})
}

func FuzzMembers(f *testing.F) {
	seed(f, "system-monitoring-information")
	f.Fuzz(func(t *testing.T, body []byte) {
		members, err := DecodeMembers(bytes.NewReader(body))
		if err == nil && members == nil {
			t.Fatal("no members and no error")
		}
		seen := map[Address]bool{}
		for _, m := range members {
			if seen[m.Address] && m.Address != "" || m.CPU.Known && (m.CPU.Value < 0 || m.CPU.Value > 1) {
				t.Fatalf("bad member %+v", m)
			}
			seen[m.Address] = true
		}
		fuzzPage(t, "/system-monitoring-information", body)
	})
}

func FuzzPendingJobs(f *testing.F) {
	seed(f, "pending-jobs")
	f.Fuzz(func(t *testing.T, body []byte) {
		p, err := DecodePendingJobs(bytes.NewReader(body))
		if err != nil {
			return
		}
		if p.Size < int64(len(p.Jobs)) {
			t.Fatalf("%d jobs in a queue of %d", len(p.Jobs), p.Size)
		}
		if wait, ok := p.OldestWait(0, 1_795_957_200_000); ok && wait < 0 {
			t.Fatalf("a wait of %d ms", wait)
		}
		fuzzPage(t, "/pending-jobs", body)
	})
}

func FuzzResourceWorkers(f *testing.F) {
	seed(f, "resource-workers")
	f.Fuzz(func(t *testing.T, body []byte) {
		r, err := DecodeResourceWorkers(bytes.NewReader(body))
		if err == nil && !r.Available && len(r.Workers) > 0 {
			t.Fatal("workers of a master that does not know them")
		}
		fuzzPage(t, "/resource/workers", body)
	})
}

func FuzzFailedJobs(f *testing.F) {
	seed(f, "finished-jobs-FAILED")
	f.Fuzz(func(t *testing.T, body []byte) {
		jobs, err := DecodeFailedJobs(bytes.NewReader(body))
		if err == nil && jobs.Jobs == nil {
			t.Fatal("no jobs and no error")
		}
		fuzzPage(t, "/finished-jobs/FAILED", body)
	})
}

func FuzzEndedJobs(f *testing.F) {
	seed(f, "finished-jobs-FAILED")
	f.Add([]byte(`[{"jobName":"a","jobStatus":"FINISHED","createTime":"2026-11-29 12:00:00","finishTime":"2026-11-29 12:01:00","jobDag":{"pipelineEdges":{"1":[],"2":[]}}}]`))
	f.Fuzz(func(t *testing.T, body []byte) {
		ended, err := DecodeEndedJobs(bytes.NewReader(body))
		if err == nil && ended.Jobs == nil {
			t.Fatal("no jobs and no error")
		}
		for _, job := range ended.Jobs {
			if job.Pipelines < 1 || job.Finished.Before(job.Created) {
				t.Fatalf("%+v", job)
			}
		}
	})
}

func FuzzAddress(f *testing.F) {
	for _, s := range []string{"[127.0.0.1]:5803", "[::1]:1", "a:b:c", "[]:1", "x:99999"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		addr, ok := ParseAddress(text)
		if !ok {
			return
		}
		again, ok := ParseAddress(string(addr))
		if !ok || again != addr {
			t.Fatalf("%q became %q and then %q (%v)", text, addr, again, ok)
		}
	})
}

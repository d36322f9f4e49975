package control

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// seed adds the recorded bodies whose files begin with a word, and broken ones.
func seed(f *testing.F, word string) {
	files, err := filepath.Glob("testdata/*/" + word + "*.resp")
	require.NoError(f, err)
	require.NotEmpty(f, files)
	for _, file := range files {
		b, err := os.ReadFile(file)
		require.NoError(f, err)
		_, body, _ := strings.Cut(string(b), "\n\n")
		f.Add([]byte(body))
	}
	for _, s := range []string{"", "null", "{}", "[]", "[null]", "<html>", `{"a":`, `{"jobId":"7","jobStatus":"RUNNING","jobDag":"{","metrics":[],"envOptions":{"a":{}}}`, `{"jobId":7,"jobStatus":1,"jobDag":{"vertexInfoMap":7}}`} {
		f.Add([]byte(s))
	}
}

func FuzzJobs(f *testing.F) {
	seed(f, "running-jobs")
	f.Fuzz(func(t *testing.T, body []byte) {
		jobs, err := decodeJobs(bytes.NewReader(body))
		if err == nil && jobs == nil {
			t.Fatal("no jobs and no error")
		}
		for _, j := range jobs {
			requireJob(t, j)
			if j.Status.Ended() {
				t.Fatalf("a job that is over: %+v", j)
			}
		}
	})
}

func FuzzJob(f *testing.F) {
	seed(f, "job-")
	f.Fuzz(func(t *testing.T, body []byte) {
		for _, id := range []string{"7", "2001", "1179608743717896193"} {
			if j, err := decodeJob(bytes.NewReader(body), id); err == nil {
				requireJob(t, j)
				require.Equal(t, id, j.ID)
			}
		}
	})
}

func requireJob(t *testing.T, j Job) {
	t.Helper()
	_, err := parseID(j.ID)
	require.NoError(t, err)
	require.NotEmpty(t, j.Status)
	require.GreaterOrEqual(t, j.Received, int64(-1))
}

func FuzzThreads(f *testing.F) {
	seed(f, "thread")
	f.Add([]byte(`[{"threadName":"TaskGroupLocation{jobId=-5, pipelineId=1, taskGroupId=1}"},{"threadName":"TaskGroupLocation{jobId=9999999999999999999, pipelineId=1, taskGroupId=1}"}]`))
	f.Fuzz(func(t *testing.T, body []byte) {
		groups, err := decodeThreads(bytes.NewReader(body))
		if err == nil && groups == nil {
			t.Fatal("no groups and no error")
		}
		seen := map[TaskGroup]bool{}
		for _, g := range groups {
			_, err := parseID(g.Job)
			require.NoError(t, err)
			require.False(t, seen[g], "twice")
			seen[g] = true
		}
	})
}

func FuzzClusterBodies(f *testing.F) {
	seed(f, "cluster")
	seed(f, "health")
	seed(f, "checkpoints")
	f.Fuzz(func(t *testing.T, body []byte) {
		members, err := decodeMembers(bytes.NewReader(body))
		require.Equal(t, err == nil, len(members) > 0)
		for _, m := range members {
			require.NotEmpty(t, m.Address)
		}
		_, _ = decodeHealth(bytes.NewReader(body))
		n, err := decodeCheckpoint(bytes.NewReader(body))
		require.True(t, err == nil || n == 0)
		require.GreaterOrEqual(t, n, int64(0))
		_ = decodeDone(bytes.NewReader(body), "7")
	})
}

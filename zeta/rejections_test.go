package zeta

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

// history is a cluster whose failed jobs a test can change.
type history struct {
	failed string // failedJobs of /overview
	jobs   []FailedJob
	broken bool
	asked  int
}

func (h *history) RoundTrip(req *http.Request) (*http.Response, error) {
	switch req.URL.Path {
	case "/overview":
		body := `{"projectVersion":"2.3.9","workers":"2","failedJobs":"` + h.failed + `"}`
		return response(req, 200, jsonHeader(), []byte(body)), nil
	case "/finished-jobs/FAILED":
		h.asked++
		if h.broken {
			return response(req, 500, jsonHeader(), []byte(`{"status":"fail"}`)), nil
		}
		return response(req, 200, jsonHeader(), historyBody(h.jobs)), nil
	}
	return response(req, 404, nil, nil), nil
}

func historyBody(jobs []FailedJob) []byte {
	entries := []map[string]any{}
	for _, j := range jobs {
		message := "java.lang.RuntimeException: boom"
		if j.NoResources {
			message = "org.apache.seatunnel.engine.server.resourcemanager.NoEnoughResourceException\n\tat …"
		}
		entries = append(entries, map[string]any{"jobId": fmt.Sprint(j.ID), "jobStatus": "FAILED", "errorMsg": message, "jobDag": "{}"})
	}
	body, _ := json.Marshal(entries)
	return body
}

func rejectionsOf(page string) string {
	for _, line := range samples(page) {
		if v, ok := strings.CutPrefix(line, "resource_rejections_total "); ok {
			return v
		}
	}
	return "absent"
}

func TestResourceRejections(t *testing.T) {
	now := testNow()
	h := &history{failed: "2", jobs: []FailedJob{{ID: 1, NoResources: true}, {ID: 2}}}
	c := newTestCollector(t, h, func(o *CollectorOptions) { o.Clock = func() time.Time { return now } })
	scrape := func() string { return rejectionsOf(page(t, c)) }

	require.Equal(t, "0", scrape(), "the first answer is the baseline")
	require.Equal(t, "0", scrape())
	require.Equal(t, 1, h.asked, "asked only when failedJobs changed")

	h.failed, h.jobs = "4", append(h.jobs, FailedJob{ID: 3, NoResources: true}, FailedJob{ID: 4})
	require.Equal(t, "1", scrape(), "one of the two new ones was for want of resources")
	require.Equal(t, 2, h.asked)

	h.failed, h.jobs = "1", h.jobs[2:3]
	require.Equal(t, "1", scrape(), "a shrinking history is not a reset")
	h.failed, h.jobs = "3", []FailedJob{{ID: 1, NoResources: true}, {ID: 3, NoResources: true}, {ID: 5, NoResources: true}}
	require.Equal(t, "2", scrape(), "what comes back is not counted again")

	h.failed, h.broken = "4", true
	require.Equal(t, "absent", scrape())
	h.failed = "3"
	require.Equal(t, "absent", scrape(), "still not read")
	asked := h.asked
	require.Equal(t, "absent", scrape())
	require.Equal(t, asked+1, h.asked, "a failure is tried again")
	h.broken, h.jobs = false, append(h.jobs, FailedJob{ID: 6, NoResources: true})
	require.Equal(t, "3", scrape())

	h.failed = "n/a"
	require.Equal(t, "absent", scrape(), "the number of failed jobs is not told")

	h.failed, h.jobs = "5", append(h.jobs, FailedJob{ID: 7, NoResources: true})
	now = now.Add(61 * time.Minute)
	require.Equal(t, "3", scrape(), "after an hour without a scrape there is a new baseline, and no step back")
	h.failed, h.jobs = "6", append(h.jobs, FailedJob{ID: 8, NoResources: true})
	now = now.Add(59 * time.Minute)
	require.Equal(t, "4", scrape())
}

func TestRejectionsOfAnEmptyHistory(t *testing.T) {
	h := &history{failed: "0"}
	c := newTestCollector(t, h)
	require.Equal(t, "0", rejectionsOf(page(t, c)))
	h.failed, h.jobs = "1", []FailedJob{{ID: 1, NoResources: true}}
	require.Equal(t, "1", rejectionsOf(page(t, c)))
}

// TestRejectionsLaws: over any sequence of histories the counter never falls,
// never counts an id twice, and, while the bound is not met, misses none.
func TestRejectionsLaws(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		limit := rapid.SampledFrom([]int{4, 1000}).Draw(t, "limit")
		r := rejections{limit: limit}
		counted := map[int64]bool{}
		base := map[int64]bool{}
		answers := rapid.IntRange(1, 12).Draw(t, "answers")
		var last float64
		for i := range answers {
			ids := rapid.SliceOfDistinct(rapid.Int64Range(1, 40), rapid.ID[int64]).Draw(t, "ids")
			var jobs []FailedJob
			for _, id := range ids {
				job := FailedJob{ID: id, NoResources: id%2 == 0}
				jobs = append(jobs, job)
				switch {
				case i == 0:
					base[id] = true
				case job.NoResources && !base[id]:
					counted[id] = true
				}
			}
			failed := Count{Value: int64(i), Known: true}
			r.read(failed, jobs)
			total, known := r.value(failed)
			if !known || total < last {
				t.Fatalf("total %v (known %v) after %v", total, known, last)
			}
			if total > float64(len(counted)) || limit > 40 && total != float64(len(counted)) {
				t.Fatalf("total %v, %d jobs were rejected", total, len(counted))
			}
			if len(r.seen) > limit {
				t.Fatalf("%d ids remembered, %d allowed", len(r.seen), limit)
			}
			last = total
		}
	})
}

// The job that holds a worker's slots fails with the worker, or at once where
// they are not free: neither is a rejection.
func TestHoldingJobsAreNoRejections(t *testing.T) {
	const reason = `"errorMsg":"org.apache.seatunnel.engine.server.resourcemanager.NoEnoughResourceException"`
	failed, err := DecodeFailedJobs(strings.NewReader(`[
		{"jobId":"1","jobName":"` + HoldPrefix + `w1","jobStatus":"FAILED",` + reason + `},
		{"jobId":"2","jobName":"orders","jobStatus":"FAILED",` + reason + `}]`))
	require.NoError(t, err)
	require.Equal(t, []FailedJob{{ID: 1}, {ID: 2, NoResources: true}}, failed.Jobs)
}

package zeta

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// pieces is a body that is made while it is read: head, then piece(0) to
// piece(n-1) with commas between them, then tail. It counts what was read.
type pieces struct {
	head, tail string
	n          int
	piece      func(i int) string
	fail       error // after the last piece, in place of the tail

	at   int
	rest string
	read int64
}

func (p *pieces) Read(b []byte) (int, error) {
	for p.rest == "" {
		switch {
		case p.at == 0:
			p.rest = p.head
		case p.at <= p.n:
			if p.rest = p.piece(p.at - 1); p.at > 1 {
				p.rest = "," + p.rest
			}
		case p.fail != nil:
			return 0, p.fail
		case p.at == p.n+1:
			p.rest = p.tail
		default:
			return 0, io.EOF
		}
		p.at++
	}
	n := copy(b, p.rest)
	p.rest = p.rest[n:]
	p.read += int64(n)
	return n, nil
}

func (p *pieces) Close() error { return nil }

// longQueue is a queue of so many jobs behind so many running ones, on two
// workers, as a Zeta 2.3.13 lists it: each job names all that run.
func longQueue(waiting, listed, running int) *pieces {
	ids := make([]string, running)
	for i := range ids {
		ids[i] = strconv.Itoa(1179405570449342465 + i)
	}
	list := "[" + strings.Join(ids, ",") + "]"
	enqueued := testNow().UnixMilli() - 600_000
	worker := func(port int) string {
		return fmt.Sprintf(`{"address":"[127.0.0.1]:%d","tags":{},"totalSlots":%d,"freeSlots":0,"dynamicSlot":false,"runningJobIds":%s}`, port, running, list)
	}
	return &pieces{
		head: fmt.Sprintf(`{"queueSummary":{"size":%d,"scheduleStrategy":"WAIT","oldestEnqueueTimestamp":%d},"clusterSnapshot":{"workers":[%s,%s]},"pendingJobs":[`,
			waiting, enqueued, worker(5802), worker(5803)),
		n: listed,
		piece: func(i int) string {
			return fmt.Sprintf(`{"jobId":%d,"enqueueTimestamp":%d,"totalTaskGroups":3,"lackingTaskGroups":2,"failureReason":"RESOURCE_NOT_ENOUGH","blockingJobIds":%s}`,
				1279405570449801217+i, enqueued+int64(i), list)
		},
		tail: "]}",
	}
}

// answering puts a body in place of a path's recorded one; nil is a path that is
// not there.
func answering(path string, answer func(*http.Request) *pieces) *override {
	return &override{replay: &replay{dir: "testdata/replies/2.3.13/pending"}, path: path, answer: func(req *http.Request) (*http.Response, error) {
		p := answer(req)
		if p == nil {
			return response(req, http.StatusNotFound, nil, nil), nil
		}
		r := response(req, http.StatusOK, jsonHeader(), nil)
		r.Body, r.ContentLength = p, -1
		return r, nil
	}}
}

// TestLongQueueIsReadAsFarAsItMatters asks Zetas with 100 000 waiting and 5 000
// running jobs: one that lists as many as it is asked for, one that lists all
// the same (10 GB), and something on the way that knows no query.
func TestLongQueueIsReadAsFarAsItMatters(t *testing.T) {
	const waiting, running = 100_000, 5_000
	for name, listed := range map[string]func(*http.Request) int{
		"limited": func(req *http.Request) int {
			n, err := strconv.Atoi(req.URL.Query().Get("limit"))
			require.NoError(t, err)
			return n
		},
		"all the same": func(*http.Request) int { return waiting },
		"no query": func(req *http.Request) int {
			if req.URL.RawQuery != "" {
				return 0
			}
			return waiting
		},
	} {
		t.Run(name, func(t *testing.T) {
			var sent []*pieces
			got := page(t, newTestCollector(t, answering("/pending-jobs", func(req *http.Request) *pieces {
				n := listed(req)
				if n == 0 {
					return nil
				}
				sent = append(sent, longQueue(waiting, n, running))
				return sent[len(sent)-1]
			})))
			for _, line := range []string{
				"pending_jobs 100000", "pending_job_oldest_seconds 600", "pending_head_lacking_slots 2", "pending_head_required_slots 3",
				`pending_head_info{job_id="1279405570449801217",reason="RESOURCE_NOT_ENOUGH"} 1`,
				`slots{state="assigned"} 10000`, `worker_running_jobs{worker="127.0.0.1:5802"} 5000`,
				`scrape_errors_total{endpoint="pending-jobs"} 0`,
			} {
				require.Contains(t, samples(got), line)
			}
			require.NotContains(t, families(got), "pending_slots", "not all were read")
			require.Len(t, sent, 1)
			require.Less(t, sent[0].read, int64(1<<20))
		})
	}
}

// TestWholeQueue: what all waiting jobs lack is known where all are listed. How
// many are asked for follows from how long they were.
func TestWholeQueue(t *testing.T) {
	for name, tc := range map[string]struct {
		waiting, running int
		asked            []string
		want             string
	}{
		"short":                {50, 3, []string{"20", "100"}, "pending_slots 100"},
		"as long as it may be": {100, 3, []string{"20", "100"}, "pending_slots 200"},
		"longer":               {101, 3, []string{"20", "100"}, ""},
		"each job is long":     {9, 5000, []string{"20", "10"}, "pending_slots 18"},
		"too long":             {30, 5000, []string{"20", "10"}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			var asked []string
			c := newTestCollector(t, answering("/pending-jobs", func(req *http.Request) *pieces {
				limit := req.URL.Query().Get("limit")
				asked = append(asked, limit)
				n, err := strconv.Atoi(limit)
				require.NoError(t, err)
				return longQueue(tc.waiting, min(n, tc.waiting), tc.running)
			}))
			page(t, c)
			got := page(t, c)
			require.Equal(t, tc.asked, asked)
			if tc.want == "" {
				require.NotContains(t, families(got), "pending_slots")
			} else {
				require.Contains(t, samples(got), tc.want)
			}
			require.Contains(t, samples(got), "pending_head_lacking_slots 2")
		})
	}
}

// TestLimitThatIsRefused asks something on the way that takes no parameter that
// it does not know.
func TestLimitThatIsRefused(t *testing.T) {
	o := answering("/pending-jobs", func(*http.Request) *pieces { return longQueue(50, 20, 3) })
	list := o.answer
	o.answer = func(req *http.Request) (*http.Response, error) {
		if req.URL.RawQuery != "" {
			return response(req, http.StatusBadRequest, nil, nil), nil
		}
		return list(req)
	}
	got := samples(page(t, newTestCollector(t, o)))
	require.Contains(t, got, "pending_head_lacking_slots 2")
	require.Contains(t, got, `scrape_errors_total{endpoint="pending-jobs"} 0`)
}

// TestQueueThatBreaksOffCountsAsFarAsItGoes loses the rest of a list whose
// summary does not say which job is the head.
func TestQueueThatBreaksOffCountsAsFarAsItGoes(t *testing.T) {
	got := page(t, newTestCollector(t, answering("/pending-jobs", func(*http.Request) *pieces {
		p := longQueue(50, 20, 3)
		p.head = strings.Replace(p.head, "oldestEnqueueTimestamp", "x", 1)
		p.fail = errors.New("connection reset")
		return p
	})))
	for _, line := range []string{
		"pending_jobs 50", "pending_job_oldest_seconds 600", "pending_head_lacking_slots 2", `scrape_errors_total{endpoint="pending-jobs"} 1`,
	} {
		require.Contains(t, samples(got), line)
	}
}

// TestWhatAQueueThatBreaksOffDidNotGetToIsAbsent: its workers may be dynamic or
// not, and "unknown" is for versions that cannot tell.
func TestWhatAQueueThatBreaksOffDidNotGetToIsAbsent(t *testing.T) {
	got := page(t, newTestCollector(t, answering("/pending-jobs", func(*http.Request) *pieces {
		p := longQueue(50, 20, 3)
		p.head, p.fail = `{"pendingJobs":[`, errors.New("connection reset")
		return p
	})))
	require.Contains(t, samples(got), "pending_jobs 20")
	require.NotContains(t, families(got), "info")
	require.NotContains(t, families(got), "slots")
}

// TestLongQueueKeepsNoLongTexts: whoever is probed may write what he likes into
// each of its jobs.
func TestLongQueueKeepsNoLongTexts(t *testing.T) {
	p := longQueue(50, 50, 1)
	p.head = `{"pendingJobs":[`
	text := strings.Repeat("x", 100<<10)
	p.piece = func(int) string { return fmt.Sprintf(`{"jobId":%q,"failureReason":%q}`, text, text) }
	got, err := DecodePendingJobs(p)
	require.NoError(t, err)
	require.Len(t, got.Jobs, 50)
	for _, job := range got.Jobs {
		require.Empty(t, job.ID+job.FailureReason)
	}
}

// TestHeadThatIsNotListedIsNotMadeUp: the oldest wait is known from the summary,
// what the head needs is not.
func TestHeadThatIsNotListedIsNotMadeUp(t *testing.T) {
	got := page(t, newTestCollector(t, answering("/pending-jobs", func(*http.Request) *pieces {
		p := longQueue(2, 1, 3)
		p.head = strings.Replace(p.head, `"oldestEnqueueTimestamp":`, fmt.Sprintf(`"oldestEnqueueTimestamp":%d,"x":`, testNow().UnixMilli()-700_000), 1)
		return p
	})))
	require.Contains(t, samples(got), "pending_job_oldest_seconds 700")
	require.NotContains(t, families(got), "pending_head_lacking_slots")
	require.NotContains(t, families(got), "pending_head_info")
}

// failedJobs is a history of failed jobs, each with its job graph.
func failedJobs(ids []int, rejected func(id int) bool, graph int) *pieces {
	return &pieces{head: "[", tail: "]", n: len(ids), piece: func(i int) string {
		text := "oops"
		if rejected(ids[i]) {
			text = "NoEnoughResourceException: no slots"
		}
		return fmt.Sprintf(`{"jobId":"%d","jobStatus":"FAILED","errorMsg":%q,"jobDag":{"x":%q}}`, ids[i], text, strings.Repeat("g", graph))
	}}
}

func upTo(n int) []int {
	ids := make([]int, n)
	for i := range ids {
		ids[i] = i + 1
	}
	return ids
}

// TestLongHistoryOfFailedJobs reads one that is longer than max_response.
func TestLongHistoryOfFailedJobs(t *testing.T) {
	jobs := 3_000
	c := newTestCollector(t, answering("/finished-jobs/FAILED", func(*http.Request) *pieces {
		return failedJobs(upTo(jobs), func(id int) bool { return id > 3_000 }, 512)
	}), func(o *CollectorOptions) { o.Cluster.MaxResponse = 1 << 20 })
	require.Contains(t, samples(page(t, c)), "resource_rejections_total 0")
	jobs += 2
	c.rejections.failedToRead() // as if /overview told of more failed jobs
	require.Contains(t, samples(page(t, c)), "resource_rejections_total 2")
}

// TestHistoryThatBreaksOff: rejections in what was read count, at once and
// once; without any nothing is known, for there may be some in the rest.
func TestHistoryThatBreaksOff(t *testing.T) {
	jobs, broken := 5, error(nil)
	c := newTestCollector(t, answering("/finished-jobs/FAILED", func(*http.Request) *pieces {
		p := failedJobs(upTo(jobs), func(id int) bool { return id > 5 }, 10)
		p.fail = broken
		return p
	}))
	read := func(more int, err error) string {
		jobs, broken = jobs+more, err
		c.rejections.failedToRead()
		return page(t, c)
	}
	require.Contains(t, samples(read(0, nil)), "resource_rejections_total 0")
	got := read(2, errors.New("connection reset"))
	require.Contains(t, samples(got), "resource_rejections_total 2")
	require.Contains(t, samples(got), `scrape_errors_total{endpoint="finished-jobs"} 1`)
	require.NotContains(t, families(read(0, errors.New("connection reset"))), "resource_rejections_total")
	require.Contains(t, samples(read(1, nil)), "resource_rejections_total 3")
}

// TestValueOfTheGreatestLength: the next one has an allowance of its own.
func TestValueOfTheGreatestLength(t *testing.T) {
	const begin, end = `"jobId":"1","errorMsg":"`, `"}`
	text := begin + strings.Repeat("x", maxValue-len(begin)-len(end)) + end
	got, err := DecodeFailedJobs(io.MultiReader(strings.NewReader("["), strings.NewReader("{"), strings.NewReader(text), strings.NewReader("]")))
	require.NoError(t, err)
	require.NoError(t, got.Cut)
	require.Len(t, got.Jobs, 1)
}

// TestEndThatIsLost: all was read, and still the connection broke off.
func TestEndThatIsLost(t *testing.T) {
	p := failedJobs(upTo(1), func(int) bool { return false }, 1)
	p.n, p.piece = 2, func(i int) string { return []string{`{"jobId":"1"}`, `{"jobId":"2"}]`}[i] }
	p.fail = errors.New("connection reset")
	got, err := DecodeFailedJobs(p)
	require.NoError(t, err)
	require.ErrorContains(t, got.Cut, "connection reset")
}

// TestOneLongValueIsRefused: a reply may be long, but not one value of it.
func TestOneLongValueIsRefused(t *testing.T) {
	_, err := DecodeFailedJobs(strings.NewReader(`[{"jobId":"1","errorMsg":"` + strings.Repeat("x", maxValue+1<<20) + `"}]`))
	require.ErrorContains(t, err, "one value is longer than")
}

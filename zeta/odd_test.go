package zeta

import (
	"bytes"
	"fmt"
	"log/slog"
	"net/http"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"
)

// override answers one path in its own way and the rest from a recording.
type override struct {
	*replay
	path   string
	answer func(*http.Request) (*http.Response, error) // nil: as recorded
}

func (o *override) RoundTrip(req *http.Request) (*http.Response, error) {
	if o.answer != nil && (req.URL.Path == o.path || strings.HasPrefix(req.URL.Path, "/odd")) {
		return o.answer(req)
	}
	return o.replay.RoundTrip(req)
}

func jsonHeader() http.Header { return http.Header{"Content-Type": {"application/json"}} }

// zeros is an endless body.
type zeros struct{ read int64 }

func (z *zeros) Read(p []byte) (int, error) {
	clear(p)
	z.read += int64(len(p))
	return len(p), nil
}

func (z *zeros) Close() error { return nil }

// oddReplies are replies that must be failures of their endpoint.
func oddReplies() map[string]func(*http.Request) (*http.Response, error) {
	body := func(code int, header http.Header, text string) func(*http.Request) (*http.Response, error) {
		return func(req *http.Request) (*http.Response, error) {
			return response(req, code, header, []byte(text)), nil
		}
	}
	redirect := func(to string) func(*http.Request) (*http.Response, error) {
		return body(302, http.Header{"Location": {to}}, "")
	}
	return map[string]func(*http.Request) (*http.Response, error){
		"500":                body(500, nil, "oops"),
		"500 in JSON":        body(500, jsonHeader(), `{"status":"fail","message":"Target cannot be null!"}`),
		"failure with 200":   body(200, jsonHeader(), `{"status":"fail","message":"Target cannot be null!"}`),
		"401":                body(401, nil, ""),
		"503":                body(503, nil, ""),
		"HTML":               body(200, nil, "<html>welcome</html>"),
		"wrong content type": body(200, http.Header{"Content-Type": {"text/html"}}, `{"workers":"2"}`),
		"truncated":          body(200, jsonHeader(), `{"workers":"2","projectVersion":"2.3.13","pendingJobs":[{"jobId":1`),
		"truncated list":     body(200, jsonHeader(), `[{"isMaster":"true","host":"127.0.0.1"`),
		"NaN":                body(200, jsonHeader(), `{"workers":NaN}`),
		"NaN in a list":      body(200, jsonHeader(), `[{"host":"127.0.0.1","port":"5802","load.process":NaN}]`),
		"NaN as a string": body(200, jsonHeader(), `{"projectVersion":"2.3.13","workers":"NaN","queueSummary":{"size":"NaN"},`+
			`"pendingJobs":[],"available":"NaN"}`),
		"NaN percent":            body(200, jsonHeader(), `[{"host":"127.0.0.1","port":"5802","load.process":"NaN%","jobId":{}}]`),
		"empty":                  body(200, jsonHeader(), ""),
		"null":                   body(200, jsonHeader(), "null"),
		"number":                 body(200, jsonHeader(), "7"),
		"two values":             body(200, jsonHeader(), `{"workers":"2"} []`),
		"redirect loop":          redirect("/odd"),
		"redirect to other host": redirect("http://evil:8080/odd"),
		"reset": func(*http.Request) (*http.Response, error) {
			return nil, syscall.ECONNRESET
		},
		"too long": func(req *http.Request) (*http.Response, error) {
			r := response(req, 200, jsonHeader(), nil)
			r.ContentLength, r.Body = 100<<20, &zeros{}
			return r, nil
		},
		"endless": func(req *http.Request) (*http.Response, error) {
			r := response(req, 200, jsonHeader(), nil)
			r.ContentLength, r.Body = -1, &zeros{}
			return r, nil
		},
		"hanging": func(req *http.Request) (*http.Response, error) {
			<-req.Context().Done()
			return nil, req.Context().Err()
		},
	}
}

// families are the names of the metrics on a page.
func families(page string) map[string]bool {
	names := map[string]bool{}
	for _, line := range samples(page) {
		name, _, _ := strings.Cut(line, " ")
		name, _, _ = strings.Cut(name, "{")
		names[name] = true
	}
	return names
}

// endpointFamilies are the metrics that go when an endpoint fails.
func endpointFamilies() map[Endpoint][]string {
	return map[Endpoint][]string{
		EndpointOverview:   {"jobs", "info", "resource_rejections_total"},
		EndpointMonitoring: {"worker_cpu_ratio", "worker_memory_ratio", "worker_processors", "worker_sample_age_seconds"},
		EndpointPendingJobs: {
			"info", "slots", "worker_slots", "worker_assigned_slots", "worker_dynamic_slot", "worker_running_jobs", "pending_job_oldest_seconds",
			"pending_slots", "pending_head_lacking_slots", "pending_head_required_slots", "pending_head_info",
		},
		EndpointFinishedJobs: {"resource_rejections_total"},
	}
}

// TestOddReplyCostsOnlyItsOwnMetrics replaces one reply of a healthy cluster
// after a first good scrape, for each endpoint and each oddity.
func TestOddReplyCostsOnlyItsOwnMetrics(t *testing.T) {
	healthy := func() *replay { return &replay{dir: "testdata/replies/2.3.13/pending"} }
	all := families(page(t, newTestCollector(t, healthy())))
	for e, lost := range endpointFamilies() {
		for name, answer := range oddReplies() {
			t.Run(fmt.Sprintf("%s/%s", e, name), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					transport := &override{replay: healthy(), path: e.path()}
					if e == EndpointFinishedJobs {
						transport.answer = answer // it is asked but once
					}
					c := newTestCollector(t, transport)
					page(t, c)
					transport.answer = answer
					got := page(t, c)
					want := map[string]bool{}
					for f := range all {
						want[f] = true
					}
					for _, f := range lost {
						require.Contains(t, all, f)
						delete(want, f)
					}
					require.Equal(t, want, families(got))
					errors := `scrape_errors_total{endpoint="%s"} %d`
					for _, other := range Endpoints() {
						switch {
						case other != e:
							require.Contains(t, samples(got), fmt.Sprintf(errors, other, 0))
						case e == EndpointFinishedJobs:
							require.Contains(t, samples(got), fmt.Sprintf(errors, e, 2))
						default:
							require.Contains(t, samples(got), fmt.Sprintf(errors, e, 1))
						}
					}
					transport.answer = nil
					require.Equal(t, all, families(page(t, c)), "all is well again")
				})
			})
		}
	}
}

// TestLongReplyIsNotRead limits what is read of an endless body.
func TestLongReplyIsNotRead(t *testing.T) {
	endless := &zeros{}
	transport := roundTripper(func(req *http.Request) (*http.Response, error) {
		r := response(req, 200, jsonHeader(), nil)
		r.ContentLength, r.Body = -1, endless
		return r, nil
	})
	c := newTestCollector(t, transport, func(o *CollectorOptions) { o.Cluster.MaxResponse = 1000 })
	require.Contains(t, samples(page(t, c)), "up 0")
	require.LessOrEqual(t, endless.read, int64(1001))
}

// TestLogHasOneLinePerChange scrapes a failing endpoint many times.
func TestLogHasOneLinePerChange(t *testing.T) {
	var log bytes.Buffer
	transport := &override{replay: &replay{dir: "testdata/replies/2.3.13/pending"}, path: "/pending-jobs"}
	c := newTestCollector(t, transport, func(o *CollectorOptions) { o.Logger = slog.New(slog.NewTextHandler(&log, nil)) })
	lines := func() int { return strings.Count(log.String(), "\n") }
	page(t, c)
	require.Zero(t, lines())
	for range 5 {
		transport.answer = oddReplies()["500 in JSON"]
		page(t, c)
		transport.answer = oddReplies()["HTML"]
		page(t, c)
		require.Equal(t, 1, lines(), log.String())
	}
	require.Contains(t, log.String(), "Target cannot be null!")
	transport.answer = nil
	page(t, c)
	page(t, c)
	require.Equal(t, 2, lines(), log.String())
	require.Contains(t, log.String(), "endpoint answers again")
}

// TestNoSuchEndpointIsAnAnswer: a master that starts says 500 to every path, and
// then that it has no such one.
func TestNoSuchEndpointIsAnAnswer(t *testing.T) {
	var log bytes.Buffer
	transport := &override{replay: &replay{dir: "testdata/replies/2.3.9-dev/busy"}, path: "/pending-jobs"}
	c := newTestCollector(t, transport, func(o *CollectorOptions) { o.Logger = slog.New(slog.NewTextHandler(&log, nil)) })
	for range 2 {
		log.Reset()
		transport.answer = oddReplies()["500 in JSON"]
		page(t, c)
		require.Equal(t, 1, strings.Count(log.String(), "does not answer"), log.String())
		transport.answer = nil
		page(t, c)
		require.Equal(t, 1, strings.Count(log.String(), "answers again"), log.String())
	}
}

// TestHostileRepliesMakeNoLabels keeps foreign text out of the labels.
func TestHostileRepliesMakeNoLabels(t *testing.T) {
	body := `{"queueSummary":{"size":1,"scheduleStrategy":"WAIT\nevil"},"clusterSnapshot":{"workers":[]},"pendingJobs":[{"jobId":"` +
		strings.Repeat("9", 65) + `","enqueueTimestamp":1795957015150,"failureReason":"a b"}]}`
	transport := &override{replay: &replay{dir: "testdata/replies/2.3.13/pending"}, path: "/pending-jobs", answer: func(req *http.Request) (*http.Response, error) {
		return response(req, 200, jsonHeader(), []byte(body)), nil
	}}
	got := page(t, newTestCollector(t, transport))
	require.NotContains(t, got, "evil")
	require.NotContains(t, families(got), "pending_head_info")
	require.Contains(t, samples(got), `info{schedule_strategy="unknown",slot_mode="unknown",version="2.3.13"} 1`)
}

// TestListsAreBounded refuses bodies that are small and unpack to much.
func TestListsAreBounded(t *testing.T) {
	many := "[" + strings.Repeat("{},", maxElements) + "{}]"
	_, err := DecodeMembers(strings.NewReader(many))
	require.ErrorContains(t, err, "more than 10000 members")
	_, err = DecodeFailedJobs(strings.NewReader(many))
	require.ErrorContains(t, err, "more than 100000")
	queue, err := DecodePendingJobs(strings.NewReader(`{"pendingJobs":` + many + `}`))
	require.NoError(t, err, "what was read counts")
	require.EqualValues(t, maxElements, queue.Size)
	require.ErrorContains(t, queue.Cut, "more than 100000")
	_, err = DecodeResourceWorkers(strings.NewReader(`{"workers":` + many + `}`))
	require.ErrorContains(t, err, "more than 100000")

	var members strings.Builder
	for i := range maxMembers + 1 {
		fmt.Fprintf(&members, `{"host":"h%d","port":1},`, i)
	}
	_, err = DecodeMembers(strings.NewReader("[" + strings.TrimSuffix(members.String(), ",") + "]"))
	require.ErrorContains(t, err, "more than 10000 members")
}

func TestHostileListsAreRefusedUnread(t *testing.T) {
	for name, body := range map[string]string{
		"a list of more than":  "[" + strings.Repeat("1,", maxElements) + "1]",
		"lists of more than":   strings.Repeat("["+strings.Repeat("1,", maxElements-1)+"1]", 11),
		"nested deeper than":   strings.Repeat("[", 1<<20),
		"nested deeper than 1": strings.Repeat(`{"a":`, 1<<20),
	} {
		require.ErrorContains(t, checkLists([]byte(body)), name)
	}
	require.NoError(t, checkLists([]byte(`{"a":"`+strings.Repeat("[,", 1<<20)+`"}`)), "brackets in a string are none")
}

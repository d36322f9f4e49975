package webhook_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/prometheus/alertmanager/template"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/stretchr/testify/require"

	"github.com/zeta-scaler/zeta-scaler/scaling"
	"github.com/zeta-scaler/zeta-scaler/webhook"
)

var update = flag.Bool("update", false, "write the golden files again")

// acceptor has actions as the real one does: the first question about an id
// begins one, all others find it.
type acceptor struct {
	mu sync.Mutex
	// asked are all questions in order, executed those that began an action.
	asked    []string
	executed map[string]int
	// verdicts are answers for certain ids, errs failures.
	verdicts map[string]scaling.Verdict
	errs     map[string]error
	// hang makes every question last as long as its context.
	hang bool
}

func (a *acceptor) answer(ctx context.Context, verb, id string) (scaling.Verdict, error) {
	a.mu.Lock()
	a.asked = append(a.asked, verb+" "+id)
	a.mu.Unlock()
	if a.hang {
		<-ctx.Done()
		return scaling.Verdict{}, ctx.Err()
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	if err := a.errs[id]; err != nil {
		return scaling.Verdict{}, err
	}
	if v, ok := a.verdicts[id]; ok {
		return v, nil
	}
	if verb == "resolve" {
		return scaling.Verdict{Result: scaling.VerdictResolved, Reason: "the action had not begun: cancelled", ActionID: id}, nil
	}
	if a.executed[id] > 0 {
		return scaling.Verdict{Result: scaling.VerdictDuplicate, ActionID: id, State: scaling.ActionConverging}, nil
	}
	if a.executed == nil {
		a.executed = map[string]int{}
	}
	a.executed[id]++
	return scaling.Verdict{Result: scaling.VerdictAccepted, ActionID: id, State: scaling.ActionExecuting}, nil
}

func (a *acceptor) Accept(ctx context.Context, id string) (scaling.Verdict, error) {
	return a.answer(ctx, "accept", id)
}

func (a *acceptor) Resolve(ctx context.Context, id string) (scaling.Verdict, error) {
	return a.answer(ctx, "resolve", id)
}

// world is a webhook with its surroundings.
type world struct {
	handler  http.Handler
	acceptor *acceptor
	reg      *prometheus.Registry
	log      *bytes.Buffer
}

func build(change func(o *webhook.Options)) *world {
	w := &world{acceptor: &acceptor{}, reg: prometheus.NewPedanticRegistry(), log: &bytes.Buffer{}}
	o := webhook.Options{Acceptor: w.acceptor, Logger: slog.New(slog.NewTextHandler(w.log, nil)), Registerer: w.reg}
	if change != nil {
		change(&o)
	}
	w.handler = webhook.New(o)
	return w
}

func (w *world) post(t testing.TB, body io.Reader) *httptest.ResponseRecorder {
	t.Helper()
	rec := httptest.NewRecorder()
	w.handler.ServeHTTP(rec, httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/webhook/alertmanager", body))
	return rec
}

// metrics are the webhook's counters as lines `name{labels} value`, those at 0
// left out; of the histogram the count.
func (w *world) metrics(t *testing.T) map[string]float64 {
	t.Helper()
	out := map[string]float64{}
	for name, value := range w.series(t) {
		if value != 0 {
			out[name] = value
		}
	}
	return out
}

func (w *world) series(t *testing.T) map[string]float64 {
	t.Helper()
	list, err := w.reg.Gather()
	require.NoError(t, err)
	out := map[string]float64{}
	for _, f := range list {
		for _, m := range f.GetMetric() {
			name := strings.TrimPrefix(f.GetName(), "zeta_scaler_webhook_")
			for _, l := range m.GetLabel() {
				name += "/" + l.GetValue()
			}
			out[name] = m.GetCounter().GetValue() + float64(m.GetHistogram().GetSampleCount())
		}
	}
	return out
}

func read(t testing.TB, name string) string {
	t.Helper()
	b, err := os.ReadFile(filepath.Join("testdata", name))
	require.NoError(t, err)
	return string(b)
}

// refused requires a problem as the API has them.
func refused(t *testing.T, rec *httptest.ResponseRecorder, status int) (detail string) {
	t.Helper()
	require.Equal(t, status, rec.Code, rec.Body.String())
	require.Equal(t, "application/problem+json", rec.Header().Get("Content-Type"))
	require.Equal(t, status == http.StatusServiceUnavailable, rec.Header().Get("Retry-After") != "")
	var p struct {
		Type, Title, Detail string
		Status              int
	}
	require.NoError(t, json.Unmarshal(rec.Body.Bytes(), &p))
	require.Equal(t, "about:blank", p.Type)
	require.Equal(t, http.StatusText(status), p.Title)
	require.Equal(t, status, p.Status)
	return p.Detail
}

// TestNotifications: each body of testdata has its answer beside it, with what
// the acceptor was asked.
func TestNotifications(t *testing.T) {
	files, err := filepath.Glob("testdata/*.json")
	require.NoError(t, err)
	require.NotEmpty(t, files)
	for _, file := range files {
		name := strings.TrimSuffix(filepath.Base(file), ".json")
		t.Run(name, func(t *testing.T) {
			w := build(nil)
			w.acceptor.verdicts = map[string]scaling.Verdict{
				"7-9-stage": {Result: scaling.VerdictHeld, Reason: "cooldown until 10:06:00", ActionID: "7-9-stage", State: scaling.ActionPending},
			}
			rec := w.post(t, strings.NewReader(read(t, name+".json")))
			require.Equal(t, strings.HasPrefix(name, "bad-"), rec.Code != http.StatusOK)
			if rec.Code == http.StatusOK {
				require.Equal(t, "application/json", rec.Header().Get("Content-Type"))
			} else {
				refused(t, rec, rec.Code)
				require.Empty(t, w.acceptor.asked)
			}
			var body bytes.Buffer
			require.NoError(t, json.Indent(&body, rec.Body.Bytes(), "", "  "))
			got := fmt.Sprintf("%d\n%s%s\n", rec.Code, body.String(), strings.Join(w.acceptor.asked, "\n"))
			golden := name + ".txt"
			if *update {
				require.NoError(t, os.WriteFile(filepath.Join("testdata", golden), []byte(got), 0o600))
			}
			require.Equal(t, read(t, golden), got)
		})
	}
}

// TestOwnTypesOfAlertmanager: what the library's types are written as is read,
// so the names of the fields are theirs.
func TestOwnTypesOfAlertmanager(t *testing.T) {
	body, err := json.Marshal(struct {
		*template.Data
		Version         string `json:"version"`
		GroupKey        string `json:"groupKey"`
		TruncatedAlerts uint64 `json:"truncatedAlerts"`
	}{&template.Data{
		Receiver: "scaler", Status: "firing", NotificationReason: "new alerts added",
		Alerts: template.Alerts{
			{Status: "resolved", Labels: template.KV{"recommendation": "1-1-a"}, StartsAt: time.Now(), EndsAt: time.Now(), Fingerprint: "f1"},
			{Status: "firing", Labels: template.KV{"recommendation": "1-2-a"}, StartsAt: time.Now(), Fingerprint: "f2"},
		},
	}, "4", "{}:{}", 3})
	require.NoError(t, err)
	w := build(nil)
	rec := w.post(t, bytes.NewReader(body))
	require.Equal(t, http.StatusOK, rec.Code)
	var reply webhook.Reply
	require.NoError(t, json.Unmarshal(rec.Body.Bytes(), &reply))
	require.Equal(t, []string{"resolve 1-1-a", "accept 1-2-a"}, w.acceptor.asked, "the group's status is not trusted")
	require.Equal(t, "f2", reply.Results[1].Fingerprint)
	require.Equal(t, uint64(3), reply.TruncatedAlerts)
}

// notification has one firing alert for each id.
func notification(ids ...string) string {
	list := make([]string, len(ids))
	for i, id := range ids {
		list[i] = fmt.Sprintf(`{"status":"firing","labels":{"recommendation":%q},"fingerprint":"%x"}`, id, i)
	}
	return `{"version":"4","alerts":[` + strings.Join(list, ",") + `]}`
}

// Delivering the same notification a thousand times, also at once, executes
// once.
func TestAThousandDeliveriesExecuteOnce(t *testing.T) {
	w := build(func(o *webhook.Options) { o.Logger = slog.New(slog.DiscardHandler) })
	body := read(t, "firing-0.31.json")
	server := httptest.NewServer(w.handler)
	defer server.Close()
	var sending sync.WaitGroup
	results := make(chan scaling.VerdictResult, 1000)
	for range 10 {
		sending.Go(func() {
			for range 100 {
				resp, err := http.Post(server.URL, "application/json", strings.NewReader(body))
				if err != nil {
					t.Error(err)
					return
				}
				var reply webhook.Reply
				err = json.NewDecoder(resp.Body).Decode(&reply)
				resp.Body.Close()
				if err != nil || len(reply.Results) != 1 {
					t.Errorf("%d %v %v", resp.StatusCode, reply, err)
					return
				}
				results <- reply.Results[0].Result
			}
		})
	}
	sending.Wait()
	close(results)
	counted := map[scaling.VerdictResult]int{}
	for r := range results {
		counted[r]++
	}
	require.Equal(t, map[scaling.VerdictResult]int{scaling.VerdictAccepted: 1, scaling.VerdictDuplicate: 999}, counted)
	require.Equal(t, map[string]int{"7-2-prod": 1}, w.acceptor.executed)
	require.Len(t, w.acceptor.asked, 1000)
	require.Equal(t, map[string]float64{
		"requests_total/200": 1000, "alerts_total/accepted": 1, "alerts_total/duplicate": 999, "request_duration_seconds": 1000,
	}, w.metrics(t))
}

// An error is answered with 503, so that Alertmanager comes again; what was
// accepted by then stays accepted.
func TestFailuresAreTriedAgain(t *testing.T) {
	w := build(nil)
	secret := errors.New("disk /var/lib/scaler is full")
	w.acceptor.errs = map[string]error{"1-2-b": secret}
	body := notification("1-1-a", "1-2-b", "1-3-c", "1-2-b")
	for range 2 {
		detail := refused(t, w.post(t, strings.NewReader(body)), http.StatusServiceUnavailable)
		require.Contains(t, detail, "1 of 3 recommendations")
		require.NotContains(t, detail, "/var/lib", "the cause is for the log")
	}
	require.Contains(t, w.log.String(), `recommendation 1-2-b: disk /var/lib/scaler is full`)
	require.Equal(t, 1, strings.Count(w.log.String(), "level=WARN"), "said once: %s", w.log)
	require.Equal(t, map[string]int{"1-1-a": 1, "1-3-c": 1}, w.acceptor.executed)

	w.acceptor.errs = nil
	rec := w.post(t, strings.NewReader(body))
	require.Equal(t, http.StatusOK, rec.Code)
	var reply webhook.Reply
	require.NoError(t, json.Unmarshal(rec.Body.Bytes(), &reply))
	var got []scaling.VerdictResult
	for _, r := range reply.Results {
		got = append(got, r.Result)
	}
	require.Equal(t, []scaling.VerdictResult{"duplicate", "accepted", "duplicate", "accepted"}, got, "the last one shares the answer of its id")
	require.Equal(t, map[string]float64{
		"requests_total/503": 2, "requests_total/200": 1, "request_duration_seconds": 3,
		"alerts_total/error": 4, "alerts_total/accepted": 4, "alerts_total/duplicate": 4,
	}, w.metrics(t))

	w.acceptor.errs = map[string]error{"1-2-b": secret}
	refused(t, w.post(t, strings.NewReader(body)), http.StatusServiceUnavailable)
	require.Equal(t, 2, strings.Count(w.log.String(), "level=WARN"), "a new failure is news")
}

// Ids and words that are too long are neither looked up nor repeated.
func TestLongWordsAreCut(t *testing.T) {
	w := build(nil)
	long := strings.Repeat("x", 2049)
	body := fmt.Sprintf(`{"version":"4","alerts":[{"status":%q,"labels":{"recommendation":%q},"fingerprint":%q},{"status":"firing","labels":{"recommendation":%q}}]}`,
		long, long, long, long[:2048])
	rec := w.post(t, strings.NewReader(body))
	require.Equal(t, http.StatusOK, rec.Code)
	require.Equal(t, []string{"accept " + long[:2048]}, w.acceptor.asked)
	var reply webhook.Reply
	require.NoError(t, json.Unmarshal(rec.Body.Bytes(), &reply))
	require.Equal(t, scaling.VerdictUnknown, reply.Results[0].Result)
	require.Contains(t, reply.Results[0].Reason, "2049 bytes")
	for _, s := range []string{reply.Results[0].Status, reply.Results[0].Recommendation, reply.Results[0].Fingerprint} {
		require.Equal(t, long[:200]+"…", s)
	}
	require.Less(t, len(refused(t, w.post(t, strings.NewReader(fmt.Sprintf(`{"version":%q}`, long))), http.StatusUnprocessableEntity)), 400)
	require.Contains(t, w.log.String(), "webhook refused a notification")
	require.NotContains(t, w.log.String(), "<nil>", "what has no further cause names none")
}

func TestTruncationIsSaid(t *testing.T) {
	w := build(nil)
	rec := w.post(t, strings.NewReader(read(t, "group-0.25.json")))
	require.Equal(t, http.StatusOK, rec.Code)
	require.Contains(t, w.log.String(), "level=WARN")
	require.Contains(t, w.log.String(), "truncated_alerts=2")
	require.Equal(t, map[string]float64{
		"requests_total/200": 1, "request_duration_seconds": 1, "truncated_alerts_total": 2,
		"alerts_total/accepted": 2, "alerts_total/resolved": 1, "alerts_total/unknown": 1,
	}, w.metrics(t))
}

// Every series exists from the start.
func TestSeriesBeginAtZero(t *testing.T) {
	got := build(nil).series(t)
	want := map[string]float64{"truncated_alerts_total": 0, "request_duration_seconds": 0, "alerts_total/error": 0}
	for _, r := range scaling.VerdictResults() {
		want["alerts_total/"+string(r)] = 0
	}
	for _, code := range []string{"200", "400", "401", "403", "413", "422", "503"} {
		want["requests_total/"+code] = 0
	}
	require.Equal(t, want, got)
}

// What the webhook says and exports is documented.
func TestDocumentation(t *testing.T) {
	doc := read(t, "../../docs/alerts.md")
	for _, r := range scaling.VerdictResults() {
		require.Contains(t, doc, "\n| `"+string(r)+"` |")
	}
	for name := range build(nil).series(t) {
		name, _, _ := strings.Cut(name, "/")
		require.Contains(t, doc, "`zeta_scaler_webhook_"+name+"`")
	}
}

// FuzzNotification: whatever comes, the answer is one of the documented ones,
// and a 200 has one result for each alert and asks for nothing else.
func FuzzNotification(f *testing.F) {
	files, err := filepath.Glob("testdata/*.json")
	require.NoError(f, err)
	for _, file := range files {
		f.Add([]byte(read(f, filepath.Base(file))))
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		w := build(func(o *webhook.Options) { o.Logger = slog.New(slog.DiscardHandler) })
		rec := w.post(t, bytes.NewReader(body))
		if rec.Code != http.StatusOK {
			require.Contains(t, []int{http.StatusBadRequest, http.StatusRequestEntityTooLarge, http.StatusUnprocessableEntity}, rec.Code)
			require.Empty(t, w.acceptor.asked)
			return
		}
		var sent struct{ Alerts []json.RawMessage }
		require.NoError(t, json.Unmarshal(body, &sent))
		var reply webhook.Reply
		require.NoError(t, json.Unmarshal(rec.Body.Bytes(), &reply))
		require.Len(t, reply.Results, len(sent.Alerts))
		asked := map[string]bool{}
		for _, question := range w.acceptor.asked {
			_, id, _ := strings.Cut(question, " ")
			require.False(t, asked[id], "asked twice: %s", id)
			asked[id] = true
		}
		for _, r := range reply.Results {
			require.Contains(t, scaling.VerdictResults(), r.Result)
			require.True(t, asked[r.Recommendation] || r.Result == scaling.VerdictUnknown && r.Reason != "")
		}
	})
}

func BenchmarkNotification(b *testing.B) {
	w := build(func(o *webhook.Options) { o.Logger = slog.New(slog.DiscardHandler) })
	w.acceptor.verdicts = map[string]scaling.Verdict{"7-2-prod": {Result: scaling.VerdictDuplicate, ActionID: "7-2-prod"}}
	body := read(b, "firing-0.31.json")
	b.ReportAllocs()
	for b.Loop() {
		w.acceptor.asked = w.acceptor.asked[:0]
		if rec := w.post(b, strings.NewReader(body)); rec.Code != http.StatusOK {
			b.Fatal(rec.Code)
		}
	}
}

// Notifications without a credential do not get this far, and nobody but their
// sender would know.
func TestStrangersAreCountedAndLoggedOnce(t *testing.T) {
	w := build(nil)
	refused := func(status int) {
		r := httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/webhook/alertmanager", nil)
		w.handler.(*webhook.Receiver).Refused(r, status)
	}
	for range 3 {
		refused(http.StatusUnauthorized)
	}
	require.Equal(t, 1, strings.Count(w.log.String(), "carry no credential that is known here"))
	refused(http.StatusForbidden)
	require.Equal(t, 2, strings.Count(w.log.String(), "carry no credential that is known here"))
	w.post(t, strings.NewReader("{}"))
	require.Contains(t, w.log.String(), "notifications carry a known credential again")
	got := w.metrics(t)
	require.InDelta(t, 3, got["requests_total/401"], 0)
	require.InDelta(t, 1, got["requests_total/403"], 0)
}

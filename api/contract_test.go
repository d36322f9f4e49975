package api

import (
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"

	"github.com/getkin/kin-openapi/openapi3filter"
	"github.com/getkin/kin-openapi/routers"
	"github.com/stretchr/testify/require"

	"github.com/zeta-scaler/zeta-scaler/scaling"
	"github.com/zeta-scaler/zeta-scaler/state"
)

// checkReply fails unless request and reply are as the document says, and returns
// the operation.
func checkReply(t *testing.T, router routers.Router, req *http.Request, rec *httptest.ResponseRecorder) string {
	t.Helper()
	route, params, err := router.FindRoute(req)
	require.NoError(t, err)
	in := &openapi3filter.RequestValidationInput{
		Request: req, PathParams: params, Route: route,
		Options: &openapi3filter.Options{
			AuthenticationFunc: openapi3filter.NoopAuthenticationFunc, IncludeResponseStatus: true,
		},
	}
	valid := openapi3filter.ValidateRequest(context.Background(), in)
	if rec.Code == http.StatusBadRequest {
		// The document cannot say that other parameters are refused.
		unknown := strings.Contains(rec.Body.String(), "unknown parameter") || strings.Contains(rec.Body.String(), "before since") ||
			strings.Contains(rec.Body.String(), "not both")
		require.True(t, valid != nil || unknown || strings.Contains(rec.Body.String(), "given 2 times"),
			"the document allows what was refused: %s", rec.Body)
	} else {
		require.NoError(t, valid)
	}
	require.NoError(t, openapi3filter.ValidateResponse(context.Background(), (&openapi3filter.ResponseValidationInput{
		RequestValidationInput: in, Status: rec.Code, Header: rec.Header(),
		Options: in.Options,
	}).SetBodyBytes(rec.Body.Bytes())), rec.Body.String())
	return route.Operation.OperationID
}

type failingHistory struct{ err error }

func (f failingHistory) History(context.Context, state.Filter) ([]state.Entry, error) {
	return nil, f.err
}

func TestEveryReplyIsAsDocumented(t *testing.T) {
	doc, router := loadDocument(t)
	broken := func(o *Options) {
		o.History = failingHistory{errors.New("disk on fire")}
		o.Ready = func(context.Context) error { return errors.New("store is closed") }
		o.Reload = func(context.Context) error { return errors.New("rules/a.yaml:3:1: unknown field") }
	}
	odd := "?scope=" + url.QueryEscape(hostile)
	noDrains := func(o *Options) { o.Drains = nil }
	noJobs := func(o *Options) { o.Jobs = nil }
	noStore := func(o *Options) { o.Store, o.Webhook = nil, nil }
	tests := []struct {
		method, target string
		body           string
		change         func(*Options)
		status         int
		mediaType      string
	}{
		{method: "GET", target: "/", status: 200, mediaType: "text/html"},
		{method: "GET", target: "/" + odd, status: 200, mediaType: "text/html"},
		{method: "GET", target: "/?scope=none", status: 404, mediaType: "text/html"},
		{method: "GET", target: "/?refresh=-1", status: 400, mediaType: "text/html"},
		{method: "GET", target: "/openapi.yaml", status: 200, mediaType: "application/yaml"},
		{method: "GET", target: "/metrics?collect=x", status: 200, mediaType: "text/plain"},
		{method: "GET", target: "/-/healthy?probe=1", status: 200, mediaType: "text/plain"},
		{method: "GET", target: "/-/ready", status: 200, mediaType: "text/plain"},
		{method: "GET", target: "/-/ready", change: broken, status: 503},
		{method: "POST", target: "/-/reload", status: 200, mediaType: "text/plain"},
		{method: "POST", target: "/-/reload?force=1", status: 400},
		{method: "POST", target: "/-/reload", change: broken, status: 500},
		{method: "POST", target: "/-/reload", change: func(o *Options) { o.Reload = nil }, status: 501},
		{method: "GET", target: "/autoscaler/status", status: 200, mediaType: "application/json"},
		{method: "GET", target: "/autoscaler/status" + odd, status: 200, mediaType: "application/json"},
		{method: "GET", target: "/autoscaler/status?scope=none", status: 404},
		{method: "GET", target: "/autoscaler/status?x=1", status: 400},
		{method: "GET", target: "/autoscaler/history", status: 200, mediaType: "application/json"},
		{method: "GET", target: "/autoscaler/history?limit=1&action=SCALE_OUT", status: 200, mediaType: "application/json"},
		{method: "GET", target: "/autoscaler/history?limit=0", status: 400},
		{method: "GET", target: "/autoscaler/history", change: broken, status: 500},
		{
			method: "GET", target: "/autoscaler/history", status: 503,
			change: func(o *Options) { o.History = failingHistory{context.DeadlineExceeded} },
		},
		{method: "GET", target: "/autoscaler/metrics", status: 200, mediaType: "application/json"},
		{method: "GET", target: "/autoscaler/metrics?scope=none", status: 404},
		{method: "GET", target: "/autoscaler/metrics?scope=", status: 400},
		{method: "GET", target: "/autoscaler/decision-table", status: 200, mediaType: "application/json"},
		{method: "GET", target: "/autoscaler/decision-table?scope=none", status: 404},
		{method: "GET", target: "/autoscaler/decision-table?scope=a&scope=b", status: 400},
		{method: "GET", target: "/autoscaler/actions", status: 200, mediaType: "application/json"},
		{method: "GET", target: "/autoscaler/actions?limit=1&cursor=open-1", status: 200, mediaType: "application/json"},
		{method: "GET", target: "/autoscaler/actions?state=DONE", status: 400},
		{method: "GET", target: "/autoscaler/actions?cursor=open-x", status: 400},
		{method: "GET", target: "/autoscaler/actions", change: noStore, status: 501},
		{method: "GET", target: "/autoscaler/actions", change: broken, status: 500},
		{method: "GET", target: "/autoscaler/config", status: 200, mediaType: "application/json"},
		{method: "GET", target: "/autoscaler/config" + odd, status: 200, mediaType: "application/json"},
		{method: "GET", target: "/autoscaler/config?scope=none", status: 404},
		{method: "GET", target: "/autoscaler/config", change: noStore, status: 501},
		{method: "PUT", target: "/autoscaler/config", body: `{"scopes":[{"scope":"prod","minWorkers":2,"mode":null}]}`, status: 200, mediaType: "application/json"},
		{method: "PUT", target: "/autoscaler/config", body: `{"scopes":[{"scope":"none"}]}`, status: 404},
		{method: "PUT", target: "/autoscaler/config", body: `{"scopes":[{"scope":"prod","minWorkers":20}]}`, status: 422},
		{method: "PUT", target: "/autoscaler/config", body: `{"scopes":[]}`, status: 400},
		{method: "PUT", target: "/autoscaler/config", body: `{"scopes":[{"scope":"prod"}]}`, change: noStore, status: 501},
		{method: "POST", target: "/autoscaler/pause", body: `{"scope":"prod","reason":"upgrade","until":"2026-03-14T10:00:00Z"}`, status: 200, mediaType: "application/json"},
		{method: "POST", target: "/autoscaler/pause", body: `{"reason":"upgrade"}`, status: 200, mediaType: "application/json"},
		{method: "POST", target: "/autoscaler/pause", body: `{"scope":"prod"}`, status: 400},
		{method: "POST", target: "/autoscaler/pause", body: `{"reason":"x"}`, change: noStore, status: 501},
		{method: "POST", target: "/autoscaler/resume", body: `{"scope":"prod"}`, status: 200, mediaType: "application/json"},
		{method: "POST", target: "/autoscaler/resume", status: 200, mediaType: "application/json"},
		{method: "POST", target: "/autoscaler/resume", body: `{"scope":"none"}`, status: 404},
		{method: "GET", target: "/autoscaler/drain", status: 200, mediaType: "application/json"},
		{method: "GET", target: "/autoscaler/drain" + odd, status: 200, mediaType: "application/json"},
		{method: "GET", target: "/autoscaler/drain?limit=0", status: 400},
		{method: "GET", target: "/autoscaler/drain?worker=w", status: 400},
		{method: "GET", target: "/autoscaler/drain", change: noStore, status: 501},
		{method: "GET", target: "/autoscaler/drain", change: broken, status: 500},
		{method: "POST", target: "/autoscaler/drain", body: `{"scope":"prod","reason":"new kernel"}`, status: 200, mediaType: "application/json"},
		{method: "POST", target: "/autoscaler/drain", body: `{"scope":"prod","worker":"worker-2","reason":"new kernel"}`, status: 200, mediaType: "application/json"},
		{method: "POST", target: "/autoscaler/drain", body: `{"scope":"prod"}`, status: 400},
		{method: "POST", target: "/autoscaler/drain", body: `{"scope":"none","reason":"x"}`, status: 404},
		{method: "POST", target: "/autoscaler/drain", body: `{"scope":"busy","reason":"x"}`, status: 409},
		{method: "POST", target: "/autoscaler/drain", body: `{"scope":"follower","reason":"x"}`, status: 503},
		{method: "POST", target: "/autoscaler/drain", body: `{"scope":"late","reason":"x"}`, status: 503},
		{method: "POST", target: "/autoscaler/drain", body: `{"scope":"broken","reason":"x"}`, status: 500},
		{method: "POST", target: "/autoscaler/drain", body: `{"scope":"prod","reason":"x"}`, change: noDrains, status: 501},
		{method: "POST", target: "/autoscaler/drain/plan", body: `{"scope":"prod"}`, status: 200, mediaType: "application/json"},
		{method: "POST", target: "/autoscaler/drain/plan", body: `{"scope":"none"}`, status: 404},
		{method: "POST", target: "/autoscaler/drain/plan", body: `{"scope":""}`, status: 400},
		{method: "POST", target: "/autoscaler/drain/plan", body: `{"scope":"prod"}`, change: noDrains, status: 501},
		{method: "POST", target: "/autoscaler/drain/cancel", body: `{"scope":"prod","reason":"not now"}`, status: 200, mediaType: "application/json"},
		{method: "POST", target: "/autoscaler/drain/cancel", body: `{"scope":"busy","reason":"not now"}`, status: 409},
		{method: "POST", target: "/autoscaler/drain/cancel", body: `{"scope":"prod","reason":""}`, status: 400},
		{method: "POST", target: "/autoscaler/drain/cancel", body: `{"scope":"prod","reason":"not now"}`, change: noDrains, status: 501},
		{method: "GET", target: "/autoscaler/jobs", status: 200, mediaType: "application/json"},
		{method: "GET", target: "/autoscaler/jobs?scope=prod", status: 400},
		{method: "GET", target: "/autoscaler/jobs", change: noJobs, status: 501},
		{method: "POST", target: "/autoscaler/jobs", body: `{"name":"orders","format":"json","config":"{}"}`, status: 200, mediaType: "application/json"},
		{method: "POST", target: "/autoscaler/jobs", body: `{"cluster":"prod","id":"4501","name":"orders","format":"hocon","config":"env {}"}`, status: 200, mediaType: "application/json"},
		{method: "POST", target: "/autoscaler/jobs", body: `{"name":"orders","format":"json","config":""}`, status: 400},
		{method: "POST", target: "/autoscaler/jobs", body: `{"cluster":"none","name":"orders","format":"json","config":"{}"}`, status: 404},
		{method: "POST", target: "/autoscaler/jobs", body: `{"id":"409","name":"orders","format":"json","config":"{}"}`, status: 409},
		{method: "POST", target: "/autoscaler/jobs", body: `{"id":"422","name":"orders","format":"json","config":"{}"}`, status: 422},
		{method: "POST", target: "/autoscaler/jobs", body: `{"id":"502","name":"orders","format":"json","config":"{}"}`, status: 502},
		{method: "POST", target: "/autoscaler/jobs", body: `{"id":"504","name":"orders","format":"json","config":"{}"}`, status: 504},
		{method: "POST", target: "/autoscaler/jobs", body: `{"id":"507","name":"orders","format":"json","config":"{}"}`, status: 507},
		{method: "POST", target: "/autoscaler/jobs", body: `{"id":"500","name":"orders","format":"json","config":"{}"}`, status: 500},
		{method: "POST", target: "/autoscaler/jobs", body: `{"name":"orders","format":"json","config":"{}"}`, change: noJobs, status: 501},
		{method: "GET", target: "/autoscaler/explain?scope=prod", status: 200, mediaType: "application/json"},
		{method: "GET", target: "/autoscaler/explain?scope=prod&at=2026-03-14T09:00:00Z", status: 200, mediaType: "application/json"},
		{method: "GET", target: "/autoscaler/explain" + odd, status: 200, mediaType: "application/json"},
		{method: "GET", target: "/autoscaler/explain?scope=none", status: 404},
		{method: "GET", target: "/autoscaler/explain?scope=prod&id=99", status: 404},
		{method: "GET", target: "/autoscaler/explain?scope=prod&id=3&at=2026-03-14T09:00:00Z", status: 400},
		{method: "GET", target: "/autoscaler/explain", status: 400},
		{method: "POST", target: "/autoscaler/backtest", body: `{"scope":"prod","end":"2026-03-14T09:00:00Z","against":null}`, status: 200, mediaType: "application/json"},
		{method: "POST", target: "/autoscaler/backtest", body: `{"scope":"none"}`, status: 404},
		{method: "POST", target: "/autoscaler/backtest", body: `{"scope":"prod","hours":24}`, status: 400},
		{method: "GET", target: "/autoscaler/events", status: 200, mediaType: "text/event-stream"},
		{method: "GET", target: "/autoscaler/events?scope=none", status: 404},
		{method: "POST", target: "/webhook/alertmanager", body: `{"version":"4","alerts":[]}`, status: 200, mediaType: "application/json"},
		{method: "POST", target: "/webhook/alertmanager", body: `{}`, change: noStore, status: 501},
	}
	answered := map[string]bool{}
	for _, tt := range tests {
		t.Run(tt.method+" "+tt.target, func(t *testing.T) {
			o := options(t)
			if tt.change != nil {
				tt.change(&o)
			}
			o.Stopping = closed()
			request := func() *http.Request {
				req := httptest.NewRequest(tt.method, tt.target, strings.NewReader(tt.body))
				if tt.body != "" {
					req.Header.Set("Content-Type", "application/json")
				}
				req.Header.Set("If-Match", "*")
				return req
			}
			rec := serve(newHandler(t, o), request())
			require.Equal(t, tt.status, rec.Code, rec.Body.String())
			req := request()
			want := tt.mediaType
			if want == "" {
				want = "application/problem+json"
			}
			mediaType, _, _ := strings.Cut(rec.Header().Get("Content-Type"), ";")
			require.Equal(t, want, mediaType)
			op := checkReply(t, router, req, rec)
			answered[op] = answered[op] || rec.Code == http.StatusOK
		})
	}
	for _, item := range doc.Paths.Map() {
		for _, op := range item.Operations() {
			require.True(t, answered[op.OperationID], "no successful reply of %s was checked", op.OperationID)
		}
	}
}

// closed is the channel of a service that stops, so that a stream ends.
func closed() chan struct{} {
	c := make(chan struct{})
	close(c)
	return c
}

func TestGoldenReplies(t *testing.T) {
	h := newHandler(t, options(t))
	for file, target := range map[string]string{
		"status.json":         "/autoscaler/status",
		"history.json":        "/autoscaler/history",
		"metrics.json":        "/autoscaler/metrics?scope=prod",
		"decision-table.json": "/autoscaler/decision-table",
		"actions.json":        "/autoscaler/actions",
		"config.json":         "/autoscaler/config",
		"drains.json":         "/autoscaler/drain",
		"explain.json":        "/autoscaler/explain?scope=prod",
		"explain-past.json":   "/autoscaler/explain?scope=prod&at=2026-03-14T09:00:00Z",
	} {
		t.Run(file, func(t *testing.T) {
			rec := call(h, http.MethodGet, target)
			require.Equal(t, http.StatusOK, rec.Code)
			golden(t, file, rec.Body.Bytes())
		})
	}
}

func TestNoScopes(t *testing.T) {
	o := options(t)
	o.Board, o.Health = &fakeBoard{follower: true}, nil
	h := newHandler(t, o)
	require.JSONEq(t, `{"leader":false,"masterEpoch":7,"sources":[],"alertmanagers":[],"store":null,"clusters":[],"nextTick":null,"reloadFailure":null,"scopes":[]}`,
		call(h, "GET", "/autoscaler/status").Body.String())
	require.JSONEq(t, `{"leader":false,"masterEpoch":7,"scopes":[]}`, call(h, "GET", "/autoscaler/metrics").Body.String())
	require.Contains(t, call(h, "GET", "/autoscaler/status?scope=prod").Body.String(), "does not lead")
	page := call(h, "GET", "/").Body.String()
	require.Contains(t, page, "No scopes are shown: this replica does not lead, and only the leader knows them.")
	require.NotContains(t, page, "the rule set has found no worker count")
}

// A replica that does not lead says who does.
func TestAFollowerNamesTheLeader(t *testing.T) {
	o := options(t)
	o.Board = &fakeBoard{follower: true}
	w := state.NewWrite(o.Store, state.NoFence)
	require.NoError(t, state.Leaders(o.Store).Put(w, state.EpochKey, state.LeaderRecord{Epoch: 8, Holder: "node-2/4711"}))
	require.NoError(t, w.Commit(t.Context()))
	h := newHandler(t, o)
	require.Equal(t, "node-2/4711", decoded[Status](t, call(h, "GET", "/autoscaler/status")).LeaderName)
	require.Contains(t, call(h, "GET", "/").Body.String(), "This replica does not lead; node-2/4711 decides.")
	o.Board = &fakeBoard{}
	require.Empty(t, decoded[Status](t, call(newHandler(t, o), "GET", "/autoscaler/status")).LeaderName)
}

// An evaluation says what remained of the cooldown at its tick; a reply says
// what remains now. An old tick is not fresh, and its values are not either.
func TestAgesFollowTheClock(t *testing.T) {
	for _, tt := range []struct {
		after              string
		seconds            int
		cooldown, age      float64
		fresh, inputsFresh bool
	}{
		{after: "at once", seconds: 0, cooldown: 30, age: 0, fresh: true, inputsFresh: true},
		{after: "on the brink", seconds: 90, cooldown: 0, age: 90, fresh: true, inputsFresh: true},
		{after: "too old", seconds: 91, cooldown: 0, age: 91},
		{after: "clock set back", seconds: -60, cooldown: 30, age: 0, fresh: true, inputsFresh: true},
	} {
		t.Run(tt.after, func(t *testing.T) {
			ev := scaleOut("prod")
			now := tick.Add(seconds(tt.seconds))
			require.InDelta(t, tt.cooldown, statusOf(&ev, &standing{}, now).CooldownRemainingSeconds, 0)
			m := metricsOf(&ev, now)
			require.InDelta(t, tt.age, m.AgeSeconds, 0)
			require.Equal(t, tt.fresh, m.Fresh)
			require.Equal(t, tt.inputsFresh, m.Inputs[0].Fresh)
			require.False(t, m.Inputs[3].Fresh, "an unknown value is never fresh")
		})
	}
}

// Only the log learns why the store failed; a probe does not fill it.
func TestWhatIsLogged(t *testing.T) {
	var log strings.Builder
	o := options(t)
	o.Logger = textLogger(&log)
	o.History = failingHistory{errors.New("disk on fire")}
	o.Ready = func(context.Context) error { return errors.New("store is closed") }
	h := newHandler(t, o)
	require.NotContains(t, call(h, "GET", "/autoscaler/history").Body.String(), "disk on fire")
	require.Contains(t, log.String(), "disk on fire")
	log.Reset()
	require.Contains(t, call(h, "GET", "/-/ready").Body.String(), "store is closed")
	require.Empty(t, log.String())
}

func TestHeadIsGetWithoutBody(t *testing.T) {
	srv := httptest.NewServer(newHandler(t, options(t)))
	defer srv.Close()
	for _, r := range Routes() {
		if r.Method != http.MethodGet {
			continue
		}
		query := ""
		if r.Path == "/autoscaler/explain" {
			query = "?scope=prod"
		}
		req, err := http.NewRequestWithContext(t.Context(), http.MethodHead, srv.URL+r.Path+query, http.NoBody)
		require.NoError(t, err)
		resp, err := srv.Client().Do(req)
		require.NoError(t, err)
		body, err := io.ReadAll(resp.Body)
		require.NoError(t, err)
		require.NoError(t, resp.Body.Close())
		require.Equal(t, http.StatusOK, resp.StatusCode, r.Path)
		require.Empty(t, body)
		require.NotEmpty(t, resp.Header.Get("Content-Type"), r.Path)
	}
}

func TestLargeRepliesAreCompressed(t *testing.T) {
	h := newHandler(t, options(t))
	for target, compressed := range map[string]bool{
		"/autoscaler/status": true, "/openapi.yaml": true, "/": true,
		"/-/healthy": false, "/metrics": false,
	} {
		req := httptest.NewRequest(http.MethodGet, target, http.NoBody)
		req.Header.Set("Accept-Encoding", "gzip")
		rec := httptest.NewRecorder()
		h.ServeHTTP(rec, req)
		if !compressed {
			require.Empty(t, rec.Header().Get("Content-Encoding"), target)
			continue
		}
		require.Equal(t, "gzip", rec.Header().Get("Content-Encoding"), target)
		unpacked, err := gzip.NewReader(rec.Body)
		require.NoError(t, err)
		body, err := io.ReadAll(unpacked)
		require.NoError(t, err)
		require.Equal(t, call(h, http.MethodGet, target).Body.String(), string(body))
	}
}

func TestRequestsThatFindNothing(t *testing.T) {
	h := newHandler(t, options(t))
	for _, tt := range []struct {
		method, target string
		body           io.Reader
		status         int
		allow, detail  string
	}{
		{method: "GET", target: "/nope", status: 404, detail: `there is nothing at "/nope"`},
		{method: "GET", target: "/autoscaler/status/", status: 404, detail: "/openapi.yaml lists"},
		{method: "GET", target: "/%00%ff" + strings.Repeat("a", 3000), status: 404, detail: "there is nothing at"},
		{method: "GET", target: "/static/../openapi.yaml", status: 404, detail: "nothing at"},
		{method: "POST", target: "/", status: 405, allow: "OPTIONS, GET, HEAD", detail: "POST is not possible here"},
		{method: "DELETE", target: "/autoscaler/history", status: 405, allow: "OPTIONS, GET, HEAD", detail: "allowed: OPTIONS, GET, HEAD"},
		{method: "GET", target: "/-/reload", status: 405, allow: "OPTIONS, POST", detail: "allowed: OPTIONS, POST"},
		{method: "BREW", target: "/-/healthy", status: 405, allow: "OPTIONS, GET, HEAD", detail: "BREW is not possible"},
		{method: "POST", target: "/-/reload", body: bytes.NewReader(make([]byte, 1<<20)), status: 413, detail: "larger than 1 MB"},
	} {
		t.Run(tt.method+" "+tt.target[:min(20, len(tt.target))], func(t *testing.T) {
			rec := httptest.NewRecorder()
			h.ServeHTTP(rec, httptest.NewRequest(tt.method, tt.target, tt.body))
			require.Equal(t, tt.status, rec.Code)
			require.Equal(t, "application/problem+json", rec.Header().Get("Content-Type"))
			require.Equal(t, tt.allow, rec.Header().Get("Allow"))
			require.Contains(t, rec.Body.String(), strings.ReplaceAll(tt.detail, `"`, `\"`))
			require.Less(t, rec.Body.Len(), 1000)
		})
	}
}

func TestOptionsMustBeComplete(t *testing.T) {
	_, err := New(Options{})
	for _, name := range []string{"Board", "History", "Table", "Ready", "Metrics"} {
		require.ErrorContains(t, err, "option "+name+" is missing")
	}
	require.NotContains(t, err.Error(), "Reload")
}

func TestReloadRunsOnce(t *testing.T) {
	calls := 0
	o := options(t)
	o.Reload = func(context.Context) error { calls++; return nil }
	h := newHandler(t, o)
	require.Equal(t, http.StatusOK, call(h, "POST", "/-/reload").Code)
	require.Equal(t, 1, calls)
	require.Equal(t, http.StatusMethodNotAllowed, call(h, "GET", "/-/reload").Code)
	require.Equal(t, 1, calls)
}

func TestSharedEvaluationsStayAsTheyAre(t *testing.T) {
	b := &fakeBoard{evaluations: []scaling.Evaluation{blind("a")}}
	o := options(t)
	o.Board = b
	h := newHandler(t, o)
	call(h, "GET", "/autoscaler/status")
	call(h, "GET", "/autoscaler/metrics")
	require.Equal(t, blind("a"), b.evaluations[0])
}

// The check of replies is worth nothing if it lets wrong ones pass.
func TestWrongRepliesAreNoticed(t *testing.T) {
	_, router := loadDocument(t)
	req := httptest.NewRequest(http.MethodGet, "/autoscaler/status?scope=prod", http.NoBody)
	right := serve(newHandler(t, options(t)), req).Body.String()
	for name, change := range map[string][2]string{
		"unknown action":  {`"action":"SCALE_OUT"`, `"action":"GROW"`},
		"count as text":   {`"currentWorkers":2`, `"currentWorkers":"2"`},
		"field missing":   {`"leader":true,`, ``},
		"wrong unknown":   {`"value":"UNKNOWN"`, `"value":"NaN"`},
		"null list":       {`"labels":[`, `"labels":null,"x":[`},
		"bad time":        {`"observedAt":"2026-03-14T09:26:30Z"`, `"observedAt":1773480390`},
		"bad nested enum": {`"class":"blocking"`, `"class":"urgent"`},
	} {
		wrong := strings.Replace(right, change[0], change[1], 1)
		require.NotEqual(t, right, wrong, name)
		route, _, err := router.FindRoute(req)
		require.NoError(t, err)
		err = openapi3filter.ValidateResponse(context.Background(), (&openapi3filter.ResponseValidationInput{
			RequestValidationInput: &openapi3filter.RequestValidationInput{Request: req, Route: route},
			Status:                 http.StatusOK,
			Header:                 http.Header{"Content-Type": {"application/json"}},
		}).SetBodyBytes([]byte(wrong)))
		require.Error(t, err, name)
	}
}

package source_test

import (
	"context"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"
	"github.com/stretchr/testify/require"

	"github.com/zeta-scaler/zeta-scaler/source"
)

// loaded is a database with some awkward series in it.
func loaded(t testing.TB) *source.Temporary {
	t.Helper()
	db := openTemporary(t)
	require.NoError(t, db.Load(at(0), 15*time.Second,
		source.Notation{Series: `jobs_total{cluster="a"}`, Values: "0+3x400"},
		source.Notation{Series: `cpu{cluster="a",worker="w1"}`, Values: "0.5+0.001x200 stale _x20 0.9x100"},
		source.Notation{Series: `cpu{cluster="b",worker="wört\"er\\"}`, Values: "_x50 NaN Inf -Inf 1e-9x100"},
		source.Notation{Series: `late{cluster="c"}`, Values: "_x300 7x20"},
	))
	return db
}

func TestRemoteAnswersAsTheEngineDoes(t *testing.T) {
	engine := newEngine(t, loaded(t))
	api := &fakeAPI{engine: engine, maxPoints: 11_000}
	remote := newRemote(t, source.RemoteOptions{URLs: []string{serve(t, api)}})
	exprs := []string{
		`cpu`, `jobs_total`, `rate(jobs_total[1m])`, `rate(cpu[1m])`, `sum by (cluster) (cpu) / 0`, `count(cpu > 0.6)`,
		`late`, `absent(nothing)`, `vector(1) > 2`, `sum(`, `cpu * on () group_left () cpu`, `1 +`,
		`label_replace(cpu, "x", "` + strings.Repeat("long ", 3000) + `", "cluster", "a")`,
	}
	for _, expr := range exprs {
		for _, when := range []time.Time{at(0), at(750), at(3000).Add(123 * time.Millisecond), at(7000)} {
			want, wantErr := engine.Instant(t.Context(), expr, when)
			got, err := remote.Instant(t.Context(), expr, when)
			requireSameError(t, wantErr, err)
			requireSamples(t, want.Samples, got.Samples)
			require.Equal(t, want.Infos, got.Infos)
			require.Equal(t, want.Warnings, got.Warnings)
		}
		for _, w := range []source.Window{
			{Start: at(0), End: at(6000), Step: 15 * time.Second},
			{Start: at(7), End: at(6001), Step: 30 * time.Second},
			{Start: at(3000), End: at(3000), Step: time.Second},
			{Start: at(100), End: at(160), Step: 250 * time.Millisecond},
		} {
			want, wantErr := engine.Range(t.Context(), expr, w)
			got, err := remote.Range(t.Context(), expr, w)
			requireSameError(t, wantErr, err)
			requireSameMatrix(t, want, got)
		}
	}
}

func TestChunkedRangeIsTheWholeRange(t *testing.T) {
	engine := newEngine(t, loaded(t))
	w := source.Window{Start: at(100), End: at(5003), Step: 7 * time.Second} // 701 points
	want, err := engine.Range(t.Context(), `{__name__=~"cpu|late|jobs_total"}`, w)
	require.NoError(t, err)
	for _, points := range []int{1, 2, 100, 700, 701, 702} {
		t.Run(fmt.Sprint(points), func(t *testing.T) {
			// A real server counts steps, so that one point more passes.
			api := &fakeAPI{engine: engine, maxPoints: int64(points)}
			remote := newRemote(t, source.RemoteOptions{URLs: []string{serve(t, api)}, MaxPoints: points})
			got, err := remote.Range(t.Context(), `{__name__=~"cpu|late|jobs_total"}`, w)
			require.NoError(t, err)
			requireSameMatrix(t, want, got)
			require.Equal(t, int64((701+points-1)/points), api.requests.Load())
		})
	}
}

func TestChunkedRangeKeepsInfosOnce(t *testing.T) {
	engine := newEngine(t, loaded(t))
	remote := newRemote(t, source.RemoteOptions{URLs: []string{serve(t, &fakeAPI{engine: engine})}, MaxPoints: 10})
	m, err := remote.Range(t.Context(), `rate(cpu[1m])`, source.Window{Start: at(0), End: at(3000), Step: 30 * time.Second})
	require.NoError(t, err)
	require.Len(t, m.Infos, 1)
}

func TestRemoteSendsItsParameters(t *testing.T) {
	var header http.Header
	api := &fakeAPI{engine: newEngine(t, loaded(t))}
	base := serve(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		header = r.Header.Clone()
		api.ServeHTTP(w, r)
	}))
	remote := newRemote(t, source.RemoteOptions{
		URLs: []string{base + "/prefix/"}, LookbackDelta: 90 * time.Second, Timeout: 7 * time.Second,
		Headers:     map[string]string{"X-Scope-OrgID": "team"},
		QueryParams: url.Values{"dedup": {"true"}, "extra_label": {"a=b", "c=d"}},
	})
	_, err := remote.Instant(t.Context(), `cpu`, at(30).Add(time.Millisecond))
	require.NoError(t, err)
	form := *api.last.Load()
	require.Equal(t, []string{"90"}, form["lookback_delta"])
	require.Equal(t, []string{"30.001"}, form["time"])
	require.Equal(t, []string{"true"}, form["dedup"])
	require.Equal(t, []string{"a=b", "c=d"}, form["extra_label"])
	require.Regexp(t, `^(7|6\.\d+)$`, form["timeout"][0], "the server gives up when we do")
	require.Equal(t, "team", header.Get("X-Scope-OrgID"))
	require.Equal(t, "zeta-scaler", header.Get("User-Agent"))
	require.Equal(t, "identity", header.Get("Accept-Encoding"), "the server is on this machine")
}

func TestRemoteFallsBackToGet(t *testing.T) {
	api := &fakeAPI{engine: newEngine(t, loaded(t))}
	for _, code := range []int{http.StatusMethodNotAllowed, http.StatusForbidden, http.StatusNotImplemented} {
		t.Run(http.StatusText(code), func(t *testing.T) {
			posts := 0
			remote := newRemote(t, source.RemoteOptions{QueryParams: url.Values{"x": {"y"}}, URLs: []string{serve(t, http.HandlerFunc(
				func(w http.ResponseWriter, r *http.Request) {
					if r.Method == http.MethodPost {
						posts++
						w.WriteHeader(code)
						return
					}
					api.ServeHTTP(w, r)
				}))}})
			for range 3 {
				v, err := remote.Instant(t.Context(), `sum(jobs_total)`, at(15))
				require.NoError(t, err)
				require.InDelta(t, 3, v.Samples[0].Value, 0)
			}
			require.Equal(t, 1, posts, "it remembers")
			require.Equal(t, []string{"y"}, (*api.last.Load())["x"])
		})
	}
}

func TestRemoteOddReplies(t *testing.T) {
	const appJSON = "application/json"
	big := `{"status":"success","data":{"resultType":"vector","result":[]},"padding":"` + strings.Repeat("x", 2<<20) + `"}`
	apiErr := func(kind string) string { return `{"status":"error","errorType":"` + kind + `","error":"it says why"}` }
	tests := []struct {
		name     string
		handler  http.HandlerFunc
		answered bool
		want     string
		reason   string
	}{
		{"bad data", canned(400, appJSON, apiErr("bad_data")), true, "bad_data: it says why", "bad_data"},
		{"execution", canned(422, appJSON, apiErr("execution")), true, "execution: it says why", "execution"},
		{"bad data of VictoriaMetrics", canned(400, appJSON, apiErr("400")), true, "bad_data: it says why", "bad_data"},
		{"execution of VictoriaMetrics", canned(422, appJSON, apiErr("422")), true, "execution: it says why", "execution"},
		{"error with status 200", canned(200, appJSON, apiErr("execution")), true, "execution: it says why", "execution"},
		{"histogram", canned(200, appJSON, `{"status":"success","data":{"resultType":"vector","result":[{"metric":{},"histogram":[1,{"count":"1"}]}]}}`), true, "expression yields a histogram", "execution"},
		{"range vector", canned(200, appJSON, `{"status":"success","data":{"resultType":"matrix","result":[]}}`), true, "expression yields a matrix", "execution"},
		{"string", canned(200, appJSON, `{"status":"success","data":{"resultType":"string","result":[1,"a"]}}`), true, "expression yields a string", "execution"},

		{"query time-out", canned(503, appJSON, apiErr("timeout")), false, "503 Service Unavailable: it says why", "timeout"},
		{"query time-out as 422", canned(422, appJSON, apiErr("timeout")), false, "timeout: it says why", "timeout"},
		{"internal", canned(500, appJSON, apiErr("internal")), false, "500 Internal Server Error: it says why", "http_status"},
		{"canceled as 422", canned(422, appJSON, apiErr("canceled")), false, "canceled: it says why", "unavailable"},
		{"WAL replay", canned(503, "text/plain; charset=utf-8", "Service Unavailable"), false, "starting and replaying its WAL", "unavailable"},
		{"401", canned(401, "text/html", "<h1>login</h1>"), false, "401 Unauthorized (check the credentials in http_config)", "http_status"},
		{"403", canned(403, "text/html", "no"), false, "403 Forbidden", "http_status"},
		{"404", canned(404, "text/plain", "404 page not found"), false, "is this the address of a Prometheus API", "http_status"},
		{"429", canned(429, appJSON, apiErr("too_many_requests")), false, "429 Too Many Requests: it says why", "http_status"},
		{"502", canned(502, "text/html", "<h1>bad gateway</h1>"), false, "502 Bad Gateway", "http_status"},
		{"400 of a proxy", canned(400, "text/html", "<h1>bad</h1>"), false, "400 Bad Request", "http_status"},
		{"400 with other JSON", canned(400, appJSON, `{"message":"no"}`), false, "400 Bad Request", "http_status"},
		{"HTML", canned(200, "text/html", "<html>sign in</html>"), false, `reply is "text/html", expected application/json`, "bad_response"},
		{"JSON with a wrong type", canned(200, "text/plain", vectorOf("1")), false, `reply is "text/plain"`, "bad_response"},
		{"no content", canned(204, "", ""), false, `reply is ""`, "bad_response"},
		{"empty", canned(200, appJSON, ""), false, "unexpected EOF", "bad_response"},
		{"truncated JSON", canned(200, appJSON, vectorOf("1")[:70]), false, "unexpected EOF", "bad_response"},
		{"two documents", canned(200, appJSON, vectorOf("1")+vectorOf("1")), false, `'{', expected the end`, "bad_response"},
		{"other JSON", canned(200, appJSON, `{"ok":true}`), false, `status "", expected success`, "bad_response"},
		{"array", canned(200, appJSON, `[]`), false, "expected an object", "bad_response"},
		{"no data", canned(200, appJSON, `{"status":"success"}`), false, "success without data", "bad_response"},
		{"null data", canned(200, appJSON, `{"status":"success","data":null}`), false, "expected an object", "bad_response"},
		{"number instead of text", canned(200, appJSON, strings.Replace(vectorOf("1"), `"1"`, `1`, 1)), false, "expected a string", "bad_response"},
		{"no number", canned(200, appJSON, vectorOf("one")), false, `parsing "one"`, "bad_response"},
		{"beyond float64", canned(200, appJSON, vectorOf("1e999")), false, "value out of range", "bad_response"},
		{"label twice", canned(200, appJSON, `{"status":"success","data":{"resultType":"vector","result":[{"metric":{"a":"1","a":"2"},"value":[1,"1"]}]}}`), false, `label "a" is given twice`, "bad_response"},
		{"label without UTF-8", canned(200, appJSON, "{\"status\":\"success\",\"data\":{\"resultType\":\"vector\",\"result\":[{\"metric\":{\"a\":\"\xff\"},\"value\":[1,\"1\"]}]}}"), false, `label "a" has bytes that are not UTF-8`, "bad_response"},
		{"unknown type", canned(200, appJSON, `{"status":"success","data":{"resultType":"tensor","result":[]}}`), false, `unknown result type "tensor"`, "bad_response"},
		{"too large", canned(200, appJSON, big), false, "larger than the limit of 1048576 bytes", "response_too_large"},
		{"too large, length unknown", chunked(big), false, "larger than the limit of 1048576 bytes", "response_too_large"},
		{"100 MB in gzip", zeros, false, "larger than the limit of 1048576 bytes", "response_too_large"},
		{"broken gzip", func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Encoding", "gzip")
			canned(200, appJSON, vectorOf("1"))(w, r)
		}, false, "reading gzip", "bad_response"},
		{"redirect loop", func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, r.URL.Path, http.StatusTemporaryRedirect)
		}, false, "stopped after 5 redirects", "redirect"},
		{"redirect that loses the query", func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, "/login?token=secret", http.StatusFound)
		}, false, "in a way that loses the query", "redirect"},
		{"closed connection", func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) }, false, "connection closed", "connection"},
		{"broken off", brokenOff, false, "connection closed in the middle of the reply", "connection"},
		{"hanging", hang, false, "no whole reply within", "timeout"},
		{"hanging in the body", func(w http.ResponseWriter, r *http.Request) {
			_ = r.ParseForm()
			canned(200, appJSON, `{"status":`)(w, r)
			_ = http.NewResponseController(w).Flush()
			<-r.Context().Done()
		}, false, "no whole reply within", "timeout"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			reg := prometheus.NewRegistry()
			timeout := time.Minute // under -race on a busy machine 100 MB take their time
			if tt.reason == "timeout" {
				timeout = 50 * time.Millisecond
			}
			base := serve(t, tt.handler)
			remote := newRemote(t, source.RemoteOptions{URLs: []string{base}, Registerer: reg, MaxResponse: 1 << 20, Timeout: timeout})
			_, err := remote.Instant(t.Context(), "up", at(0))
			require.ErrorContains(t, err, tt.want)
			require.NotContains(t, err.Error(), "secret")
			if tt.answered {
				require.NotErrorIs(t, err, source.ErrNoAnswer)
			} else {
				require.ErrorIs(t, err, source.ErrNoAnswer)
				require.ErrorContains(t, err, base+": ")
			}
			require.InDelta(t, 1, counter(t, reg, "zeta_scaler_query_failures_total", "instant", tt.reason), 0)
		})
	}
}

func TestRemoteScalarAndEmpty(t *testing.T) {
	remote := newRemote(t, source.RemoteOptions{URLs: []string{serve(t, canned(200, "application/json; charset=utf-8",
		` { "data" : {"result":[1.5,"42"] , "resultType":"scalar", "stats":{"a":[1,{"b":null}]}},"status":"success","warnings":["w"],"infos":null} `))}})
	v, err := remote.Instant(t.Context(), "42", at(0))
	require.NoError(t, err)
	require.Equal(t, source.Vector{Samples: []source.Sample{{Value: 42}}, Warnings: []string{"w"}}, v)

	remote = newRemote(t, source.RemoteOptions{URLs: []string{serve(t, canned(200, "application/json",
		`{"status":"success","data":{"resultType":"vector","result":[]},"infos":["i"]}`))}})
	v, err = remote.Instant(t.Context(), "nothing", at(0))
	require.NoError(t, err)
	require.Equal(t, source.Vector{Infos: []string{"i"}}, v)
}

func TestRemoteRefusesOtherRangeReplies(t *testing.T) {
	remote := newRemote(t, source.RemoteOptions{URLs: []string{serve(t, canned(200, "application/json", vectorOf("1")))}})
	w := source.Window{Start: at(0), End: at(60), Step: time.Second}
	_, err := remote.Range(t.Context(), "up", w)
	require.ErrorIs(t, err, source.ErrNoAnswer)
	require.ErrorContains(t, err, "answered with a vector")

	w.Step = 0
	_, err = remote.Range(t.Context(), "up", w)
	require.ErrorContains(t, err, "bad_data: step 0s")
}

// Thanos' query frontend, VictoriaMetrics from 50 points on, and Mimir if it is
// told so move ranges to multiples of the step. Whatever they say then is about
// other ticks, and folding it would restore windows as if nobody had reported.
func TestRemoteRefusesRangesForOtherInstants(t *testing.T) {
	engine := newEngine(t, loaded(t))
	api := &fakeAPI{engine: engine}
	aligning := func(w http.ResponseWriter, r *http.Request) {
		_ = r.ParseForm()
		step := parseTime(r.Form.Get("step")).UnixMilli()
		for _, name := range []string{"start", "end"} {
			ms := parseTime(r.Form.Get(name)).UnixMilli()
			r.Form.Set(name, fmt.Sprint(float64(ms-ms%step)/1000))
		}
		api.ServeHTTP(w, r)
	}
	remote := newRemote(t, source.RemoteOptions{URLs: []string{serve(t, http.HandlerFunc(aligning))}})
	_, err := remote.Range(t.Context(), "jobs_total", source.Window{Start: at(67), End: at(607), Step: 30 * time.Second})
	require.ErrorIs(t, err, source.ErrNoAnswer)
	require.ErrorContains(t, err, "range query answered for 1970-01-01T00:01:00Z, asked for every 30s from 1970-01-01T00:01:07Z")

	w := source.Window{Start: at(60), End: at(600), Step: 30 * time.Second}
	want, err := engine.Range(t.Context(), "jobs_total", w)
	require.NoError(t, err)
	got, err := remote.Range(t.Context(), "jobs_total", w)
	require.NoError(t, err)
	requireSameMatrix(t, want, got)
}

func TestRemoteNobodyListens(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	require.NoError(t, l.Close())
	remote := newRemote(t, source.RemoteOptions{URLs: []string{"http://user:hunter2@" + l.Addr().String() + "/?token=secret"}})
	_, err = remote.Instant(t.Context(), "up", at(0))
	require.ErrorIs(t, err, source.ErrNoAnswer)
	require.ErrorContains(t, err, "connection refused")
	require.NotContains(t, err.Error(), "hunter2")
	require.NotContains(t, err.Error(), "secret")
	require.NotContains(t, err.Error(), "user")
}

func TestRemoteCallerGivesUp(t *testing.T) {
	logs := &strings.Builder{}
	asked := make(chan struct{}, 1)
	ctx, cancel := context.WithCancel(t.Context())
	other := &fakeAPI{engine: newEngine(t, loaded(t))}
	remote := newRemote(t, source.RemoteOptions{
		Logger: slog.New(slog.NewTextHandler(logs, nil)),
		URLs: []string{serve(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			asked <- struct{}{}
			hang(w, r)
		})), serve(t, other)},
	})
	go func() {
		<-asked
		cancel()
	}()
	_, err := remote.Instant(ctx, "up", at(0))
	require.ErrorIs(t, err, source.ErrNoAnswer)
	require.ErrorIs(t, err, context.Canceled)
	require.Zero(t, other.requests.Load(), "nobody waits for another replica")
	require.Empty(t, logs.String(), "the replica has done nothing wrong")
}

func TestNewRemoteErrors(t *testing.T) {
	tests := []struct {
		name string
		opts source.RemoteOptions
		want string
	}{
		{"no url", source.RemoteOptions{}, "no prometheus url"},
		{"no scheme", source.RemoteOptions{URLs: []string{"localhost:9090"}}, "expected http://host:port"},
		{"no host", source.RemoteOptions{URLs: []string{"http:///x"}}, "expected http://host:port"},
		{"unreadable", source.RemoteOptions{URLs: []string{"http://a", "http://u:secret@[::1"}}, "prometheus url 2 cannot be read"},
		{"twice", source.RemoteOptions{URLs: []string{"http://u:secret@a", "http://a"}}, `"http://a" is given twice`},
		{"reserved", source.RemoteOptions{URLs: []string{"http://a"}, QueryParams: url.Values{"query": {"up"}}}, `query parameter "query"`},
		{"negative", source.RemoteOptions{URLs: []string{"http://a"}, Timeout: -1}, "must not be negative"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			_, err := source.NewRemote(tt.opts)
			require.ErrorContains(t, err, tt.want)
			require.NotContains(t, err.Error(), "secret")
		})
	}
}

func TestRemoteMetricsPassTheLinter(t *testing.T) {
	reg := prometheus.NewRegistry()
	remote := newRemote(t, source.RemoteOptions{Registerer: reg, URLs: []string{serve(t, &fakeAPI{engine: newEngine(t, loaded(t))})}})
	_, err := remote.Instant(t.Context(), "cpu", at(0))
	require.NoError(t, err)
	problems, err := testutil.GatherAndLint(reg)
	require.NoError(t, err)
	require.Empty(t, problems)
	require.InDelta(t, 1, testutil.CollectAndCount(reg, "zeta_scaler_prometheus_replica"), 0)
}

// chunked is canned without a Content-Length.
func chunked(body string) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		_ = http.NewResponseController(w).Flush()
		_, _ = w.Write([]byte(body))
	}
}

// brokenOff announces more than it sends.
func brokenOff(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Content-Length", "1000")
	_, _ = w.Write([]byte(`{"status":`))
	panic(http.ErrAbortHandler)
}

package promapi_test

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/prometheus/promql"
	"github.com/prometheus/prometheus/storage"
	"github.com/stretchr/testify/require"

	"github.com/zeta-scaler/zeta-scaler/source"
	"github.com/zeta-scaler/zeta-scaler/source/promapi"
)

// engine is one over a temporary database with a few series.
func engine(t testing.TB) *source.Engine {
	t.Helper()
	db, err := source.OpenTemporary(t.TempDir(), nil)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, db.Close()) })
	require.NoError(t, db.Load(time.Unix(0, 0), time.Minute,
		source.Notation{Series: `m{cluster="a"}`, Values: "0+1x10"}, source.Notation{Series: `m{cluster="b"}`, Values: "0+2x10"}))
	e, err := source.NewEngine(source.EngineOptions{MaxSamples: 100}, db)
	require.NoError(t, err)
	return e
}

func get(h http.Handler, path string) (int, string) {
	w := httptest.NewRecorder()
	h.ServeHTTP(w, httptest.NewRequest(http.MethodGet, promapi.Prefix+path, http.NoBody))
	return w.Code, w.Body.String()
}

func TestReplies(t *testing.T) {
	h := promapi.New(promapi.Options{Engine: engine(t), Version: "3.16.0", Now: func() time.Time { return time.Unix(300, 0) }})
	for path, want := range map[string]string{
		"query?query=m":                     `{"status":"success","data":{"resultType":"vector","result":[{"metric":{"__name__":"m","cluster":"a"},"value":[300,"5"]},{"metric":{"__name__":"m","cluster":"b"},"value":[300,"10"]}]}}`,
		"query?query=nothing":               `{"status":"success","data":{"resultType":"vector","result":[]}}`,
		"query?query=sum(m)&time=120":       `{"status":"success","data":{"resultType":"vector","result":[{"metric":{},"value":[120,"6"]}]}}`,
		"series?match[]=m&limit=1":          `{"status":"success","data":[{"__name__":"m","cluster":"a"}],"warnings":["results truncated due to limit"]}`,
		"labels":                            `{"status":"success","data":["__name__","cluster"]}`,
		"label/cluster/values?limit=1":      `{"status":"success","data":["a"],"warnings":["results truncated due to limit"]}`,
		"status/buildinfo":                  `{"status":"success","data":{"version":"3.16.0","revision":"","branch":"","buildUser":"","buildDate":"","goVersion":""}}`,
		"metadata":                          `{"status":"success","data":{}}`,
		"query?query=m&time=yesterday":      `{"status":"error","errorType":"bad_data","error":"invalid parameter \"time\": \"yesterday\" is no time: expected Unix seconds or RFC 3339"}`,
		"query?query=m&timeout=-1":          `{"status":"error","errorType":"bad_data","error":"invalid parameter \"timeout\": \"-1\" is no duration \u003e 0"}`,
		"series?match[]=m&limit=x":          `{"status":"error","errorType":"bad_data","error":"invalid parameter \"limit\": \"x\" is no whole number ≥ 0"}`,
		"rules":                             `{"status":"error","errorType":"not_found","error":"the embedded Prometheus serves query, query_range, series, labels and label/NAME/values"}`,
		"query?query=m[10m:1s]":             `{"status":"error","errorType":"execution","error":"query processing would load too many samples into memory in query execution"}`,
		"query_range?query=m&start=0&end=1": `{"status":"error","errorType":"bad_data","error":"invalid parameter \"step\": \"\" is no duration: expected seconds, or such as 1m30s"}`,
	} {
		_, got := get(h, strings.ReplaceAll(path, "[10m:1s]", url.QueryEscape("[10m:1s]")))
		require.JSONEq(t, want, got, "%s", path)
	}
}

// What a path takes is told without asking the engine. The web server goes by
// it: a POST without a credential gets 401 or 403, not 404.
func TestMethodsAreTold(t *testing.T) {
	h := promapi.New(promapi.Options{Engine: engine(t)})
	for path, want := range map[string]string{
		"query": "GET, POST, HEAD, OPTIONS", "labels": "GET, POST, HEAD, OPTIONS", "label/cluster/values": "GET, HEAD, OPTIONS",
	} {
		w := httptest.NewRecorder()
		h.ServeHTTP(w, httptest.NewRequest(http.MethodOptions, promapi.Prefix+path, http.NoBody))
		require.Equal(t, http.StatusNoContent, w.Code, path)
		require.Equal(t, want, w.Header().Get("Allow"), path)
	}
	w := httptest.NewRecorder()
	h.ServeHTTP(w, httptest.NewRequest(http.MethodOptions, promapi.Prefix+"rules", http.NoBody))
	require.Equal(t, http.StatusNotFound, w.Code)
}

// slow is an engine whose queries wait for their end.
type slow struct{ promapi.Engine }

type waiting struct{ promql.Query }

func (slow) Query(context.Context, string, time.Time, time.Time, time.Duration) (promql.Query, error) {
	return waiting{}, nil
}

func (waiting) Exec(ctx context.Context) *promql.Result {
	<-ctx.Done()
	return &promql.Result{Err: promql.ErrQueryTimeout("waiting")}
}
func (waiting) Close() {}

// No more than a few queries run at once, and each ends.
func TestQueriesAreBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := promapi.New(promapi.Options{Engine: slow{}})
		began := time.Now()
		answers := make(chan *httptest.ResponseRecorder, 10)
		for range 10 {
			go func() {
				w := httptest.NewRecorder()
				h.ServeHTTP(w, httptest.NewRequest(http.MethodGet, promapi.Prefix+"query?query=m&timeout=20s", http.NoBody))
				answers <- w
			}()
		}
		full := 0
		for range 10 {
			w := <-answers
			require.Equal(t, http.StatusServiceUnavailable, w.Code)
			if strings.Contains(w.Body.String(), "too many queries") {
				full++
			}
		}
		require.Positive(t, full)
		require.LessOrEqual(t, time.Since(began), 40*time.Second)
	})
}

// broken is an engine whose storage cannot be read.
type broken struct{ promapi.Engine }

func (broken) Querier(int64, int64) (storage.Querier, error) {
	return nil, errors.New("reading /secret/path: input/output error")
}

func TestInnerErrorsAreNotShown(t *testing.T) {
	code, body := get(promapi.New(promapi.Options{Engine: broken{}}), "labels")
	require.Equal(t, http.StatusInternalServerError, code)
	require.NotContains(t, body, "/secret")
}

func FuzzRequests(f *testing.F) {
	f.Add("query", "query=m&time=1e300&timeout=1s")
	f.Add("query_range", "query=m&start=-9e18&end=9e18&step=1e-9")
	f.Add("series", "match[]={a!=\"\"}&start=NaN&limit=-0")
	f.Add("label/%ff/values", "")
	h := promapi.New(promapi.Options{Engine: engine(f)})
	f.Fuzz(func(t *testing.T, path, params string) {
		r := httptest.NewRequest(http.MethodGet, "/", http.NoBody)
		r.URL.Path, r.URL.RawQuery = promapi.Prefix+path, params
		w := httptest.NewRecorder()
		h.ServeHTTP(w, r)
		require.NotEqual(t, http.StatusInternalServerError, w.Code, w.Body.String())
	})
}

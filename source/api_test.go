package source_test

import (
	"compress/gzip"
	"encoding/json"
	"errors"
	"math"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/prometheus/prometheus/model/labels"
	"github.com/stretchr/testify/require"

	"github.com/zeta-scaler/zeta-scaler/source"
)

// fakeAPI is a Prometheus server's query API over an Engine.
type fakeAPI struct {
	engine   *source.Engine
	requests atomic.Int64
	// maxPoints is the server's own limit, 11,000 in Prometheus.
	maxPoints int64
	// last holds the parameters of the newest request.
	last atomic.Pointer[map[string][]string]
}

func (a *fakeAPI) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	a.requests.Add(1)
	if err := r.ParseForm(); err != nil {
		a.fail(w, http.StatusBadRequest, "bad_data", err.Error())
		return
	}
	form := map[string][]string(r.Form)
	a.last.Store(&form)
	switch {
	case strings.HasSuffix(r.URL.Path, "/api/v1/query"):
		v, err := a.engine.Instant(r.Context(), r.Form.Get("query"), parseTime(r.Form.Get("time")))
		a.reply(w, err, "vector", encodeVector(v, r.Form.Get("time")), v.Warnings, v.Infos)
	case strings.HasSuffix(r.URL.Path, "/api/v1/query_range"):
		win := source.Window{Start: parseTime(r.Form.Get("start")), End: parseTime(r.Form.Get("end"))}
		step, _ := strconv.ParseFloat(r.Form.Get("step"), 64)
		win.Step = time.Duration(math.Round(step*1000)) * time.Millisecond
		if a.maxPoints > 0 && int64(win.End.Sub(win.Start)/win.Step) > a.maxPoints {
			a.fail(w, http.StatusBadRequest, "bad_data", "exceeded maximum resolution of points per timeseries")
			return
		}
		m, err := a.engine.Range(r.Context(), r.Form.Get("query"), win)
		a.reply(w, err, "matrix", encodeMatrix(m), m.Warnings, m.Infos)
	default:
		http.NotFound(w, r)
	}
}

func (a *fakeAPI) reply(w http.ResponseWriter, err error, kind string, result any, warnings, infos []string) {
	var q *source.QueryError
	switch {
	case errors.As(err, &q) && q.Type == "bad_data":
		a.fail(w, http.StatusBadRequest, q.Type, q.Message)
	case errors.As(err, &q):
		a.fail(w, http.StatusUnprocessableEntity, q.Type, q.Message)
	case err != nil:
		a.fail(w, http.StatusServiceUnavailable, "timeout", err.Error())
	default:
		writeJSON(w, http.StatusOK, map[string]any{
			"status": "success", "data": map[string]any{"resultType": kind, "result": result}, "warnings": warnings, "infos": infos,
		})
	}
}

func (a *fakeAPI) fail(w http.ResponseWriter, code int, kind, message string) {
	writeJSON(w, code, map[string]any{"status": "error", "errorType": kind, "error": message})
}

func writeJSON(w http.ResponseWriter, code int, body any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(code)
	_ = json.NewEncoder(w).Encode(body)
}

func parseTime(s string) time.Time {
	f, _ := strconv.ParseFloat(s, 64)
	return time.UnixMilli(int64(math.Round(f * 1000)))
}

func number(v float64) string { return strconv.FormatFloat(v, 'f', -1, 64) }

func encodeVector(v source.Vector, when string) []any {
	all := []any{}
	for _, s := range v.Samples {
		all = append(all, map[string]any{"metric": metric(s.Labels), "value": []any{json.Number(when), number(s.Value)}})
	}
	return all
}

func encodeMatrix(m source.Matrix) []any {
	all := []any{}
	for _, s := range m.Series {
		values := []any{}
		for _, p := range s.Points {
			values = append(values, []any{float64(p.T) / 1000, number(p.V)})
		}
		all = append(all, map[string]any{"metric": metric(s.Labels), "values": values})
	}
	return all
}

func metric(l labels.Labels) map[string]string {
	m := map[string]string{}
	l.Range(func(l labels.Label) { m[l.Name] = l.Value })
	return m
}

// serve starts a server that the test closes.
func serve(t testing.TB, h http.Handler) string {
	t.Helper()
	srv := httptest.NewServer(h)
	t.Cleanup(srv.Close)
	return srv.URL
}

// newRemote returns a source that the test closes.
func newRemote(t testing.TB, opts source.RemoteOptions) *source.Remote {
	t.Helper()
	r, err := source.NewRemote(opts)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, r.Close()) })
	return r
}

// canned replies the same to everything.
func canned(code int, contentType, body string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", contentType)
		w.WriteHeader(code)
		_, _ = w.Write([]byte(body))
	}
}

// vectorOf is a reply with one sample.
func vectorOf(v string) string {
	return `{"status":"success","data":{"resultType":"vector","result":[{"metric":{},"value":[1,"` + v + `"]}]}}`
}

// hang never replies.
func hang(_ http.ResponseWriter, r *http.Request) {
	_ = r.ParseForm() // reading the body lets the server notice that the client left
	<-r.Context().Done()
}

// zeros is a gzipped body that is small on the wire and large in memory.
func zeros(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Content-Encoding", "gzip")
	z := gzip.NewWriter(w)
	for range 100 {
		if _, err := z.Write(make([]byte, 1<<20)); err != nil {
			return
		}
	}
	_ = z.Close()
}

//go:build e2e && unix

package e2e

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/zeta-scaler/zeta-scaler/e2e/harness"
	"github.com/zeta-scaler/zeta-scaler/source"
	"github.com/zeta-scaler/zeta-scaler/source/promapi"
)

// The embedded Prometheus answers as a real one does, to the letter, over the
// same data: values, lists, errors and their words.
func TestQueriesAreAnsweredAsByARealPrometheus(t *testing.T) {
	base := time.Now().Add(-2 * time.Hour).Truncate(time.Minute)
	var text strings.Builder
	text.WriteString("# TYPE m gauge\n")
	for i := range 60 {
		for _, cluster := range []string{"a", "b"} {
			fmt.Fprintf(&text, "m{cluster=%q,odd=\"\\\"ü\"} %d %d\n", cluster, i*i, base.Add(time.Duration(i)*time.Minute).Unix())
		}
	}
	text.WriteString("# TYPE n counter\n")
	for i := range 60 {
		fmt.Fprintf(&text, "n_total{job=\"x\"} %d %d\n", i, base.Add(time.Duration(i)*time.Minute).Unix())
	}
	text.WriteString("# EOF\n")
	genuine := lab.StartPrometheus(t, harness.PrometheusOptions{Name: "promapi-prometheus", Config: "{}", Data: writeBlocks(t, []byte(text.String()))}).URL
	embedded, err := source.OpenEmbedded(source.EmbeddedOptions{Path: writeBlocks(t, []byte(text.String())), Retention: 10 * 365 * 24 * time.Hour})
	require.NoError(t, err)
	defer func() { require.NoError(t, embedded.Close()) }()
	server := httptest.NewServer(promapi.New(promapi.Options{Engine: embedded}))
	defer server.Close()

	at := func(minutes int) string { return fmt.Sprint(base.Add(time.Duration(minutes) * time.Minute).Unix()) }
	ask := func(method, base, path string, params url.Values) (int, string) {
		target, body := base+promapi.Prefix+path, io.Reader(http.NoBody)
		if method == http.MethodPost {
			body = strings.NewReader(params.Encode())
		} else {
			target += "?" + params.Encode()
		}
		req, err := http.NewRequestWithContext(t.Context(), method, target, body)
		require.NoError(t, err)
		if method == http.MethodPost {
			req.Header.Set("Content-Type", "application/x-www-form-urlencoded")
		}
		resp, err := http.DefaultClient.Do(req)
		require.NoError(t, err)
		defer resp.Body.Close()
		text, err := io.ReadAll(resp.Body)
		require.NoError(t, err)
		return resp.StatusCode, string(text)
	}
	for _, tc := range []struct{ path, params string }{
		{"query", "query=m&time=" + at(30)},
		{"query", "query=sum by (cluster) (rate(n_total[5m]))&time=" + at(30)},
		{"query", "query=m[3m]&time=" + at(30)},
		{"query", "query=1%2B1&time=" + at(30)},
		{"query", "query=\"text\"&time=" + at(30)},
		{"query", "query=nothing&time=" + at(30)},
		{"query", "query=m&time=" + base.Add(30*time.Minute).UTC().Format(time.RFC3339)},
		{"query", "query=m/0&time=" + at(0)},
		{"query", "query=rate(m[5m])&time=" + at(30)},
		{"query", "query=quantile(2, m)&time=" + at(30)},
		{"query", "query=m{&time=" + at(30)},
		{"query", "query=&time=" + at(30)},
		{"query", "query=m * on(x) group_left m&time=" + at(30)},
		{"query_range", "query=m&start=" + at(10) + "&end=" + at(20) + "&step=60"},
		{"query_range", "query=sum(m)&start=" + at(10) + "&end=" + at(20) + "&step=1m30s"},
		{"query_range", "query=m[5m]&start=" + at(10) + "&end=" + at(20) + "&step=60"},
		{"query_range", "query=m&start=" + at(20) + "&end=" + at(10) + "&step=60"},
		{"query_range", "query=m&start=" + at(10) + "&end=" + at(20) + "&step=0"},
		{"query_range", "query=m&start=" + at(0) + "&end=" + at(59) + "&step=0.1"},
		{"query_range", "query=1&start=" + at(0) + "&end=" + at(2) + "&step=60"},
		{"series", "match[]=m"},
		{"series", "match[]=m{cluster=\"a\"}&match[]=n_total&start=" + at(0) + "&end=" + at(59)},
		{"series", "match[]={x=\"\"}"},
		{"series", ""},
		{"series", "match[]=nothing"},
		{"labels", ""},
		{"labels", "match[]=n_total"},
		{"label/cluster/values", ""},
		{"label/__name__/values", ""},
		{"label/cluster/values", "match[]=m{cluster=\"b\"}"},
		{"label/nothing/values", ""},
	} {
		for _, method := range []string{http.MethodGet, http.MethodPost} {
			if method == http.MethodPost && strings.HasPrefix(tc.path, "label/") {
				continue
			}
			params, err := url.ParseQuery(tc.params)
			require.NoError(t, err)
			wantStatus, want := ask(method, genuine, tc.path, params)
			gotStatus, got := ask(method, server.URL, tc.path, params)
			require.Equal(t, wantStatus, gotStatus, "%s %s %s: %s against %s", method, tc.path, tc.params, got, want)
			require.JSONEq(t, want, got, "%s %s %s", method, tc.path, tc.params)
		}
	}
}

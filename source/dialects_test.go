package source_test

import (
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/zeta-scaler/zeta-scaler/source"
)

// dialect is a reply in the form in which a server gives it, and what it means.
type dialect struct {
	isRange      bool
	means        string
	status       int
	contentType  string
	body, origin string
}

func readDialect(t *testing.T, path string) dialect {
	t.Helper()
	raw, err := os.ReadFile(path)
	require.NoError(t, err)
	head, body, ok := strings.Cut(string(raw), "\n\n")
	require.True(t, ok, path)
	d := dialect{body: strings.TrimSpace(body)}
	for i, line := range strings.Split(head, "\n") {
		switch {
		case i == 0:
			d.origin = strings.TrimPrefix(line, "# ")
		case strings.HasPrefix(line, "# asked: "):
			d.isRange = line == "# asked: range"
		case strings.HasPrefix(line, "# means: "):
			d.means = strings.TrimPrefix(line, "# means: ")
		case strings.HasPrefix(line, "HTTP/1.1 "):
			d.status, err = strconv.Atoi(strings.Fields(line)[1])
			require.NoError(t, err, path)
		case strings.HasPrefix(line, "Content-Type: "):
			d.contentType = strings.TrimPrefix(line, "Content-Type: ")
		default:
			require.Fail(t, "unknown line", "%s: %s", path, line)
		}
	}
	return d
}

// meaning puts an outcome into the words of the files.
func meaning(things string, n int, warnings, infos []string, reason string, err error) string {
	var q *source.QueryError
	switch {
	case errors.Is(err, source.ErrNoAnswer):
		return "no answer: " + reason
	case errors.As(err, &q):
		return "answer " + q.Error()
	case err != nil:
		return "error " + err.Error()
	}
	out := "nothing"
	if n > 0 {
		out = fmt.Sprintf("%d %s", n, things)
	}
	if len(warnings) > 0 {
		out += fmt.Sprintf(", %d warning", len(warnings))
	}
	if len(infos) > 0 {
		out += fmt.Sprintf(", %d info", len(infos))
	}
	return out
}

// What the servers that docs/sources.md names say, and what it means here.
func TestDialects(t *testing.T) {
	paths, err := filepath.Glob("testdata/dialects/*.txt")
	require.NoError(t, err)
	require.NotEmpty(t, paths)
	for _, path := range paths {
		t.Run(strings.TrimSuffix(filepath.Base(path), ".txt"), func(t *testing.T) {
			d := readDialect(t, path)
			logs := &syncBuffer{}
			remote := newRemote(t, source.RemoteOptions{URLs: []string{serve(t, canned(d.status, d.contentType, d.body))}, Logger: slog.New(slog.NewTextHandler(logs, nil))})
			var got string
			reason := func() string {
				_, rest, _ := strings.Cut(strings.Join(logs.lines(), "\n"), "reason=")
				word, _, _ := strings.Cut(rest, " ")
				return word
			}
			if d.isRange {
				start := time.Unix(1796017870, 0)
				m, err := remote.Range(t.Context(), "sig", source.Window{Start: start, End: start.Add(10 * time.Second), Step: 10 * time.Second})
				got = meaning("series", len(m.Series), m.Warnings, m.Infos, reason(), err)
			} else {
				v, err := remote.Instant(t.Context(), "sig", time.Unix(1796017873, 0))
				got = meaning("sample", len(v.Samples), v.Warnings, v.Infos, reason(), err)
			}
			require.Equal(t, d.means, got, d.origin)
		})
	}
}

// A mark means the same with white space about it.
func TestMarksAmongWhiteSpace(t *testing.T) {
	for mark, partial := range map[string]bool{"false": false, " false ": false, " null": false, "\n true": true, ` "true"`: true} {
		body := fmt.Sprintf(`{"status":"success","isPartial":%s,"data":{"resultType":"vector","result":[]}}`, mark)
		v, err := newRemote(t, source.RemoteOptions{URLs: []string{serve(t, canned(200, "application/json", body))}}).
			Instant(t.Context(), "sig", time.Unix(0, 0))
		require.NoError(t, err)
		require.Equal(t, partial, len(v.Warnings) > 0, "%q", mark)
	}
}

// A word that Prometheus has counts, whatever status comes with it; where there
// is none of those, the status tells.
func TestKindOfAQueryError(t *testing.T) {
	for _, tc := range []struct {
		status     int
		word, kind string
	}{
		{400, "bad_data", "bad_data"},
		{422, "bad_data", "bad_data"},
		{400, "execution", "execution"},
		{422, "execution", "execution"},
		{400, "400", "bad_data"},
		{422, "422", "execution"},
	} {
		body := fmt.Sprintf(`{"status":"error","errorType":%q,"error":"no"}`, tc.word)
		_, err := newRemote(t, source.RemoteOptions{URLs: []string{serve(t, canned(tc.status, "application/json", body))}}).
			Instant(t.Context(), "sig", time.Unix(0, 0))
		var q *source.QueryError
		require.ErrorAs(t, err, &q)
		require.Equal(t, tc.kind, q.Type, "%d %s", tc.status, tc.word)
	}
}

// A proxy that does not let POST through, or not its body, is asked by GET from
// then on.
func TestMethods(t *testing.T) {
	for name, refuse := range map[string]http.HandlerFunc{
		"forbidden":       canned(403, "text/plain", "posts are not allowed"),
		"no such route":   canned(404, "text/plain", ""),
		"not allowed":     canned(405, "text/plain", ""),
		"length required": canned(411, "text/plain", ""),
		"media type":      canned(415, "text/plain", ""),
		"not implemented": canned(501, "text/plain", ""),
		"dropped body":    canned(400, "application/json", `{"status":"error","errorType":"bad_data","error":"invalid parameter \"query\": unknown position: parse error: no expression found in input"}`),
		"dropped body, VictoriaMetrics": canned(400, "application/json",
			"{\"status\":\"error\",\"errorType\":\"400\",\"error\":\"missing `query` arg\"}"),
	} {
		t.Run(name, func(t *testing.T) {
			var methods []string
			base := serve(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				methods = append(methods, r.Method)
				if r.Method == http.MethodPost {
					refuse(w, r)
					return
				}
				canned(200, "application/json", vectorOf("1"))(w, r)
			}))
			ask := func(method string) error {
				methods = nil
				remote := newRemote(t, source.RemoteOptions{URLs: []string{base}, Method: method})
				_, err := remote.Instant(t.Context(), "up", at(0))
				if err == nil {
					_, err = remote.Instant(t.Context(), "up", at(0))
				}
				return err
			}
			require.NoError(t, ask(""))
			require.Equal(t, []string{"POST", "GET", "GET"}, methods, "what was found out is remembered")
			require.NoError(t, ask(http.MethodGet))
			require.Equal(t, []string{"GET", "GET"}, methods)
			require.Error(t, ask(http.MethodPost))
			require.Equal(t, []string{"POST"}, methods)
		})
	}
	_, err := source.NewRemote(source.RemoteOptions{URLs: []string{"http://h"}, Method: "PUT"})
	require.ErrorContains(t, err, "expected GET or POST")
}

// A lookback is asked for in the words of Prometheus and of VictoriaMetrics, and
// VictoriaMetrics must not move the instants that are asked for.
func TestParametersForVictoriaMetrics(t *testing.T) {
	var got []string
	base := serve(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		got = []string{r.FormValue("lookback_delta"), r.FormValue("max_lookback"), r.FormValue("nocache")}
		canned(200, "application/json", vectorOf("1"))(w, r)
	}))
	_, err := newRemote(t, source.RemoteOptions{URLs: []string{base}, LookbackDelta: 5 * time.Minute}).Instant(t.Context(), "up", at(0))
	require.NoError(t, err)
	require.Equal(t, []string{"300", "300", "1"}, got)
	_, err = newRemote(t, source.RemoteOptions{URLs: []string{base}}).Instant(t.Context(), "up", at(0))
	require.NoError(t, err)
	require.Equal(t, []string{"", "", "1"}, got)
}

package handler

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// browser is what browsers accept when a person follows a link.
const browser = "text/html,application/xhtml+xml,application/xml;q=0.9,image/avif,image/webp,*/*;q=0.8"

func answer(t *testing.T, h http.Handler, path, accept string) *httptest.ResponseRecorder {
	t.Helper()
	r := httptest.NewRequestWithContext(t.Context(), http.MethodGet, path, http.NoBody)
	r.Header.Set("Accept", accept)
	w := httptest.NewRecorder()
	WithErrorPages(h).ServeHTTP(w, r)
	return w
}

// Whatever goes wrong: a person in a browser reads a page that says what happened, what
// to do, and leads back; a program gets problem+json.
func TestErrorsArePagesForPeople(t *testing.T) {
	for _, c := range []struct {
		status     int
		scheme     string
		path, next string
		home       string
	}{
		{401, `Basic realm="zeta-scaler"`, "/", "give user and password", "./"},
		{401, "Bearer", "/", "A browser cannot give a bearer token", "./"},
		{403, "", "/autoscaler/pause", "", "../"},
		{404, "", "/a/b/c", "the address may be misspelt", "../../"},
		{405, "", "/-/reload", "", "../"},
		{500, "", "/history", "the log of the service says why", "./"},
		{501, "", "/webhook/alertmanager", "", "../"},
		{503, "", "/-/ready", "in a moment", "../"},
	} {
		h := http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			if c.scheme != "" {
				w.Header().Set("WWW-Authenticate", c.scheme)
			}
			Refuse(w, c.status, `what <b>happened</b>`)
		})
		w := answer(t, h, c.path, browser)
		page := w.Body.String()
		require.Equal(t, c.status, w.Code)
		require.Equal(t, "text/html; charset=utf-8", w.Header().Get("Content-Type"))
		require.Contains(t, w.Header().Get("Content-Security-Policy"), "default-src 'none'")
		require.Contains(t, w.Header().Values("Vary"), "Accept")
		require.Contains(t, page, "<h2 class=\"partial\">"+http.StatusText(c.status)+"</h2>")
		require.Contains(t, page, "what &lt;b&gt;happened&lt;/b&gt;")
		require.Contains(t, page, `<a href="`+c.home+`">To the start page</a>`)
		require.Equal(t, c.next != "", strings.Contains(page, "What now:"), page)
		require.Contains(t, page, c.next)

		for _, accept := range []string{"", "*/*", "application/json", "application/problem+json, text/html;q=0.5"} {
			w := answer(t, h, c.path, accept)
			require.Equal(t, c.status, w.Code)
			require.Equal(t, ProblemType, w.Header().Get("Content-Type"), accept)
			require.Contains(t, w.Body.String(), `"detail":"what`)
			require.Contains(t, w.Header().Values("Vary"), "Accept")
		}
	}
}

// What flushes, as a proxy does, sends no half of a page.
func TestErrorsThatAreFlushed(t *testing.T) {
	w := answer(t, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		Refuse(w, 503, "away")
		_ = http.NewResponseController(w).Flush()
		w.WriteHeader(500)
	}), "/", browser)
	require.Equal(t, 503, w.Code)
	require.Contains(t, w.Body.String(), "What now:")
	w = answer(t, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		_ = http.NewResponseController(w).Flush()
	}), "/", browser)
	require.True(t, w.Flushed)
}

func TestWhoWantsAPage(t *testing.T) {
	for accept, want := range map[string]bool{
		browser: true, "text/html": true, "TEXT/HTML;q=0.9, application/json;q=0.8": true, "application/json, text/html": false, "text/html, application/json": true,
		"text/html;q=0": false, "text/html;q=much": false, "": false, "*/*": false, "text/event-stream": false, ";;,": false, "text/*": false,
	} {
		require.Equal(t, want, wantsPage([]string{accept}), accept)
	}
}

// Nothing else is touched: what is no error, what is no problem+json, what is compressed,
// and what is too long to be kept.
func TestOtherAnswersPass(t *testing.T) {
	for name, h := range map[string]http.HandlerFunc{
		"fine": func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte("fine")) },
		"json": func(w http.ResponseWriter, _ *http.Request) { WriteJSON(w, 200, "application/json", "fine") },
		"text": func(w http.ResponseWriter, _ *http.Request) { http.Error(w, "fine", 500) },
		"gzip": func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Encoding", "gzip")
			Refuse(w, 500, "fine")
		},
		"long":  func(w http.ResponseWriter, _ *http.Request) { Refuse(w, 500, strings.Repeat("fine", maxProblem)) },
		"other": func(w http.ResponseWriter, _ *http.Request) { WriteJSON(w, 500, ProblemType, "fine") },
	} {
		plain, page := answer(t, h, "/", "*/*"), answer(t, h, "/", browser)
		require.Equal(t, plain.Code, page.Code, name)
		require.Equal(t, plain.Header(), page.Header(), name)
		require.Equal(t, plain.Body.String(), page.Body.String(), name)
	}
}

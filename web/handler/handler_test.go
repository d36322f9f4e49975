package handler

import (
	"errors"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/stretchr/testify/require"
)

func TestRefuse(t *testing.T) {
	w := httptest.NewRecorder()
	Refuse(w, http.StatusConflict, "no <b>")
	require.Equal(t, http.StatusConflict, w.Code)
	require.Equal(t, ProblemType, w.Header().Get("Content-Type"))
	require.Equal(t, "nosniff", w.Header().Get("X-Content-Type-Options"))
	require.JSONEq(t, `{"type":"about:blank","title":"Conflict","status":409,"detail":"no <b>"}`, w.Body.String())
}

func TestPanicsBecomeProblems(t *testing.T) {
	var log strings.Builder
	logger := slog.New(slog.NewTextHandler(&log, nil))
	w := httptest.NewRecorder()
	Recovered(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { panic("secret detail") }), logger).
		ServeHTTP(w, httptest.NewRequest("GET", "/metrics", http.NoBody))
	require.Equal(t, http.StatusInternalServerError, w.Code)
	require.Equal(t, ProblemType, w.Header().Get("Content-Type"))
	require.Contains(t, w.Body.String(), InternalDetail)
	require.NotContains(t, w.Body.String(), "secret detail")
	require.Equal(t, 1, strings.Count(log.String(), "secret detail"))
	require.Contains(t, log.String(), "stack=")
}

func TestPanicsThatCutTheAnswerOff(t *testing.T) {
	for name, h := range map[string]http.HandlerFunc{
		"answer that has begun":   func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "half"); panic("oh") },
		"status that was written": func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusAccepted); panic("oh") },
		"aborted":                 func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) },
	} {
		t.Run(name, func(t *testing.T) {
			w := httptest.NewRecorder()
			require.PanicsWithValue(t, http.ErrAbortHandler, func() {
				Recovered(h, slog.New(slog.DiscardHandler)).ServeHTTP(w, httptest.NewRequest("GET", "/", http.NoBody))
			})
			require.NotContains(t, w.Body.String(), "detail")
		})
	}
}

func TestReadBody(t *testing.T) {
	for name, tt := range map[string]struct {
		body     io.Reader
		want     string
		tooLarge bool
	}{
		"none":               {http.NoBody, "", false},
		"as large as may be": {strings.NewReader("1234567890"), "1234567890", false},
		"announced":          {strings.NewReader("12345678901"), "", true},
		"chunked":            {iotest.OneByteReader(strings.NewReader("12345678901")), "", true},
		"limit in front":     {http.MaxBytesReader(nil, io.NopCloser(strings.NewReader("12345678")), 5), "", true},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := ReadBody(httptest.NewRecorder(), httptest.NewRequest("POST", "/", tt.body), 10)
			_, tooLarge := errors.AsType[*http.MaxBytesError](err)
			require.Equal(t, tt.tooLarge, tooLarge)
			require.Equal(t, tt.want, string(got))
		})
	}
	_, err := ReadBody(httptest.NewRecorder(), httptest.NewRequest("POST", "/", iotest.ErrReader(io.ErrUnexpectedEOF)), 10)
	require.ErrorIs(t, err, io.ErrUnexpectedEOF)
}

// What is too large is read on, unless the sender waits for an answer.
func TestDrainedBodies(t *testing.T) {
	left := func(expect string) int {
		body := strings.NewReader(strings.Repeat("x", 1000))
		r := httptest.NewRequest("POST", "/", body)
		r.Header.Set("Expect", expect)
		_, err := ReadBody(httptest.NewRecorder(), r, 10)
		require.Error(t, err)
		return body.Len()
	}
	require.Zero(t, left(""))
	require.Equal(t, 1000, left("100-continue"))
}

func TestShown(t *testing.T) {
	require.Equal(t, "short", Shown("short"))
	require.Equal(t, strings.Repeat("x", 199)+"…", Shown(strings.Repeat("x", 199)+"ä…"), "no half a character")
}

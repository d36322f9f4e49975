package handler

import (
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"runtime/debug"
)

// Recovered turns a panic of h into a 500 and a line in the log. An answer that
// has begun is cut off, so that nobody takes it for whole.
func Recovered(h http.Handler, logger *slog.Logger) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		rec := &Recorder{ResponseWriter: w}
		defer func() {
			v := recover()
			if v == nil {
				return
			}
			if err, ok := v.(error); ok && errors.Is(err, http.ErrAbortHandler) {
				panic(v)
			}
			logger.Error("a handler panicked", "method", r.Method, "path", r.URL.Path, "panic", fmt.Sprint(v), "stack", string(debug.Stack()))
			if rec.Status != 0 {
				panic(http.ErrAbortHandler)
			}
			Refuse(rec, http.StatusInternalServerError, InternalDetail)
		}()
		h.ServeHTTP(rec, r)
	})
}

// Recorder notes what a handler answers.
type Recorder struct {
	http.ResponseWriter
	// Status is that of the answer; 0 if nothing was written.
	Status int
}

// WriteHeader notes the status that counts; informational ones do not.
func (r *Recorder) WriteHeader(status int) {
	if r.Status == 0 && status >= http.StatusOK {
		r.Status = status
	}
	r.ResponseWriter.WriteHeader(status)
}

// Write begins an answer with status 200.
func (r *Recorder) Write(b []byte) (int, error) {
	if r.Status == 0 {
		r.Status = http.StatusOK
	}
	return r.ResponseWriter.Write(b)
}

// Unwrap lets http.ResponseController reach flushing and deadlines.
func (r *Recorder) Unwrap() http.ResponseWriter { return r.ResponseWriter }

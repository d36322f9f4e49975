package handler

import (
	"bytes"
	"errors"
	"io"
	"net/http"
	"time"
)

const (
	// maxDrained and drainTimeout bound what is read of a body that is too large.
	maxDrained   = 8 << 20
	drainTimeout = 2 * time.Second
)

// ReadBody reads the whole body of a request. One that is larger than limit, in
// bytes, is an *http.MaxBytesError; an earlier limit in front counts, too.
func ReadBody(w http.ResponseWriter, r *http.Request, limit int64) ([]byte, error) {
	sent := r.Body
	var b bytes.Buffer
	n := r.ContentLength
	if n > 0 && n <= limit {
		b.Grow(int(n) + bytes.MinRead)
	}
	var err error
	if n > limit {
		err = &http.MaxBytesError{Limit: limit}
	} else {
		_, err = b.ReadFrom(http.MaxBytesReader(w, sent, limit))
	}
	if err == nil {
		return b.Bytes(), nil
	}
	// Who expects a 100 waits for the answer before sending anything.
	if _, tooLarge := errors.AsType[*http.MaxBytesError](err); tooLarge && r.Header.Get("Expect") == "" {
		drain(w, sent)
	}
	return nil, err
}

// drain reads on for a moment: a client that is still sending when the connection
// is closed would see a broken pipe instead of the answer.
func drain(w http.ResponseWriter, body io.Reader) {
	// A connection without deadlines is one in a test; what cannot be read any
	// more needs no reading.
	_ = http.NewResponseController(w).SetReadDeadline(time.Now().Add(drainTimeout))
	_, _ = io.Copy(io.Discard, io.LimitReader(body, maxDrained))
}

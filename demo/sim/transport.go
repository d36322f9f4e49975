package sim

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
)

// timeoutError is what a client sees when a master never answers.
type timeoutError struct{ path string }

func (e timeoutError) Error() string {
	return fmt.Sprintf("GET %s: timed out waiting for the reply", e.path)
}

// Timeout makes this a time-out for net.Error.
func (timeoutError) Timeout() bool { return true }

// Temporary completes net.Error.
func (timeoutError) Temporary() bool { return true }

// Transport answers requests of an http.Client from memory, whatever host they
// name. A request that would hang fails at once with a time-out: virtual time
// does not wait.
func (c *Cluster) Transport() http.RoundTripper { return transport{c} }

type transport struct{ cluster *Cluster }

// RoundTrip implements http.RoundTripper.
func (t transport) RoundTrip(r *http.Request) (*http.Response, error) {
	if r.Body != nil {
		if err := r.Body.Close(); err != nil {
			return nil, fmt.Errorf("closing the request: %w", err)
		}
	}
	if err := r.Context().Err(); err != nil {
		return nil, err
	}
	rep, hangs := t.cluster.answer(r.Method, r.URL)
	if hangs {
		return nil, timeoutError{r.URL.Path}
	}
	return &http.Response{
		Status:        fmt.Sprintf("%d %s", rep.status, http.StatusText(rep.status)),
		StatusCode:    rep.status,
		Proto:         "HTTP/1.1",
		ProtoMajor:    1,
		ProtoMinor:    1,
		Header:        rep.header(),
		ContentLength: int64(len(rep.body)),
		Body:          io.NopCloser(bytes.NewReader(rep.body)),
		Request:       r,
	}, nil
}

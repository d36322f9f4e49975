package api

import (
	"bytes"
	"context"
	"io"
	"net/http"
	"time"

	"github.com/labstack/echo/v4"

	"github.com/zeta-scaler/zeta-scaler/web/handler"
)

// maxWhole is how many notifications of unknown length are in memory at once on their
// way to the leader; others wait.
const maxWhole = 8

// withoutLength reports whether a request is a notification of which nobody has said
// how long it is, as of a proxy that sends it in chunks.
func withoutLength(r *http.Request) bool {
	return r.Method == http.MethodPost && r.ContentLength < 0
}

// passWhole passes on a notification of unknown length: the leader gets all of it, with
// its length, or is not asked. What is empty, too large or torn is answered by this
// replica's own webhook, in the leader's words.
func (s *server) passWhole(c echo.Context, next echo.HandlerFunc) error {
	r := c.Request()
	ctx, cancel := context.WithTimeout(r.Context(), forwardTimeout)
	defer cancel()
	select {
	case s.forwarder.whole <- struct{}{}:
		defer func() { <-s.forwarder.whole }()
	case <-ctx.Done():
		return &failure{Problem: problem(http.StatusServiceUnavailable, "too many notifications at once; try again"), quiet: true}
	}
	// A sender that stalls must not keep its place, and the time for reading must not
	// end the request while the leader is asked. A connection without deadlines is one
	// in a test.
	reading := http.NewResponseController(c.Response())
	_ = reading.SetReadDeadline(time.Now().Add(forwardTimeout))
	body, err := handler.ReadBody(c.Response(), r, maxNotification)
	switch {
	case err != nil:
		r.Body = io.NopCloser(failed{err})
		return next(c)
	case len(body) == 0:
		r.Body, r.ContentLength = http.NoBody, 0
		return next(c)
	}
	_ = reading.SetReadDeadline(time.Time{})
	r.Body, r.ContentLength, r.TransferEncoding = io.NopCloser(bytes.NewReader(body)), int64(len(body)), nil
	return s.askFor(c, next)
}

// failed is a body that cannot be read.
type failed struct{ err error }

// Read fails.
func (f failed) Read([]byte) (int, error) { return 0, f.err }

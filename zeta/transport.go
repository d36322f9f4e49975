package zeta

import (
	"context"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"net/url"
	"strings"
	"syscall"
	"time"
)

// StatusError is a reply whose status is not 200.
type StatusError struct {
	Code    int
	Message string // what Zeta says about it, "" when it says nothing readable
}

func (e *StatusError) Error() string {
	text := fmt.Sprintf("status %d %s", e.Code, http.StatusText(e.Code))
	if e.Message != "" {
		text += ": " + e.Message
	}
	return text
}

// errTooLarge is the failure of a reply that is longer than the limit.
var errTooLarge = errors.New("the reply is longer than max_response")

// notJSON is the failure of a reply with another content type.
type notJSON struct{ contentType string }

func (e *notJSON) Error() string {
	return fmt.Sprintf("content type %q where application/json belongs", clip(e.contentType))
}

// reply is a decoded body and the time at which the server sent it, in Unix
// milliseconds, 0 when it does not say (REST v1 does not).
type reply[T any] struct {
	value T
	sent  int64
}

// fetch asks for one URL. Everything but a whole JSON body with status 200 is
// an error; the body is never read further than limit.
func fetch[T any](ctx context.Context, client *http.Client, url string, limit int64, decode func(io.Reader) (T, error)) (reply[T], error) {
	var none reply[T]
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, http.NoBody)
	if err != nil {
		return none, fmt.Errorf("making the request: %w", err)
	}
	req.Header.Set("Accept", "application/json")
	resp, err := client.Do(req)
	if err != nil {
		return none, withoutURL(err)
	}
	defer resp.Body.Close()
	body := &limitedReader{r: resp.Body, left: limit}
	if resp.StatusCode != http.StatusOK {
		return none, statusError(resp.StatusCode, body)
	}
	if err := checkType(resp.Header.Get("Content-Type")); err != nil {
		return none, err
	}
	if resp.ContentLength > limit {
		return none, errTooLarge
	}
	value, err := decode(body)
	if err != nil {
		return none, err
	}
	return reply[T]{value: value, sent: sentAt(resp.Header.Get("Date"))}, nil
}

// withoutURL drops the URL that net/http puts in front: the endpoint is named
// beside the error, and an address is nothing for an error's first words.
func withoutURL(err error) error {
	if e, ok := errors.AsType[*url.Error](err); ok {
		return e.Err
	}
	return err
}

// statusError reads the message of {"status":"fail","message":…}, if it is one.
func statusError(code int, body io.Reader) error {
	e := &StatusError{Code: code}
	var f failure
	if err := decodeWhole(io.LimitReader(body, 4096), &f); err == nil {
		e.Message = clip(string(f.Message))
	}
	return e
}

// checkType refuses what names itself something else than JSON. No content
// type at all is left to the decoder.
func checkType(header string) error {
	if header == "" {
		return nil
	}
	t, _, err := mime.ParseMediaType(header)
	if err == nil && (t == "application/json" || strings.HasSuffix(t, "+json")) {
		return nil
	}
	return &notJSON{header}
}

func sentAt(header string) int64 {
	if t, err := http.ParseTime(header); err == nil {
		return t.UnixMilli()
	}
	return 0
}

// limitedReader fails, instead of ending, where the limit is passed: a cut body
// must not look like a whole one.
type limitedReader struct {
	r    io.Reader
	left int64
}

func (l *limitedReader) Read(p []byte) (int, error) {
	if l.left < 0 {
		return 0, errTooLarge
	}
	if int64(len(p)) > l.left+1 {
		p = p[:l.left+1]
	}
	n, err := l.r.Read(p)
	if l.left -= int64(n); l.left < 0 {
		return n, errTooLarge
	}
	return n, err
}

// sameOriginOnly is a CheckRedirect that follows within the host alone (and
// from http to https on it). Zeta redirects nowhere; what does is a proxy, or
// somebody who wants our credentials or our reach into the network.
func sameOriginOnly(req *http.Request, via []*http.Request) error {
	if len(via) >= 5 {
		return errors.New("stopped after 5 redirects")
	}
	from, to := via[len(via)-1].URL, req.URL
	upgrade := from.Scheme == "http" && to.Scheme == "https" && strings.EqualFold(from.Hostname(), to.Hostname())
	same := from.Scheme == to.Scheme && strings.EqualFold(from.Host, to.Host)
	if !same && !upgrade {
		return fmt.Errorf("redirect to another host refused (%s)", clip(to.Host))
	}
	return nil
}

// Defaults of a client.
const (
	DefaultEndpointTimeout = 3 * time.Second
	DefaultMaxResponse     = 32 << 20
	// hangLimit is longer than the ~190 s that a master waits for a frozen
	// worker, so that a hanging request ends by its reply.
	hangLimit = 4 * time.Minute
	// overviewHangLimit is for /overview, which asks no worker. A master that
	// has thrown out a frozen worker loses about one reply in two hundred for
	// ever while it answers the next request at once; and should it hang after
	// all, these are less than a dozen requests until it is free again.
	overviewHangLimit = 20 * time.Second
)

// isReset reports whether the peer closed the connection in our face.
func isReset(err error) bool { return errors.Is(err, syscall.ECONNRESET) }

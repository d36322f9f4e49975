package zeta

import (
	"context"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"regexp"
	"strings"
	"syscall"
	"time"

	"github.com/zeta-scaler/zeta-scaler/web/outgoing"
)

// StatusError is a reply whose status is not 200.
type StatusError struct {
	Code    int
	Message string // what Zeta says about it, "" when it says nothing readable

	whole string
}

// Mentions reports whether a word is in what Zeta said, also beyond Message: the
// stack traces that it answers with name their cause late.
func (e *StatusError) Mentions(word string) bool { return strings.Contains(e.whole, word) }

func (e *StatusError) Error() string {
	text := "status " + outgoing.StatusText(e.Code)
	if e.Message != "" {
		text += ": " + e.Message
	}
	return text
}

// unansweredError is the failure of a request to which nothing came back.
type unansweredError struct{ error }

func (e *unansweredError) Unwrap() error { return e.error }

// ServesNoREST reports whether a request failed as it does at a node whose REST
// API is switched off: nobody listens, or Hazelcast closes the connection without
// a word.
func ServesNoREST(err error) bool {
	_, unanswered := errors.AsType[*unansweredError](err)
	return unanswered && (errors.Is(err, io.EOF) || isReset(err) || errors.Is(err, syscall.ECONNREFUSED))
}

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

// asker asks for replies, which share the place for long ones with others.
type asker struct {
	*outgoing.Client
	long outgoing.LongReplies
}

// fetch asks for one URL. Everything but a whole JSON body with status 200 is
// an error; the body is never read further than limit.
func fetch[T any](ctx context.Context, client *asker, url string, decode func(io.Reader) (T, error)) (reply[T], error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, http.NoBody)
	if err != nil {
		return reply[T]{}, fmt.Errorf("making the request: %w", err)
	}
	return send(client, req, decode)
}

// send is fetch for any request.
func send[T any](client *asker, req *http.Request, decode func(io.Reader) (T, error)) (reply[T], error) {
	var none reply[T]
	ctx, cancel := context.WithCancel(req.Context())
	defer cancel()
	req = req.WithContext(ctx)
	req.Header.Set("Accept", "application/json")
	in := client.long.Intake(smallReply).Within(longReplyTimeout, cancel)
	defer in.Release()
	resp, err := client.Do(req)
	if err != nil {
		return none, &unansweredError{tooLarge(err)}
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		return none, statusError(resp)
	}
	if err := checkType(resp.Header.Get("Content-Type")); err != nil {
		return none, resp.Clean(err)
	}
	body, err := in.Reader(ctx, resp.ContentLength, resp.Body)
	if err != nil {
		return none, fmt.Errorf("waiting for other long replies: %w", err)
	}
	value, err := decode(body)
	if err != nil {
		return none, resp.Clean(tooLarge(err))
	}
	return reply[T]{value: value, sent: sentAt(resp.Header.Get("Date"))}, nil
}

// tooLarge names the setting that bounds a reply.
func tooLarge(err error) error {
	if _, ok := errors.AsType[*outgoing.TooLargeError](err); ok {
		return fmt.Errorf("%w (max_response)", err)
	}
	return err
}

// statusError reads the message of {"status":"fail","message":…}, if it is one.
func statusError(resp *outgoing.Reply) error {
	e := &StatusError{Code: resp.StatusCode}
	var f failure
	if err := DecodeWhole(io.LimitReader(resp.Body, maxFailure), &f); err == nil {
		e.whole = resp.Redact(string(f.Message))
		e.Message = outgoing.OneLine(withoutPackages(e.whole), maxSaid)
	}
	return e
}

var javaPackage = regexp.MustCompile(`\b(?:[a-z]\w*\.){2,}([A-Z])`)

// withoutPackages is the first line of a stack trace with classes by their bare
// names, so that there is room for what went wrong.
func withoutPackages(trace string) string {
	first, _, _ := strings.Cut(trace, "\n")
	return javaPackage.ReplaceAllString(first, "$1")
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

// Bounds of the memory in which replies are read.
const (
	// smallReply is what every reply may take, in bytes; longer ones are read one
	// at a time, of all clusters that an exporter asks.
	smallReply = 256 << 10
	// maxFailure is how much is read of a failure, in bytes: most are stack traces
	// of a few thousand.
	maxFailure = 16 << 10
	// maxSaid is how much of it an error quotes, in bytes.
	maxSaid = 200
	// longReplyTimeout is for how long one of them may keep the others waiting.
	longReplyTimeout = 10 * time.Second
)

// Defaults of a client.
const (
	DefaultEndpointTimeout = 3 * time.Second
	DefaultMaxResponse     = 32 << 20
	// streamFactor is how much longer than max_response a reply may be that is
	// read value by value.
	streamFactor = 16
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

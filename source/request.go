package source

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"mime"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/zeta-scaler/zeta-scaler/web/outgoing"
)

// query asks one question of whichever replica answers.
func (r *Remote) query(ctx context.Context, path string, params url.Values) (envelope, error) {
	ctx, cancel := context.WithTimeout(ctx, r.opts.Timeout)
	defer cancel()
	r.standardize(params)
	var reply envelope
	// An instant and a range of one expression are two questions: one may be
	// answered while the other is not.
	err := r.replicas.ask(ctx, path+" "+params.Get("query"), func(ctx context.Context, rep *replica) (err error) {
		reply, err = r.request(ctx, rep, path, params)
		if err != nil && !answered(err) {
			err = fmt.Errorf("%s: %w", rep.name, err)
		}
		return err
	})
	return reply, err
}

// standardize asks every server for the same lookback, and VictoriaMetrics, whose
// name for it is another, for the instants that are meant: without nocache it
// answers for one up to half a minute earlier, and moves ranges to multiples of
// the step. What the configuration sets stays.
func (r *Remote) standardize(params url.Values) {
	ours := url.Values{"nocache": {"1"}}
	if d := r.opts.LookbackDelta; d > 0 {
		ours.Set("lookback_delta", seconds(d.Milliseconds()))
		ours.Set("max_lookback", seconds(d.Milliseconds()))
	}
	for name, values := range ours {
		if !r.opts.QueryParams.Has(name) {
			params[name] = values
		}
	}
}

// request asks one replica.
func (r *Remote) request(ctx context.Context, rep *replica, path string, params url.Values) (envelope, error) {
	if deadline, ok := ctx.Deadline(); ok {
		params.Set("timeout", seconds(max(time.Until(deadline).Milliseconds(), 1)))
	}
	if r.opts.Method == http.MethodGet || rep.getOnly.Load() {
		return r.send(ctx, rep, http.MethodGet, path, params)
	}
	reply, err := r.send(ctx, rep, http.MethodPost, path, params)
	if r.opts.Method == "" && refusesPost(err) {
		if got, getErr := r.send(ctx, rep, http.MethodGet, path, params); answered(getErr) {
			rep.getOnly.Store(true)
			return got, getErr
		}
	}
	return reply, err
}

// refusesPost reports whether a failure may come of the method: a proxy that
// lets only GET through, or that drops the body, so that the server misses the
// expression that we have sent.
func refusesPost(err error) bool {
	if status, ok := errors.AsType[*statusError](err); ok {
		return slices.Contains([]int{
			http.StatusForbidden, http.StatusNotFound, http.StatusMethodNotAllowed, http.StatusLengthRequired,
			http.StatusUnsupportedMediaType, http.StatusNotImplemented,
		}, status.code)
	}
	q, ok := errors.AsType[*QueryError](err)
	return ok && (strings.Contains(q.Message, "no expression found in input") || strings.Contains(q.Message, "missing `query` arg"))
}

// send makes one HTTP request and reads the reply.
func (r *Remote) send(ctx context.Context, rep *replica, method, path string, params url.Values) (envelope, error) {
	req, err := r.newRequest(ctx, rep, method, path, params)
	if err != nil {
		return envelope{}, noAnswer(reasonConnection, err)
	}
	start := time.Now()
	in := r.long.Intake(smallReply)
	// Deferred, since decoding takes memory, too.
	defer in.Release()
	resp, body, err := receive(ctx, r.client, req, in) //nolint:bodyclose // it is read and closed
	if ctxErr := ctx.Err(); err != nil && ctxErr != nil {
		if errors.Is(ctxErr, context.DeadlineExceeded) {
			return envelope{}, noAnswerf(reasonTimeout, "no whole reply within %s: %w", time.Since(start).Round(time.Millisecond), ctxErr)
		}
		return envelope{}, interrupted(ctxErr)
	}
	if err != nil {
		return envelope{}, requestError(err)
	}
	e, err := readReply(resp, body)
	return e, resp.Clean(err)
}

func (r *Remote) newRequest(ctx context.Context, rep *replica, method, path string, params url.Values) (*http.Request, error) {
	u := rep.client.URL(path, nil)
	inURL := u.Query()
	maps.Copy(inURL, r.opts.QueryParams)
	body := ""
	if method == http.MethodPost {
		body = params.Encode()
	} else {
		maps.Copy(inURL, params)
	}
	u.RawQuery = inURL.Encode()
	req, err := http.NewRequestWithContext(ctx, method, u.String(), strings.NewReader(body))
	if err != nil {
		return nil, errors.New("building the request") // the error would show the URL
	}
	if method == http.MethodPost {
		req.Header.Set("Content-Type", "application/x-www-form-urlencoded")
		// A query changes nothing: lets the transport try again on a connection
		// that the server had closed. Without a value it is not sent.
		req.Header["Idempotency-Key"] = nil
	}
	req.Header.Set("Accept-Encoding", rep.encoding)
	for name, value := range r.opts.Headers {
		req.Header.Set(name, value)
	}
	return req, nil
}

// statusError is a reply whose status says that it is no answer.
type statusError struct {
	code    int
	message string
}

// Error is the status line, what the reply says about it, and what to do.
func (e *statusError) Error() string {
	text := outgoing.StatusText(e.code)
	if e.message != "" {
		text += ": " + e.message
	}
	if hint := statusHint(e.code); hint != "" {
		text += " (" + hint + ")"
	}
	return text
}

// maxWords bounds what an error repeats of a reply, in bytes.
const maxWords = 300

func statusHint(code int) string {
	switch {
	case code == http.StatusUnauthorized, code == http.StatusForbidden, code == http.StatusProxyAuthRequired:
		return "check the credentials in http_config"
	case code == http.StatusNotFound:
		return "is this the address of a Prometheus API, with the path in front of /api/v1?"
	case code == http.StatusTooManyRequests:
		return "the server or a proxy limits the rate of queries"
	case code == http.StatusServiceUnavailable:
		return "the server is overloaded, or starting and replaying its WAL"
	case code/100 == 3:
		return "follow_redirects is off"
	}
	return ""
}

// readReply tells answers from everything else that can stand in a reply.
func readReply(resp *outgoing.Reply, body []byte) (envelope, error) {
	code := resp.StatusCode
	isJSON := jsonBody(resp)
	switch {
	case code/100 == 2 && !isJSON:
		return envelope{}, noAnswerf(reasonBadResponse, "reply is %q, expected application/json: is this the address of a Prometheus API?",
			resp.Header.Get("Content-Type"))
	case code/100 == 2:
		e, err := decode(body)
		e.eachWord(resp.Redact)
		if err == nil && e.status == "error" {
			return envelope{}, apiError(http.StatusUnprocessableEntity, e)
		}
		return e, badReply(e, err)
	}
	e := envelope{}
	if isJSON {
		if decoded, err := decode(body); err == nil && decoded.status == "error" {
			e = decoded
			e.eachWord(resp.Redact)
		}
	}
	if e.status == "error" && (code == http.StatusBadRequest || code == http.StatusUnprocessableEntity) {
		return envelope{}, apiError(code, e)
	}
	return envelope{}, noAnswer(statusReason(code, e.errorType), &statusError{code: code, message: outgoing.OneLine(e.message, maxWords)})
}

// jsonBody reports whether a reply is JSON; VictoriaMetrics calls that of a raw
// range application/stream+json.
func jsonBody(resp *outgoing.Reply) bool {
	media, _, err := mime.ParseMediaType(resp.Header.Get("Content-Type"))
	return err == nil && (media == "application/json" || strings.HasSuffix(media, "+json"))
}

// badReply passes on the verdict about a decoded body; a histogram in it is an
// answer, everything else that is wrong with it is none.
func badReply(e envelope, err error) error {
	var q *QueryError
	switch {
	case errors.As(err, &q):
		return q
	case err != nil:
		return noAnswerf(reasonBadResponse, "reply is not the query API's JSON: %w", err)
	case e.status != "success":
		return noAnswerf(reasonBadResponse, "reply has status %q, expected success", outgoing.OneLine(e.status, maxWords))
	}
	return nil
}

// apiError is what the API says about a query. Only bad data and execution are
// about the expression, unless the server says that a part of it was away; other
// implementations of the API put the number of the HTTP status where Prometheus
// has a word.
func apiError(code int, e envelope) error {
	q := &QueryError{Type: e.errorType, Message: e.message}
	switch e.errorType {
	case "timeout":
		return noAnswer(reasonTimeout, errors.New(q.Error()))
	case "canceled", "internal", "unavailable", "too_many_requests", "not_found", "server_error":
		return noAnswer(reasonUnavailable, errors.New(q.Error()))
	}
	if r := ofItself(e.message); r != "" {
		return noAnswer(r, errors.New(q.Error()))
	}
	if e.errorType == badData || e.errorType == execution {
		return q
	}
	q.Type = execution
	if code == http.StatusBadRequest {
		q.Type = badData
	}
	return q
}

// ofItself is the reason of a message in which a server says that it was not able
// to get at its samples, "" for one about the expression. Thanos answers 422
// execution while a store is away and partial answers are denied; VictoriaMetrics
// has 422 for its own time-out.
func ofItself(message string) reason {
	switch {
	case strings.Contains(message, "rpc error: code = DeadlineExceeded"), strings.Contains(message, "context deadline exceeded"),
		strings.Contains(message, "timeout exceeded"):
		return reasonTimeout
	case strings.Contains(message, "rpc error: code = InvalidArgument"):
		return ""
	case strings.Contains(message, "rpc error: code = "), strings.Contains(message, "connection refused"), strings.Contains(message, "no such host"):
		return reasonUnavailable
	}
	return ""
}

func statusReason(code int, errorType string) reason {
	switch {
	case errorType == "timeout":
		return reasonTimeout
	case code/100 == 3:
		return reasonRedirect
	case code == http.StatusServiceUnavailable:
		return reasonUnavailable
	default:
		return reasonStatus
	}
}

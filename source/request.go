package source

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"mime"
	"net/http"
	"net/url"
	"strings"
	"time"
)

// query asks one question of whichever replica answers.
func (r *Remote) query(ctx context.Context, path string, params url.Values) (envelope, error) {
	ctx, cancel := context.WithTimeout(ctx, r.opts.Timeout)
	defer cancel()
	if r.opts.LookbackDelta > 0 {
		params.Set("lookback_delta", seconds(r.opts.LookbackDelta.Milliseconds()))
	}
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

// request asks one replica. Expressions can be longer than a URL, so it posts
// them, unless the replica is a proxy that lets only GET through.
func (r *Remote) request(ctx context.Context, rep *replica, path string, params url.Values) (envelope, error) {
	if deadline, ok := ctx.Deadline(); ok {
		params.Set("timeout", seconds(max(time.Until(deadline).Milliseconds(), 1)))
	}
	if rep.getOnly.Load() {
		return r.send(ctx, rep, http.MethodGet, path, params)
	}
	reply, err := r.send(ctx, rep, http.MethodPost, path, params)
	var status *statusError
	if !errors.As(err, &status) {
		return reply, err
	}
	switch status.code {
	case http.StatusForbidden, http.StatusMethodNotAllowed, http.StatusNotImplemented:
		if got, getErr := r.send(ctx, rep, http.MethodGet, path, params); answered(getErr) {
			rep.getOnly.Store(true)
			return got, getErr
		}
	}
	return reply, err
}

// send makes one HTTP request and judges the reply.
func (r *Remote) send(ctx context.Context, rep *replica, method, path string, params url.Values) (envelope, error) {
	req, err := r.newRequest(ctx, rep, method, path, params)
	if err != nil {
		return envelope{}, noAnswer(reasonConnection, err)
	}
	start := time.Now()
	in := &intake{long: r.long}
	// Deferred, since decoding takes memory, too.
	defer in.release()
	resp, body, err := in.receive(ctx, r.client, req) //nolint:bodyclose // it is read and closed
	if ctxErr := ctx.Err(); err != nil && ctxErr != nil {
		if errors.Is(ctxErr, context.DeadlineExceeded) {
			return envelope{}, noAnswerf(reasonTimeout, "no whole reply within %s: %w", time.Since(start).Round(time.Millisecond), ctxErr)
		}
		return envelope{}, interrupted(ctxErr)
	}
	if err != nil {
		return envelope{}, requestError(err)
	}
	return judge(resp, body)
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
	req.Header.Set("Accept-Encoding", "gzip")
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
	text := fmt.Sprintf("%d %s", e.code, http.StatusText(e.code))
	if e.message != "" {
		text += ": " + e.message
	}
	if hint := statusHint(e.code); hint != "" {
		text += " (" + hint + ")"
	}
	return text
}

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

// judge tells answers from everything else that can stand in a reply.
func judge(resp *http.Response, body []byte) (envelope, error) {
	code := resp.StatusCode
	isJSON := jsonBody(resp)
	switch {
	case code/100 == 2 && !isJSON:
		return envelope{}, noAnswerf(reasonBadResponse, "reply is %q, expected application/json: is this the address of a Prometheus API?",
			resp.Header.Get("Content-Type"))
	case code/100 == 2:
		e, err := decode(body)
		if err == nil && e.status == "error" {
			return envelope{}, apiError(http.StatusUnprocessableEntity, e)
		}
		return e, badReply(e, err)
	}
	e := envelope{}
	if isJSON {
		if decoded, err := decode(body); err == nil && decoded.status == "error" {
			e = decoded
		}
	}
	if e.status == "error" && (code == http.StatusBadRequest || code == http.StatusUnprocessableEntity) {
		return envelope{}, apiError(code, e)
	}
	return envelope{}, noAnswer(statusReason(code, e.errorType), &statusError{code: code, message: clip(e.message)})
}

func jsonBody(resp *http.Response) bool {
	media, _, err := mime.ParseMediaType(resp.Header.Get("Content-Type"))
	return err == nil && media == "application/json"
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
		return noAnswerf(reasonBadResponse, "reply has status %q, expected success", clip(e.status))
	}
	return nil
}

// apiError is what the API says about a query. Only bad data and execution are
// about the expression; other implementations of the API put the number of the
// HTTP status where Prometheus has a word.
func apiError(code int, e envelope) error {
	q := &QueryError{Type: e.errorType, Message: e.message}
	switch e.errorType {
	case badData, execution:
		return q
	case "timeout":
		return noAnswer(reasonTimeout, errors.New(q.Error()))
	case "canceled", "internal", "unavailable", "too_many_requests", "not_found", "server_error":
		return noAnswer(reasonUnavailable, errors.New(q.Error()))
	}
	q.Type = execution
	if code == http.StatusBadRequest {
		q.Type = badData
	}
	return q
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

// clip keeps a message from a stranger to one line of bearable length.
func clip(s string) string {
	const limit = 300
	s = strings.Join(strings.Fields(s), " ")
	if len(s) > limit {
		s = strings.ToValidUTF8(s[:limit], "") + "…"
	}
	return s
}

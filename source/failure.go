package source

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
)

// QueryError is an answer: the source understood the request and refused the
// expression. It never carries ErrNoAnswer.
type QueryError struct {
	// Type is the API's word: bad_data for an expression that cannot be read,
	// execution for one that cannot be evaluated.
	Type    string
	Message string
}

// The types of a QueryError.
const (
	badData   = "bad_data"
	execution = "execution"
)

// Error is the type and the message, as Prometheus prints it.
func (e *QueryError) Error() string { return e.Type + ": " + e.Message }

// TooMuch reports whether a question failed because it asks for too many points,
// samples or bytes at once, or for longer than the server takes: a shorter
// period may be answered.
func TooMuch(err error) bool {
	if f, ok := errors.AsType[*failure](err); ok {
		return f.reason == reasonTooLarge || f.reason == reasonTimeout
	}
	q, ok := errors.AsType[*QueryError](err)
	return ok && slices.ContainsFunc(limitWords(), func(w string) bool { return strings.Contains(q.Message, w) })
}

// limitWords are what the servers say about their limits: Prometheus, Thanos,
// Cortex and Mimir, VictoriaMetrics.
func limitWords() []string {
	return []string{
		"exceeded maximum resolution", "too many samples", "too many points", "the query hit the max number of",
		"query time range exceeds the limit", "query exceeded the maximum", "limit exceeded", "exceeds limit",
		"too many data points", "too many timeseries", "cannot select more than", "maxPointsPerTimeseries", "maxSamplesPerQuery",
		"maxMemoryPerQuery", "not enough memory",
	}
}

// notSamples is the answer for values that no rule can use.
func notSamples(what string) error {
	return &QueryError{Type: execution, Message: fmt.Sprintf("expression yields %s, expected float samples", what)}
}

// reason is the bounded word under which a failure is counted.
type reason string

const (
	reasonTimeout     reason = "timeout"
	reasonCanceled    reason = "canceled"
	reasonConnection  reason = "connection"
	reasonTLS         reason = "tls"
	reasonRedirect    reason = "redirect"
	reasonStatus      reason = "http_status"
	reasonUnavailable reason = "unavailable"
	reasonTooLarge    reason = "response_too_large"
	reasonBadResponse reason = "bad_response"
	reasonStorage     reason = "storage"
	reasonBadData     reason = "bad_data"
	reasonExecution   reason = "execution"
)

// reasons are all of them, so that every counter begins at 0.
func reasons() []reason {
	return []reason{
		reasonTimeout, reasonCanceled, reasonConnection, reasonTLS, reasonRedirect, reasonStatus,
		reasonUnavailable, reasonTooLarge, reasonBadResponse, reasonStorage, reasonBadData, reasonExecution,
	}
}

// failure is a missing answer with the word under which it is counted.
type failure struct {
	reason reason
	err    error
}

func (f *failure) Error() string { return f.err.Error() }

func (f *failure) Unwrap() error { return f.err }

// noAnswer is NoAnswer with a reason.
func noAnswer(r reason, err error) error { return NoAnswer(&failure{reason: r, err: err}) }

func noAnswerf(r reason, format string, args ...any) error {
	return noAnswer(r, fmt.Errorf(format, args...))
}

// interrupted is the missing answer of a context that ended.
func interrupted(err error) error {
	if errors.Is(err, context.Canceled) {
		return noAnswer(reasonCanceled, err)
	}
	return noAnswer(reasonTimeout, err)
}

// reasonOf finds the word for any error of this package.
func reasonOf(err error) reason {
	if f, ok := errors.AsType[*failure](err); ok {
		return f.reason
	}
	var q *QueryError
	if errors.As(err, &q) && q.Type == badData {
		return reasonBadData
	}
	return reasonExecution
}

package kubernetes

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptrace"
	"sync/atomic"

	"github.com/zeta-scaler/zeta-scaler/actuators"
	"github.com/zeta-scaler/zeta-scaler/kube"
)

// errConflict: the workload has changed since it was read.
var errConflict = errors.New("conflict")

// read gets the workload as it is now, not from any cache.
func (a *Actuator) read(ctx context.Context) (*workload, error) {
	w, err := a.workloads.Get(ctx, a.name)
	if err != nil {
		return nil, a.callFailed("get", a.String(), err, false)
	}
	return w, nil
}

// send patches the workload.
func (a *Actuator) send(ctx context.Context, p *patch) error {
	var sent atomic.Bool
	// As long as the request has no connection, nothing of it can have arrived.
	traced := httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{GotConn: func(httptrace.GotConnInfo) { sent.Store(true) }})
	if _, err := a.workloads.Patch(traced, a.name, p); err != nil {
		return a.callFailed("patch", a.String(), err, sent.Load())
	}
	return nil
}

// callFailed says what an error means for the action. maybeDone is true if the
// request was a write that may have arrived.
func (a *Actuator) callFailed(verb, what string, err error, maybeDone bool) error {
	code := kube.StatusCode(err)
	switch {
	case code == http.StatusConflict:
		return errConflict
	case code == http.StatusForbidden:
		return a.refused("not allowed to %s %s, by the role or by an admission policy: %w", verb, what, err)
	case code == http.StatusNotFound:
		return a.refused("%s does not exist: %w", what, err)
	case mayPass(code):
		return fmt.Errorf("calling %s of %s: %w", verb, what, err)
	case code >= 400 && code < 500:
		return a.refused("calling %s of %s: %w", verb, what, err)
	case maybeDone:
		return fmt.Errorf("calling %s of %s: %w: %w", verb, what, actuators.ErrUnknownOutcome, err)
	default:
		return fmt.Errorf("calling %s of %s: %w", verb, what, err)
	}
}

// mayPass reports whether a refusal may be another one next time: credentials
// are being rotated, or the server is too busy.
func mayPass(code int) bool {
	return code == http.StatusUnauthorized || code == http.StatusTooManyRequests || code == http.StatusRequestTimeout
}

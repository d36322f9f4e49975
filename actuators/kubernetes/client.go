package kubernetes

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptrace"
	"sync/atomic"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"

	"github.com/zeta-scaler/zeta-scaler/actuators"
	statekubernetes "github.com/zeta-scaler/zeta-scaler/state/kubernetes"
)

// An action costs about four requests and one more every few seconds while it
// converges.
const (
	clientQPS   = 10
	clientBurst = 20
)

// errConflict: the workload has changed since it was read.
var errConflict = errors.New("conflict")

// clientConfig reads the configuration of a client. Tokens and certificates
// that change on disk are taken up by client-go.
func clientConfig(kubeconfig string, timeout time.Duration) (*rest.Config, error) {
	config, _, err := statekubernetes.ClientConfig(kubeconfig)
	if err != nil {
		return nil, err
	}
	config.Timeout, config.QPS, config.Burst = cmp.Or(timeout, DefaultTimeout), clientQPS, clientBurst
	config.WarningHandler = rest.NoWarnings{}
	return rest.AddUserAgent(config, FieldManager), nil
}

// read gets the workload as it is now, not from any cache.
func (a *Actuator) read(ctx context.Context) (*workload, error) {
	u, err := a.workloads.Get(ctx, a.name, metav1.GetOptions{})
	if err != nil {
		return nil, a.callFailed("get", err, false)
	}
	w := new(workload)
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(u.Object, w); err != nil {
		return nil, fmt.Errorf("reading %s: %w", a, err)
	}
	return w, nil
}

// send patches the workload.
func (a *Actuator) send(ctx context.Context, p *patch) error {
	body, err := json.Marshal(p)
	if err != nil {
		return fmt.Errorf("encoding the patch of %s: %w", a, err)
	}
	var sent atomic.Bool
	// As long as the request has no connection, nothing of it can have arrived.
	traced := httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{GotConn: func(httptrace.GotConnInfo) { sent.Store(true) }})
	_, err = a.workloads.Patch(traced, a.name, types.MergePatchType, body, metav1.PatchOptions{FieldManager: FieldManager})
	if err != nil {
		return a.callFailed("patch", err, sent.Load())
	}
	return nil
}

// callFailed says what an error means for the action. maybeDone is true if the
// request was a write that may have arrived.
func (a *Actuator) callFailed(verb string, err error, maybeDone bool) error {
	code := statusCode(err)
	switch {
	case code == http.StatusConflict:
		return errConflict
	case code == http.StatusForbidden:
		return a.refused("not allowed to %s %s, by the role or by an admission policy: %w", verb, a, err)
	case code == http.StatusNotFound:
		return a.refused("%s does not exist: %w", a, err)
	case mayPass(code):
		return fmt.Errorf("calling %s of %s: %w", verb, a, err)
	case code >= 400 && code < 500:
		return a.refused("calling %s of %s: %w", verb, a, err)
	case maybeDone:
		return fmt.Errorf("calling %s of %s: %w: %w", verb, a, actuators.ErrUnknownOutcome, err)
	default:
		return fmt.Errorf("calling %s of %s: %w", verb, a, err)
	}
}

// mayPass reports whether a refusal may be another one next time: credentials
// are being rotated, or the server is too busy.
func mayPass(code int) bool {
	return code == http.StatusUnauthorized || code == http.StatusTooManyRequests || code == http.StatusRequestTimeout
}

// statusCode is that of the server's answer, 0 if there was none.
func statusCode(err error) int {
	var status apierrors.APIStatus
	if errors.As(err, &status) {
		return int(status.Status().Code)
	}
	return 0
}

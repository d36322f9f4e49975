// Package webhook is the actuator that asks an existing scaling system by HTTP.
// What it posts, and what the status of the reply means, is written in
// docs/actuators.md.
package webhook

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"strconv"
	"time"

	promconfig "github.com/prometheus/common/config"

	"github.com/zeta-scaler/zeta-scaler/actuators"
	"github.com/zeta-scaler/zeta-scaler/actuators/request"
	"github.com/zeta-scaler/zeta-scaler/events/post"
)

// EpochHeader has the epoch of the leader that asks, in decimal.
const EpochHeader = "X-Zeta-Scaler-Epoch"

// Options are what an actuator is made of; URL and Logger are required.
type Options struct {
	// URL is posted to.
	URL string
	// Timeout bounds one request with its reply, 0 is post.DefaultTimeout.
	Timeout time.Duration
	// TemplateFile has the body as a template of package text/template; empty:
	// the request as JSON.
	TemplateFile string
	// Labels are the names of the scope's labels (scope_by), with which the
	// template is tried; nil tries it with any name.
	Labels []string
	// SecretFile has the key that signs the body; empty: no signature.
	SecretFile string
	// HTTPClientConfig has credentials, TLS and proxy, as Prometheus has them.
	HTTPClientConfig promconfig.HTTPClientConfig
	// Now is the clock of signatures, nil is time.Now.
	Now    func() time.Time
	Logger *slog.Logger
}

// Actuator posts one request per call.
type Actuator struct {
	client *post.Client
	body   *body // nil: JSON
	logger *slog.Logger
}

// New makes an actuator. It reads the template and the key, and tries the
// template, but connects to nothing.
func New(o Options) (*Actuator, error) {
	client, err := post.New(post.Options{
		URL: o.URL, Timeout: o.Timeout, SecretFile: o.SecretFile, HTTPClientConfig: o.HTTPClientConfig, Name: "actuator_webhook", Now: o.Now,
	})
	if err != nil {
		return nil, fmt.Errorf("webhook actuator: %w", err)
	}
	a := &Actuator{client: client, logger: o.Logger.With("url", client.String())}
	if o.TemplateFile != "" {
		if a.body, err = loadBody(o.TemplateFile, o.Labels); err != nil {
			return nil, fmt.Errorf("webhook actuator: %w", err)
		}
	}
	return a, nil
}

// Capabilities say that it scales and knows nothing else.
func (a *Actuator) Capabilities() actuators.Capabilities { return actuators.Capabilities{} }

// Observe is not supported: there is no reply that tells.
func (a *Actuator) Observe(context.Context, actuators.Target) (actuators.State, error) {
	return actuators.State{}, fmt.Errorf("webhook: observing: %w", actuators.ErrUnsupported)
}

// Release is not supported.
func (a *Actuator) Release(context.Context, actuators.Target, []actuators.Worker, actuators.Fence) error {
	return fmt.Errorf("webhook: releasing workers: %w", actuators.ErrUnsupported)
}

// Scale posts the request, once.
func (a *Actuator) Scale(ctx context.Context, t actuators.Target, want int, f actuators.Fence) error {
	if want < 0 {
		return fmt.Errorf("webhook: %w: %d is no number of workers", actuators.ErrRefused, want)
	}
	m, err := a.message(request.ToScale(t, want, f))
	if err != nil {
		return fmt.Errorf("webhook: %w: %w", actuators.ErrRefused, err)
	}
	start := time.Now()
	reply, err := a.client.Post(ctx, m)
	if err == nil {
		err = a.verdict(reply)
	} else if e, ok := errors.AsType[*post.Error](err); ok && e.Sent {
		err = fmt.Errorf("%w: %w", actuators.ErrUnknownOutcome, err)
	}
	if err != nil {
		return fmt.Errorf("webhook: %w", err)
	}
	a.logger.InfoContext(ctx, "the scaling system has taken the request", "scope", t.Scope.Key, "target", t.Name, "want", want,
		"status", reply.Status, "took", time.Since(start).Round(time.Millisecond), "action_id", f.ActionID)
	return nil
}

func (a *Actuator) message(q request.Request) (post.Message, error) {
	m := post.Message{
		ContentType: jsonType, Key: q.RecommendationID,
		Header: map[string]string{EpochHeader: strconv.FormatUint(q.MasterEpoch, 10)},
	}
	var err error
	if a.body == nil {
		m.Body, err = json.Marshal(q)
	} else {
		m.Body, err = a.body.render(q)
		m.ContentType = a.body.contentType
	}
	if err != nil {
		return post.Message{}, fmt.Errorf("writing the request: %w", err)
	}
	return m, nil
}

// verdict says what a status means for the action.
func (a *Actuator) verdict(r post.Reply) error {
	err := errors.New(a.client.String() + " answered " + r.String())
	switch {
	case r.OK():
		return nil
	case r.Status == http.StatusConflict:
		return fmt.Errorf("%w: %w", actuators.ErrStale, err)
	case r.Status == http.StatusGatewayTimeout:
		// A proxy has passed the request on and got no reply.
		return fmt.Errorf("%w: %w", actuators.ErrUnknownOutcome, err)
	case r.Passing():
		return err
	}
	return fmt.Errorf("%w: %w", actuators.ErrRefused, err)
}

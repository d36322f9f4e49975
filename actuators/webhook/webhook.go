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
	"slices"
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
	URL string `yaml:"url" check:"required,url,masked"`
	// Target names what the system scales: two scopes must not write to one.
	Target string `yaml:"target" check:"required"`
	// Timeout bounds one request with its reply, 0 is post.DefaultTimeout.
	Timeout time.Duration `yaml:"timeout" check:"least=1s"`
	// TemplateFile has the body as a template of package text/template; empty:
	// the request as JSON.
	TemplateFile string `yaml:"template_file" check:"file=filled"`
	// Labels are the names of the scope's labels (scope_by), with which the
	// template is tried; nil tries it with any name.
	Labels []string
	// Workers are the names of those that the system may be asked to remove; none:
	// it is never asked to.
	Workers []string `yaml:"workers"`
	// SecretFile has the key that signs the body; empty: no signature.
	SecretFile string `yaml:"secret_file" check:"file=filled"`
	// HTTPClientConfig has credentials, TLS and proxy, as Prometheus has them.
	HTTPClientConfig promconfig.HTTPClientConfig `yaml:"http_config"`
	// Now is the clock of signatures, nil is time.Now.
	Now    func() time.Time
	Logger *slog.Logger
}

// Actuator posts one request per call.
type Actuator struct {
	client  *post.Client
	body    *body // nil: JSON
	workers []string
	logger  *slog.Logger
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
	a := &Actuator{client: client, workers: o.Workers, logger: o.Logger.With("url", client.String())}
	if o.TemplateFile != "" {
		if a.body, err = loadBody(o.TemplateFile, o.Labels, o.Workers); err != nil {
			return nil, fmt.Errorf("webhook actuator: %w", err)
		}
	}
	return a, nil
}

// Capabilities say that it scales, and removes the workers that are configured.
func (a *Actuator) Capabilities() actuators.Capabilities {
	return actuators.Capabilities{Releases: len(a.workers) > 0, Chooses: len(a.workers) > 0}
}

// Observe is not supported: there is no reply that tells.
func (a *Actuator) Observe(context.Context, actuators.Target) (actuators.State, error) {
	return actuators.State{}, fmt.Errorf("webhook: observing: %w", actuators.ErrUnsupported)
}

// Workers are those that the configuration names.
func (a *Actuator) Workers(context.Context, actuators.Target) ([]actuators.Worker, error) {
	if len(a.workers) == 0 {
		return nil, fmt.Errorf("webhook: naming workers: the configuration names none: %w", actuators.ErrUnsupported)
	}
	return actuators.Listed(a.workers).Workers(), nil
}

// Scale posts the request, once.
func (a *Actuator) Scale(ctx context.Context, t actuators.Target, want int, f actuators.Fence) error {
	if want < 0 {
		return fmt.Errorf("webhook: %w: %d is no number of workers", actuators.ErrRefused, want)
	}
	return a.ask(ctx, request.ToScale(t, want, f), f.RecommendationID, slog.Int("want", want))
}

// Release posts the request, once.
func (a *Actuator) Release(ctx context.Context, t actuators.Target, workers []actuators.Worker, f actuators.Fence) error {
	if len(a.workers) == 0 {
		return fmt.Errorf("webhook: releasing workers: %w", actuators.ErrUnsupported)
	}
	q, err := request.ToRelease(t, workers, f)
	if err != nil {
		return fmt.Errorf("webhook: %w", err)
	}
	name := q.Workers[0].Name
	if !slices.Contains(a.workers, name) {
		return fmt.Errorf("webhook: %w: %q is none of the workers that the configuration names", actuators.ErrRefused, name)
	}
	return a.ask(ctx, q, f.ActionID, slog.String("worker", name))
}

// ask posts a request. key is the same for a repetition; what says in the log
// what was asked for.
func (a *Actuator) ask(ctx context.Context, q request.Request, key string, what slog.Attr) error {
	m, err := a.message(q, key)
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
	a.logger.LogAttrs(ctx, slog.LevelInfo, "the scaling system has taken the request", slog.String("verb", string(q.Verb)),
		slog.String("scope", q.Scope), slog.String("target", q.Target), what,
		slog.Int("status", reply.Status), slog.Duration("took", time.Since(start).Round(time.Millisecond)), slog.String("action_id", q.ActionID))
	return nil
}

func (a *Actuator) message(q request.Request, key string) (post.Message, error) {
	m := post.Message{
		ContentType: jsonType, Key: key,
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

// Package webhook posts what event handlers are told to a URL, as JSON: one
// request per event, signed if there is a key, tried three times.
package webhook

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"time"

	promconfig "github.com/prometheus/common/config"

	"github.com/zeta-scaler/zeta-scaler/backoff"
	"github.com/zeta-scaler/zeta-scaler/events/post"
	"github.com/zeta-scaler/zeta-scaler/scaling"
)

// DefaultTimeout bounds one request. Where the context ends before three of
// them could, each gets its share of the time.
const DefaultTimeout = 10 * time.Second

const (
	attempts     = 3
	firstBackoff = 200 * time.Millisecond
)

// Options are what a handler is made of; URL and Logger are required.
type Options struct {
	// URL is posted to.
	URL string `yaml:"url" check:"required,url,masked"`
	// Timeout bounds one request, 0 is DefaultTimeout.
	Timeout time.Duration `yaml:"timeout" check:"least=1s"`
	// SecretFile has the key that signs the body; empty: no signature.
	SecretFile string `yaml:"secret_file" check:"file=filled"`
	// HTTPClientConfig has credentials, TLS and proxy, as Prometheus has them.
	HTTPClientConfig promconfig.HTTPClientConfig `yaml:"http_config"`
	// Now is the clock of signatures, nil is time.Now.
	Now    func() time.Time
	Logger *slog.Logger
}

// Handler posts events. It is an events.Handler, safe for concurrent use.
type Handler struct {
	client  *post.Client
	backoff time.Duration
	logger  *slog.Logger
}

// New makes a handler. It connects to nothing.
func New(o Options) (*Handler, error) {
	client, err := post.New(post.Options{
		URL: o.URL, Timeout: cmp.Or(o.Timeout, DefaultTimeout), SecretFile: o.SecretFile, HTTPClientConfig: o.HTTPClientConfig, Name: "events_webhook", Now: o.Now,
	})
	if err != nil {
		return nil, fmt.Errorf("event webhook: %w", err)
	}
	return &Handler{client: client, backoff: firstBackoff, logger: o.Logger}, nil
}

// Handle posts e. A receiver may get an event more than once, when its reply is
// lost: the header Idempotency-Key is the same then.
func (h *Handler) Handle(ctx context.Context, e scaling.Event) error {
	body, err := json.Marshal(e)
	if err != nil {
		return fmt.Errorf("event webhook: writing the event: %w", err)
	}
	sum := sha256.Sum256(body)
	m := post.Message{
		Body: body, ContentType: "application/json", Key: hex.EncodeToString(sum[:16]),
		Header: map[string]string{"X-Zeta-Scaler-Event": string(e.Kind)},
	}
	for attempt := 1; ; attempt++ {
		again, asked, err := h.try(ctx, m, attempts-attempt+1)
		if err == nil {
			return nil
		}
		if !again || attempt == attempts {
			return fmt.Errorf("event webhook: attempt %d of %d: %w", attempt, attempts, err)
		}
		h.logger.DebugContext(ctx, "an event was not taken, it is posted again", "kind", string(e.Kind), "scope", e.Scope.Key, "attempt", attempt, "err", err)
		pause := max(backoff.Spread(backoff.Doubled(h.backoff, attempt, time.Hour)), asked)
		if ended := backoff.Wait(ctx, pause); ended != nil {
			return fmt.Errorf("event webhook: attempt %d of %d: %w, after: %w", attempt, attempts, ended, err)
		}
	}
}

// try posts once, in its share of the time, and says whether another attempt
// may work, and after how long if the receiver has said so.
func (h *Handler) try(ctx context.Context, m post.Message, left int) (again bool, after time.Duration, err error) {
	share := ctx
	if deadline, ok := ctx.Deadline(); ok {
		var cancel context.CancelFunc
		share, cancel = context.WithTimeout(ctx, time.Until(deadline)/time.Duration(left))
		defer cancel()
	}
	reply, err := h.client.Post(share, m)
	switch {
	case err != nil:
		return ctx.Err() == nil, 0, err
	case reply.OK():
		return false, 0, nil
	}
	return reply.Passing(), reply.RetryAfter, errors.New(h.client.String() + " answered " + reply.String())
}

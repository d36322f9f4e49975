package alerts

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"strings"
	"time"

	promconfig "github.com/prometheus/common/config"
	"github.com/prometheus/common/version"

	"github.com/zeta-scaler/zeta-scaler/backoff"
	"github.com/zeta-scaler/zeta-scaler/contact"
	"github.com/zeta-scaler/zeta-scaler/queue"
	"github.com/zeta-scaler/zeta-scaler/trouble"
	"github.com/zeta-scaler/zeta-scaler/web/outgoing"
)

const (
	// maxBatch is how many alerts one request carries.
	maxBatch = 256
	// sendTimeout bounds one request.
	sendTimeout = 10 * time.Second
	// Between attempts that fail a sender waits, twice as long each time.
	firstBackoff, lastBackoff = time.Second, 30 * time.Second
)

// Endpoint is one Alertmanager.
type Endpoint struct {
	// URL is its address, with the path in front of /api/v2 if there is one.
	URL string
	// HTTPClientConfig has credentials, TLS and proxy, as Prometheus has them.
	HTTPClientConfig promconfig.HTTPClientConfig
}

// sender serves one Alertmanager. Each has its own queue, so that one that is
// away or slow never delays another, nor the tick.
type sender struct {
	endpoint Endpoint
	url      string
	// name is the address without credentials.
	name   string
	client *outgoing.Client
	queue  *queue.Queue[message]
	counts counts
	logger *slog.Logger
	// contact is how it answers.
	contact *contact.Log

	// stopping ends the sender once its queue is empty or an attempt fails.
	stopping chan struct{}
	// ctx ends what still runs when the time to drain is over.
	ctx    context.Context
	cancel context.CancelFunc

	// failing is of requests, dropping of the queue.
	failing, dropping *trouble.State
}

// newSender fails if the endpoint's configuration cannot be used.
func newSender(e Endpoint, limit int, logger *slog.Logger, options ...promconfig.HTTPClientOption) (*sender, error) {
	u, err := outgoing.ParseURL(e.URL)
	if err != nil {
		return nil, fmt.Errorf("address of an Alertmanager: %w", err)
	}
	client, err := outgoing.New(outgoing.Options{
		Name: "alertmanager", Config: e.HTTPClientConfig, HTTPOptions: options, UserAgent: outgoing.UserAgent + "/" + version.Version,
		Redirects: outgoing.Redirects{Loses: "the alerts"},
		Key:       "alerting.alertmanagers: url", HTTPKey: "alerting.alertmanagers: http_config",
	})
	if err != nil {
		return nil, fmt.Errorf("HTTP client for Alertmanager %s: %w", u.Redacted(), err)
	}
	s := &sender{
		endpoint: e, url: strings.TrimRight(e.URL, "/") + "/api/v2/alerts", name: u.Redacted(), client: client,
		queue: newQueue(limit), logger: logger.With("alertmanager", u.Redacted()), stopping: make(chan struct{}),
	}
	s.contact = contact.New("alertmanager", s.name, nil)
	s.failing = trouble.New(s.logger, slog.LevelError, "Alertmanager does not take alerts, they are sent again", "Alertmanager takes alerts again")
	s.dropping = trouble.New(s.logger, slog.LevelWarn, "queue for Alertmanager is full, the oldest alerts are dropped", "")
	s.ctx, s.cancel = context.WithCancel(context.Background())
	return s, nil
}

// add queues messages. It never waits.
func (s *sender) add(messages []message) {
	if n := s.queue.Put(messages...); n > 0 {
		s.drop(n)
		s.dropping.NoteIf(true, "capacity", s.queue.Limit())
	}
	s.counts.length.Set(float64(s.queue.Len()))
}

func (s *sender) drop(n int) { s.counts.dropped.Add(float64(n)) }

// stop lets the sender finish what is queued, for at most the given time.
func (s *sender) stop(drain time.Duration) {
	close(s.stopping)
	time.AfterFunc(drain, s.cancel)
}

// run sends until stop was called and the queue is empty.
func (s *sender) run() {
	defer s.client.CloseIdleConnections()
	defer s.cancel()
	failures := 0
	for {
		batch := s.queue.Take(maxBatch)
		s.counts.length.Set(float64(s.queue.Len()))
		if len(batch) == 0 {
			s.dropping.NoteIf(false)
			if s.idle() {
				continue
			}
			return
		}
		err := s.send(batch)
		s.failing.Note(err)
		s.contact.Note(err)
		refused, _ := errors.AsType[*refusal](err)
		switch {
		case err == nil:
			failures = 0
			continue
		case refused != nil && refused.final():
			s.drop(len(batch))
			continue
		}
		s.drop(s.queue.PutBack(batch))
		s.counts.length.Set(float64(s.queue.Len()))
		if s.stopped() {
			s.giveUp()
			return
		}
		failures++
		s.wait(pause(failures, refused))
	}
}

// pause is the wait after so many failures in a row, or what the Alertmanager
// asks for if that is more.
func pause(failures int, refused *refusal) time.Duration {
	d := backoff.Doubled(firstBackoff, failures, lastBackoff)
	if refused != nil {
		d = max(d, min(refused.after, lastBackoff))
	}
	return d
}

// idle waits for work and returns false once there will be none.
func (s *sender) idle() bool {
	select {
	case <-s.queue.Filled():
		return true
	case <-s.stopping:
		return s.queue.Len() > 0
	}
}

func (s *sender) stopped() bool {
	select {
	case <-s.stopping:
		return true
	default:
		return false
	}
}

// wait is cut short by stop: then there is one more attempt.
func (s *sender) wait(d time.Duration) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-s.stopping:
	}
}

func (s *sender) giveUp() {
	n := len(s.queue.Take(s.queue.Len()))
	s.drop(n)
	s.counts.length.Set(0)
	if n > 0 {
		s.logger.Warn("alerts were not sent before the end", "alerts", n)
	}
}

// send posts one batch and counts what became of it.
func (s *sender) send(batch []message) error {
	ctx, cancel := context.WithTimeout(s.ctx, sendTimeout)
	defer cancel()
	began := time.Now()
	err := s.post(ctx, bodyOf(batch))
	s.counts.latency.Observe(time.Since(began).Seconds())
	if err != nil {
		s.counts.errors.Add(float64(len(batch)))
		return err
	}
	s.counts.sent.Add(float64(len(batch)))
	return nil
}

func bodyOf(batch []message) []byte {
	var b bytes.Buffer
	b.WriteByte('[')
	for i, m := range batch {
		if i > 0 {
			b.WriteByte(',')
		}
		b.Write(m.body)
	}
	b.WriteByte(']')
	return b.Bytes()
}

// refusal is a reply other than 2xx.
type refusal struct {
	status int
	quote  string
	// after is how long the Alertmanager asks to wait, 0 if it does not.
	after time.Duration
}

// Error is the status and what the reply says.
func (r *refusal) Error() string {
	return fmt.Sprintf("status %s: %s", outgoing.StatusText(r.status), r.quote)
}

// final reports whether sending the same again is of no use: Alertmanager has
// kept the alerts of the batch that it could read.
func (r *refusal) final() bool {
	switch r.status {
	case http.StatusBadRequest, http.StatusRequestEntityTooLarge, http.StatusUnprocessableEntity:
		return true
	}
	return false
}

func (s *sender) post(ctx context.Context, body []byte) error {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, s.url, bytes.NewReader(body))
	if err != nil {
		return errors.New("the request cannot be made")
	}
	req.Header.Set("Content-Type", "application/json")
	resp, err := s.client.Do(req)
	if err != nil {
		return fmt.Errorf("posting to %s: %w", outgoing.Shown(req.URL), err)
	}
	defer resp.Body.Close()
	if resp.StatusCode/100 == 2 {
		return nil
	}
	return &refusal{resp.StatusCode, resp.Quote(), backoff.Asked(resp.Header, time.Now())}
}

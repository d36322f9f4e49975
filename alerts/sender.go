package alerts

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/url"
	"strings"
	"sync/atomic"
	"time"

	promconfig "github.com/prometheus/common/config"
	"github.com/prometheus/common/version"
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

// errRefused says that sending the same again is of no use.
var errRefused = errors.New("refused")

// sender serves one Alertmanager. Each has its own queue, so that one that is
// away or slow never delays another, nor the tick.
type sender struct {
	endpoint Endpoint
	url      string
	// name is the address without credentials.
	name   string
	client *http.Client
	queue  *queue
	counts counts
	logger *slog.Logger

	// stopping ends the sender once its queue is empty or an attempt fails.
	stopping chan struct{}
	// ctx ends what still runs when the time to drain is over.
	ctx    context.Context
	cancel context.CancelFunc

	// failing and dropping remember what was logged.
	failing  bool
	dropping atomic.Bool
}

// newSender fails if the endpoint's configuration cannot be used.
func newSender(e Endpoint, limit int, logger *slog.Logger, options ...promconfig.HTTPClientOption) (*sender, error) {
	u, err := url.Parse(e.URL)
	if err != nil {
		// The address may hold a password, which url.Error would show.
		if invalid, ok := errors.AsType[*url.Error](err); ok {
			err = invalid.Err
		}
		return nil, fmt.Errorf("address of an Alertmanager: %w", err)
	}
	client, err := promconfig.NewClientFromConfig(e.HTTPClientConfig, "alertmanager", options...)
	if err != nil {
		return nil, fmt.Errorf("HTTP client for Alertmanager %s: %w", u.Redacted(), err)
	}
	if e.HTTPClientConfig.FollowRedirects {
		client.CheckRedirect = checkRedirect
	}
	s := &sender{
		endpoint: e, url: strings.TrimRight(e.URL, "/") + "/api/v2/alerts", name: u.Redacted(), client: client,
		queue: newQueue(limit), logger: logger.With("alertmanager", u.Redacted()), stopping: make(chan struct{}),
	}
	s.ctx, s.cancel = context.WithCancel(context.Background())
	return s, nil
}

// add queues messages. It never waits.
func (s *sender) add(messages []message) {
	n := s.queue.put(messages)
	s.drop(n)
	if n > 0 && !s.dropping.Swap(true) {
		s.logger.Warn("queue for Alertmanager is full, the oldest alerts are dropped", "capacity", s.queue.capacity())
	}
	s.counts.length.Set(float64(s.queue.len()))
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
	backoff := firstBackoff
	for {
		batch := s.queue.take(maxBatch)
		s.counts.length.Set(float64(s.queue.len()))
		if len(batch) == 0 {
			s.dropping.Store(false)
			if s.idle() {
				continue
			}
			return
		}
		err := s.send(batch)
		s.note(err)
		switch {
		case err == nil:
			backoff = firstBackoff
			continue
		case errors.Is(err, errRefused):
			s.drop(len(batch))
			continue
		}
		s.drop(s.queue.putBack(batch))
		s.counts.length.Set(float64(s.queue.len()))
		if s.stopped() {
			s.giveUp()
			return
		}
		s.wait(backoff)
		backoff = min(2*backoff, lastBackoff)
	}
}

// idle waits for work and returns false once there will be none.
func (s *sender) idle() bool {
	select {
	case <-s.queue.filled:
		return true
	case <-s.stopping:
		return s.queue.len() > 0
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
	n := len(s.queue.take(s.queue.len()))
	s.drop(n)
	s.counts.length.Set(0)
	if n > 0 {
		s.logger.Warn("alerts were not sent before the end", "alerts", n)
	}
}

// note logs a change of state, not every request.
func (s *sender) note(err error) {
	switch {
	case err != nil && !s.failing:
		s.logger.Error("Alertmanager does not take alerts, they are sent again", "err", err)
	case err == nil && s.failing:
		s.logger.Info("Alertmanager takes alerts again")
	}
	s.failing = err != nil
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

// maxRedirects is how many redirects of one request are followed.
const maxRedirects = 5

// checkRedirect follows where the alerts and nothing but the alerts go along: a
// POST that has become a GET reads alerts, and is answered 200 although none
// was taken; another host must not see our credentials.
func checkRedirect(req *http.Request, via []*http.Request) error {
	switch {
	case len(via) > maxRedirects:
		return fmt.Errorf("stopped after %d redirects", maxRedirects)
	case req.Method != via[0].Method:
		return fmt.Errorf("redirected to %s by a status that loses the alerts: use that URL, or status 307 or 308", req.URL.Redacted())
	case req.URL.Hostname() != via[0].URL.Hostname():
		return fmt.Errorf("redirected to another host, %s, which is not followed: use that URL", req.URL.Redacted())
	}
	return nil
}

func (s *sender) post(ctx context.Context, body []byte) error {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, s.url, bytes.NewReader(body))
	if err != nil {
		return err
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("User-Agent", "zeta-scaler/"+version.Version)
	resp, err := s.client.Do(req)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(io.LimitReader(resp.Body, 512))
	if resp.StatusCode/100 == 2 {
		return nil
	}
	if err == nil {
		err = fmt.Errorf("status %s: %s", resp.Status, bytes.TrimSpace(text))
	}
	switch resp.StatusCode {
	case http.StatusBadRequest, http.StatusRequestEntityTooLarge, http.StatusUnprocessableEntity:
		// Alertmanager has kept the alerts of the batch that it could read.
		return errors.Join(errRefused, err)
	}
	return err
}

// Package webhook takes Alertmanager's notifications and asks for what they say
// to be carried out (spec 4.1). A notification is trusted for one thing: which
// recommendation is meant. What it says is to be done, and whether it may be,
// the Acceptor finds in our own store. Who may call is decided in front of it.
package webhook

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"os"
	"strconv"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/zeta-scaler/zeta-scaler/scaling"
)

// DefaultMaxBody is how many bytes a notification may have: a group may hold
// thousands of alerts with their annotations.
const DefaultMaxBody = 8 << 20

const (
	// patience bounds a request. Alertmanager's own is 10 s or more, and it tries
	// again after a 503.
	patience = 5 * time.Second
	// concurrency is how many notifications are in memory at once; others wait.
	concurrency = 32
	// retryAfter is what a 503 advises, in seconds. Alertmanager has its own mind.
	retryAfter = 5
)

// Acceptor decides about recommendations and has stored what it answers. Its
// methods return within their context, are safe for concurrent use and are
// idempotent. They return an error if, and only if, it would help to ask again:
// the store cannot be written, or this replica is not the leader.
type Acceptor interface {
	// Accept asks for a recommendation to be carried out.
	Accept(ctx context.Context, recommendationID string) (scaling.Verdict, error)
	// Resolve says that the alert about it is over.
	Resolve(ctx context.Context, recommendationID string) (scaling.Verdict, error)
}

// Options are what the webhook is made of; Acceptor and Logger are required.
type Options struct {
	Acceptor Acceptor
	Logger   *slog.Logger
	// Registerer gets the counters; nil leaves them out of every page.
	Registerer prometheus.Registerer
	// MaxBody is the greatest size of a notification in bytes. Default 8 MiB.
	MaxBody int64
}

// Reply is the body of a 200.
type Reply struct {
	// Results has one entry for each alert, in the notification's order.
	Results []Result `json:"results"`
	// TruncatedAlerts is how many alerts Alertmanager has left out.
	TruncatedAlerts uint64 `json:"truncatedAlerts"`
	// Message is for people; empty if there is nothing to say.
	Message string `json:"message,omitempty"`
}

// Result is what became of one alert.
type Result struct {
	Fingerprint string `json:"fingerprint"`
	// Recommendation is the label's value, empty if there is none.
	Recommendation string `json:"recommendation"`
	// Status is the alert's: firing or resolved.
	Status   string                `json:"status"`
	Result   scaling.VerdictResult `json:"result"`
	Reason   string                `json:"reason,omitempty"`
	ActionID string                `json:"actionId,omitempty"`
}

// handler is the webhook.
type handler struct {
	acceptor    Acceptor
	logger      *slog.Logger
	maxBody     int64
	instruments *instruments
	// places are taken by the requests that are worked on.
	places chan struct{}
	// failing is true after an error of the acceptor, until it answers again, so
	// that Alertmanager's attempts do not fill the log.
	failing atomic.Bool
}

// New returns the webhook, which answers
//
//	200  every alert has a result, stored before it is said
//	400  this is no notification of Alertmanager's
//	413  too many bytes or alerts
//	422  a version that is not known
//	503  at least one alert has no result: try again
//
// and never 429, which Alertmanager takes for final.
func New(o Options) http.Handler {
	if o.MaxBody <= 0 {
		o.MaxBody = DefaultMaxBody
	}
	return &handler{
		acceptor: o.Acceptor, logger: o.Logger, maxBody: o.MaxBody,
		instruments: newInstruments(o.Registerer), places: make(chan struct{}, concurrency),
	}
}

// refusal is an answer other than 200.
type refusal struct {
	status int
	detail string
	// cause goes to the log and nowhere else.
	cause error
}

// ServeHTTP answers one notification.
func (h *handler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	began := time.Now()
	status := http.StatusOK
	reply, refused := h.answer(w, r)
	if refused != nil {
		status = refused.status
		h.refuse(w, r, refused)
	} else {
		h.write(w, status, "application/json", reply)
	}
	h.instruments.requests.WithLabelValues(strconv.Itoa(status)).Inc()
	h.instruments.duration.Observe(time.Since(began).Seconds())
}

func (h *handler) answer(w http.ResponseWriter, r *http.Request) (*Reply, *refusal) {
	ctx, cancel := context.WithTimeout(r.Context(), patience)
	defer cancel()
	select {
	case h.places <- struct{}{}:
		defer func() { <-h.places }()
	case <-ctx.Done():
		return nil, &refusal{http.StatusServiceUnavailable, "too many notifications at once; try again", ctx.Err()}
	}
	body, refused := h.read(ctx, w, r)
	if refused != nil {
		return nil, refused
	}
	m, refused := decode(body)
	if refused != nil {
		return nil, refused
	}
	return h.judge(ctx, m)
}

// read takes the body in. A sender that stalls must not keep its place.
func (h *handler) read(ctx context.Context, w http.ResponseWriter, r *http.Request) ([]byte, *refusal) {
	if deadline, ok := ctx.Deadline(); ok {
		// A connection that has no deadlines is one in a test.
		_ = http.NewResponseController(w).SetReadDeadline(deadline)
	}
	var b bytes.Buffer
	if n := r.ContentLength; n > 0 && n <= h.maxBody {
		b.Grow(int(n) + bytes.MinRead)
	}
	_, err := b.ReadFrom(http.MaxBytesReader(w, r.Body, h.maxBody))
	if err == nil {
		return b.Bytes(), nil
	}
	if tooLarge, ok := errors.AsType[*http.MaxBytesError](err); ok {
		return nil, &refusal{
			http.StatusRequestEntityTooLarge,
			fmt.Sprintf("the notification is larger than %d bytes; group by recommendation, so that each has one of its own", tooLarge.Limit), nil,
		}
	}
	if errors.Is(err, os.ErrDeadlineExceeded) {
		return nil, &refusal{http.StatusServiceUnavailable, "the notification did not come in time; try again", err}
	}
	if errors.Is(err, io.ErrUnexpectedEOF) {
		return nil, &refusal{http.StatusBadRequest, "the notification is cut off", err}
	}
	return nil, &refusal{http.StatusBadRequest, "the notification cannot be read", err}
}

// problem is an error as RFC 9457 has it, like those of the API.
type problem struct {
	Type   string `json:"type"`
	Title  string `json:"title"`
	Status int    `json:"status"`
	Detail string `json:"detail"`
}

func (h *handler) refuse(w http.ResponseWriter, r *http.Request, f *refusal) {
	level := slog.LevelWarn
	if f.status == http.StatusServiceUnavailable {
		w.Header().Set("Retry-After", strconv.Itoa(retryAfter))
		// A sender that has gone says nothing about us; a failure is logged once.
		if gone := errors.Is(r.Context().Err(), context.Canceled); gone || h.failing.Swap(true) {
			level = slog.LevelDebug
		}
	}
	h.logger.Log(r.Context(), level, "webhook refused a notification", "status", f.status, "detail", f.detail, "err", f.cause)
	h.write(w, f.status, "application/problem+json", problem{"about:blank", http.StatusText(f.status), f.status, f.detail})
}

func (h *handler) write(w http.ResponseWriter, status int, mediaType string, body any) {
	b, err := json.Marshal(body)
	if err != nil {
		h.logger.Error("encoding an answer of the webhook failed", "err", err)
		b, status = []byte("{}"), http.StatusInternalServerError
	}
	w.Header().Set("Content-Type", mediaType)
	w.WriteHeader(status)
	w.Write(append(b, '\n'))
}

// Package webhook takes Alertmanager's notifications and asks for what they say
// to be carried out (spec 4.1). A notification is trusted for one thing: which
// recommendation is meant. What it says is to be done, and whether it may be,
// the Acceptor finds in our own store. Who may call is decided in front of it.
package webhook

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"os"
	"strconv"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/zeta-scaler/zeta-scaler/scaling"
	"github.com/zeta-scaler/zeta-scaler/trouble"
	"github.com/zeta-scaler/zeta-scaler/web/handler"
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
	// retryAfter is what a 503 advises, in seconds. Alertmanager goes by its own.
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
	// Registerer gets the counters; nil: nobody sees them.
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

// Receiver is the webhook. It is safe for concurrent use.
type Receiver struct {
	acceptor    Acceptor
	logger      *slog.Logger
	maxBody     int64
	instruments *instruments
	// places are taken by the requests that are worked on.
	places chan struct{}
	// unable is that notifications have no answer, which Alertmanager's attempts
	// would fill the log with.
	unable *trouble.State
	// strangers is that notifications carry no credential that is known.
	strangers *trouble.State
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
func New(o Options) *Receiver {
	if o.MaxBody <= 0 {
		o.MaxBody = DefaultMaxBody
	}
	return &Receiver{
		acceptor: o.Acceptor, logger: o.Logger, maxBody: o.MaxBody,
		unable: trouble.New(o.Logger, slog.LevelWarn, refusedText, "webhook answers notifications again"),
		strangers: trouble.New(o.Logger, slog.LevelWarn,
			"notifications are refused: they carry no credential that is known here, and Alertmanager does not try again", "notifications carry a known credential again"),
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

// Refused takes note of a notification that did not get this far, for want of a
// credential. Nobody but the sender is told, and Alertmanager takes it for final.
func (h *Receiver) Refused(r *http.Request, status int) {
	h.instruments.requests.WithLabelValues(strconv.Itoa(status)).Inc()
	h.strangers.Set(strconv.Itoa(status), "status", status, "remote", r.RemoteAddr)
}

// ServeHTTP answers one notification.
func (h *Receiver) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	h.strangers.Set("")
	began := time.Now()
	status := http.StatusOK
	reply, refused := h.answer(w, r)
	if refused != nil {
		status = refused.status
		h.refuse(w, r, refused)
	} else {
		handler.WriteJSON(w, status, "application/json", reply)
	}
	h.instruments.requests.WithLabelValues(strconv.Itoa(status)).Inc()
	h.instruments.duration.Observe(time.Since(began).Seconds())
}

func (h *Receiver) answer(w http.ResponseWriter, r *http.Request) (*Reply, *refusal) {
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
	return h.askAll(ctx, m)
}

// read takes the body in. A sender that stalls must not keep its place.
func (h *Receiver) read(ctx context.Context, w http.ResponseWriter, r *http.Request) ([]byte, *refusal) {
	if deadline, ok := ctx.Deadline(); ok {
		// A connection that has no deadlines is one in a test.
		_ = http.NewResponseController(w).SetReadDeadline(deadline)
	}
	body, err := handler.ReadBody(w, r, h.maxBody)
	if err == nil {
		return body, nil
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

func (h *Receiver) refuse(w http.ResponseWriter, r *http.Request, f *refusal) {
	h.log(r.Context(), f)
	if f.status == http.StatusServiceUnavailable {
		w.Header().Set("Retry-After", strconv.Itoa(retryAfter))
	}
	handler.Refuse(w, f.status, f.detail)
}

const refusedText = "webhook refused a notification"

// log tells every refusal but those for want of an answer, which are one line
// until there is one again. A sender that has gone says nothing about us.
func (h *Receiver) log(ctx context.Context, f *refusal) {
	args := []any{"status", f.status, "detail", f.detail}
	if f.cause != nil {
		args = append(args, "err", f.cause)
	}
	level := slog.LevelWarn
	if f.status == http.StatusServiceUnavailable {
		gone := errors.Is(ctx.Err(), context.Canceled)
		if !gone && h.unable.Set("unable", args...) {
			return
		}
		level = slog.LevelDebug
	}
	h.logger.Log(ctx, level, refusedText, args...)
}

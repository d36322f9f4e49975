// Package promapi serves the reading part of Prometheus' HTTP API, so that curl
// and Grafana can ask an embedded Prometheus without another server beside it:
// /api/v1/query, query_range, series, labels and label/NAME/values. Parameters,
// replies and errors are those of Prometheus 3.
package promapi

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
	"strings"
	"time"

	"github.com/prometheus/prometheus/promql"
	"github.com/prometheus/prometheus/storage"

	"github.com/zeta-scaler/zeta-scaler/web/handler"
)

// Prefix is in front of all paths.
const Prefix = "/api/v1/"

const (
	// MaxSamples is how many samples a query may hold at once, 16 bytes each.
	MaxSamples = 1_000_000
	// Patience is how long a request may take; a client may only shorten it.
	Patience = 30 * time.Second
)

const (
	// concurrency is how many requests are answered at once; Prometheus' own
	// default is 20, but here the rules have to be evaluated, too.
	concurrency = 4
	// maxBody is how long a form may be, in bytes.
	maxBody = 1 << 20
	// maxPoints is how many points a series of query_range may have.
	maxPoints = 11_000
	// maxSeries is how many series or names a reply lists at most.
	maxSeries = 10_000
)

// Engine answers expressions.
type Engine interface {
	// Query prepares an expression for an instant (step 0: at start) or a range.
	// The caller closes the query.
	Query(ctx context.Context, expr string, start, end time.Time, step time.Duration) (promql.Query, error)
	// Querier reads series.
	Querier(mint, maxt int64) (storage.Querier, error)
}

// Options are what the API is made of; Engine is required.
type Options struct {
	Engine Engine
	// Version is what /api/v1/status/buildinfo says, such as "3.5.0": Grafana goes
	// by it.
	Version string
	Logger  *slog.Logger
	// Now is the time of a query that names none; nil is time.Now.
	Now func() time.Time
}

type server struct {
	Options
	places chan struct{}
}

// New returns the handler of everything below Prefix.
func New(o Options) http.Handler {
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	s := &server{Options: o, places: make(chan struct{}, concurrency)}
	mux := http.NewServeMux()
	serve := func(path string, h func(context.Context, *http.Request) (reply, error), methods ...string) {
		for _, method := range methods {
			mux.Handle(method+" "+Prefix+path, s.answer(h))
		}
		allow := strings.Join(append(methods, http.MethodHead, http.MethodOptions), ", ")
		mux.HandleFunc(http.MethodOptions+" "+Prefix+path, func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Allow", allow)
			w.WriteHeader(http.StatusNoContent)
		})
	}
	serve("query", s.query, http.MethodGet, http.MethodPost)
	serve("query_range", s.queryRange, http.MethodGet, http.MethodPost)
	serve("series", s.series, http.MethodGet, http.MethodPost)
	serve("labels", s.labels, http.MethodGet, http.MethodPost)
	serve("label/{name}/values", s.values, http.MethodGet)
	serve("status/buildinfo", s.buildinfo, http.MethodGet)
	serve("metadata", s.metadata, http.MethodGet)
	mux.HandleFunc("/", func(w http.ResponseWriter, _ *http.Request) {
		write(w, http.StatusNotFound, failure{"error", "not_found", "the embedded Prometheus serves query, query_range, series, labels and label/NAME/values"})
	})
	return mux
}

// reply is what a handler has found.
type reply struct {
	data     any
	warnings []string
	infos    []string
}

// The replies as Prometheus writes them.
type (
	success struct {
		Status   string   `json:"status"`
		Data     any      `json:"data"`
		Warnings []string `json:"warnings,omitempty"`
		Infos    []string `json:"infos,omitempty"`
	}
	failure struct {
		Status    string `json:"status"`
		ErrorType string `json:"errorType"`
		Error     string `json:"error"`
	}
	result struct {
		ResultType string `json:"resultType"`
		Result     any    `json:"result"`
	}
)

func write(w http.ResponseWriter, status int, body any) {
	handler.WriteJSON(w, status, "application/json", body)
}

// answer waits for a place, reads the form and writes what h finds.
func (s *server) answer(h func(context.Context, *http.Request) (reply, error)) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		r.Body = http.MaxBytesReader(w, r.Body, maxBody)
		if err := r.ParseForm(); err != nil {
			s.fail(w, badData("form: %v", err))
			return
		}
		limit, err := timeout(r)
		if err != nil {
			s.fail(w, err)
			return
		}
		ctx, cancel := context.WithTimeout(r.Context(), limit)
		defer cancel()
		select {
		case s.places <- struct{}{}:
			defer func() { <-s.places }()
		case <-ctx.Done():
			s.fail(w, &apiError{http.StatusServiceUnavailable, "unavailable", "too many queries at once; try again"})
			return
		}
		found, err := h(ctx, r)
		if err != nil {
			s.fail(w, err)
			return
		}
		write(w, http.StatusOK, success{"success", found.data, found.warnings, found.infos})
	})
}

// apiError is an error with Prometheus' word for it.
type apiError struct {
	status int
	kind   string
	text   string
}

// Error is the text alone.
func (e *apiError) Error() string { return e.text }

// fail answers with an error. What went wrong inside is logged, not shown.
func (s *server) fail(w http.ResponseWriter, err error) {
	var (
		known    *apiError
		timeout  promql.ErrQueryTimeout
		canceled promql.ErrQueryCanceled
		broken   promql.ErrStorage
	)
	switch {
	case errors.As(err, &known):
	case errors.As(err, &timeout), errors.Is(err, context.DeadlineExceeded):
		known = &apiError{http.StatusServiceUnavailable, "timeout", err.Error()}
	case errors.As(err, &canceled), errors.Is(err, context.Canceled):
		known = &apiError{499, "canceled", err.Error()} // nginx' number, as Prometheus has it
	case errors.As(err, &broken):
		s.Logger.Error("the embedded Prometheus cannot be read", "err", err)
		known = &apiError{http.StatusInternalServerError, "internal", handler.InternalDetail}
	default:
		known = &apiError{http.StatusUnprocessableEntity, "execution", err.Error()}
	}
	write(w, known.status, failure{"error", known.kind, known.text})
}

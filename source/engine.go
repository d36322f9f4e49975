package source

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/prometheus/promql"
	"github.com/prometheus/prometheus/promql/parser"
	"github.com/prometheus/prometheus/storage"
	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/trace/noop"

	"github.com/zeta-scaler/zeta-scaler/contact"
)

// Defaults of EngineOptions: those of a Prometheus server.
const (
	DefaultEngineTimeout = 2 * time.Minute
	DefaultMaxSamples    = 50_000_000
	DefaultLookbackDelta = 5 * time.Minute
	// DefaultSubqueryInterval is the step of a subquery that names none.
	DefaultSubqueryInterval = time.Minute
)

// EngineOptions tune an Engine; zero values take the defaults above.
type EngineOptions struct {
	// Timeout bounds one query.
	Timeout time.Duration
	// MaxSamples bounds the samples that one query holds in memory at once.
	MaxSamples int
	// LookbackDelta is how old the newest sample of a series may be.
	LookbackDelta time.Duration
	// SubqueryInterval is the step of a subquery without one, as in [5m:].
	SubqueryInterval time.Duration
	// Parser reads the expressions; nil takes PromQL without experiments.
	Parser     parser.Parser
	Logger     *slog.Logger
	Registerer prometheus.Registerer
}

// Engine evaluates PromQL in this process over any storage. It is safe for
// concurrent use.
type Engine struct {
	engine    *promql.Engine
	queryable storage.Queryable
	metrics   *queryMetrics
	contact   *contact.Log
}

// withoutSpans is for the whole process: the engine opens a span for every node of
// an expression, nobody collects any, and the library's own default makes one
// nevertheless, in case that somebody will.
var withoutSpans = sync.OnceFunc(func() { otel.SetTracerProvider(noop.NewTracerProvider()) })

// NewEngine returns an Engine that reads from q. From then on this process has no
// OpenTelemetry spans.
func NewEngine(opts EngineOptions, q storage.Queryable) (*Engine, error) {
	withoutSpans()
	m, err := newQueryMetrics(opts.Registerer)
	if err != nil {
		return nil, fmt.Errorf("registering query metrics: %w", err)
	}
	if opts.Parser == nil {
		opts.Parser = parser.NewParser(parser.Options{})
	}
	interval := cmp.Or(opts.SubqueryInterval, DefaultSubqueryInterval).Milliseconds()
	return &Engine{
		queryable: marked{q},
		metrics:   m,
		contact:   contact.New("embedded", "", nil),
		// Every field without a usable zero value is set: a zero time-out or
		// sample limit fails all queries, a missing interval function panics.
		engine: promql.NewEngine(promql.EngineOpts{
			Logger:                   opts.Logger,
			MaxSamples:               cmp.Or(opts.MaxSamples, DefaultMaxSamples),
			Timeout:                  cmp.Or(opts.Timeout, DefaultEngineTimeout),
			LookbackDelta:            cmp.Or(opts.LookbackDelta, DefaultLookbackDelta),
			NoStepSubqueryIntervalFn: func(int64) int64 { return interval },
			EnableAtModifier:         true,
			EnableNegativeOffset:     true,
			Parser:                   newParseOnce(opts.Parser),
		}),
	}, nil
}

// marked marks the failure to open a querier as one of the storage. The engine
// does so only for later failures.
type marked struct{ storage.Queryable }

// Querier opens the storage.
func (q marked) Querier(mint, maxt int64) (storage.Querier, error) {
	querier, err := q.Queryable.Querier(mint, maxt)
	if err != nil {
		return nil, promql.ErrStorage{Err: err}
	}
	return querier, nil
}

// Close ends the engine; queries afterwards fail.
func (e *Engine) Close() error { return e.engine.Close() }

// Contacts say how queries are answered.
func (e *Engine) Contacts() []contact.Status {
	s := e.contact.Status()
	s.InUse = true
	return []contact.Status{s}
}

// begin notes the outcome of a query: an error in the expression is an answer.
func (e *Engine) begin(kind string) func(error) {
	start, note := time.Now(), e.contact.Begin()
	return func(err error) {
		e.metrics.observe(kind, start, err)
		switch {
		case answered(err):
			note(nil)
		case reasonOf(err) != reasonCanceled:
			note(err)
		}
	}
}

// Instant evaluates expr at one instant.
func (e *Engine) Instant(ctx context.Context, expr string, at time.Time) (v Vector, err error) {
	defer func(end func(error)) { end(err) }(e.begin(kindInstant))
	q, err := e.engine.NewInstantQuery(ctx, e.queryable, nil, expr, at)
	if err != nil {
		return Vector{}, &QueryError{Type: badData, Message: err.Error()}
	}
	defer q.Close()
	res := q.Exec(ctx)
	if res.Err != nil {
		return Vector{}, engineError(res.Err)
	}
	v.Samples, err = instantSamples(res.Value)
	if err != nil {
		return Vector{}, err
	}
	v.Warnings, v.Infos = annotated(res, expr)
	return v, nil
}

// Range evaluates expr at every step of w.
func (e *Engine) Range(ctx context.Context, expr string, w Window) (m Matrix, err error) {
	defer func(end func(error)) { end(err) }(e.begin(kindRange))
	if err := w.check(); err != nil {
		return Matrix{}, err
	}
	q, err := e.engine.NewRangeQuery(ctx, e.queryable, nil, expr, w.Start, w.End, w.Step)
	if err != nil {
		return Matrix{}, &QueryError{Type: badData, Message: err.Error()}
	}
	defer q.Close()
	res := q.Exec(ctx)
	if res.Err != nil {
		return Matrix{}, engineError(res.Err)
	}
	m.Series, err = rangeSeries(res.Value)
	if err != nil {
		return Matrix{}, err
	}
	m.Warnings, m.Infos = annotated(res, expr)
	return m, nil
}

// Query prepares an expression for an instant (step 0: at start) or a range, for
// those who want the engine's own result. The caller closes it. An error says
// what is wrong with the expression.
func (e *Engine) Query(ctx context.Context, expr string, start, end time.Time, step time.Duration) (promql.Query, error) {
	if step == 0 {
		return e.engine.NewInstantQuery(ctx, e.queryable, nil, expr, start)
	}
	return e.engine.NewRangeQuery(ctx, e.queryable, nil, expr, start, end, step)
}

// Querier reads series, in Unix milliseconds.
func (e *Engine) Querier(mint, maxt int64) (storage.Querier, error) {
	return e.queryable.Querier(mint, maxt)
}

// check refuses windows that no source could answer.
func (w Window) check() error {
	switch {
	case w.Step < time.Millisecond:
		return &QueryError{Type: badData, Message: fmt.Sprintf("step %s is shorter than a millisecond", w.Step)}
	case w.Step%time.Millisecond != 0:
		return &QueryError{Type: badData, Message: fmt.Sprintf("step %s is not a whole number of milliseconds", w.Step)}
	case w.End.Before(w.Start):
		return &QueryError{Type: badData, Message: fmt.Sprintf("range ends at %s, before its start at %s",
			w.End.UTC().Format(time.RFC3339), w.Start.UTC().Format(time.RFC3339))}
	}
	return nil
}

// engineError tells answers from interruptions as the HTTP API does.
func engineError(err error) error {
	var (
		timeout promql.ErrQueryTimeout
		cancel  promql.ErrQueryCanceled
		store   promql.ErrStorage
	)
	switch {
	case errors.As(err, &timeout):
		return noAnswer(reasonTimeout, err)
	case errors.As(err, &cancel):
		return noAnswer(reasonCanceled, err)
	case errors.As(err, &store):
		return noAnswer(reasonStorage, err)
	case errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded):
		return interrupted(err)
	default:
		return &QueryError{Type: execution, Message: err.Error()}
	}
}

// instantSamples copies what outlives the query.
func instantSamples(value parser.Value) ([]Sample, error) {
	switch v := value.(type) {
	case promql.Scalar:
		return []Sample{{Value: v.V}}, nil
	case promql.Vector:
		samples := make([]Sample, len(v))
		for i, s := range v {
			if s.H != nil {
				return nil, notSamples("a histogram")
			}
			samples[i] = Sample{Labels: s.Metric, Value: s.F}
		}
		return samples, nil
	default:
		return nil, notSamples("a " + string(value.Type()))
	}
}

// rangeSeries copies the points, which the engine reuses for its next query.
func rangeSeries(value parser.Value) ([]Series, error) {
	matrix, ok := value.(promql.Matrix)
	if !ok {
		return nil, notSamples("a " + string(value.Type()))
	}
	series := make([]Series, len(matrix))
	for i, s := range matrix {
		if len(s.Histograms) > 0 {
			return nil, notSamples("a histogram")
		}
		points := make([]Point, len(s.Floats))
		for j, p := range s.Floats {
			points[j] = Point{T: p.T, V: p.F}
		}
		series[i] = Series{Labels: s.Metric, Points: points}
	}
	return series, nil
}

// maxAnnotations bounds warnings and infos of one answer, each.
const maxAnnotations = 10

func annotated(res *promql.Result, expr string) (warnings, infos []string) {
	if len(res.Warnings) == 0 {
		return nil, nil
	}
	warnings, infos = res.Warnings.AsStrings(expr, maxAnnotations, maxAnnotations)
	return orderedStrings(warnings), orderedStrings(infos)
}

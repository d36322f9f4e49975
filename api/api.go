// Package api serves what the service knows over HTTP: the REST API of
// openapi.yaml, the page for people, health, readiness and metrics. It also
// holds the client that the commands use.
//
// The document comes first: parameters, replies and routes are generated from
// it, and every reply is checked against it in tests. Credentials and TLS are
// not handled here: package web asks for them in front of it.
package api

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"github.com/labstack/echo/v4"
	"github.com/labstack/echo/v4/middleware"

	"github.com/zeta-scaler/zeta-scaler/evaluator"
	"github.com/zeta-scaler/zeta-scaler/jobs"
	"github.com/zeta-scaler/zeta-scaler/rules"
	"github.com/zeta-scaler/zeta-scaler/scaling"
	"github.com/zeta-scaler/zeta-scaler/source/promapi"
	"github.com/zeta-scaler/zeta-scaler/state"
	"github.com/zeta-scaler/zeta-scaler/trouble"
)

//go:generate go tool -modfile=../tools/go.mod oapi-codegen -config oapi.yaml openapi.yaml

const (
	// storeTimeout bounds what a request waits for the state store.
	storeTimeout = 10 * time.Second
	// compressFrom is the reply size in bytes below which gzip costs more than
	// it saves.
	compressFrom = 1024
)

// Board shows the newest evaluation of every scope.
type Board interface {
	// Evaluations returns all of them, sorted by scope key. The values are
	// shared and are not changed.
	Evaluations() []scaling.Evaluation
	// Evaluation returns that of one scope.
	Evaluation(key string) (scaling.Evaluation, bool)
	// Leader reports whether this replica decides.
	Leader() bool
	// Epoch is the epoch of the leader whose evaluations the board shows.
	Epoch() uint64
	// Published reports whether the leader has evaluated anything yet.
	Published() bool
	// Changes returns the keys of the scopes that are new or gone since a mark,
	// sorted, the next mark, and a channel that is closed when there is more.
	Changes(since uint64) (keys []string, mark uint64, more <-chan struct{})
}

// History reads recorded decisions, newest first; state.Store is one.
type History interface {
	History(ctx context.Context, f state.Filter) ([]state.Entry, error)
}

// Jobs passes jobs on to Zeta, and keeps what they were submitted with. Its errors
// are those of packages jobs and control.
type Jobs interface {
	// Submit passes a job on to a cluster, empty for the only one, and returns which.
	Submit(ctx context.Context, cluster string, s jobs.Submission) (in string, job jobs.Submitted, err error)
	// Kept lists the jobs whose configs are kept, newest first, and says how many
	// could not be read.
	Kept(ctx context.Context) (kept []jobs.Kept, unreadable int, err error)
}

// ErrFollower says that a replica does not lead. Alertmanager asks again then, and
// finds the leader; a person asks another one.
var ErrFollower = errors.New("this replica does not lead")

// Drains drains workers. Its errors are those of package drain, and ErrFollower.
type Drains interface {
	Plan(ctx context.Context, scope, worker string) (scaling.DrainPlan, error)
	Request(ctx context.Context, scope, worker, by, reason string) (scaling.Drain, error)
	Cancel(ctx context.Context, scope, by, reason string) (scaling.Drain, error)
}

// Options are what the API is made of. Board, History, Table, Ready and
// Metrics must be given.
type Options struct {
	Board   Board
	History History
	// Table is the decision table in order.
	Table []scaling.Row
	// Store has the executor's records and takes what operators set at run time.
	// Nil, there are no actions, and nothing can be paused or changed.
	Store state.Store
	// Settings are the static configuration, secrets masked; nil says that there
	// is none to show or change.
	Settings func() []Setting
	// Configured is what the configuration says of a scope, known or not. Nil is
	// the defaults for every scope.
	Configured func(scope string) Configured
	// CheckRuntime says why a scope's rule set cannot work with bounds that are
	// consistent in themselves; nil never does.
	CheckRuntime func(scope string, b scaling.Bounds) error
	// Queries are what a rule set asks for, by the names of a decision's inputs;
	// nothing for one that is not loaded. Nil knows none.
	Queries func(scaling.RuleSetRef) map[string]evaluator.Query
	// RuleSetOrigin says where a rule set was read from, empty for one that is not
	// loaded; nil knows none.
	RuleSetOrigin func(scaling.RuleSetRef) string
	// RuleSets are those that are loaded; nil shows none.
	RuleSets func() []*rules.RuleSet
	// PrometheusURL is where people can ask the same; nil or empty for nowhere. A
	// password in it is not shown.
	PrometheusURL func() string
	// Health is what is known about those that the service depends on; nil knows
	// nothing.
	Health func() Health
	// Past answers for past instants and periods; nil says that nobody can.
	Past Past
	// Webhook serves POST /webhook/alertmanager; nil says that this process has
	// no receiver.
	Webhook http.Handler
	// User says who makes a request, for the audit; nil knows nobody.
	User func(context.Context) string
	// Stopping is closed when the service stops, which ends the streams; nil
	// never is.
	Stopping <-chan struct{}
	// Drains drains workers; nil says that this process drains none.
	Drains Drains
	// Jobs passes jobs on to Zeta; nil says that this process knows no cluster.
	Jobs Jobs
	// Forward has the leader answer what only it knows; nil says that this process
	// is alone, or that there is no Store.
	Forward *Forward
	// Reload reads the configuration again, all or nothing; its error goes to
	// the caller. Nil says that there is nothing to reload.
	Reload func(context.Context) error
	// Ready returns nil once configuration and state store are open. Its error
	// goes to the caller.
	Ready func(context.Context) error
	// Metrics serves GET /metrics.
	Metrics http.Handler
	// Samples serves the reading part of Prometheus' API below promapi.Prefix; nil
	// says that there is no Prometheus inside.
	Samples http.Handler
	// Logger gets what the caller must not see of an internal error; nil
	// discards it.
	Logger *slog.Logger
	// Now is the clock by which ages are counted; nil is time.Now.
	Now func() time.Time
}

func (o *Options) prepare() error {
	var missing []error
	need := func(name string, given bool) {
		if !given {
			missing = append(missing, fmt.Errorf("option %s is missing", name))
		}
	}
	need("Board", o.Board != nil)
	need("History", o.History != nil)
	need("Table", len(o.Table) > 0)
	need("Ready", o.Ready != nil)
	need("Metrics", o.Metrics != nil)
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	return errors.Join(missing...)
}

// server implements the generated ServerInterface.
type server struct {
	Options
	page *page
	// controls are in Store.
	controls   *state.Table[state.ControlRecord]
	executions *state.Table[state.ExecutionRecord]
	drainings  *state.Table[state.DrainRecord]
	decisions  *state.Table[state.DecisionRecord]
	// badActions and badDrains are that records of theirs cannot be decoded.
	badActions, badDrains *trouble.State
	// leaders knows who leads; nil without Store.
	leaders *leaders
	// forwarder asks the leader, onlyLeader are the paths of what only it knows.
	forwarder  *forwarder
	onlyLeader map[string]bool
	// streams counts the open streams of events.
	streams atomic.Int64
}

var _ ServerInterface = (*server)(nil)

// New returns a handler for everything that the service serves over HTTP.
func New(o Options) (http.Handler, error) {
	if err := o.prepare(); err != nil {
		return nil, fmt.Errorf("building the API: %w", err)
	}
	p, err := newPage()
	if err != nil {
		return nil, fmt.Errorf("building the page: %w", err)
	}
	s := &server{
		Options: o, page: p, controls: state.Controls(o.Store), executions: state.Executions(o.Store, state.NoFence),
		drainings: state.Drains(o.Store, state.NoFence), decisions: state.Decisions(o.Store, state.NoFence), onlyLeader: map[string]bool{},
		badActions: trouble.New(o.Logger, slog.LevelWarn, "actions cannot be read", "all actions can be read again"),
		badDrains:  trouble.New(o.Logger, slog.LevelWarn, "drains cannot be read", "all drains can be read again"),
	}
	for _, r := range queryRoutes() {
		s.onlyLeader[r.Path] = r.ofLeader
	}
	s.leading()
	e := echo.New()
	e.IPExtractor = echo.ExtractIPDirect()
	e.HTTPErrorHandler = s.writeError
	e.Use(
		secure,
		s.forward,
		middleware.GzipWithConfig(middleware.GzipConfig{
			Skipper: skipGzip, Level: 1, MinLength: compressFrom,
		}),
		checkQuery(queryRoutes()),
		s.withKeys,
	)
	RegisterHandlers(headToo{e}, s)
	s.registerPages(headToo{e})
	headToo{e}.GET(staticPath, p.static)
	if o.Samples != nil {
		e.Any(promapi.Prefix+"*", echo.WrapHandler(o.Samples))
	}
	return e, nil
}

// headToo answers HEAD wherever there is a GET; net/http drops the body.
type headToo struct{ *echo.Echo }

func (r headToo) GET(path string, h echo.HandlerFunc, m ...echo.MiddlewareFunc) *echo.Route {
	r.HEAD(path, h, m...)
	return r.Echo.GET(path, h, m...)
}

// skipGzip leaves alone what has no body, streams, and the metrics handler,
// which negotiates by itself.
func skipGzip(c echo.Context) bool {
	r := c.Request()
	return r.Method == http.MethodHead || c.Path() == "/metrics" || c.Path() == eventsPath ||
		refusesGzip(r.Header.Get(echo.HeaderAcceptEncoding))
}

// refusesGzip reports whether a client names gzip only to say that it does not
// take it: `gzip;q=0` (RFC 9110, 12.4.2).
func refusesGzip(accepted string) bool {
	for coding := range strings.SplitSeq(accepted, ",") {
		name, weight, _ := strings.Cut(coding, ";")
		if !strings.EqualFold(strings.TrimSpace(name), "gzip") {
			continue
		}
		_, q, _ := strings.Cut(weight, "=")
		zero, err := strconv.ParseFloat(strings.TrimSpace(q), 64)
		return err == nil && zero == 0
	}
	return false
}

// secure sets the headers that keep a browser from doing anything with a reply
// but showing it. The page loosens the policy for its own stylesheet.
func secure(next echo.HandlerFunc) echo.HandlerFunc {
	return func(c echo.Context) error {
		h := c.Response().Header()
		h.Set(echo.HeaderContentSecurityPolicy, "default-src 'none'; frame-ancestors 'none'")
		h.Set(echo.HeaderXContentTypeOptions, "nosniff")
		h.Set(echo.HeaderReferrerPolicy, "no-referrer")
		h.Set(echo.HeaderCacheControl, "no-store")
		return next(c)
	}
}

// selected returns the evaluation of one scope, or all for an empty key.
func (s *server) selected(key string) ([]scaling.Evaluation, error) {
	if key == "" {
		return s.Board.Evaluations(), nil
	}
	ev, ok := s.Board.Evaluation(key)
	if !ok {
		return nil, s.noScope(key)
	}
	return []scaling.Evaluation{ev}, nil
}

// answer replies with what is found within some time.
func answer[T any](c echo.Context, within time.Duration, find func(context.Context) (T, error)) error {
	ctx, cancel := context.WithTimeout(c.Request().Context(), within)
	defer cancel()
	reply, err := find(ctx)
	if err != nil {
		return err
	}
	return c.JSON(http.StatusOK, reply)
}

// isChanging reports whether a request with this method may change something
// and therefore needs a credential. It errs on the safe side: every method
// that HTTP does not define as safe is one.
func isChanging(method string) bool {
	return !slices.Contains([]string{http.MethodGet, http.MethodHead, http.MethodOptions}, method)
}

package api

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log"
	"net/http"
	"net/http/httputil"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/labstack/echo/v4"

	"github.com/zeta-scaler/zeta-scaler/web/outgoing"
)

const (
	// forwardedBy names the replica that passes a request on. Whoever gets one never
	// passes it on again.
	forwardedBy = "X-Zeta-Scaler-Forwarded-By"
	// epochHeader is the epoch of the leader that answers such a request: what comes
	// without it comes from somebody else.
	epochHeader = "X-Zeta-Scaler-Epoch"
	// forwardTimeout is how long the leader may take until it begins to answer, and
	// then between two pieces; pastTimeout is that for what has to be computed first.
	forwardTimeout = 5 * time.Second
	pastTimeout    = storeTimeout + pastPatience
	// maxNotification is the largest of Alertmanager's notifications that is passed
	// on, in bytes.
	maxNotification = 8 << 20
	// silentStream is how long a stream of events may say nothing.
	silentStream = 3 * heartbeat
	// leaderError is the key of a request of which the leader was asked in vain.
	leaderError = "leader"
)

// Forward has the leader answer what only it knows, for replicas that do not
// lead.
type Forward struct {
	// Self is the name under which this process leads.
	Self string
	// Client asks the leader. It adds no credential and follows no redirect.
	Client *outgoing.Client
}

// forwarder passes requests on.
type forwarder struct {
	*leaders
	client *outgoing.Client
	quiet  *log.Logger
}

// leading prepares what is needed to know and to ask the leader.
func (s *server) leading() {
	if s.Store == nil {
		return
	}
	self := ""
	if s.Forward != nil {
		self = s.Forward.Self
	}
	s.leaders = newLeaders(s.Store, self, s.Now, s.Logger)
	if s.Forward != nil {
		s.forwarder = &forwarder{leaders: s.leaders, client: s.Forward.Client, quiet: log.New(io.Discard, "", 0)}
	}
}

// passedOn are the headers of a request that the leader gets, beside who asks.
func passedOn() []string {
	return []string{"Accept", "Accept-Encoding", "Authorization", "Content-Type", "If-None-Match", "Last-Event-Id"}
}

// forward is the way of what only the leader can answer: from a replica that does
// not lead, to the leader.
func (s *server) forward(next echo.HandlerFunc) echo.HandlerFunc {
	return func(c echo.Context) error {
		switch {
		case !s.ofLeader(c):
			return next(c)
		case s.Board.Leader():
			if forwarded(c) {
				c.Response().Header().Set(epochHeader, strconv.FormatUint(s.Board.Epoch(), 10))
			}
			return next(c)
		case forwarded(c):
			return &failure{Problem: problem(http.StatusServiceUnavailable, "this replica does not lead"), quiet: true}
		case s.forwarder == nil:
			return next(c)
		}
		why := s.ask(c)
		switch {
		case why == "":
			return nil
		case !ofReplicaToo(c):
			return &failure{Problem: problem(http.StatusServiceUnavailable, why), quiet: true}
		}
		c.Set(leaderError, why)
		return next(c)
	}
}

// ofReplicaToo reports whether a replica has something to say by itself, too,
// where the leader gives no answer.
func ofReplicaToo(c echo.Context) bool {
	switch c.Path() {
	case "/", "/autoscaler/status":
		return c.QueryParam("scope") == ""
	case "/rules", staticPath:
		return true
	}
	return false
}

// ofLeader reports whether only the leader can answer. A file of the page is
// asked of it if the page is of another version than this replica. Of what
// changes something it is Alertmanager's notification alone, which comes again if
// it is not taken, and may come more than once.
func (s *server) ofLeader(c echo.Context) bool {
	r := c.Request()
	if r.Method == http.MethodPost && c.Path() == WebhookPath {
		return s.Webhook != nil && r.ContentLength > 0 && r.ContentLength <= maxNotification
	}
	if r.Method != http.MethodGet && r.Method != http.MethodHead {
		return false
	}
	if c.Path() == staticPath {
		version := c.QueryParam("v")
		return version != "" && s.page.assets[c.Param("name")].digest != version
	}
	return s.onlyLeader[c.Path()]
}

// forwarded reports whether another replica passed a request on.
func forwarded(c echo.Context) bool { return c.Request().Header.Get(forwardedBy) != "" }

// leaderProblem is why the leader could not be asked for what a request is about,
// empty if it was not tried.
func leaderProblem(c echo.Context) string {
	text, _ := c.Get(leaderError).(string)
	return text
}

// errRole ends a stream of the leader's events.
var errRole = errors.New("this replica leads now, or stops; ask again")

// ask lets the leader answer. If it gives no answer nothing is written yet, and
// why says to people what is the matter.
func (s *server) ask(c echo.Context) (why string) {
	ctx, cancel := context.WithCancelCause(c.Request().Context())
	defer cancel(nil)
	if c.Path() == eventsPath {
		leave, err := s.enterStream()
		if err != nil {
			return err.Error()
		}
		defer leave()
		s.endsWithRole(ctx, cancel)
	}
	target, record, why := s.forwarder.target(ctx)
	if why != "" {
		return why
	}
	e := &exchange{
		ctx: ctx, cancel: cancel, patience: forwardTimeout, epoch: record.Epoch, w: &pieces{ResponseWriter: c.Response()},
		answered: func() { s.forwarder.note(&record, nil) },
	}
	if q := c.QueryParams(); q.Has("at") || q.Has("id") || c.Path() == signalsPath {
		e.patience = pastTimeout
	} else if c.Path() == WebhookPath {
		e.patience = storeTimeout
	}
	e.pass(s.forwarder, target, c.Request())
	switch {
	case e.err == nil, c.Request().Context().Err() != nil:
		return "" // or whoever asked is gone
	case errors.Is(e.err, errRole):
		return errRole.Error()
	}
	return s.forwarder.note(&record, e.err)
}

// endsWithRole ends a stream of the leader's events when this replica leads
// itself, or stops: whoever reads it asks again.
func (s *server) endsWithRole(ctx context.Context, cancel context.CancelCauseFunc) {
	_, _, more := s.Board.Changes(0)
	go func() {
		select {
		case <-ctx.Done():
		case <-more:
		case <-s.Stopping:
		}
		cancel(errRole)
	}()
}

// exchange is one request that is passed on.
type exchange struct {
	w        *pieces
	ctx      context.Context //nolint:containedctx // of this one request
	cancel   context.CancelCauseFunc
	patience time.Duration
	epoch    uint64
	// answered is called when the leader begins to answer.
	answered func()
	err      error
}

// pass asks the leader and writes its answer, or sets err and writes nothing.
func (e *exchange) pass(f *forwarder, target *url.URL, r *http.Request) {
	begins := time.AfterFunc(e.patience, func() { e.cancel(noAnswer(e.patience)) })
	defer begins.Stop()
	proxy := httputil.ReverseProxy{
		Transport: asked{f.client}, ErrorLog: f.quiet,
		Rewrite: func(p *httputil.ProxyRequest) { rewrite(p, target, f.self) },
		ModifyResponse: func(resp *http.Response) error {
			begins.Stop()
			return e.take(resp)
		},
		ErrorHandler: func(_ http.ResponseWriter, _ *http.Request, err error) {
			if e.err = context.Cause(e.ctx); e.err == nil {
				e.err = err
			}
		},
	}
	proxy.ServeHTTP(e.w, r.WithContext(e.ctx))
}

func noAnswer(patience time.Duration) error {
	return fmt.Errorf("no answer within %s: %w", patience, context.DeadlineExceeded)
}

// rewrite makes the request that the leader gets.
func rewrite(p *httputil.ProxyRequest, target *url.URL, self string) {
	header := http.Header{}
	for _, name := range passedOn() {
		if values := p.In.Header[name]; len(values) > 0 {
			header[name] = values
		}
	}
	p.Out.Header = header
	p.SetURL(target)
	p.SetXForwarded()
	p.Out.Header.Set(forwardedBy, self)
	p.Out.URL.RawQuery = p.In.URL.RawQuery // the leader says what is wrong with it
	p.Out.RequestURI = ""
	if p.In.Method != http.MethodPost {
		p.Out.Body, p.Out.ContentLength, p.Out.TransferEncoding = nil, 0, nil
	}
}

// take looks at what answers before anything of it is passed on.
func (e *exchange) take(resp *http.Response) error {
	epoch, err := strconv.ParseUint(resp.Header.Get(epochHeader), 10, 64)
	switch {
	case resp.StatusCode == http.StatusUnauthorized, resp.StatusCode == http.StatusForbidden:
		return fmt.Errorf("%s: it has other users or tokens than this replica", outgoing.StatusText(resp.StatusCode))
	case err != nil || epoch == 0:
		return fmt.Errorf("%s, which is no answer of a leader", outgoing.StatusText(resp.StatusCode))
	case epoch < e.epoch:
		return errors.New("an earlier leader answered")
	}
	resp.Header.Del(epochHeader)
	for name := range resp.Header {
		e.w.Header().Del(name) // the leader has set its own
	}
	body := &heard{ReadCloser: http.MaxBytesReader(nil, resp.Body, maxReply), patience: e.patience, cancel: e.cancel}
	if strings.HasPrefix(resp.Header.Get("Content-Type"), "text/event-stream") {
		body.ReadCloser, body.patience, e.w.stream = resp.Body, silentStream, true
		// The server stops reading after a while, which would end the request. A
		// connection without deadlines is one in a test.
		_ = http.NewResponseController(e.w).SetReadDeadline(time.Time{})
	}
	resp.Body = body
	e.answered()
	return nil
}

// heard is a body of which each piece has to come within some time.
type heard struct {
	io.ReadCloser
	patience time.Duration
	cancel   context.CancelCauseFunc
}

// Read reads the next piece.
func (h *heard) Read(p []byte) (int, error) {
	waits := time.AfterFunc(h.patience, func() { h.cancel(noAnswer(h.patience)) })
	defer waits.Stop()
	return h.ReadCloser.Read(p)
}

// pieces gives each piece of a stream a deadline of its own, as that of the server
// is for whole replies.
type pieces struct {
	http.ResponseWriter
	stream bool
}

// Write writes a piece.
func (w *pieces) Write(p []byte) (int, error) {
	if w.stream {
		_ = http.NewResponseController(w.ResponseWriter).SetWriteDeadline(time.Now().Add(streamWrite))
	}
	return w.ResponseWriter.Write(p)
}

// Unwrap lets http.ResponseController reach flushing and deadlines.
func (w *pieces) Unwrap() http.ResponseWriter { return w.ResponseWriter }

// asked lets a client that knows what must not stand in errors send a request.
type asked struct{ *outgoing.Client }

// RoundTrip implements http.RoundTripper.
func (a asked) RoundTrip(r *http.Request) (*http.Response, error) {
	reply, err := a.Do(r)
	if err != nil {
		return nil, err
	}
	return reply.Response, nil
}

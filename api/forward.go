package api

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log"
	"maps"
	"net/http"
	"net/http/httputil"
	"net/url"
	"strconv"
	"strings"
	"sync/atomic"
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
	// maxPassed is how large address and headers may be, in bytes: the leader takes
	// no more than this replica does, and gets some beside them.
	maxPassed = 48 << 10
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
	// whole has a place for each notification that is read before it is passed on.
	whole chan struct{}
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
		s.forwarder = &forwarder{leaders: s.leaders, client: s.Forward.Client, quiet: log.New(io.Discard, "", 0), whole: make(chan struct{}, maxWhole)}
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
		case size(c.Request()) > maxPassed:
			return refuse(http.StatusRequestHeaderFieldsTooLarge, "address and headers are too large to be passed on to the leader")
		}
		if withoutLength(c.Request()) {
			return s.passWhole(c, next)
		}
		return s.askFor(c, next)
	}
}

// askFor asks the leader; without an answer of its it says why, or lets this replica
// say what it knows by itself.
func (s *server) askFor(c echo.Context, next echo.HandlerFunc) error {
	why := s.ask(c)
	switch {
	case why == "":
		return nil
	case !ofReplicaToo(c), c.Request().Context().Err() != nil: // for who is gone nothing more is read
		return &failure{Problem: problem(http.StatusServiceUnavailable, why), quiet: true}
	}
	c.Set(leaderError, why)
	return next(c)
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
		return s.Webhook != nil && r.ContentLength != 0 && r.ContentLength <= maxNotification
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
			return asFailure(err, c).Detail
		}
		defer leave()
		s.endsWithRole(ctx, cancel)
	}
	target, record, why := s.forwarder.target(ctx)
	if why != "" {
		return why
	}
	e := &exchange{
		ctx: ctx, cancel: cancel, patience: forwardTimeout, epoch: record.Epoch, began: s.Now(),
		w: &pieces{ResponseWriter: c.Response(), header: http.Header{}}, sent: &upload{ReadCloser: c.Request().Body},
	}
	e.answered = func() { s.forwarder.note(&record, e.began, nil, true) }
	if q := c.QueryParams(); q.Has("at") || q.Has("id") || c.Path() == signalsPath {
		e.patience = pastTimeout
	} else if c.Path() == WebhookPath {
		e.patience = storeTimeout
	}
	e.pass(s.forwarder, target, c.Request())
	switch {
	case e.err == nil:
		return ""
	case c.Request().Context().Err() != nil:
		return "The request was given up before the leader answered." // which is nobody's fault
	case errors.Is(e.err, errRole):
		return errRole.Error()
	case e.sent.unfinished.Load():
		return fmt.Sprintf("What was sent did not come whole, so that the leader could not be asked (%s).", e.err)
	}
	return s.forwarder.note(&record, e.began, e.err, e.spoken)
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
	began    time.Time
	// sent is the body of the request.
	sent *upload
	// answered is called when the leader begins to answer; spoken says that
	// somebody did, be it the leader or not.
	answered func()
	spoken   bool
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
			e.spoken = true
			return e.take(resp)
		},
		ErrorHandler: func(_ http.ResponseWriter, _ *http.Request, err error) {
			if e.err = context.Cause(e.ctx); e.err == nil {
				e.err = err
			}
		},
	}
	in := r.WithContext(e.ctx)
	in.Header, in.Body = passed(r.Header), e.sent
	proxy.ServeHTTP(e.w, in)
}

// passed are the headers that the leader gets. The proxy itself sees no others: it
// fails on some, which would be taken for the leader's silence.
func passed(from http.Header) http.Header {
	to := http.Header{}
	for _, name := range passedOn() {
		if values := from[name]; len(values) > 0 {
			to[name] = values
		}
	}
	return to
}

func noAnswer(patience time.Duration) error {
	return fmt.Errorf("no answer within %s: %w", patience, context.DeadlineExceeded)
}

// size is about how many bytes of a request go on to the leader before its body.
func size(r *http.Request) int {
	n := len(r.RequestURI) + 2*len(r.Host) // its name goes along in a header
	for name, values := range passed(r.Header) {
		for _, v := range values {
			n += len(name) + len(v)
		}
	}
	return n
}

// rewrite makes the request that the leader gets.
func rewrite(p *httputil.ProxyRequest, target *url.URL, self string) {
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
	case resp.StatusCode == http.StatusServiceUnavailable && err != nil:
		return fmt.Errorf("%s, which is no answer of a leader: it leads no longer, or has too much to do", outgoing.StatusText(resp.StatusCode))
	case err != nil || epoch == 0:
		return fmt.Errorf("%s, which is no answer of a leader", outgoing.StatusText(resp.StatusCode))
	case epoch < e.epoch:
		return errors.New("an earlier leader answered")
	}
	resp.Header.Del(epochHeader)
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

// upload is a body on its way to the leader.
type upload struct {
	io.ReadCloser
	// unfinished is true while more of it is waited for, and once it has failed:
	// then it is its sender's that nobody answers.
	unfinished atomic.Bool
}

// Read reads the next piece.
func (u *upload) Read(p []byte) (int, error) {
	u.unfinished.Store(true)
	n, err := u.ReadCloser.Read(p)
	u.unfinished.Store(err != nil && !errors.Is(err, io.EOF))
	return n, err
}

// pieces writes the leader's answer: its headers in place of ours that have the
// same names, nothing of what came before it, and each piece of a stream with a
// deadline of its own, as that of the server is for whole replies.
type pieces struct {
	http.ResponseWriter
	// header are those of the answer, until it begins.
	header http.Header
	stream bool
}

// Header are the headers of the answer.
func (w *pieces) Header() http.Header { return w.header }

// WriteHeader begins the answer. An informational one, of a proxy in front of the
// leader, begins nothing.
func (w *pieces) WriteHeader(status int) {
	if status < http.StatusOK {
		return
	}
	maps.Copy(w.ResponseWriter.Header(), w.header)
	w.ResponseWriter.WriteHeader(status)
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

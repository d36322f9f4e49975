package web

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"runtime/debug"
	"slices"
	"strings"
	"time"

	"golang.org/x/net/netutil"
)

// Limits of every server. They are far above what people and Prometheus need.
const (
	// maxBody leaves room for the largest notification of an Alertmanager; a
	// handler that expects less bounds its bodies itself.
	maxBody        = 8 << 20
	maxHeader      = 64 << 10
	maxConnections = 512
	// refusedTimeout is how long the body of a request that is refused may take.
	// Reading it lets the sender see the answer; one that stalls must not keep a
	// connection.
	refusedTimeout = 2 * time.Second

	headerTimeout = 10 * time.Second
	readTimeout   = 30 * time.Second
	writeTimeout  = 2 * time.Minute
	idleTimeout   = 2 * time.Minute
	stopTimeout   = 5 * time.Second
)

// reloadPath is the one changing call that a flag can open on loopback.
const reloadPath = "/-/reload"

// Options say how a handler is served.
type Options struct {
	// ListenAddress is host:port; port 0 takes a free one.
	ListenAddress string
	// ConfigFile has TLS and basic_auth_users; empty for neither. Certificates
	// and users are read again when they change, other changes need a restart.
	ConfigFile string
	// BearerTokensFile has one token per line and is read again at each use;
	// empty for none.
	BearerTokensFile string
	// OpenReads lets requests that change nothing pass without a credential.
	OpenReads bool
	// EnableLifecycle lets POST /-/reload pass without one, provided that the
	// listener is on a loopback address.
	EnableLifecycle bool
	// Logger gets the address, requests at debug, and what the caller of a failed
	// request must not see; nil discards it.
	Logger *slog.Logger
}

// Server serves one handler.
type Server struct {
	o        Options
	file     *fileConfig
	auth     *authenticator
	listener net.Listener
}

// Listen reads the files, checks that the options make sense together and
// opens the listener, so that a wrong one is known before anything else runs.
func Listen(ctx context.Context, o Options) (*Server, error) {
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	file, err := readFile(o.ConfigFile)
	if err != nil {
		return nil, err
	}
	auth, err := newAuthenticator(o, file.Users)
	if err != nil {
		return nil, err
	}
	if !o.OpenReads && !auth.possible() {
		return nil, errors.New("web.open_reads is false, but there is no credential to read with: give basic_auth_users in web.config_file, or web.bearer_tokens_file")
	}
	var lc net.ListenConfig
	l, err := lc.Listen(ctx, "tcp", o.ListenAddress)
	if err != nil {
		return nil, fmt.Errorf("listening on %s: %w", o.ListenAddress, err)
	}
	if o.EnableLifecycle && !loopback(l.Addr()) {
		return nil, errors.Join(
			fmt.Errorf("web.enable-lifecycle opens /-/reload without a credential and is only allowed on a loopback address, not on %s", l.Addr()),
			l.Close())
	}
	return &Server{o: o, file: file, auth: auth, listener: netutil.LimitListener(l, maxConnections)}, nil
}

func loopback(a net.Addr) bool {
	tcp, ok := a.(*net.TCPAddr)
	return ok && tcp.IP.IsLoopback()
}

// Addr is the address that was opened.
func (s *Server) Addr() net.Addr { return s.listener.Addr() }

// Serve answers until ctx ends, then lets running requests finish for some
// seconds.
func (s *Server) Serve(ctx context.Context, h http.Handler) error {
	srv := &http.Server{
		Handler:           s.Protect(h),
		ReadHeaderTimeout: headerTimeout, ReadTimeout: readTimeout, WriteTimeout: writeTimeout, IdleTimeout: idleTimeout,
		MaxHeaderBytes: maxHeader,
		ErrorLog:       slog.NewLogLogger(s.o.Logger.Handler(), slog.LevelDebug),
		BaseContext:    func(net.Listener) context.Context { return context.WithoutCancel(ctx) },
	}
	done := make(chan error, 1)
	go func() { done <- s.serve(srv) }()
	s.o.Logger.Info("listening", "address", s.Addr().String(), "tls", s.file.TLS != nil)
	select {
	case err := <-done:
		return fmt.Errorf("serving on %s: %w", s.Addr(), err)
	case <-ctx.Done():
	}
	stop, cancel := context.WithTimeout(context.WithoutCancel(ctx), stopTimeout)
	defer cancel()
	if err := srv.Shutdown(stop); err != nil {
		// Requests that are still running then are cut off.
		return errors.Join(ignoreDeadline(err), srv.Close())
	}
	return nil
}

func ignoreDeadline(err error) error {
	if errors.Is(err, context.DeadlineExceeded) {
		return nil
	}
	return err
}

func (s *Server) serve(srv *http.Server) error {
	if s.file.TLS == nil {
		return srv.Serve(s.listener)
	}
	srv.TLSConfig = s.file.TLS.server(s.file.HTTP.protocols(), s.o.Logger)
	if !s.file.HTTP.http2() {
		var p http.Protocols
		p.SetHTTP1(true)
		srv.Protocols = &p
	}
	return srv.ServeTLS(s.listener, "", "")
}

// Protect puts the checks in front of a handler.
func (s *Server) Protect(h http.Handler) http.Handler {
	crossOrigin := http.NewCrossOriginProtection()
	crossOrigin.SetDenyHandler(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		deny(w, http.StatusForbidden, "a page of another origin may not change anything here")
	}))
	checked := crossOrigin.Handler(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		user, status, detail := s.refuse(r)
		if status != 0 {
			if s.o.OpenReads {
				status, detail = orImpossible(h, w, r, status, detail)
			}
			if status == http.StatusUnauthorized {
				w.Header().Set("WWW-Authenticate", `Basic realm="zeta-scaler", charset="UTF-8"`)
			}
			deny(w, status, detail)
			return
		}
		r.Body = http.MaxBytesReader(w, r.Body, maxBody)
		h.ServeHTTP(w, r.WithContext(withUser(r.Context(), user)))
	}))
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		rec, began := &recorder{ResponseWriter: w}, time.Now()
		defer s.log(r, rec, began)
		defer s.recover(rec, r)
		for name, value := range s.file.HTTP.Headers {
			w.Header().Set(name, value)
		}
		checked.ServeHTTP(rec, r)
	})
}

// recorder notes what a handler answered.
type recorder struct {
	http.ResponseWriter
	status int // 0: nothing was written
}

// WriteHeader notes the status that counts; informational ones do not.
func (r *recorder) WriteHeader(status int) {
	if r.status == 0 && status >= http.StatusOK {
		r.status = status
	}
	r.ResponseWriter.WriteHeader(status)
}

// Write begins an answer with status 200.
func (r *recorder) Write(b []byte) (int, error) {
	if r.status == 0 {
		r.status = http.StatusOK
	}
	return r.ResponseWriter.Write(b)
}

// Unwrap lets http.ResponseController reach flushing and deadlines.
func (r *recorder) Unwrap() http.ResponseWriter { return r.ResponseWriter }

// log says at debug what was asked and answered. The query is left out: people
// put secrets into it.
func (s *Server) log(r *http.Request, rec *recorder, began time.Time) {
	s.o.Logger.DebugContext(r.Context(), "request", "method", r.Method, "path", r.URL.Path,
		"status", cmp.Or(rec.status, http.StatusOK), "duration", time.Since(began), "remote", r.RemoteAddr)
}

// refuse decides whether a request may pass; a status of 0 lets it. The user is
// known where a credential was asked for.
func (s *Server) refuse(r *http.Request) (user string, status int, detail string) {
	changing := r.Method != http.MethodGet && r.Method != http.MethodHead && r.Method != http.MethodOptions
	switch {
	case r.URL.Path == "/-/healthy" || r.URL.Path == "/-/ready":
		return "", 0, "" // probes have no credential, and there is nothing to learn
	case !changing && s.o.OpenReads:
		return "", 0, ""
	case s.o.EnableLifecycle && r.URL.Path == reloadPath:
		return "", 0, ""
	case !s.auth.possible():
		return "", http.StatusForbidden, "this call needs a credential, and none is configured: give basic_auth_users in web.config_file, or web.bearer_tokens_file"
	}
	user, ok, err := s.auth.knows(r)
	switch {
	case err != nil:
		s.o.Logger.Error("credentials cannot be checked", "err", err)
		return "", http.StatusInternalServerError, "credentials cannot be checked; the log says why"
	case !ok:
		return "", http.StatusUnauthorized, "a valid credential is needed: basic or bearer"
	}
	return user, 0, ""
}

// orImpossible is the answer to a request that may not pass. Where no credential
// would help, because there is no such path or the path does not take the method,
// it says so, or people would set up one in vain. OPTIONS tells, and is a read.
func orImpossible(h http.Handler, w http.ResponseWriter, r *http.Request, status int, detail string) (int, string) {
	ask := r.Clone(r.Context())
	ask.Method, ask.Body, ask.ContentLength = http.MethodOptions, http.NoBody, 0
	told := &recorder{ResponseWriter: nowhere{}}
	h.ServeHTTP(told, ask)
	allow := told.Header().Get("Allow")
	switch {
	case told.status == http.StatusNotFound:
		return http.StatusNotFound, "there is nothing at this path"
	case allow != "" && !slices.Contains(strings.Split(allow, ", "), r.Method):
		w.Header().Set("Allow", allow)
		return http.StatusMethodNotAllowed, "this method is not possible here; allowed: " + allow
	}
	return status, detail
}

// nowhere is a response that nobody reads but for its headers.
type nowhere http.Header

// Header are the headers.
func (n nowhere) Header() http.Header { return http.Header(n) }

// WriteHeader does nothing.
func (nowhere) WriteHeader(int) {}

// Write does nothing.
func (nowhere) Write(b []byte) (int, error) { return len(b), nil }

// recover turns a panic of a handler into a 500 and a line in the log. An
// answer that has begun is cut off, so that nobody takes it for whole.
func (s *Server) recover(w *recorder, r *http.Request) {
	v := recover()
	if v == nil {
		return
	}
	if err, ok := v.(error); ok && errors.Is(err, http.ErrAbortHandler) {
		panic(v)
	}
	s.o.Logger.Error("a handler panicked", "method", r.Method, "path", r.URL.Path, "panic", fmt.Sprint(v), "stack", string(debug.Stack()))
	if w.status != 0 {
		panic(http.ErrAbortHandler)
	}
	problem(w, http.StatusInternalServerError, "internal error; the log says more")
}

// deny answers a request whose body nobody has read.
func deny(w http.ResponseWriter, status int, detail string) {
	// A connection that has no deadlines is one in a test.
	_ = http.NewResponseController(w).SetReadDeadline(time.Now().Add(refusedTimeout))
	problem(w, status, detail)
}

// problem writes an error as RFC 9457 has it, like the API's own.
func problem(w http.ResponseWriter, status int, detail string) {
	w.Header().Set("Content-Type", "application/problem+json")
	w.Header().Set("X-Content-Type-Options", "nosniff")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(map[string]any{ // the client may be gone
		"type": "about:blank", "title": http.StatusText(status), "status": status, "detail": detail,
	})
}

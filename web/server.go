package web

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/zeta-scaler/zeta-scaler/web/handler"
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
	// Hosts are names by which the server is reached without a credential, beside
	// addresses, names of the machine and names that no public domain has; "*." at
	// the beginning stands for all names below, "*" is every name.
	Hosts []string
	// EnableLifecycle lets POST /-/reload pass without one, provided that the
	// listener is on a loopback address.
	EnableLifecycle bool
	// OwnBounds says that the handler bounds by itself how many requests without a
	// credential it answers at once, and what they cost.
	OwnBounds bool
	// Logger gets the address, requests at debug, and what the caller of a failed
	// request must not see; nil discards it.
	Logger *slog.Logger
}

// Server serves one handler.
type Server struct {
	o        Options
	file     *fileConfig
	auth     *authenticator
	hosts    hosts
	listener net.Listener
	// connections and readers bound what everybody may take.
	connections *connections
	readers     *readers
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
		return nil, fmt.Errorf("listening on %s: %w%s", o.ListenAddress, err, listenHint(err))
	}
	if o.EnableLifecycle && !loopback(l.Addr()) {
		return nil, errors.Join(
			fmt.Errorf("web.enable-lifecycle opens /-/reload without a credential and is only allowed on a loopback address, not on %s", l.Addr()),
			l.Close())
	}
	s := &Server{
		o: o, file: file, auth: auth, hosts: newHosts(o.Hosts, o.ListenAddress), listener: l,
		connections: newConnections(maxConnections), readers: newReaders(),
	}
	s.readers.unbounded = o.OwnBounds
	return s, nil
}

// listenHint says what to do about an address that cannot be listened on.
func listenHint(err error) string {
	_, unknown := errors.AsType[*net.DNSError](err)
	switch {
	case unknown:
		return "; this machine knows no such name: mend web.listen_address, or leave its host out"
	case errors.Is(err, syscall.EADDRINUSE):
		return "; another program has this port: stop it, or set another web.listen_address (--web.listen-address)"
	case errors.Is(err, syscall.EADDRNOTAVAIL):
		return "; this machine has no such address: mend web.listen_address, or leave its host out"
	case errors.Is(err, syscall.EACCES):
		return "; ports below 1024 need a right: set another web.listen_address"
	}
	return ""
}

func loopback(a net.Addr) bool {
	tcp, ok := a.(*net.TCPAddr)
	return ok && tcp.IP.IsLoopback()
}

// Addr is the address that was opened.
func (s *Server) Addr() net.Addr { return s.listener.Addr() }

// TLS reports whether it speaks TLS.
func (s *Server) TLS() bool { return s.file.TLS != nil }

// Serve answers until ctx ends, then lets running requests finish for some
// seconds.
func (s *Server) Serve(ctx context.Context, h http.Handler) error {
	srv := &http.Server{
		Handler:           s.protect(h),
		ReadHeaderTimeout: headerTimeout, ReadTimeout: readTimeout, WriteTimeout: writeTimeout, IdleTimeout: idleTimeout,
		MaxHeaderBytes: maxHeader,
		ErrorLog:       slog.NewLogLogger(s.o.Logger.Handler(), slog.LevelDebug),
		BaseContext:    func(net.Listener) context.Context { return context.WithoutCancel(ctx) },
	}
	s.connections.hook(srv)
	done := make(chan error, 1)
	go func() { done <- s.serve(srv) }()
	s.o.Logger.Info("listening", "address", s.Addr().String(), "tls", s.TLS())
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
	if !s.TLS() {
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

// Told is a handler that is told of requests that did not get to it for want of
// a credential: their sender may be a program whose errors nobody sees.
type Told interface {
	Refused(r *http.Request, status int)
}

// protect puts the checks in front of a handler.
func (s *Server) protect(h http.Handler) http.Handler {
	crossOrigin := http.NewCrossOriginProtection()
	crossOrigin.SetDenyHandler(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		deny(w, http.StatusForbidden, "a page of another origin may not change anything here")
	}))
	checked := crossOrigin.Handler(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		user, status, detail := s.refuse(r)
		if status != 0 {
			if s.o.OpenReads && status != http.StatusMisdirectedRequest {
				status, detail = orImpossible(h, w, r, status, detail)
			}
			if told, ok := h.(Told); ok && (status == http.StatusUnauthorized || status == http.StatusForbidden) {
				told.Refused(r, status)
			}
			if status == http.StatusServiceUnavailable {
				w.Header().Set("Retry-After", "1")
			}
			if status == http.StatusUnauthorized {
				for _, scheme := range s.auth.schemes() {
					w.Header().Add("WWW-Authenticate", scheme)
				}
			}
			deny(w, status, detail)
			return
		}
		r.Body = http.MaxBytesReader(w, r.Body, maxBody)
		r = r.WithContext(withUser(r.Context(), user))
		if user != "" || free(r) {
			h.ServeHTTP(w, r)
			return
		}
		s.readers.serve(w, r, h, func() bool { return s.carriesCredential(r) })
	}))
	safe := s.connections.working(handler.WithErrorPages(handler.Recovered(checked, s.o.Logger)))
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		rec, began := &handler.Recorder{ResponseWriter: w}, time.Now()
		defer s.log(r, rec, began)
		for name, value := range s.file.HTTP.Headers {
			w.Header().Set(name, value)
		}
		safe.ServeHTTP(rec, r)
	})
}

// log says at debug what was asked and answered. The query is left out: people
// put secrets into it.
func (s *Server) log(r *http.Request, rec *handler.Recorder, began time.Time) {
	s.o.Logger.DebugContext(r.Context(), "request", "method", r.Method, "path", r.URL.Path,
		"status", cmp.Or(rec.Status, http.StatusOK), "duration", time.Since(began), "remote", r.RemoteAddr)
}

// refuse decides whether a request may pass; a status of 0 lets it. The user is
// known where a credential was asked for.
func (s *Server) refuse(r *http.Request) (user string, status int, detail string) {
	changing := r.Method != http.MethodGet && r.Method != http.MethodHead && r.Method != http.MethodOptions
	open := !changing && s.o.OpenReads || s.o.EnableLifecycle && r.URL.Path == reloadPath
	strange := open && !s.hosts.know(r.Host)
	const misdirected = "the name in the header Host is not known here: set web.external_url, or add it to web.allowed_hosts"
	switch {
	case r.URL.Path == "/-/healthy" || r.URL.Path == "/-/ready":
		return "", 0, "" // probes have no credential, and there is nothing to learn
	case open && !strange:
		return "", 0, ""
	case strange && r.Header.Get("Authorization") == "":
		return "", http.StatusMisdirectedRequest, misdirected
	case !s.auth.possible():
		return "", http.StatusForbidden, "this call needs a credential, and none is configured: give basic_auth_users in web.config_file, or web.bearer_tokens_file"
	}
	user, ok, err := s.auth.knows(r)
	switch {
	case errors.Is(err, errBusy):
		return "", http.StatusServiceUnavailable, errBusy.Error()
	case err != nil:
		s.o.Logger.Error("credentials cannot be checked", "err", err)
		return "", http.StatusInternalServerError, "credentials cannot be checked; the log says why"
	case !ok && strange:
		return "", http.StatusMisdirectedRequest, misdirected
	case !ok:
		return "", http.StatusUnauthorized, "a valid credential is needed: basic or bearer"
	}
	return user, 0, ""
}

// carriesCredential reports whether a request that needs no credential has a
// valid one all the same.
func (s *Server) carriesCredential(r *http.Request) bool {
	if r.Header.Get("Authorization") == "" || !s.auth.possible() {
		return false
	}
	_, ok, err := s.auth.knows(r)
	return ok && err == nil
}

// orImpossible is the answer to a request that may not pass. Where no credential
// would help, because there is no such path or the path does not take the method,
// it says so, or people would set up one in vain. OPTIONS tells, and is a read.
func orImpossible(h http.Handler, w http.ResponseWriter, r *http.Request, status int, detail string) (int, string) {
	ask := r.Clone(r.Context())
	ask.Method, ask.Body, ask.ContentLength = http.MethodOptions, http.NoBody, 0
	told := &handler.Recorder{ResponseWriter: nowhere{}}
	h.ServeHTTP(told, ask)
	allow := told.Header().Get("Allow")
	switch {
	case told.Status == http.StatusNotFound:
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

// deny answers a request whose body nobody has read.
func deny(w http.ResponseWriter, status int, detail string) {
	// A connection that has no deadlines is one in a test.
	_ = http.NewResponseController(w).SetReadDeadline(time.Now().Add(refusedTimeout))
	handler.Refuse(w, status, detail)
}

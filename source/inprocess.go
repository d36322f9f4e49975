package source

import (
	"context"
	"errors"
	"log/slog"
	"net"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

// inProcessServer lets the scrape manager reach handlers of this process: HTTP
// over pipes in memory, told apart by host name.
type inProcessServer struct {
	server   *http.Server
	listener *pipeListener
	handlers atomic.Pointer[map[string]http.Handler]
	dialer   net.Dialer
}

func newInProcessServer(logger *slog.Logger) *inProcessServer {
	s := &inProcessServer{
		listener: newPipeListener(),
		dialer:   net.Dialer{Timeout: 30 * time.Second, KeepAlive: 30 * time.Second},
	}
	s.server = &http.Server{Handler: s, ReadHeaderTimeout: 10 * time.Second, ErrorLog: slog.NewLogLogger(logger.Handler(), slog.LevelWarn)}
	s.set(nil)
	return s
}

// set replaces all handlers.
func (s *inProcessServer) set(handlers map[string]http.Handler) { s.handlers.Store(&handlers) }

// ServeHTTP passes a scrape on to its target.
func (s *inProcessServer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	host, _, err := net.SplitHostPort(r.Host)
	if err != nil {
		host = r.Host
	}
	h, ok := (*s.handlers.Load())[host]
	if !ok {
		http.NotFound(w, r)
		return
	}
	h.ServeHTTP(w, r)
}

// dial connects the scraper's HTTP clients: in memory to our own targets, over
// the network to all others.
func (s *inProcessServer) dial(ctx context.Context, network, address string) (net.Conn, error) {
	host, _, err := net.SplitHostPort(address)
	if err == nil && strings.HasSuffix(host, inProcessDomain) {
		return s.listener.dial(ctx)
	}
	return s.dialer.DialContext(ctx, network, address)
}

func (s *inProcessServer) serve() error { return s.server.Serve(s.listener) }

// close ends the server at once: the scrapes have ended before.
func (s *inProcessServer) close() error { return s.server.Close() }

// pipeListener accepts what dial connects.
type pipeListener struct {
	conns  chan net.Conn
	closed chan struct{}
	once   sync.Once
}

func newPipeListener() *pipeListener {
	return &pipeListener{conns: make(chan net.Conn), closed: make(chan struct{})}
}

// dial returns one end of a pipe whose other end was accepted.
func (l *pipeListener) dial(ctx context.Context) (net.Conn, error) {
	client, server := net.Pipe()
	select {
	case l.conns <- server:
		return client, nil
	case <-l.closed:
		return nil, errors.Join(net.ErrClosed, client.Close(), server.Close())
	case <-ctx.Done():
		return nil, errors.Join(ctx.Err(), client.Close(), server.Close())
	}
}

// Accept waits for the next dial.
func (l *pipeListener) Accept() (net.Conn, error) {
	select {
	case c := <-l.conns:
		return c, nil
	case <-l.closed:
		return nil, net.ErrClosed
	}
}

// Close ends Accept and all dials to come.
func (l *pipeListener) Close() error {
	l.once.Do(func() { close(l.closed) })
	return nil
}

// Addr is the address of nothing.
func (l *pipeListener) Addr() net.Addr { return pipeAddr{} }

type pipeAddr struct{}

func (pipeAddr) Network() string { return "pipe" }

func (pipeAddr) String() string { return "in-process" }

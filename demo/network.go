package demo

import (
	"context"
	"net"
	"net/http"
	"sync"
	"time"
)

// network is what Alertmanager and the service reach each other by, in memory:
// alerts come in at the one path, and what Alertmanager makes of them at the
// other.
type network struct {
	listener *inMemory
	server   *http.Server
}

func newNetwork() *network { return &network{listener: newInMemory()} }

// serve starts a stand-in for Alertmanager beside the service, until it is
// closed. drains says that it routes SCALE_IN_CANDIDATE back, too.
func (n *network) serve(now func() time.Time, service http.Handler, drains bool) {
	mux := http.NewServeMux()
	mux.Handle("POST /api/v2/alerts", &alertmanager{
		now: now, drains: drains, firing: map[string]bool{}, url: "http://zeta-scaler/webhook/alertmanager",
		client: &http.Client{Transport: &http.Transport{DialContext: n.listener.dial, DisableKeepAlives: true}, Timeout: realTimeout},
	})
	mux.Handle("/", service)
	n.server = &http.Server{Handler: mux, ReadHeaderTimeout: realTimeout}
	go func() { _ = n.server.Serve(n.listener) }()
}

func (n *network) close() error {
	if n.server == nil {
		return n.listener.Close()
	}
	return n.server.Close()
}

// inMemory is a listener whose connections are dialled by calling dial.
type inMemory struct {
	conns chan net.Conn
	done  chan struct{}
	once  sync.Once
}

func newInMemory() *inMemory {
	return &inMemory{conns: make(chan net.Conn), done: make(chan struct{})}
}

func (l *inMemory) dial(ctx context.Context, _, _ string) (net.Conn, error) {
	client, server := net.Pipe()
	select {
	case l.conns <- server:
		return client, nil
	case <-l.done:
		return nil, net.ErrClosed
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// Accept implements net.Listener.
func (l *inMemory) Accept() (net.Conn, error) {
	select {
	case c := <-l.conns:
		return c, nil
	case <-l.done:
		return nil, net.ErrClosed
	}
}

// Close implements net.Listener.
func (l *inMemory) Close() error {
	l.once.Do(func() { close(l.done) })
	return nil
}

// Addr implements net.Listener.
func (l *inMemory) Addr() net.Addr { return memoryAddr{} }

type memoryAddr struct{}

func (memoryAddr) Network() string { return "memory" }
func (memoryAddr) String() string  { return "alertmanager" }

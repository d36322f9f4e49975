package harness

import (
	"io"
	"net"
	"sync"
	"testing"
)

// Proxy forwards TCP connections from Address to a target until it is told
// otherwise: the path to Prometheus, which tests cut and mend.
type Proxy struct {
	Address string

	target   string
	listener net.Listener
	wg       sync.WaitGroup

	mu    sync.Mutex
	path  path
	conns map[net.Conn]struct{}
}

type path int

const (
	pathOpen path = iota
	// pathStalled accepts connections and answers nothing: packets are lost.
	pathStalled
	// pathRefused drops connections: something on the way says no.
	pathRefused
)

// NewProxy starts a proxy in front of target (host:port) for the time of the
// test.
func NewProxy(t testing.TB, target string) *Proxy {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0") //nolint:noctx // listening on loopback does not block
	if err != nil {
		t.Fatalf("starting a proxy: %v", err)
	}
	p := &Proxy{Address: l.Addr().String(), target: target, listener: l, conns: map[net.Conn]struct{}{}}
	p.wg.Go(p.accept)
	t.Cleanup(func() {
		_ = l.Close()
		p.change(pathRefused)
		p.wg.Wait()
	})
	return p
}

// Stall makes the path swallow everything: requests get no answer at all.
func (p *Proxy) Stall() { p.change(pathStalled) }

// Refuse makes the path drop every connection at once.
func (p *Proxy) Refuse() { p.change(pathRefused) }

// Restore opens the path again, for new connections.
func (p *Proxy) Restore() { p.change(pathOpen) }

// change sets the path and drops what was connected by the old one.
func (p *Proxy) change(to path) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.path = to
	for c := range p.conns {
		_ = c.Close()
	}
	clear(p.conns)
}

func (p *Proxy) accept() {
	for {
		c, err := p.listener.Accept()
		if err != nil {
			return
		}
		switch p.admit(c) {
		case pathOpen:
			p.wg.Go(func() { p.forward(c) })
		case pathStalled: // kept open, never read: change closes it
		case pathRefused:
			_ = c.Close()
		}
	}
}

// admit notes a connection as the path stands now, and returns how that is.
func (p *Proxy) admit(c net.Conn) path {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.path != pathRefused {
		p.conns[c] = struct{}{}
	}
	return p.path
}

func (p *Proxy) forward(client net.Conn) {
	defer p.drop(client)
	server, err := net.Dial("tcp", p.target) //nolint:noctx // loopback answers or refuses at once
	if err != nil {
		return
	}
	defer p.drop(server)
	if p.admit(server) != pathOpen {
		return
	}
	done := make(chan struct{})
	go func() {
		_, _ = io.Copy(server, client)
		_ = server.Close()
		close(done)
	}()
	_, _ = io.Copy(client, server)
	_ = client.Close()
	<-done
}

func (p *Proxy) drop(c net.Conn) {
	_ = c.Close()
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.conns, c)
}

package web

import (
	"context"
	"crypto/tls"
	"net"
	"net/http"
	"sync"
	"time"
)

// connections are those that are open. Where there are too many, the one that
// has been without a request for longest is closed, of the client that has the
// most: nobody keeps others out by opening many and asking nothing.
type connections struct {
	most int

	mu   sync.Mutex
	open map[net.Conn]*connection
}

type connection struct {
	conn net.Conn
	peer string
	// requests are being answered; without any, since is when the last one was or
	// the connection was opened.
	requests int
	since    time.Time
}

func newConnections(most int) *connections {
	return &connections{most: most, open: map[net.Conn]*connection{}}
}

// connectionKey is the key of the connection in a request's context.
type connectionKey struct{}

// hook makes a server tell of its connections.
func (c *connections) hook(srv *http.Server) {
	srv.ConnContext = func(ctx context.Context, conn net.Conn) context.Context {
		return context.WithValue(ctx, connectionKey{}, c.add(conn))
	}
	srv.ConnState = func(conn net.Conn, s http.ConnState) {
		if s == http.StateClosed || s == http.StateHijacked {
			c.remove(conn)
		}
	}
}

func (c *connections) add(conn net.Conn) *connection {
	c.mu.Lock()
	defer c.mu.Unlock()
	added := &connection{conn: conn, peer: source(conn.RemoteAddr().String()), since: time.Now()}
	c.open[conn] = added
	if len(c.open) > c.most {
		c.dismiss(added)
	}
	return added
}

// dismiss closes one connection, the new one if all others are at work.
func (c *connections) dismiss(added *connection) {
	of := map[string]int{}
	for _, o := range c.open {
		of[o.peer]++
	}
	worst := added
	for _, o := range c.open {
		if o.requests > 0 {
			continue
		}
		if n := of[o.peer] - of[worst.peer]; n > 0 || n == 0 && o.since.Before(worst.since) {
			worst = o
		}
	}
	delete(c.open, worst.conn)
	cut(worst.conn)
}

// cut closes a connection; whoever serves it finds out. TLS is not told: its
// farewell waits for a client that reads nothing.
func cut(conn net.Conn) {
	if wrapped, ok := conn.(*tls.Conn); ok {
		conn = wrapped.NetConn()
	}
	_ = conn.Close()
}

func (c *connections) remove(conn net.Conn) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.open, conn)
}

// working wraps a handler so that it is known which connections are at work.
func (c *connections) working(h http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if o, ok := r.Context().Value(connectionKey{}).(*connection); ok {
			c.count(o, 1)
			defer c.count(o, -1)
		}
		h.ServeHTTP(w, r)
	})
}

func (c *connections) count(o *connection, n int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	o.requests += n
	o.since = time.Now()
}

package zeta

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptrace"
	"net/url"
	"strings"
	"sync/atomic"
	"time"
)

// ErrNoReply is the failure of a request that was sent and has no reply that
// can be read: whether it was carried out is not known.
var ErrNoReply = errors.New("it was sent, and there is no reply that can be read")

// maxAsked is how many requests of Ask may be under way at once, those included
// that nobody waits for any more: a master that hangs is not piled up with them.
const maxAsked = 16

// Request is one for which Client has no method.
type Request struct {
	// Node is the URL of another node than the one that answers for the cluster;
	// it is asked in the same API.
	Node string
	// Path is below the API's prefix, such as "/job-info/7". With Hazelcast it is
	// one of Hazelcast's own API, which only nodes of REST v1 serve where they are
	// asked; from any other, no credential is shown.
	Path      string
	Hazelcast bool
	Query     url.Values
	// Body is posted, and called JSON, without which Zeta does not read it; nil is
	// a GET.
	Body []byte
	// Long replies are read value by value by decode, and may be longer.
	Long bool
	// Within is how long the reply is waited for; 0 means the endpoint time-out.
	Within time.Duration
}

// Node is the node that answers for the cluster.
type Node struct {
	// URL is where it is asked, without the API's prefix.
	URL     string
	V1      bool
	Version Version
}

// Node returns the node that answered last; it looks for one if none did.
func (c *Client) Node(ctx context.Context) (Node, error) {
	n, d, v, ok := c.pin()
	if !ok {
		if _, err := c.Overview(ctx); err != nil {
			return Node{}, err
		}
		n, d, v, _ = c.pin()
	}
	return Node{URL: n.base, V1: d == restV1, Version: v}, nil
}

// Ask sends a request. If nobody is there to take it, the next node that
// answers gets it. Its errors are those of the transport, a StatusError, and
// ErrNoReply around all that leave it open whether the request had an effect.
func Ask[T any](ctx context.Context, c *Client, r Request, decode func(io.Reader) (T, error)) (T, error) {
	node, err := c.Node(ctx)
	if err != nil {
		return *new(T), err
	}
	value, sent, err := askAt(ctx, c, node, r, decode)
	if err == nil || sent || r.Node != "" || ctx.Err() != nil || len(c.nodes) == 1 {
		return value, err
	}
	if _, overviewErr := c.Overview(ctx); overviewErr != nil {
		return value, err
	}
	other, nodeErr := c.Node(ctx)
	if nodeErr != nil || other.URL == node.URL {
		return value, err
	}
	value, _, err = askAt(ctx, c, other, r, decode)
	return value, err
}

// askAt asks one node. sent is false if the node cannot have seen the request.
func askAt[T any](ctx context.Context, c *Client, node Node, r Request, decode func(io.Reader) (T, error)) (value T, sent bool, err error) {
	ctx, cancel := context.WithTimeout(ctx, max(r.Within, c.limits.wait))
	defer cancel()
	select {
	case c.places <- struct{}{}:
	default:
		return value, false, fmt.Errorf("%d requests are under way: %w", maxAsked, ErrInFlight)
	}
	life, end := context.WithTimeout(c.life, c.limits.hang)
	type answer struct {
		value T
		err   error
	}
	var wrote atomic.Bool
	done := make(chan answer, 1)
	started := c.running.start(func() {
		defer func() { <-c.places }()
		defer end()
		req, client, err := c.prepare(httptrace.WithClientTrace(life, &httptrace.ClientTrace{
			WroteHeaders: func() { wrote.Store(true) },
		}), node, r)
		if err != nil {
			done <- answer{err: err}
			return
		}
		got, err := send(client, req, decode)
		done <- answer{got.value, err}
	})
	if !started {
		end()
		<-c.places
		return value, false, errClosed
	}
	select {
	case a := <-done:
		value, err = a.value, a.err
	case <-ctx.Done():
		if err = ctx.Err(); !wrote.Load() {
			end()
			err = fmt.Errorf("no connection: %w", err)
		}
	}
	sent = wrote.Load()
	if _, said := errors.AsType[*StatusError](err); err != nil && sent && !said {
		err = fmt.Errorf("%w: %w", ErrNoReply, err)
	}
	return value, sent, err
}

// prepare makes the request and says who sends it.
func (c *Client) prepare(ctx context.Context, node Node, r Request) (*http.Request, *asker, error) {
	base, client := node.URL, c.http
	if r.Node != "" {
		base = r.Node
	}
	switch {
	case r.Hazelcast && !node.V1:
		client = c.stranger
	case r.Long:
		client = c.streams
	}
	address := base + r.Path
	if node.V1 && !r.Hazelcast {
		address = base + v1Prefix + r.Path
	}
	if len(r.Query) > 0 {
		// A plus is a space only to some of those who read a query.
		address += "?" + strings.ReplaceAll(r.Query.Encode(), "+", "%20")
	}
	if r.Body == nil {
		req, err := http.NewRequestWithContext(ctx, http.MethodGet, address, http.NoBody)
		return req, client, notMade(err)
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, address, bytes.NewReader(r.Body))
	if err != nil {
		return nil, nil, notMade(err)
	}
	req.Header.Set("Content-Type", "application/json")
	return req, client, nil
}

func notMade(err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("making the request: %w", err)
}

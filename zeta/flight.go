package zeta

import (
	"context"
	"errors"
	"fmt"
	"net/http/httptrace"
	"sync"
	"sync/atomic"
	"time"
)

// ErrInFlight is the failure of a request that was not sent, because the
// previous one to the same endpoint has not come back yet.
var ErrInFlight = errors.New("the previous request has not come back yet")

// errClosed is the failure of a request after Close.
var errClosed = errors.New("the client is closed")

// flight keeps the requests to one endpoint of one cluster at one at a time.
//
// A master waits up to ~190 s for a frozen worker before it answers. Giving up
// and asking again at each scrape would pile up its threads, so a request that
// was sent and not answered is left alone: the asker gets a time-out, later
// askers get ErrInFlight, until the reply comes or the hang limit ends it.
//
//	idle ──ask──▶ flying ──reply──▶ idle
//	                │ time-out, nothing sent (no connection): cancelled ──▶ idle
//	                │ time-out, sent ──▶ hanging ──reply or limit──▶ idle
//	                                       │ asked of another node: cancelled;
//	                                       ▼ the old node is spared for the limit
//	                                     idle
type flight[T any] struct {
	mu   sync.Mutex
	call *call[T]
	// spared are nodes that may still be working on a request that we dropped.
	spared map[*node]time.Time
}

type call[T any] struct {
	node   *node
	cancel context.CancelFunc
	sent   atomic.Bool
	done   chan struct{} // closed when value and err are set
	value  T
	err    error
}

// flightLimits are the times of a flight: how long an asker waits and how long
// a request may hang.
type flightLimits struct {
	wait time.Duration
	hang time.Duration
}

// ask runs do for a node and waits for it, but not longer than limits.wait or
// ctx. The context that do gets ends with lifetime, never with ctx. running is
// told of the goroutine, so that Close can wait for it.
func (f *flight[T]) ask(ctx, lifetime context.Context, running *tasks, n *node, limits flightLimits,
	do func(context.Context, *node) (T, error),
) (T, error) {
	var none T
	ctx, cancel := context.WithTimeout(ctx, limits.wait)
	defer cancel()
	if err := f.clear(ctx, n, limits.hang); err != nil {
		return none, err
	}
	c, err := f.start(lifetime, running, n, limits.hang, do)
	if err != nil {
		return none, err
	}
	select {
	case <-c.done:
		return c.value, c.err
	case <-ctx.Done():
	}
	if !c.sent.Load() {
		c.cancel()
		return none, fmt.Errorf("no connection: %w", ctx.Err())
	}
	return none, fmt.Errorf("no reply: %w", ctx.Err())
}

// clear returns nil when nothing is in flight any more. A request that hangs at
// another node is dropped; the node is spared from then on.
func (f *flight[T]) clear(ctx context.Context, n *node, hang time.Duration) error {
	f.mu.Lock()
	c := f.call
	if until, ok := f.spared[n]; ok && time.Now().Before(until) {
		f.mu.Unlock()
		return ErrInFlight
	}
	delete(f.spared, n)
	if c == nil {
		f.mu.Unlock()
		return nil
	}
	if c.node == n && c.sent.Load() {
		f.mu.Unlock()
		return ErrInFlight
	}
	if c.node != n && c.sent.Load() {
		if f.spared == nil {
			f.spared = map[*node]time.Time{}
		}
		f.spared[c.node] = time.Now().Add(hang)
	}
	f.mu.Unlock()
	c.cancel()
	select {
	case <-c.done:
		return nil
	case <-ctx.Done():
		return ErrInFlight
	}
}

func (f *flight[T]) start(lifetime context.Context, running *tasks, n *node, hang time.Duration,
	do func(context.Context, *node) (T, error),
) (*call[T], error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.call != nil {
		return nil, ErrInFlight
	}
	ctx, cancel := context.WithTimeout(lifetime, hang)
	c := &call[T]{node: n, cancel: cancel, done: make(chan struct{})}
	ctx = httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{WroteHeaders: func() { c.sent.Store(true) }})
	started := running.start(func() {
		defer cancel()
		value, err := do(ctx, n)
		f.mu.Lock()
		c.value, c.err = value, err
		f.call = nil
		f.mu.Unlock()
		close(c.done)
	})
	if !started {
		cancel()
		return nil, errClosed
	}
	f.call = c
	return c, nil
}

// Package post sends signed bodies to systems of other people by HTTP POST. It
// tells apart what was not sent from what may have arrived, follows no
// redirect and sends nothing twice.
package post

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptrace"
	"sync/atomic"
	"time"

	promconfig "github.com/prometheus/common/config"

	"github.com/zeta-scaler/zeta-scaler/backoff"
	"github.com/zeta-scaler/zeta-scaler/events/signature"
	"github.com/zeta-scaler/zeta-scaler/web/outgoing"
)

// DefaultTimeout bounds one request.
const DefaultTimeout = 10 * time.Second

// Options are what a client is made of; URL is required.
type Options struct {
	// URL is posted to; http or https.
	URL string
	// Timeout bounds one request with its reply, 0 is DefaultTimeout.
	Timeout time.Duration
	// SecretFile has the key that signs bodies, and is read for each, so that
	// the key may be replaced; empty: they are not signed.
	SecretFile string
	// HTTPClientConfig has credentials, TLS and proxy. Redirects are never followed.
	HTTPClientConfig promconfig.HTTPClientConfig
	// Name is that of the client in metrics of connections.
	Name string
	// Now is the clock of signatures, nil is time.Now.
	Now func() time.Time
}

// Client posts to one URL. It is safe for concurrent use.
type Client struct {
	o    Options
	name string
	http *outgoing.Client
}

// New makes a client and reads the key once, so that a missing one is told
// early. It connects to nothing.
func New(o Options) (*Client, error) {
	u, err := outgoing.ParseURL(o.URL)
	if err != nil {
		return nil, fmt.Errorf("url: %w", err)
	}
	if o.Timeout < 0 {
		return nil, fmt.Errorf("timeout %s: must not be negative", o.Timeout)
	}
	if o.SecretFile != "" {
		if _, err := signature.ReadKey(o.SecretFile); err != nil {
			return nil, err
		}
	}
	o.Timeout = cmp.Or(o.Timeout, DefaultTimeout)
	if o.Now == nil {
		o.Now = time.Now
	}
	// A POST that is sent again as a GET somewhere else says nothing.
	o.HTTPClientConfig.FollowRedirects = false
	// Posts are rare. On a connection that was kept, the server may be gone, and
	// then nobody could tell whether it acted.
	client, err := outgoing.New(outgoing.Options{
		Name: cmp.Or(o.Name, "post"), Config: o.HTTPClientConfig, Parameters: u.Query(), SecretPath: u,
		HTTPOptions: []promconfig.HTTPClientOption{promconfig.WithKeepAlivesDisabled()},
	})
	if err != nil {
		return nil, fmt.Errorf("http client: %w", err)
	}
	return &Client{o: o, name: outgoing.Origin(u), http: client}, nil
}

// String is the URL without what may be secret.
func (c *Client) String() string { return c.name }

// Message is what is posted.
type Message struct {
	Body        []byte
	ContentType string
	// Key names the message: whoever gets two with the same has got one twice.
	// It is the header Idempotency-Key, left out if empty.
	Key string
	// Header are further headers.
	Header map[string]string
}

// Reply is what the server answered.
type Reply struct {
	// Status is the status code.
	Status int
	// Excerpt is the beginning of the body in one line, for people; empty if the
	// status is 2xx.
	Excerpt string
	// RetryAfter is how long the server asks to wait, 0 if it does not.
	RetryAfter time.Duration
}

// OK reports whether the status is 2xx.
func (r Reply) OK() bool { return r.Status/100 == 2 }

// Passing reports whether the status tells of an error that may pass, and that
// nothing was done: 408, 425, 429 and 5xx.
func (r Reply) Passing() bool { return outgoing.Passing(r.Status) }

// String is such as "503 Service Unavailable: come back later".
func (r Reply) String() string {
	s := outgoing.StatusText(r.Status)
	if r.Excerpt != "" {
		s += ": " + r.Excerpt
	}
	return s
}

// Error says that there is no reply.
type Error struct {
	// Sent is true if the message, or a part of it, may have arrived.
	Sent bool
	// Err is what happened.
	Err error
}

// Error says what happened.
func (e *Error) Error() string { return e.Err.Error() }

// Unwrap returns Err.
func (e *Error) Unwrap() error { return e.Err }

// Post sends one message, once. Every error is an *Error; it wraps that of ctx
// if ctx has ended.
func (c *Client) Post(ctx context.Context, m Message) (Reply, error) {
	var sent atomic.Bool
	trace := &httptrace.ClientTrace{GotConn: func(httptrace.GotConnInfo) { sent.Store(true) }}
	limited, cancel := context.WithTimeout(httptrace.WithClientTrace(ctx, trace), c.o.Timeout)
	defer cancel()
	req, err := c.request(limited, m)
	if err != nil {
		return Reply{}, &Error{Err: fmt.Errorf("posting to %s: %w", c, err)}
	}
	resp, err := c.http.Do(req)
	if err != nil {
		return Reply{}, &Error{Sent: sent.Load(), Err: fmt.Errorf("posting to %s: %w", c, c.cause(ctx, limited, err))}
	}
	defer resp.Body.Close()
	r := Reply{Status: resp.StatusCode}
	// If the status has said all, a body that breaks off changes nothing.
	if !r.OK() {
		r.Excerpt, r.RetryAfter = resp.Quote(), backoff.Asked(resp.Header, time.Now())
	}
	return r, nil
}

func (c *Client) request(ctx context.Context, m Message) (*http.Request, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, c.o.URL, bytes.NewReader(m.Body))
	if err != nil {
		return nil, errors.New("the request cannot be made")
	}
	// With this the transport would send a request again whose reply was lost.
	req.GetBody = nil
	for name, value := range m.Header {
		req.Header.Set(name, value)
	}
	req.Header.Set("Content-Type", m.ContentType)
	if m.Key != "" {
		req.Header.Set("Idempotency-Key", m.Key)
	}
	if c.o.SecretFile == "" {
		return req, nil
	}
	key, err := signature.ReadKey(c.o.SecretFile)
	if err != nil {
		return nil, err
	}
	req.Header.Set(signature.Header, signature.Sign(key, m.Body, c.o.Now()))
	return req, nil
}

// cause is why there is no reply. It wraps a context's error only if the caller's own has ended: our time-out is not his.
func (c *Client) cause(ctx, limited context.Context, err error) error {
	switch {
	case ctx.Err() != nil:
		return ctx.Err()
	case limited.Err() != nil:
		return fmt.Errorf("no reply within %s", c.o.Timeout)
	case errors.Is(err, context.DeadlineExceeded), errors.Is(err, context.Canceled):
		// Time-outs of the network say that they are this too.
		return errors.New(err.Error())
	}
	return err
}

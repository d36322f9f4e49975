// Package outgoing asks other systems over HTTP. Whoever asks, it is done alike:
// credentials, TLS and proxy as Prometheus has them; a redirect never takes a
// credential to another server; replies are bounded; and neither URLs nor
// anything that was sent as a secret stands in an error or in what is quoted of
// a reply, for errors are logged and shown to everybody.
package outgoing

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptrace"
	"net/url"
	"slices"
	"time"

	promconfig "github.com/prometheus/common/config"
)

// UserAgent is the header of that name.
const UserAgent = "zeta-scaler"

// Options are what a client is made of.
type Options struct {
	// Name is that of the client in metrics of connections.
	Name string
	// Config has credentials, TLS, proxy and whether redirects are followed.
	Config promconfig.HTTPClientConfig
	// HTTPOptions are further ones, such as another way to dial.
	HTTPOptions []promconfig.HTTPClientOption
	// UserAgent is another than the usual one.
	UserAgent string
	// Transport, if not nil, takes the place of Config's network and credentials.
	Transport http.RoundTripper
	// Timeout bounds a request with its redirects and its reply; 0 leaves that to
	// the request's context.
	Timeout time.Duration
	// MaxReply is how many bytes of a reply can be read, after decompression; 0
	// is without a bound.
	MaxReply int64

	// Parameters go along in URLs; long values of theirs are taken for secrets.
	Parameters url.Values
	// SecretPath is a URL whose path is a secret itself, as those of chats are.
	SecretPath *url.URL
	// Redirects say how far redirects are followed.
	Redirects Redirects
	// Key is the setting that has the address, HTTPKey the one with credentials and
	// TLS: errors that only an expert understands name them. Empty: they do not.
	Key, HTTPKey string
}

// Client asks one system, or several that share an account. It is safe for
// concurrent use.
type Client struct {
	http   *http.Client
	config promconfig.HTTPClientConfig
	// parameters are secrets in URLs.
	parameters []string
	// key and httpKey are as in Options.
	key, httpKey string
}

// New makes a client. It connects to nothing.
func New(o Options) (*Client, error) {
	c := &http.Client{Transport: o.Transport}
	if o.Transport == nil {
		agent := UserAgent
		if o.UserAgent != "" {
			agent = o.UserAgent
		}
		options := append([]promconfig.HTTPClientOption{promconfig.WithUserAgent(agent)}, o.HTTPOptions...)
		var err error
		if c, err = promconfig.NewClientFromConfig(o.Config, o.Name, options...); err != nil {
			return nil, err
		}
	}
	c.Timeout = o.Timeout
	if o.MaxReply > 0 {
		c.Transport = &limiter{next: c.Transport, limit: o.MaxReply}
	}
	if o.Transport != nil || o.Config.FollowRedirects {
		credentials := identifies(&o.Config)
		c.CheckRedirect = func(req *http.Request, via []*http.Request) error {
			return o.Redirects.check(req, via, credentials)
		}
	}
	client := &Client{http: c, config: o.Config, parameters: secretsOfPath(o.SecretPath), key: o.Key, httpKey: o.HTTPKey}
	for _, values := range o.Parameters {
		for _, v := range values {
			if len(v) >= minParameter {
				client.parameters = append(client.parameters, v)
			}
		}
	}
	return client, nil
}

// CloseIdleConnections closes connections that no request uses.
func (c *Client) CloseIdleConnections() { c.http.CloseIdleConnections() }

// Reply is a reply that knows what was sent for it.
type Reply struct {
	*http.Response
	secrets *secrets
}

// Do sends a request. An error does not name the URL, which may hold a secret:
// say beside it who was asked. A reply's body has to be closed.
func (c *Client) Do(req *http.Request) (*Reply, error) {
	s := newSecrets(c, req)
	trace := &httptrace.ClientTrace{WroteHeaderField: s.sent}
	resp, err := c.http.Do(req.WithContext(httptrace.WithClientTrace(req.Context(), trace))) //nolint:bodyclose // the caller closes the reply
	if err != nil {
		return nil, c.hinted(s.clean(withoutURL(err)))
	}
	if resp.Request != nil {
		// A transport that is none of net/http's traces nothing.
		for name, values := range resp.Request.Header {
			s.sent(name, values)
		}
	}
	return &Reply{resp, s}, nil
}

// hinted says behind an error of names, TLS or schemes what to do about it.
func (c *Client) hinted(err error) error {
	if c.key == "" {
		return err
	}
	switch cause := CauseOf(err); {
	case cause == UnknownAuthority && c.httpKey == "":
		return fmt.Errorf("%w; name the authority that signed the server's certificate in SSL_CERT_FILE", err)
	case cause == OtherName && c.httpKey == "":
		return fmt.Errorf("%w; the certificate is for another name: use that name in %s", err, c.key)
	case slices.Contains([]Cause{NoSuchHost, SpeaksHTTP, SpeaksTLS, ConnectionReset, UnknownAuthority, OtherName, CertificateOver}, cause):
		return fmt.Errorf("%w; %s", err, cause.Advice(c.key, c.httpKey))
	}
	return err
}

// Get sends a GET.
func (c *Client) Get(ctx context.Context, address string) (*Reply, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, address, http.NoBody)
	if err != nil {
		return nil, fmt.Errorf("making the request: %w", withoutURL(err))
	}
	return c.Do(req)
}

// Redact takes out of a text that the server has sent what was sent to it as a
// secret: there are servers that tell an error by showing the request.
func (r *Reply) Redact(text string) string { return r.secrets.redact(text) }

// Clean is an error about the reply without what was sent as a secret. It wraps
// err.
func (r *Reply) Clean(err error) error { return r.secrets.clean(err) }

// StatusText is such as "503 Service Unavailable"; the words are ours, not the
// server's.
func (r *Reply) StatusText() string { return StatusText(r.StatusCode) }

// Shown is a URL without what could be secret: user, password, parameters.
func Shown(u *url.URL) string {
	clean := url.URL{Scheme: u.Scheme, Host: u.Host, Path: u.Path}
	return clean.String()
}

// Origin is a URL without its path as well, which may hold a secret where the
// whole URL is one, as those of chats are.
func Origin(u *url.URL) string {
	origin := u.Scheme + "://" + u.Host
	if u.Path == "" || u.Path == "/" {
		return origin
	}
	return origin + "/…"
}

// ParseURL reads the address of an HTTP server. Its error does not repeat the
// address, which may hold a password.
func ParseURL(raw string) (*url.URL, error) {
	u, err := url.Parse(raw)
	if err != nil {
		return nil, withoutURL(err)
	}
	if (u.Scheme != "http" && u.Scheme != "https") || u.Host == "" {
		return nil, fmt.Errorf("%q is not the address of an HTTP server", Shown(u))
	}
	return u, nil
}

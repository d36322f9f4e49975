package source

import (
	"compress/gzip"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"

	"github.com/prometheus/common/config"
)

// maxRedirects ends redirect loops.
const maxRedirects = 10

// errTooLarge is a reply beyond RemoteOptions.MaxResponse.
type errTooLarge struct{ limit int64 }

func (e errTooLarge) Error() string {
	return fmt.Sprintf("reply is larger than the limit of %d bytes", e.limit)
}

// redirectError is a redirect that is not followed.
type redirectError struct{ message string }

func (e redirectError) Error() string { return e.message }

// newHTTPClient builds the client for all replicas: authentication and TLS with
// files that are read anew when they change (prometheus/common), a limit on
// what is read, and redirects only where they keep the meaning.
func newHTTPClient(opts RemoteOptions) (*http.Client, error) {
	c, err := config.NewClientFromConfig(*opts.HTTPClientConfig, "prometheus", config.WithUserAgent(opts.UserAgent))
	if err != nil {
		return nil, err
	}
	c.Transport = &limiter{next: c.Transport, limit: opts.MaxResponse}
	if opts.HTTPClientConfig.FollowRedirects {
		c.CheckRedirect = func(req *http.Request, via []*http.Request) error {
			return checkRedirect(req, via, &opts)
		}
	}
	return c, nil
}

// checkRedirect judges the request that a redirect leads to. Headers of the
// configuration, which may be credentials, do not go to another host: ours are
// taken out, and for those of http_config, which are added below, it ends here.
func checkRedirect(req *http.Request, via []*http.Request, opts *RemoteOptions) error {
	if len(via) >= maxRedirects {
		return redirectError{fmt.Sprintf("stopped after %d redirects", maxRedirects)}
	}
	if via[0].Method == http.MethodPost && req.Method != http.MethodPost {
		return redirectError{fmt.Sprintf("redirected to %s in a way that loses the query; "+
			"use that URL directly, or status 307 or 308", redacted(req.URL))}
	}
	if req.URL.Hostname() != via[0].URL.Hostname() {
		if h := opts.HTTPClientConfig.HTTPHeaders; h != nil && len(h.Headers) > 0 {
			return redirectError{fmt.Sprintf("redirected to another host, %s, which must not see http_config.http_headers; "+
				"use that URL directly", redacted(req.URL))}
		}
		for name := range opts.Headers {
			req.Header.Del(name)
		}
	}
	return nil
}

// redacted is a URL without what could be a secret: user, password, parameters.
func redacted(u *url.URL) string {
	clean := url.URL{Scheme: u.Scheme, Host: u.Host, Path: u.Path}
	return clean.String()
}

// limiter bounds how much of a reply is read, after decompression.
type limiter struct {
	next  http.RoundTripper
	limit int64
}

// RoundTrip sends a request.
func (l *limiter) RoundTrip(req *http.Request) (*http.Response, error) {
	resp, err := l.next.RoundTrip(req)
	if err != nil {
		return nil, err
	}
	if resp.ContentLength > l.limit {
		resp.Body.Close()
		return nil, errTooLarge{l.limit}
	}
	body := resp.Body
	if resp.Header.Get("Content-Encoding") == "gzip" {
		body = &gunzipped{compressed: body}
		resp.Header.Del("Content-Encoding")
		resp.Header.Del("Content-Length")
		resp.ContentLength, resp.Uncompressed = -1, true
	}
	resp.Body = &limited{ReadCloser: body, limit: l.limit, left: l.limit}
	return resp, nil
}

// CloseIdleConnections lets http.Client reach the transport below.
func (l *limiter) CloseIdleConnections() {
	if c, ok := l.next.(interface{ CloseIdleConnections() }); ok {
		c.CloseIdleConnections()
	}
}

// limited fails at the first byte beyond the limit.
type limited struct {
	io.ReadCloser
	limit, left int64
}

// Read reads up to one byte more than is left, to tell the end from the limit.
func (l *limited) Read(p []byte) (int, error) {
	if int64(len(p)) > l.left+1 {
		p = p[:l.left+1]
	}
	n, err := l.ReadCloser.Read(p)
	l.left -= int64(n)
	if l.left < 0 {
		return n, errTooLarge{l.limit}
	}
	return n, err
}

// gunzipped begins to decompress at the first read, so that a bad header is a
// bad body and not a failed request.
type gunzipped struct {
	compressed io.ReadCloser
	reader     *gzip.Reader
}

// Read reads decompressed bytes.
func (g *gunzipped) Read(p []byte) (int, error) {
	if g.reader == nil {
		r, err := gzip.NewReader(g.compressed)
		if err != nil {
			return 0, badBodyError{fmt.Errorf("reading gzip: %w", err)}
		}
		g.reader = r
	}
	n, err := g.reader.Read(p)
	if errors.Is(err, gzip.ErrChecksum) || errors.Is(err, gzip.ErrHeader) {
		err = badBodyError{fmt.Errorf("reading gzip: %w", err)}
	}
	return n, err
}

// Close closes the connection's body.
func (g *gunzipped) Close() error { return g.compressed.Close() }

// badBodyError is a body that is broken, as opposed to one that broke off.
type badBodyError struct{ error }

func (e badBodyError) Unwrap() error { return e.error }

// requestError names the cause of a request that failed before a whole reply
// was there. The URL, which http.Client puts in front, may hold secrets.
func requestError(err error) error {
	if wrapped, ok := errors.AsType[*url.Error](err); ok {
		err = wrapped.Err
	}
	var (
		tooLarge errTooLarge
		redirect redirectError
		badBody  badBodyError
	)
	switch {
	case errors.As(err, &tooLarge):
		return noAnswer(reasonTooLarge, err)
	case errors.As(err, &redirect):
		return noAnswer(reasonRedirect, err)
	case errors.As(err, &badBody):
		return noAnswer(reasonBadResponse, err)
	case isTLS(err):
		return noAnswer(reasonTLS, err)
	case errors.Is(err, io.ErrUnexpectedEOF), errors.Is(err, io.EOF):
		return noAnswerf(reasonConnection, "connection closed in the middle of the reply: %w", err)
	default:
		return noAnswer(reasonConnection, err)
	}
}

func isTLS(err error) bool {
	var (
		verify *tls.CertificateVerificationError
		record tls.RecordHeaderError
		alert  tls.AlertError
	)
	return errors.As(err, &verify) || errors.As(err, &record) || errors.As(err, &alert)
}

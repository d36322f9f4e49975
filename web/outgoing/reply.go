package outgoing

import (
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"unicode"
)

// maxQuoted is how much of a reply is read to be quoted, in bytes, and
// maxExcerpt how much of that an error repeats.
const (
	maxQuoted  = 16 << 10
	maxExcerpt = 300
)

// Quote is the beginning of the body in one line, for people. It reads the body;
// what is missing of an error's text is no error.
func (r *Reply) Quote() string {
	b, _ := io.ReadAll(io.LimitReader(r.Body, maxQuoted))
	return r.Excerpt(b)
}

// Excerpt is Quote of a body that was read.
func (r *Reply) Excerpt(body []byte) string {
	text := string(body[:min(len(body), maxQuoted)])
	if len(body) >= maxQuoted {
		text = strings.ToValidUTF8(text, "") + "…"
	}
	return OneLine(r.Redact(text), maxExcerpt)
}

// OneLine is the beginning of a text, at most so many bytes and in one line.
func OneLine(text string, most int) string {
	s := joined(text)
	if len(s) > most {
		s = strings.ToValidUTF8(s[:most], "") + "…"
	}
	return s
}

// EndInOneLine is OneLine of the end of a text.
func EndInOneLine(text string, most int) string {
	s := joined(text)
	if over := len(s) - most; over > 0 {
		s = "…" + strings.ToValidUTF8(s[over:], "")
	}
	return s
}

// joined are the words of a text with a space between them.
func joined(text string) string {
	blank := func(r rune) bool { return unicode.IsSpace(r) || unicode.IsControl(r) }
	return strings.Join(strings.FieldsFunc(strings.ToValidUTF8(text, ""), blank), " ")
}

// StatusText is such as "503 Service Unavailable".
func StatusText(code int) string {
	return strings.TrimSpace(fmt.Sprintf("%d %s", code, http.StatusText(code)))
}

// Passing reports whether a status tells of an error that may pass, and that
// nothing was done: 408, 425, 429 and 5xx.
func Passing(code int) bool {
	switch code {
	case http.StatusRequestTimeout, http.StatusTooEarly, http.StatusTooManyRequests:
		return true
	}
	return code >= 500
}

// TooLargeError is a reply beyond Options.MaxReply.
type TooLargeError struct{ Limit int64 }

// Error names the limit.
func (e *TooLargeError) Error() string {
	return fmt.Sprintf("reply is larger than the limit of %d bytes", e.Limit)
}

// BrokenBodyError is a body that is broken, as opposed to one that broke off.
type BrokenBodyError struct{ Err error }

// Error says what is broken.
func (e *BrokenBodyError) Error() string { return e.Err.Error() }

// Unwrap is the reason.
func (e *BrokenBodyError) Unwrap() error { return e.Err }

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
		return nil, &TooLargeError{l.limit}
	}
	bounded := &limited{ReadCloser: resp.Body, limit: l.limit, left: l.limit}
	if resp.Header.Get("Content-Encoding") == "gzip" {
		bounded.ReadCloser = &gunzipped{compressed: resp.Body}
		resp.Header.Del("Content-Encoding")
		resp.Header.Del("Content-Length")
		resp.ContentLength, resp.Uncompressed = -1, true
	}
	resp.Body = bounded
	return resp, nil
}

// CloseIdleConnections lets http.Client reach the transport below.
func (l *limiter) CloseIdleConnections() {
	if c, ok := l.next.(interface{ CloseIdleConnections() }); ok {
		c.CloseIdleConnections()
	}
}

// limited fails, instead of ending, at the first byte beyond the limit: a cut
// body must not look like a whole one.
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
		return n, &TooLargeError{l.limit}
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
			return 0, &BrokenBodyError{fmt.Errorf("reading gzip: %w", err)}
		}
		g.reader = r
	}
	n, err := g.reader.Read(p)
	if errors.Is(err, gzip.ErrChecksum) || errors.Is(err, gzip.ErrHeader) {
		err = &BrokenBodyError{fmt.Errorf("reading gzip: %w", err)}
	}
	return n, err
}

// Close closes the connection's body.
func (g *gunzipped) Close() error { return g.compressed.Close() }

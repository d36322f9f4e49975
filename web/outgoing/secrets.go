package outgoing

import (
	"cmp"
	"encoding/base64"
	"encoding/json"
	"errors"
	"html"
	"net/http"
	"net/url"
	"os"
	"slices"
	"strings"
	"sync"

	promconfig "github.com/prometheus/common/config"
)

// minSecret is how long a value is, in bytes, that is looked for by itself: a
// shorter one is found in every text. minParameter is that of parameters, most
// of which are plain words.
const (
	minSecret    = 4
	minParameter = 8
)

// mask stands where a secret stood.
const mask = "<secret>"

// open reports whether a header holds no secret.
func open(name string) bool {
	switch http.CanonicalHeaderKey(name) {
	case "Accept", "Accept-Encoding", "Connection", "Content-Length", "Content-Type", "Host", "Idempotency-Key", "If-None-Match",
		"Last-Event-Id", "Referer", "Transfer-Encoding", "User-Agent", "X-Forwarded-For", "X-Forwarded-Host", "X-Forwarded-Proto",
		"X-Scope-Orgid", "X-Zeta-Scaler-Epoch", "X-Zeta-Scaler-Event", "X-Zeta-Scaler-Forwarded-By":
		return true
	}
	return strings.HasPrefix(name, ":") // HTTP/2 has method, host and path here
}

// secrets are those of one request and what follows from it.
type secrets struct {
	config *promconfig.HTTPClientConfig

	mu     sync.Mutex
	values []string
	texts  []string // by which they can be shown, the longest first; nil: not known yet
}

func newSecrets(c *Client, req *http.Request) *secrets {
	s := &secrets{config: &c.config, values: slices.Clip(c.parameters)}
	for name, values := range req.Header {
		s.sent(name, values)
	}
	if u := req.URL.User; u != nil {
		password, _ := u.Password()
		s.values = append(s.values, password)
	}
	return s
}

// sent notes a header that goes over the wire. It may be called while the reply
// is read.
func (s *secrets) sent(name string, values []string) {
	if open(name) {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, v := range values {
		if !slices.Contains(s.values, v) {
			s.values, s.texts = append(s.values, v), nil
		}
	}
}

// redact takes secrets out of a text.
func (s *secrets) redact(text string) string {
	if text == "" {
		return ""
	}
	for _, t := range s.shown() {
		text = strings.ReplaceAll(text, t, mask)
	}
	if whole, cut := strings.CutSuffix(text, "…"); cut {
		return s.redactEnd(whole) + "…"
	}
	return text
}

// redactEnd takes the beginning of a secret from the end of a text that was cut
// off.
func (s *secrets) redactEnd(text string) string {
	for _, t := range s.shown() {
		for n := len(t) - 1; n >= minSecret; n-- {
			if rest, ok := strings.CutSuffix(text, t[:n]); ok {
				return rest + mask
			}
		}
	}
	return text
}

// minSegment is how long a part of a secret path is, in bytes, that is looked for
// by itself: shorter ones say what is asked for.
const minSegment = 16

// secretsOfPath are a URL's path and those of its parts that a server may show
// alone.
func secretsOfPath(u *url.URL) []string {
	if u == nil || len(u.Path) < minParameter {
		return nil
	}
	secrets := []string{u.Path, u.EscapedPath()}
	for part := range strings.SplitSeq(u.Path, "/") {
		if len(part) >= minSegment {
			secrets = append(secrets, part)
		}
	}
	return secrets
}

// shown are the texts by which the secrets can stand in a reply.
func (s *secrets) shown() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.texts != nil {
		return s.texts
	}
	s.texts = []string{}
	for _, v := range append(configured(s.config), s.values...) {
		for _, plain := range forms(v) {
			for _, t := range []string{plain, url.QueryEscape(plain), url.PathEscape(plain), html.EscapeString(plain), inJSON(plain, true), inJSON(plain, false)} {
				if len(t) >= minSecret && !slices.Contains(s.texts, t) {
					s.texts = append(s.texts, t)
				}
			}
		}
	}
	// The longest first: what is left of a secret after a part of it is gone is
	// not found any more.
	slices.SortFunc(s.texts, func(a, b string) int { return cmp.Compare(len(b), len(a)) })
	return s.texts
}

// inJSON is how a text stands in a string of JSON, with and without escapes for
// browsers.
func inJSON(text string, browsers bool) string {
	var b strings.Builder
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(browsers)
	if err := enc.Encode(text); err != nil {
		return text
	}
	return strings.TrimSuffix(strings.TrimPrefix(strings.TrimSpace(b.String()), `"`), `"`)
}

// forms are the value of a header whole, without the scheme, and as the
// password that it encodes.
func forms(value string) []string {
	out := []string{value}
	scheme, rest, ok := strings.Cut(value, " ")
	if !ok {
		return out
	}
	rest = strings.TrimSpace(rest)
	out = append(out, rest)
	if strings.EqualFold(scheme, "Basic") {
		if plain, err := base64.StdEncoding.DecodeString(rest); err == nil {
			_, password, _ := strings.Cut(string(plain), ":")
			out = append(out, string(plain), password)
		}
	}
	return out
}

// configured are the secrets that go to others on the way: the server that gives
// out tokens, and a proxy.
func configured(c *promconfig.HTTPClientConfig) []string {
	var out []string
	if o := c.OAuth2; o != nil {
		out = append(out, string(o.ClientSecret), contentOf(o.ClientSecretFile))
		for _, v := range o.EndpointParams {
			if len(v) >= minParameter {
				out = append(out, v)
			}
		}
	}
	for _, values := range c.ProxyConnectHeader {
		for _, v := range values {
			out = append(out, string(v))
		}
	}
	if u := c.ProxyURL.URL; u != nil && u.User != nil {
		password, _ := u.User.Password()
		out = append(out, password, "Basic "+base64.StdEncoding.EncodeToString([]byte(u.User.Username()+":"+password)))
	}
	return out
}

func contentOf(path string) string {
	if path == "" {
		return ""
	}
	b, err := os.ReadFile(path)
	if err != nil {
		return "" // then it was not sent either
	}
	return strings.TrimSpace(string(b))
}

// maxError bounds the words of an error, in bytes; some repeat a whole reply.
const maxError = 1000

// cleaned is an error in other words.
type cleaned struct {
	text string
	err  error
}

// Error has no secrets.
func (c *cleaned) Error() string { return c.text }

// Unwrap is the error as it was.
func (c *cleaned) Unwrap() error { return c.err }

func (s *secrets) clean(err error) error {
	if err == nil {
		return nil
	}
	was := err.Error()
	text := s.redact(was)
	if len(text) > maxError {
		text = OneLine(text, maxError)
	}
	if text == was {
		return err
	}
	return &cleaned{text, err}
}

// withoutURL drops the URL that net/url and net/http put in front: it may hold a
// secret, and an address is nothing for an error's first words.
func withoutURL(err error) error {
	if e, ok := errors.AsType[*url.Error](err); ok {
		return e.Err
	}
	return err
}

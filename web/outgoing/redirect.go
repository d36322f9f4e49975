package outgoing

import (
	"cmp"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"

	promconfig "github.com/prometheus/common/config"
)

// maxRedirects is how many are followed.
const maxRedirects = 5

// Redirects say how far redirects are followed. In any case one that changes the
// method is refused, because what was asked is lost with the body; and one to
// another origin (scheme, host or port) is, unless it is allowed and there is no
// credential that could go along.
type Redirects struct {
	// Loses is what is lost when a POST becomes a GET, such as "the query".
	Loses string
	// Elsewhere allows other origins, for clients without a credential.
	Elsewhere bool
	// Within, if not nil, is asked whether a URL of the same origin may be asked.
	Within func(*url.URL) bool
}

// RedirectError is a redirect that is not followed.
type RedirectError struct{ message string }

// Error says where it leads and what to do.
func (e *RedirectError) Error() string { return e.message }

func refusedf(format string, args ...any) error {
	return &RedirectError{fmt.Sprintf(format, args...)}
}

// check judges the request that a redirect leads to.
func (r *Redirects) check(req *http.Request, via []*http.Request, credentials bool) error {
	first := via[0]
	switch {
	case len(via) > maxRedirects:
		return refusedf("stopped after %d redirects", maxRedirects)
	case req.Method != first.Method:
		return refusedf("redirected to %s in a way that loses %s; use that URL directly, or status 307 or 308",
			Shown(req.URL), cmp.Or(r.Loses, "the request"))
	case sameOrigin(req.URL, first.URL):
		if r.Within != nil && !r.Within(req.URL) {
			return refusedf("redirected to %s, which is not below the configured URL and not followed", Shown(req.URL))
		}
		return nil
	case !r.Elsewhere:
		return refusedf("redirected to another server, %s, which is not followed; use that URL directly", Shown(req.URL))
	case credentials || first.URL.User != nil || carries(first.Header):
		return refusedf("redirected to another server, %s, which must not see our credentials; use that URL directly", Shown(req.URL))
	}
	return nil
}

// sameOrigin compares scheme, host and port.
func sameOrigin(a, b *url.URL) bool {
	return a.Scheme == b.Scheme && strings.EqualFold(a.Hostname(), b.Hostname()) && port(a) == port(b)
}

func port(u *url.URL) string {
	return cmp.Or(u.Port(), map[string]string{"http": "80", "https": "443"}[u.Scheme])
}

// Below reports whether a URL is base or one below it.
func Below(base, u *url.URL) bool {
	root := strings.TrimRight(base.Path, "/")
	climbs := slices.Contains(strings.Split(u.Path, "/"), "..")
	return sameOrigin(base, u) && !climbs && (u.Path == root || strings.HasPrefix(u.Path, root+"/"))
}

// carries reports whether a header is set that may be a credential.
func carries(h http.Header) bool {
	for name := range h {
		if !open(name) {
			return true
		}
	}
	return false
}

// identifies reports whether a configuration tells a server who we are.
func identifies(c *promconfig.HTTPClientConfig) bool {
	return c.BasicAuth != nil || c.Authorization != nil || c.OAuth2 != nil || c.BearerToken != "" || c.BearerTokenFile != "" ||
		c.HTTPHeaders != nil && len(c.HTTPHeaders.Headers) > 0 ||
		c.TLSConfig.Cert != "" || c.TLSConfig.CertFile != "" || c.TLSConfig.CertRef != ""
}

// WithoutCredentials keeps of a configuration what identifies nobody: proxy,
// HTTP version, and how the server's certificate is checked.
func WithoutCredentials(c promconfig.HTTPClientConfig) promconfig.HTTPClientConfig {
	out := promconfig.HTTPClientConfig{
		FollowRedirects: c.FollowRedirects, EnableHTTP2: c.EnableHTTP2, ProxyConfig: c.ProxyConfig,
	}
	out.TLSConfig = c.TLSConfig
	out.TLSConfig.Cert, out.TLSConfig.CertFile, out.TLSConfig.CertRef = "", "", ""
	out.TLSConfig.Key, out.TLSConfig.KeyFile, out.TLSConfig.KeyRef = "", "", ""
	out.ProxyConnectHeader = nil
	return out
}

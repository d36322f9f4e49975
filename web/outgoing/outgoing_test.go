package outgoing

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	promconfig "github.com/prometheus/common/config"
	"github.com/stretchr/testify/require"
)

func server(t *testing.T, h http.HandlerFunc) string {
	t.Helper()
	s := httptest.NewServer(h)
	t.Cleanup(s.Close)
	return s.URL
}

func client(t *testing.T, o Options) *Client {
	t.Helper()
	c, err := New(o)
	require.NoError(t, err)
	return c
}

func withPassword(password string) promconfig.HTTPClientConfig {
	c := promconfig.DefaultHTTPClientConfig
	c.BasicAuth = &promconfig.BasicAuth{Username: "ann", Password: promconfig.Secret(password)}
	return c
}

func TestRedirects(t *testing.T) {
	var asked atomic.Int64
	other := server(t, func(http.ResponseWriter, *http.Request) { asked.Add(1) })
	base := server(t, func(w http.ResponseWriter, r *http.Request) {
		if to := r.FormValue("to"); to != "" {
			http.Redirect(w, r, to, http.StatusTemporaryRedirect)
		}
	})
	below := Redirects{Within: func(to *url.URL) bool { return strings.HasPrefix(to.Path, "/app/") }}
	for _, tt := range []struct {
		name   string
		o      Redirects
		config promconfig.HTTPClientConfig
		to     string
		want   string // of the error; empty: followed
	}{
		{"same server", Redirects{}, withPassword("pass"), "/moved", ""},
		{"below", below, withPassword("pass"), "/app/x", ""},
		{"beside", below, withPassword("pass"), "/login", "not below the configured URL"},
		{"other port", Redirects{}, promconfig.DefaultHTTPClientConfig, other, "another server, " + other + ", which is not followed"},
		{"other port, allowed", Redirects{Elsewhere: true}, promconfig.DefaultHTTPClientConfig, other, ""},
		{"other port, with a credential", Redirects{Elsewhere: true}, withPassword("pass"), other, "which must not see our credentials"},
		{"not followed", Redirects{}, promconfig.HTTPClientConfig{}, other, ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			asked.Store(0)
			resp, err := client(t, Options{Config: tt.config, Redirects: tt.o}).Get(t.Context(), base+"/app/?to="+url.QueryEscape(tt.to))
			if tt.want == "" {
				require.NoError(t, err)
				require.NoError(t, resp.Body.Close())
				return
			}
			require.ErrorContains(t, err, tt.want)
			_, ok := errors.AsType[*RedirectError](err)
			require.True(t, ok)
			require.Zero(t, asked.Load())
		})
	}
}

func TestSameOrigin(t *testing.T) {
	for _, tt := range []struct {
		a, b string
		same bool
	}{
		{"http://m:8080/a", "http://m:8080/b", true},
		{"http://M/a", "http://m:80/b", true},
		{"https://m", "https://m:443", true},
		{"http://m:8080", "https://m:8080", false},
		{"http://m", "https://m", false},
		{"http://m:8080", "http://m:8081", false},
		{"http://m:8080", "http://x.m:8080", false},
	} {
		a, err := url.Parse(tt.a)
		require.NoError(t, err)
		b, err := url.Parse(tt.b)
		require.NoError(t, err)
		require.Equal(t, tt.same, sameOrigin(a, b), "%s %s", tt.a, tt.b)
		require.Equal(t, tt.same, sameOrigin(b, a), "%s %s", tt.a, tt.b)
	}
}

func TestBelow(t *testing.T) {
	base, err := url.Parse("http://h/app/")
	require.NoError(t, err)
	for to, want := range map[string]bool{
		"http://h/app": true, "http://h/app/": true, "http://h/app/x": true, "http://h:80/app/x": true,
		"http://h/apple": false, "http://h/": false, "http://h:81/app/x": false, "http://h/app/../x": false, "http://h/app/%2e%2e/x": false,
	} {
		u, err := url.Parse(to)
		require.NoError(t, err)
		require.Equal(t, want, Below(base, u), to)
	}
}

// What was sent as a secret is found in whatever form a server shows it.
func TestEchoedSecretsAreTakenOut(t *testing.T) {
	const secret = `p"ss/wörd&1`
	for name, form := range map[string]func(string) string{
		"plain": func(s string) string { return s }, "in a query": url.QueryEscape, "in a path": url.PathEscape,
		"in JSON": func(s string) string { return fmt.Sprintf("%q", s) },
		"cut off": func(s string) string { return strings.Repeat(" ", maxQuoted-6) + s },
	} {
		t.Run(name, func(t *testing.T) {
			base := server(t, func(w http.ResponseWriter, r *http.Request) {
				_, password, _ := r.BasicAuth()
				w.WriteHeader(http.StatusForbidden)
				_, _ = io.WriteString(w, "no: "+r.Header.Get("Authorization")+" "+r.FormValue("key")+" "+form(password))
			})
			c := client(t, Options{Config: withPassword(secret), Parameters: url.Values{"key": {"long-parameter"}}})
			resp, err := c.Get(t.Context(), base+"?key=long-parameter")
			require.NoError(t, err)
			defer resp.Body.Close()
			quote := resp.Quote()
			require.Contains(t, quote, "no: <secret> <secret>")
			for _, part := range []string{"wörd", `p"ss`, "p%22s", "YW5u", "parameter"} {
				require.NotContains(t, quote, part)
			}
		})
	}
}

// Secrets that others than the server get are told by their errors.
func TestSecretsOnTheWay(t *testing.T) {
	file := filepath.Join(t.TempDir(), "secret")
	require.NoError(t, os.WriteFile(file, []byte("oauth-secret\n"), 0o600))
	tokens := server(t, func(w http.ResponseWriter, r *http.Request) {
		_, password, _ := r.BasicAuth()
		w.WriteHeader(http.StatusBadRequest)
		_, _ = io.WriteString(w, "no token for "+r.FormValue("client_secret")+password+strings.Repeat(" x", 10_000))
	})
	config := promconfig.DefaultHTTPClientConfig
	config.OAuth2 = &promconfig.OAuth2{ClientID: "us", ClientSecretFile: file, TokenURL: tokens}
	_, err := client(t, Options{Config: config}).Get(t.Context(), tokens)
	require.ErrorContains(t, err, "no token for <secret>")
	require.NotContains(t, err.Error(), "oauth-secret")
	require.Less(t, len(err.Error()), 2*maxError)
}

func TestErrorsNameNoURL(t *testing.T) {
	c := client(t, Options{})
	for _, address := range []string{"http://ann:hunter2@127.0.0.1:1/?token=hunter3", "http://ann:hunter2@%zz/"} {
		_, err := c.Get(t.Context(), address)
		require.Error(t, err)
		require.NotContains(t, err.Error(), "hunter")
		_, err = ParseURL(strings.Replace(address, "http", "ftp", 1))
		require.Error(t, err)
		require.NotContains(t, err.Error(), "hunter")
	}
}

func TestRepliesAreBounded(t *testing.T) {
	base := server(t, func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/streamed" {
			http.NewResponseController(w).Flush() //nolint:errcheck // a recorder would tell
		}
		_, _ = io.WriteString(w, r.FormValue("body"))
	})
	c := client(t, Options{MaxReply: 5})
	read := func(path string) (string, error) {
		resp, err := c.Get(t.Context(), base+path)
		if err != nil {
			return "", err
		}
		defer resp.Body.Close()
		b, err := io.ReadAll(resp.Body)
		return string(b), err
	}
	got, err := read("/streamed?body=12345")
	require.NoError(t, err)
	require.Equal(t, "12345", got)
	for _, path := range []string{"/announced", "/streamed"} {
		_, err = read(path + "?body=123456")
		tooLarge, ok := errors.AsType[*TooLargeError](err)
		require.True(t, ok, "%v", err)
		require.EqualValues(t, 5, tooLarge.Limit)
	}
}

func TestPassing(t *testing.T) {
	for code, want := range map[int]bool{200: false, 302: false, 400: false, 404: false, 408: true, 409: false, 425: true, 429: true, 500: true, 599: true} {
		require.Equal(t, want, Passing(code), "%d", code)
	}
	require.Equal(t, "599", StatusText(599))
	require.Equal(t, "404 Not Found", StatusText(404))
}

func TestOneLine(t *testing.T) {
	require.Equal(t, "a b c", OneLine(" a\n\tb\x1b  c\x00", 10))
	require.Equal(t, "ab…", OneLine("abö", 3), "no half a character")
}

package post

import (
	"context"
	"crypto/tls"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	promconfig "github.com/prometheus/common/config"
	"github.com/stretchr/testify/require"

	"github.com/zeta-scaler/zeta-scaler/events/signature"
)

func newClient(t *testing.T, url string, change func(*Options)) *Client {
	t.Helper()
	o := Options{URL: url, HTTPClientConfig: promconfig.DefaultHTTPClientConfig, Timeout: 10 * time.Second}
	if change != nil {
		change(&o)
	}
	c, err := New(o)
	require.NoError(t, err)
	return c
}

func message() Message {
	return Message{Body: []byte(`{"a":1}`), ContentType: "application/json", Key: "1-2-prod", Header: map[string]string{"X-More": "more"}}
}

func TestPost(t *testing.T) {
	now := time.Unix(1767225600, 0)
	path := filepath.Join(t.TempDir(), "key")
	write := func(key string) { require.NoError(t, os.WriteFile(path, []byte(key), 0o600)) }
	write("first")
	var key atomic.Value
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		b, err := io.ReadAll(r.Body)
		if err != nil || r.Method != http.MethodPost || string(b) != `{"a":1}` || r.Header.Get("Content-Type") != "application/json" ||
			r.Header.Get("Idempotency-Key") != "1-2-prod" || r.Header.Get("X-More") != "more" || r.UserAgent() != "zeta-scaler" {
			w.WriteHeader(http.StatusTeapot)
			return
		}
		if signature.Verify([]byte(key.Load().(string)), r.Header.Get(signature.Header), b, now, 0) != nil {
			w.WriteHeader(http.StatusUnauthorized)
			return
		}
		w.WriteHeader(http.StatusAccepted)
	}))
	defer server.Close()
	c := newClient(t, server.URL, func(o *Options) {
		o.SecretFile, o.Now = path, func() time.Time { return now }
	})

	key.Store("first")
	reply, err := c.Post(t.Context(), message())
	require.NoError(t, err)
	require.Equal(t, Reply{Status: http.StatusAccepted}, reply)

	// The key is replaced, on both sides.
	key.Store("second")
	write("second\n")
	reply, err = c.Post(t.Context(), message())
	require.NoError(t, err)
	require.True(t, reply.OK())

	// It is gone: nothing is sent without a signature.
	require.NoError(t, os.Remove(path))
	_, err = c.Post(t.Context(), message())
	requireNotSent(t, err)
	require.ErrorIs(t, err, os.ErrNotExist)
}

func requireNotSent(t *testing.T, err error) {
	t.Helper()
	var e *Error
	require.ErrorAs(t, err, &e)
	require.False(t, e.Sent, "%v", err)
}

func requireSent(t *testing.T, err error) {
	t.Helper()
	var e *Error
	require.ErrorAs(t, err, &e)
	require.True(t, e.Sent, "%v", err)
}

func TestReplies(t *testing.T) {
	for _, test := range []struct {
		status      int
		body        string
		ok, passing bool
		text        string
	}{
		{200, "whatever", true, false, "200 OK"},
		{202, "", true, false, "202 Accepted"},
		{204, "", true, false, "204 No Content"},
		{302, "", false, false, "302 Found"},
		{400, "no\n such \x1b scope", false, false, "400 Bad Request: no such scope"},
		{408, "", false, true, "408 Request Timeout"},
		{409, "", false, false, "409 Conflict"},
		{425, "", false, true, "425 Too Early"},
		{429, "", false, true, "429 Too Many Requests"},
		{500, strings.Repeat("x", 20000), false, true, "500 Internal Server Error: " + strings.Repeat("x", 300) + "…"},
		{599, "", false, true, "599"},
	} {
		t.Run(http.StatusText(test.status), func(t *testing.T) {
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
				w.Header().Set("Location", "/elsewhere")
				w.WriteHeader(test.status)
				_, _ = io.WriteString(w, test.body)
			}))
			defer server.Close()
			reply, err := newClient(t, server.URL, nil).Post(t.Context(), message())
			require.NoError(t, err)
			require.Equal(t, test.ok, reply.OK())
			require.Equal(t, test.passing, reply.Passing())
			require.Equal(t, test.text, reply.String())
		})
	}
}

// hijack answers a request with bytes of its own and closes the connection.
func hijack(w http.ResponseWriter, answer string) {
	c, _, err := w.(http.Hijacker).Hijack()
	if err != nil {
		panic(err)
	}
	_, _ = io.WriteString(c, answer)
	_ = c.Close()
}

func TestWhatIsSentOnce(t *testing.T) {
	for name, answer := range map[string]string{
		"no reply": "", "half a reply": "HTTP/1.1 20", "no HTTP": "hello\r\n\r\n",
	} {
		t.Run(name, func(t *testing.T) {
			var requests atomic.Int32
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				_, _ = io.Copy(io.Discard, r.Body)
				if requests.Add(1)%2 == 0 {
					hijack(w, answer)
				}
			}))
			defer server.Close()
			c := newClient(t, server.URL, nil)
			// The first could leave a connection on which the transport repeats.
			reply, err := c.Post(t.Context(), message())
			require.NoError(t, err)
			require.True(t, reply.OK())
			_, err = c.Post(t.Context(), message())
			requireSent(t, err)
			require.Equal(t, int32(2), requests.Load())
		})
	}
}

func TestReplyWhoseBodyBreaksOffIsAReply(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		hijack(w, "HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nhalf")
	}))
	defer server.Close()
	reply, err := newClient(t, server.URL, nil).Post(t.Context(), message())
	require.NoError(t, err)
	require.True(t, reply.OK())
}

func TestTimeouts(t *testing.T) {
	stop := make(chan struct{})
	server := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { <-stop }))
	defer server.Close()
	defer close(stop)

	_, err := newClient(t, server.URL, func(o *Options) { o.Timeout = 50 * time.Millisecond }).Post(t.Context(), message())
	requireSent(t, err)
	require.ErrorContains(t, err, "no reply within 50ms")
	require.NotErrorIs(t, err, context.DeadlineExceeded, "the caller's time is not over")

	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	_, err = newClient(t, server.URL, nil).Post(ctx, message())
	requireSent(t, err)
	require.ErrorIs(t, err, context.DeadlineExceeded)

	cancel()
	_, err = newClient(t, server.URL, nil).Post(ctx, message())
	requireNotSent(t, err)
}

func TestDefaultTimeout(t *testing.T) {
	require.Equal(t, DefaultTimeout, newClient(t, "http://localhost", func(o *Options) { o.Timeout = 0 }).o.Timeout)
}

func TestNoConnection(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	address := l.Addr().String()
	t.Run("handshake", func(t *testing.T) {
		// Nobody accepts: TCP connects, TLS does not.
		c := newClient(t, "https://"+address, func(o *Options) { o.Timeout = 100 * time.Millisecond })
		_, err := c.Post(t.Context(), message())
		requireNotSent(t, err)
		require.NotErrorIs(t, err, context.DeadlineExceeded)
	})
	require.NoError(t, l.Close())
	t.Run("refused", func(t *testing.T) {
		_, err := newClient(t, "http://"+address, nil).Post(t.Context(), message())
		requireNotSent(t, err)
		require.ErrorContains(t, err, "connection refused")
	})
	t.Run("unknown certificate", func(t *testing.T) {
		server := httptest.NewUnstartedServer(http.NotFoundHandler())
		server.TLS = &tls.Config{MinVersion: tls.VersionTLS12}
		server.Config.ErrorLog = log.New(io.Discard, "", 0)
		server.StartTLS()
		defer server.Close()
		_, err := newClient(t, server.URL, nil).Post(t.Context(), message())
		requireNotSent(t, err)
		require.ErrorContains(t, err, "certificate")
	})
}

func TestOptions(t *testing.T) {
	empty := filepath.Join(t.TempDir(), "empty")
	require.NoError(t, os.WriteFile(empty, nil, 0o600))
	for _, test := range []struct {
		name string
		o    Options
		want string
	}{
		{"no url", Options{}, "not the address"},
		{"a path", Options{URL: "/scale"}, "not the address"},
		{"another scheme", Options{URL: "ftp://example.com"}, "not the address"},
		{"not a url", Options{URL: "http://bob:hunter2@host:port/"}, "invalid port"},
		{"negative", Options{URL: "http://localhost", Timeout: -1}, "negative"},
		{"no key", Options{URL: "http://localhost", SecretFile: "missing"}, "reading the key"},
		{"empty key", Options{URL: "http://localhost", SecretFile: empty}, "is empty"},
		{"no certificate", Options{URL: "http://localhost", HTTPClientConfig: promconfig.HTTPClientConfig{TLSConfig: promconfig.TLSConfig{CAFile: "missing"}}}, "http client"},
	} {
		t.Run(test.name, func(t *testing.T) {
			_, err := New(test.o)
			require.ErrorContains(t, err, test.want)
			require.NotContains(t, err.Error(), "hunter2")
		})
	}
}

func TestSecretsOfTheURLAreNotTold(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	require.NoError(t, l.Close())
	c := newClient(t, "http://bob:hunter2@"+l.Addr().String()+"/services/hunter4?token=hunter3", nil)
	require.Equal(t, "http://"+l.Addr().String()+"/…", c.String())
	_, err = c.Post(t.Context(), message())
	require.Error(t, err)
	require.NotContains(t, err.Error(), "hunter")
}

package outgoing_test

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	promconfig "github.com/prometheus/common/config"
	"github.com/stretchr/testify/require"

	"github.com/zeta-scaler/zeta-scaler/web/outgoing"
)

func TestCauseOf(t *testing.T) {
	plain := httptest.NewServer(http.NotFoundHandler())
	defer plain.Close()
	secure := httptest.NewTLSServer(http.NotFoundHandler())
	defer secure.Close()
	free, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	nobody := "http://" + free.Addr().String()
	require.NoError(t, free.Close())
	late, stop := context.WithTimeout(t.Context(), 0)
	defer stop()
	ask := func(ctx context.Context, url string) error {
		c, err := outgoing.New(outgoing.Options{Config: promconfig.DefaultHTTPClientConfig})
		require.NoError(t, err)
		reply, err := c.Get(ctx, url)
		if err == nil {
			err = errors.Join(errors.New("answered "+outgoing.StatusText(reply.StatusCode)), reply.Body.Close())
		}
		return fmt.Errorf("asking: %w", err)
	}
	for want, err := range map[outgoing.Cause]error{
		outgoing.NobodyListens:    ask(t.Context(), nobody),
		outgoing.NoSuchHost:       ask(t.Context(), "http://no-such-host.invalid"),
		outgoing.NoAnswerInTime:   ask(late, plain.URL),
		outgoing.SpeaksHTTP:       ask(t.Context(), strings.Replace(plain.URL, "http:", "https:", 1)),
		outgoing.UnknownAuthority: ask(t.Context(), secure.URL),
		outgoing.NotFound:         ask(t.Context(), plain.URL),
		outgoing.WantsCredential:  errors.New("answered " + outgoing.StatusText(http.StatusUnauthorized)),
		outgoing.CauseOther:       errors.New("port 4010 answered 4040 times"),
	} {
		require.Equal(t, want, outgoing.CauseOf(err), "%v", err)
		require.Equal(t, want == outgoing.CauseOther, want.Advice("urls", "http_config") == "")
	}
	require.Equal(t, outgoing.SpeaksTLS, outgoing.CauseOf(errors.New("answered 400 Bad Request: Client sent an HTTP request to an HTTPS server")))
}

// An error that only an expert understands says what to do, and with which
// setting.
func TestErrorsOfTLSHaveAHint(t *testing.T) {
	plain := httptest.NewServer(http.NotFoundHandler())
	defer plain.Close()
	secure := httptest.NewTLSServer(http.NotFoundHandler())
	defer secure.Close()
	c, err := outgoing.New(outgoing.Options{Config: promconfig.DefaultHTTPClientConfig, Key: "prometheus.urls", HTTPKey: "prometheus.http_config"})
	require.NoError(t, err)
	_, err = c.Get(t.Context(), strings.Replace(plain.URL, "http:", "https:", 1)) //nolint:bodyclose // there is no reply
	require.ErrorContains(t, err, "write http:// in prometheus.urls")
	_, err = c.Get(t.Context(), secure.URL) //nolint:bodyclose // there is no reply
	require.ErrorContains(t, err, "prometheus.http_config.tls_config.ca_file")
	require.Equal(t, outgoing.UnknownAuthority, outgoing.CauseOf(err), "it stays what it was")
}

// A server that speaks TLS may reset a connection on which it is spoken to in plain
// HTTP: the error says where to look.
func TestAConnectionThatIsResetHasAHint(t *testing.T) {
	resets, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer resets.Close()
	go func() {
		for {
			conn, err := resets.Accept()
			if err != nil {
				return
			}
			_, _ = conn.Read(make([]byte, 1))
			_ = conn.(*net.TCPConn).SetLinger(0) // closing it resets it
			_ = conn.Close()
		}
	}()
	c, err := outgoing.New(outgoing.Options{Config: promconfig.DefaultHTTPClientConfig, Key: "prometheus.urls"})
	require.NoError(t, err)
	_, err = c.Get(t.Context(), "http://"+resets.Addr().String()) //nolint:bodyclose // there is no reply
	require.Equal(t, outgoing.ConnectionReset, outgoing.CauseOf(err), "%v", err)
	require.ErrorContains(t, err, "the server may speak TLS, or something in between closes connections: check http:// or https:// in prometheus.urls")
}

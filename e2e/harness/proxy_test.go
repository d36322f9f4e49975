package harness_test

import (
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/zeta-scaler/zeta-scaler/e2e/harness"
)

func TestProxyCutsAndRestores(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		_, _ = io.WriteString(w, "hello")
	}))
	defer server.Close()
	proxy := harness.NewProxy(t, server.Listener.Addr().String())
	client := &http.Client{}
	defer client.CloseIdleConnections()
	ask := func(limit time.Duration) (string, error) {
		ctx, cancel := context.WithTimeout(t.Context(), limit)
		defer cancel()
		req, err := http.NewRequestWithContext(ctx, http.MethodGet, harness.URL(proxy.Address), http.NoBody)
		require.NoError(t, err)
		resp, err := client.Do(req)
		if err != nil {
			return "", err
		}
		defer resp.Body.Close()
		b, err := io.ReadAll(resp.Body)
		return string(b), err
	}
	const long, short = 10 * time.Second, 200 * time.Millisecond

	answer, err := ask(long)
	require.NoError(t, err)
	require.Equal(t, "hello", answer)

	proxy.Stall()
	_, err = ask(short)
	require.ErrorIs(t, err, context.DeadlineExceeded, "a stalled path answers nothing")

	proxy.Refuse()
	_, err = ask(long)
	require.Error(t, err)
	require.NotErrorIs(t, err, context.DeadlineExceeded, "a refused path fails at once")

	proxy.Restore()
	answer, err = ask(long)
	require.NoError(t, err)
	require.Equal(t, "hello", answer)
}

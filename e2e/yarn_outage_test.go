//go:build e2e && unix

package e2e

import (
	"bytes"
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"regexp"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/zeta-scaler/zeta-scaler/actuators"
	"github.com/zeta-scaler/zeta-scaler/actuators/actuatortest"
	"github.com/zeta-scaler/zeta-scaler/e2e/harness"
)

// settled asks until it is done, as the executor does.
func (s *yarnSite) settled(t *testing.T, what string, do func(context.Context) error) {
	t.Helper()
	harness.Wait(t, 2*time.Minute, what, func(ctx context.Context) error {
		ctx, cancel := context.WithTimeout(ctx, 30*time.Second)
		defer cancel()
		return do(ctx)
	})
}

func yarnMasterKilled(t *testing.T, s *yarnSite) {
	before := s.has(t, 2)
	a := s.actuator(t)
	require.NoError(t, a.Scale(t.Context(), yarnTarget, 3, yarnFence(2)))
	s.SignalMaster(t, syscall.SIGKILL)
	st, err := a.Observe(t.Context(), yarnTarget)
	if err == nil {
		require.Equal(t, 3, st.Desired, "no worker is taken for lost")
	} else {
		require.NotErrorIs(t, err, actuators.ErrRefused)
	}
	s.settled(t, "4 instances were asked for", func(ctx context.Context) error { return a.Scale(ctx, yarnTarget, 4, yarnFence(2)) })
	after := s.Stable(t, 4)
	for name, id := range before.Ready {
		require.Equal(t, id, after.Ready[name])
	}
	s.agrees(t, 4)
}

func yarnMasterFrozen(t *testing.T, s *yarnSite) {
	s.has(t, 2)
	a := s.actuator(t)
	s.SignalMaster(t, syscall.SIGSTOP)
	thaw := func() { s.SignalMaster(t, syscall.SIGCONT) }
	defer thaw()
	ctx, cancel := context.WithTimeout(t.Context(), 3*time.Second)
	defer cancel()
	err := a.Scale(ctx, yarnTarget, 3, yarnFence(2))
	require.ErrorIs(t, err, context.DeadlineExceeded)
	thaw()
	s.settled(t, "3 instances were asked for", func(ctx context.Context) error {
		st, err := a.Observe(ctx, yarnTarget)
		if err != nil || st.Desired == 3 {
			return err
		}
		return a.Scale(ctx, yarnTarget, 3, yarnFence(2))
	})
	s.Stable(t, 3)
	s.agrees(t, 3)
}

func yarnManagerRestarted(t *testing.T, s *yarnSite) {
	before := s.has(t, 2)
	a := s.actuator(t)
	s.StopManager(t)
	err := a.Scale(t.Context(), yarnTarget, 3, yarnFence(2))
	require.Equal(t, "plain", actuatortest.Kind(err), "%v", err)
	require.ErrorContains(t, err, "connection refused")
	s.StartManager(t)
	s.settled(t, "3 instances were asked for", func(ctx context.Context) error { return a.Scale(ctx, yarnTarget, 3, yarnFence(2)) })
	after := s.Stable(t, 3)
	for name, id := range before.Ready {
		require.Equal(t, id, after.Ready[name])
	}
	s.agrees(t, 3)
}

// gate is between the actuator and the ResourceManager, and passes everything on.
type gate struct {
	url  string
	lose atomic.Bool
	held atomic.Pointer[chan struct{}]
	// answers takes the place of the ResourceManager's to requests that change
	// something, 0: none.
	answers atomic.Int64
}

// sizes are the numbers that a flex names; the same ones change nothing.
var sizes = regexp.MustCompile(`size from (\d+) to (\d+)`)

func newGate(t *testing.T, target string) *gate {
	t.Helper()
	to, err := url.Parse(target)
	require.NoError(t, err)
	g := &gate{}
	proxy := httputil.NewSingleHostReverseProxy(to)
	proxy.ModifyResponse = func(r *http.Response) error {
		if r.Request.Method != http.MethodPut || !g.lose.Load() {
			return nil
		}
		body, err := io.ReadAll(r.Body)
		r.Body = io.NopCloser(bytes.NewReader(body))
		m := sizes.FindSubmatch(body)
		if err == nil && (m == nil || !bytes.Equal(m[1], m[2])) {
			g.lose.Store(false)
			panic(http.ErrAbortHandler)
		}
		return err
	}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if held := g.held.Load(); held != nil {
			select {
			case <-*held:
			case <-r.Context().Done():
			}
			panic(http.ErrAbortHandler)
		}
		if status := g.answers.Load(); status != 0 && r.Method == http.MethodPut {
			w.WriteHeader(int(status))
			return
		}
		proxy.ServeHTTP(w, r)
	}))
	t.Cleanup(server.Close)
	g.url = server.URL
	return g
}

func (g *gate) stall(*testing.T) (resume func()) {
	held := make(chan struct{})
	g.held.Store(&held)
	return func() { g.held.Store(nil); close(held) }
}

//go:build e2e && unix

package e2e

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	yarnactuator "github.com/zeta-scaler/zeta-scaler/actuators/yarn"
	"github.com/zeta-scaler/zeta-scaler/e2e/harness"
	"github.com/zeta-scaler/zeta-scaler/e2e/yarn"
)

// Two ResourceManagers, of which the active one goes, comes back as standby, and
// becomes active again when the other one is killed.
func TestYARNFailover(t *testing.T) {
	t.Parallel()
	c := yarn.Start(t, lab, yarn.Options{Two: true, Managers: 1, Memory: 1536})
	c.Create(t, yarn.Definition{Instances: 1})
	s := newYARNSite(t, c)
	a := s.actuator(t, func(o *yarnactuator.Options) { o.Timeout = 5 * time.Second })
	want := 1
	scale := func(what string) {
		t.Helper()
		want++
		s.settled(t, fmt.Sprintf("%d instances were asked for %s", want, what), func(ctx context.Context) error {
			return a.Scale(ctx, yarnTarget, want, yarnFence(1))
		})
		s.Stable(t, want)
		s.agrees(t, want)
	}
	scale("of the first")
	before, err := s.Service(t.Context())
	require.NoError(t, err)

	s.StopManager(t)
	_, err = a.Observe(t.Context(), yarnTarget)
	if err != nil {
		t.Logf("in the failover: %v", err)
		require.NotContains(t, err.Error(), "refused:")
	}
	scale("of the second")

	s.StartManager(t)
	standby := s.actuator(t, func(o *yarnactuator.Options) { o.URLs = []string{s.URL} })
	harness.Wait(t, time.Minute, "the first is standby", func(ctx context.Context) error {
		_, err := standby.Observe(ctx, yarnTarget)
		if err == nil || !strings.Contains(err.Error(), "307 Temporary Redirect") {
			return fmt.Errorf("got %w", err)
		}
		t.Logf("alone: %v", err)
		return nil
	})
	first := s.actuator(t)
	st, err := first.Observe(t.Context(), yarnTarget)
	require.NoError(t, err, "the standby one is asked first, and then the active one")
	require.Equal(t, want, st.Desired)

	s.Second.Kill()
	scale("of the first again")
	after, err := s.Service(t.Context())
	require.NoError(t, err)
	for name, id := range before.Ready {
		require.Equal(t, id, after.Ready[name])
	}
}

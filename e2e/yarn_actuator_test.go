//go:build e2e && unix

package e2e

import (
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"strings"
	"testing"
	"time"

	promconfig "github.com/prometheus/common/config"
	"github.com/stretchr/testify/require"

	"github.com/zeta-scaler/zeta-scaler/actuators"
	"github.com/zeta-scaler/zeta-scaler/actuators/actuatortest"
	yarnactuator "github.com/zeta-scaler/zeta-scaler/actuators/yarn"
	"github.com/zeta-scaler/zeta-scaler/e2e/harness"
	"github.com/zeta-scaler/zeta-scaler/e2e/yarn"
	"github.com/zeta-scaler/zeta-scaler/scaling"
)

// The YARN actuator against a real ResourceManager. Its one service is brought back
// to a number of instances before each test.
func TestYARNActuator(t *testing.T) {
	t.Parallel()
	c := yarn.Start(t, lab, yarn.Options{Memory: 1536})
	c.Create(t, yarn.Definition{Instances: 1})
	for _, test := range []struct {
		name string
		run  func(*testing.T, *yarnSite)
	}{
		{"a flex to convergence", yarnConverges},
		{"an instance that is named goes, and no other", yarnReleases},
		{"an instance that died in between", yarnDiedInBetween},
		{"a flex beyond capacity is told and taken back", yarnBeyondCapacity},
		{"a flex while another one goes on", yarnFlexing},
		{"a second writer at the same time", yarnSecondWriter},
		{"the definition has another number", yarnOtherDefinition},
		// Before an ApplicationMaster is killed: a restart of the ResourceManager costs the next one all that it took over (docs/yarn.md, Limits).
		{"the ResourceManager is restarted", yarnManagerRestarted},
		{"the ApplicationMaster is killed in a flex", yarnMasterKilled},
		{"the ApplicationMaster is frozen", yarnMasterFrozen},
		{"a service that is stopped", yarnStopped},
		{"bad input", yarnBadInput},
		{"SUCCEEDED is seen soon", yarnSeenSoon},
	} {
		t.Run(test.name, func(t *testing.T) { test.run(t, newYARNSite(t, c)) })
	}
	t.Run("conformance", func(t *testing.T) {
		actuatortest.RunConformance(t, func(t *testing.T) actuatortest.Fixture { return yarnConforming(t, c) })
	})
}

// yarnSite is the cluster as one test uses it.
type yarnSite struct {
	*yarn.Cluster
}

func newYARNSite(t *testing.T, c *yarn.Cluster) *yarnSite { t.Helper(); return &yarnSite{c} }

func (s *yarnSite) options() yarnactuator.Options {
	o := yarnactuator.Options{
		URLs: []string{s.URL}, Service: s.ServiceName(), Component: yarn.Component, User: yarn.User, Withdraw: true,
		HTTPClientConfig: promconfig.DefaultHTTPClientConfig, Logger: slog.New(slog.DiscardHandler), Timeout: 15 * time.Second,
	}
	if s.Other != "" {
		o.URLs = append(o.URLs, s.Other)
	}
	return o
}

func (s *yarnSite) actuator(t *testing.T, change ...func(*yarnactuator.Options)) *yarnactuator.Actuator {
	t.Helper()
	o := s.options()
	for _, f := range change {
		f(&o)
	}
	a, err := yarnactuator.New(o)
	require.NoError(t, err)
	return a
}

// has brings the service to n instances, past the actuator.
func (s *yarnSite) has(t *testing.T, n int) yarn.Service {
	t.Helper()
	s.Flex(t, n)
	return s.Stable(t, n)
}

// agrees requires that the definition has the number that is kept up.
func (s *yarnSite) agrees(t *testing.T, want int) {
	t.Helper()
	harness.Wait(t, time.Minute, fmt.Sprintf("definition and service have %d instances", want), func(ctx context.Context) error {
		return s.agree(ctx, want)
	})
}

// agree says where a number is not the one that is wanted.
func (s *yarnSite) agree(ctx context.Context, want int) error {
	now, err := s.Service(ctx)
	if err != nil {
		return err
	}
	n, err := s.Definition()
	if err == nil && (n != want || now.Wanted != want || now.State == "FAILED") {
		err = fmt.Errorf("the definition has %d, the service %+v", n, now)
	}
	return err
}

var yarnTarget = actuators.Target{Scope: scaling.NewScope([]scaling.Label{{Name: "cluster", Value: "hadoop"}}), Name: "yarn/zeta/worker"}

func yarnFence(from int) actuators.Fence {
	return actuators.Fence{Epoch: 3, Generation: 8, RecommendationID: "3-8-hadoop", ActionID: "3-8-hadoop", From: &from}
}

func yarnConverges(t *testing.T, s *yarnSite) {
	s.has(t, 1)
	a := s.actuator(t)
	require.NoError(t, a.Scale(t.Context(), yarnTarget, 3, yarnFence(1)))
	harness.Wait(t, time.Minute, "the actuator sees 3 instances ready", func(ctx context.Context) error {
		st, err := a.Observe(ctx, yarnTarget)
		if err == nil && (st.Ready != 3 || st.Desired != 3 || st.OtherWriter != "") {
			err = fmt.Errorf("%+v", st)
		}
		return err
	})
	s.agrees(t, 3)
	require.NoError(t, a.Scale(t.Context(), yarnTarget, 3, yarnFence(3)), "asking twice")
	s.agrees(t, 3)
}

func yarnReleases(t *testing.T, s *yarnSite) {
	before := s.has(t, 5)
	a := s.actuator(t)
	workers, err := a.Workers(t.Context(), yarnTarget)
	require.NoError(t, err)
	require.Len(t, workers, 5)
	middle := workers[2]
	require.NotEmpty(t, middle.Address)
	require.NoError(t, a.Release(t.Context(), yarnTarget, []actuators.Worker{middle}, yarnFence(5)))
	after := s.Stable(t, 4)
	for name, id := range before.Ready {
		if name == middle.Name {
			require.NotContains(t, after.Ready, name)
		} else {
			require.Equal(t, id, after.Ready[name], "%s was not named", name)
		}
	}
	s.agrees(t, 4)
	require.NoError(t, a.Release(t.Context(), yarnTarget, []actuators.Worker{middle}, yarnFence(5)), "once more under the same id")
	s.agrees(t, 4)
	require.NoError(t, a.Scale(t.Context(), yarnTarget, 5, yarnFence(4)))
	require.NotContains(t, s.Stable(t, 5).Ready, middle.Name, "the name never comes back")
}

// A worker that died is being replaced under its name: it is not taken away as long
// as it is not there, and the others stay.
func yarnDiedInBetween(t *testing.T, s *yarnSite) {
	before := s.has(t, 3)
	name := before.Names()[1]
	a := s.actuator(t)
	require.True(t, s.KillInstance(before.Ready[name]))
	harness.Wait(t, time.Minute, "YARN has noticed", func(ctx context.Context) error {
		now, err := s.Service(ctx)
		if err == nil && now.Ready[name] == before.Ready[name] {
			err = fmt.Errorf("%+v", now)
		}
		return err
	})
	err := a.Release(t.Context(), yarnTarget, []actuators.Worker{{Name: name}}, yarnFence(3))
	if err == nil { // it was back already
		s.agrees(t, 2)
		return
	}
	require.Contains(t, []string{"plain", "refused"}, actuatortest.Kind(err), "%v", err)
	after := s.Stable(t, 3)
	require.Contains(t, after.Ready, name, "it is replaced under its name")
	s.agrees(t, 3)
	require.NoError(t, a.Release(t.Context(), yarnTarget, []actuators.Worker{{Name: name}}, yarnFence(3)))
	s.agrees(t, 2)
}

func yarnBeyondCapacity(t *testing.T, s *yarnSite) {
	before := s.has(t, 2)
	a := s.actuator(t)
	require.NoError(t, a.Scale(t.Context(), yarnTarget, 60, yarnFence(2)))
	var st actuators.State
	harness.Wait(t, 2*time.Minute, "the cluster is full and says so", func(ctx context.Context) (err error) {
		st, err = a.Observe(ctx, yarnTarget)
		if err == nil && (!strings.Contains(st.Detail, "nodes have 0 MB free") || !strings.Contains(st.Detail, "containers wait there")) {
			err = fmt.Errorf("%+v", st)
		}
		return err
	})
	require.Equal(t, 60, st.Desired)
	require.Contains(t, st.Detail, "queue root.default uses ")
	t.Logf("%s", st.Detail)
	full, err := s.Service(t.Context())
	require.NoError(t, err)
	left, err := a.Withdraw(t.Context(), yarnTarget, yarnFence(2))
	require.NoError(t, err)
	require.GreaterOrEqual(t, left, len(full.Ready))
	s.agrees(t, left)
	after, err := s.Service(t.Context())
	require.NoError(t, err)
	for name, id := range full.Ready {
		require.Equal(t, id, after.Ready[name], "%s ran", name)
	}
	for name, id := range before.Ready {
		require.Equal(t, id, after.Ready[name])
	}
}

func yarnFlexing(t *testing.T, s *yarnSite) {
	s.has(t, 1)
	a := s.actuator(t)
	require.NoError(t, a.Scale(t.Context(), yarnTarget, 3, yarnFence(1)))
	require.NoError(t, a.Scale(t.Context(), yarnTarget, 5, yarnFence(1)), "a later round")
	err := a.Release(t.Context(), yarnTarget, []actuators.Worker{{Name: s.Names(t)[0]}}, yarnFence(1))
	require.ErrorContains(t, err, "an instance is removed only while both are STABLE")
	s.Stable(t, 5)
	s.agrees(t, 5)
}

// Names are the instances that are listed now.
func (s *yarnSite) Names(t *testing.T) []string {
	t.Helper()
	now, err := s.Service(t.Context())
	require.NoError(t, err)
	return now.Names()
}

// Somebody flexes to another number, again and again. Whatever comes of it, the
// definition ends with what is kept up.
func yarnSecondWriter(t *testing.T, s *yarnSite) {
	s.has(t, 2)
	a := s.actuator(t)
	require.NoError(t, a.Scale(t.Context(), yarnTarget, 3, yarnFence(2)))
	s.Flex(t, 5)
	s.Stable(t, 5)
	st, err := a.Observe(t.Context(), yarnTarget)
	require.NoError(t, err)
	require.Contains(t, st.OtherWriter, "whoever flexed component worker")
	var other *actuators.OtherWriterError
	require.ErrorAs(t, a.Scale(t.Context(), yarnTarget, 6, yarnFence(3)), &other)
	s.agrees(t, 5)
	f := yarnFence(5)
	f.AcceptPresent = true
	require.NoError(t, a.Scale(t.Context(), yarnTarget, 6, f))
	s.agrees(t, 6)
}

// A decommission of an instance that is not there lowers the definition's number
// alone.
func yarnOtherDefinition(t *testing.T, s *yarnSite) {
	s.has(t, 3)
	absent := map[string]any{"components": []any{map[string]any{"name": yarn.Component, "decommissioned_instances": []string{"worker-77"}}}}
	s.Do(t, http.MethodPut, s.Path(), absent, http.StatusAccepted)
	n, err := s.Definition()
	require.NoError(t, err)
	require.Equal(t, 2, n)
	a := s.actuator(t)
	var other *actuators.OtherWriterError
	require.ErrorAs(t, a.Scale(t.Context(), yarnTarget, 4, yarnFence(3)), &other)
	require.Contains(t, other.Detail, "it said 2 instances of component worker, and 3 are kept up")
	s.agrees(t, 3)
	f := yarnFence(3)
	f.AcceptPresent = true
	require.NoError(t, a.Scale(t.Context(), yarnTarget, 4, f))
	s.agrees(t, 4)
}

func yarnStopped(t *testing.T, s *yarnSite) {
	s.has(t, 2)
	a := s.actuator(t)
	s.Set(t, "STOPPED")
	harness.Wait(t, time.Minute, "the actuator sees that it is stopped", func(ctx context.Context) error {
		_, err := a.Observe(ctx, yarnTarget)
		if err == nil || !strings.Contains(err.Error(), "service zeta is STOPPED and has no workers; start it") {
			return fmt.Errorf("got %w", err)
		}
		return nil
	})
	err := a.Scale(t.Context(), yarnTarget, 4, yarnFence(2))
	require.ErrorIs(t, err, actuators.ErrRefused)
	n, err := s.Definition()
	require.NoError(t, err)
	require.Equal(t, 2, n, "nothing was stored")
	s.Set(t, "STARTED")
	s.Stable(t, 2)
	require.NoError(t, a.Scale(t.Context(), yarnTarget, 3, yarnFence(2)))
	s.agrees(t, 3)
}

func yarnBadInput(t *testing.T, s *yarnSite) {
	s.has(t, 2)
	for name, tc := range map[string]struct {
		change func(*yarnactuator.Options)
		say    string
	}{
		"no such service":   {func(o *yarnactuator.Options) { o.Service = "nope" }, "GET /app/v1/services/nope at "},
		"no such component": {func(o *yarnactuator.Options) { o.Component = "nope" }, "has no component nope, only worker; correct component"},
		"somebody else's":   {func(o *yarnactuator.Options) { o.User = "bob" }, "service zeta belongs to user svc, and we are bob"},
		"no services API":   {func(o *yarnactuator.Options) { o.ServicesPath = "/nope" }, "services_path"},
	} {
		err := s.actuator(t, tc.change).Scale(t.Context(), yarnTarget, 4, yarnFence(2))
		require.ErrorIs(t, err, actuators.ErrRefused, name)
		require.ErrorContains(t, err, tc.say, name)
	}
	s.agrees(t, 2)
}

func yarnConforming(t *testing.T, c *yarn.Cluster) actuatortest.Fixture {
	t.Helper()
	s := newYARNSite(t, c)
	s.has(t, 0)
	g := newGate(t, s.URL)
	return actuatortest.Fixture{
		Actuator: s.actuator(t, func(o *yarnactuator.Options) { o.URLs = []string{g.url} }), Target: yarnTarget,
		Desired: func(t *testing.T) int {
			now, err := s.Service(t.Context())
			require.NoError(t, err)
			return now.Wanted
		},
		Settle: func(t *testing.T) {
			now, err := s.Service(t.Context())
			require.NoError(t, err)
			s.Stable(t, now.Wanted)
		},
		Stall:     g.stall,
		LoseReply: func(*testing.T) { g.lose.Store(true) },
		Refuse:    func(*testing.T) { g.answers.Store(http.StatusForbidden) },
		Fail:      func(*testing.T) { g.answers.Store(http.StatusTooManyRequests) },
	}
}

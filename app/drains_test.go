package app

import (
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/stretchr/testify/require"

	"github.com/zeta-scaler/zeta-scaler/actuators"
	"github.com/zeta-scaler/zeta-scaler/app/kinds"
	"github.com/zeta-scaler/zeta-scaler/config"
	"github.com/zeta-scaler/zeta-scaler/drain"
	"github.com/zeta-scaler/zeta-scaler/evaluator"
	"github.com/zeta-scaler/zeta-scaler/scaling"
	"github.com/zeta-scaler/zeta-scaler/state"
	"github.com/zeta-scaler/zeta-scaler/state/memory"
	"github.com/zeta-scaler/zeta-scaler/zeta"
)

// What the configuration says about drains: the cluster by the scope's label, its
// engine opened once, and what a scope without a drain lacks.
func TestDrainsOfTheConfiguration(t *testing.T) {
	dir := t.TempDir()
	text := `clusters:
  - {name: prod, urls: ["http://m1:5801"]}
  - {name: test, urls: ["http://m2:8080/zeta"]}
scopes:
  - match: {cluster: prod}
    bounds: {max_workers: 9}
    drain: {enabled: true, timeout: 7m, hold: false}
    actuator: {exec: {command: /bin/true, target: prod, release: true, workers: [w-1, w-2]}}
  - match: {cluster: test}
    actuator: {exec: {command: /bin/true, target: test, release: true, workers: [w-1]}}
`
	file := filepath.Join(dir, "zeta-scaler.yml")
	require.NoError(t, os.WriteFile(file, []byte(text), 0o600))
	load := func() (*config.Config, error) {
		return config.Load(config.Options{Kinds: kinds.All(), File: file, Flags: map[string]any{
			"web.listen-address": "127.0.0.1:0", "state.path": filepath.Join(dir, "state.db"),
		}})
	}
	s, err := newService(t.Context(), Options{Log: io.Discard, Load: load})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, s.close()) })

	setup, err := s.setup(s.cfg)
	require.NoError(t, err)
	require.Len(t, setup.Drains, 1)
	d := setup.Drains[0]
	require.Equal(t, "prod", d.Scope.Key)
	require.Equal(t, "prod", d.Cluster)
	require.Equal(t, "http://m1:5801/hazelcast/rest/maps/submit-job", d.Endpoint)
	require.Equal(t, 7*time.Minute, d.Timeout)
	require.False(t, d.Hold)
	require.True(t, d.Actuator.Capabilities().Releases)

	again, err := s.setup(s.cfg)
	require.NoError(t, err)
	require.Same(t, d.Engine, again.Drains[0].Engine)
	require.Len(t, s.engines.open, 1)
	s.engines.keep(again.Drains)
	require.Len(t, s.engines.open, 1)
	s.engines.keep(nil)
	require.Empty(t, s.engines.open)
}

// A cluster that is listed twice is one cluster: its workers are drained one by one.
func TestOneNameForACluster(t *testing.T) {
	all := []zeta.ClusterConfig{
		{Name: "a", URLs: []string{"http://m1:5801", "http://m2:5801"}}, {Name: "b", URLs: []string{"http://M2:5801/"}}, {Name: "c", URLs: []string{"http://m3:5801"}},
	}
	for i, want := range []string{"a", "a", "c"} {
		require.Equal(t, want, oneName(all, all[i]))
	}
}

func TestSubmitURL(t *testing.T) {
	for in, want := range map[string]string{
		"http://m1:5801":                     "http://m1:5801/hazelcast/rest/maps/submit-job",
		"http://m1:5801/hazelcast/rest/maps": "http://m1:5801/hazelcast/rest/maps/submit-job",
		"http://m1:8080":                     "http://m1:8080/submit-job",
		"https://zeta.example.com/a/":        "https://zeta.example.com/a/submit-job",
	} {
		require.Equal(t, want, submitURL(zeta.ClusterConfig{URLs: []string{in, "http://other"}}), in)
	}
}

// releasing is an actuator that could remove a worker; nobody asks it here.
type releasing struct{ actuators.Actuator }

func (releasing) Capabilities() actuators.Capabilities {
	return actuators.Capabilities{Releases: true, Chooses: true}
}

// Neither an engine nor a library of configs is asked before a drain begins.
type (
	nobody  struct{ drain.Engine }
	nothing struct{ drain.Configs }
)

// A notification names a recommendation alone: one for fewer workers goes to the
// drainer, if the scope has a drain, and every other one to the executor.
func TestAcceptorAsksWhoCarriesItOut(t *testing.T) {
	store := memory.New()
	now := time.Now().UTC()
	scope := func(key string) actuators.ScopeConfig {
		return actuators.ScopeConfig{
			Scope: scaling.Scope{Key: key}, Mode: scaling.Webhook, Bounds: scaling.Bounds{Min: 1, Max: 9}, Kind: "test", Actuator: releasing{},
		}
	}
	acting := []actuators.ScopeConfig{scope("drains"), scope("advice"), scope("grows")}
	a := acting[0]
	term, err := NewTerm(t.Context(), Parts{
		Setup: Setup{Scopes: acting, Drains: []drain.ScopeConfig{{
			Scope: a.Scope, Mode: a.Mode, Bounds: a.Bounds, Kind: a.Kind, Actuator: a.Actuator, Engine: nobody{}, Configs: nothing{},
		}}},
		Clock: evaluator.WallClock{}, Store: store, Epoch: 3, Board: evaluator.NewBoard(0),
		Logger: slog.New(slog.DiscardHandler), Registry: prometheus.NewRegistry(),
	})
	require.NoError(t, err)
	decide := func(key string, action scaling.Action) string {
		id := scaling.RecommendationID(3, 5, key)
		put, err := state.NewPut(state.Decision, key, 0, state.DecisionRecord{
			Scope: scaling.Scope{Key: key}, Epoch: 3, Generation: 5, Intent: scaling.IntentOf(action, 2), RecommendationID: id,
			Recommendation: scaling.Recommendation{RecommendationID: id, Action: action, ValidUntil: now.Add(time.Hour)},
		})
		require.NoError(t, err)
		_, err = store.Apply(t.Context(), state.NoFence, state.Batch{Puts: []state.Put{put}})
		require.NoError(t, err)
		return id
	}
	accept := func(id string) scaling.Verdict {
		v, err := term.Acceptor().Accept(t.Context(), id)
		require.NoError(t, err)
		return v
	}
	id := decide("drains", scaling.ScaleInCandidate)
	require.Equal(t, scaling.VerdictAccepted, accept(id).Result)
	require.Equal(t, scaling.VerdictDuplicate, accept(id).Result)
	r, _, err := state.Load[state.DrainRecord](t.Context(), store, state.Drain, "drains")
	require.NoError(t, err)
	require.Equal(t, scaling.DrainPending, r.Open.State)
	require.Equal(t, id, r.Open.RecommendationID)

	refused := accept(decide("advice", scaling.ScaleInCandidate))
	require.Equal(t, scaling.VerdictAdvisory, refused.Result)
	require.Contains(t, refused.Reason, "needs a drain")
	require.Equal(t, scaling.VerdictAccepted, accept(decide("grows", scaling.ScaleOut)).Result)

	v, err := term.Acceptor().Resolve(t.Context(), id)
	require.NoError(t, err)
	require.Equal(t, scaling.VerdictResolved, v.Result)
	r, _, err = state.Load[state.DrainRecord](t.Context(), store, state.Drain, "drains")
	require.NoError(t, err)
	require.Nil(t, r.Open)
	require.Equal(t, scaling.DrainActive, r.Last.State)
}

package app

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/zeta-scaler/zeta-scaler/actuators"
	"github.com/zeta-scaler/zeta-scaler/app/kinds"
	"github.com/zeta-scaler/zeta-scaler/config"
	"github.com/zeta-scaler/zeta-scaler/document"
	"github.com/zeta-scaler/zeta-scaler/events"
	"github.com/zeta-scaler/zeta-scaler/scaling"
	"github.com/zeta-scaler/zeta-scaler/state"
	"github.com/zeta-scaler/zeta-scaler/state/memory"
)

// toyActuator is an actuator that nobody but this test knows: what a new one
// brings.
type toyActuator struct {
	Pond  string        `yaml:"pond" check:"required"`
	Speed time.Duration `yaml:"speed" check:"least=1s"`

	actuators.Actuator
	made *[]string
}

func (a *toyActuator) SetDefaults()               { a.Speed = 7 * time.Second }
func (a *toyActuator) WritesTo() string           { return "toy/" + a.Pond }
func (a *toyActuator) CallTimeout() time.Duration { return a.Speed }

func (a *toyActuator) Make(e actuators.Env) (actuators.Actuator, error) {
	*a.made = append(*a.made, fmt.Sprintf("%s at %s by %v", a.Pond, a.Speed, e.Labels))
	return a, nil
}

// toyStore is such a store.
type toyStore struct {
	Depth  int `yaml:"depth" check:"required,least=1"`
	opened *[]int
}

func (s *toyStore) Durable() bool { return true }
func (s *toyStore) Shared() bool  { return false }

func (s *toyStore) Open(context.Context, *slog.Logger) (state.Store, error) {
	*s.opened = append(*s.opened, s.Depth)
	return memory.New(), nil
}

// A new actuator and a new store are a package and a line in the list of kinds:
// the configuration reads, checks and shows them, and the service uses them.
func TestAnActuatorAndAStoreAreAPackageAndALine(t *testing.T) {
	var made []string
	var opened []int
	all := kinds.All()
	all["actuator"] = append(all["actuator"], document.Kind{Name: "toy", New: func() any { return &toyActuator{made: &made} }})
	all["state"] = append(all["state"], document.Kind{Name: "toy", New: func() any { return &toyStore{opened: &opened} }})
	dir := nowhere(t)
	load := func(text string) (*config.Config, error) {
		require.NoError(t, os.WriteFile(filepath.Join(dir, "zeta-scaler.yml"), []byte(text), 0o600))
		return config.Load(config.Options{Kinds: all, File: filepath.Join(dir, "zeta-scaler.yml")})
	}
	head := fmt.Sprintf(`web: {listen_address: "127.0.0.1:0"}
prometheus: {urls: ["http://127.0.0.1:1"]}
rule_sets: [{file: quick.yaml}]
leadership: {lock_file: %q}
`, filepath.Join(dir, "lock"))
	_, err := load(head + "state: {type: toy, depth: 0}\nscopes: [{match: {cluster: a}, actuator: {toy: {speed: 1ms}}}, {match: {cluster: b}, actuator: {tyo: {}}}]\n")
	for _, said := range []string{
		"state.depth is 0, expected 1 or more", `scopes[0].actuator.toy lacks the key "pond"`, "speed is 1ms, expected 1s or more", "did you mean toy?",
	} {
		require.ErrorContains(t, err, said)
	}
	_, err = load(head + "scopes: [{match: {cluster: a}, actuator: {toy: {pond: x}}}, {match: {cluster: b}, actuator: {toy: {pond: x}}}]\n")
	require.ErrorContains(t, err, `scopes[1] writes to "toy/x", as does scopes[0]`)

	text := head + "state: {type: toy, depth: 3}\nscopes: [{match: {cluster: a}, mode: direct, bounds: {max_workers: 5}, actuator: {toy: {pond: x}}}]\n"
	cfg, err := load(text)
	require.NoError(t, err)
	require.Contains(t, cfg.String(), "state.depth: 3\n")
	require.Contains(t, cfg.String(), "scopes[0].actuator.toy.speed: 7s\n")
	s, err := newService(t.Context(), Options{Log: t.Output(), Load: func() (*config.Config, error) { return load(text) }})
	require.NoError(t, err)
	defer func() { require.NoError(t, s.close()) }()
	require.Equal(t, []int{3}, opened)
	made = nil
	scopes, err := s.actuation(cfg)
	require.NoError(t, err)
	require.Equal(t, []string{"x at 7s by [cluster]"}, made)
	require.Equal(t, "toy/x", scopes[0].Target)
	require.Equal(t, "toy", scopes[0].Kind)
	require.Equal(t, scaling.Direct, scopes[0].Mode)
	require.Equal(t, 7*time.Second+callGrace, scopes[0].CallTimeout)
	require.IsType(t, &toyActuator{}, scopes[0].Actuator)
}

func TestOnlyConfiguredEventHandlersAreTold(t *testing.T) {
	for _, test := range []struct {
		text     string
		names    []string
		patience time.Duration
	}{
		{"events: []\n", nil, events.DefaultTimeout},
		{"events: [log]\n", []string{"log"}, events.DefaultTimeout},
		{"events: [log, webhook]\nevent_webhook: {url: 'http://127.0.0.1:1', timeout: 20s}\n", []string{"log", "webhook"}, time.Minute},
	} {
		s := &service{logger: slog.New(slog.DiscardHandler), cfg: loadConfig(t, test.text)}
		handlers, patience, err := s.eventHandlers()
		require.NoError(t, err)
		require.Equal(t, test.patience, patience)
		require.Len(t, handlers, len(test.names))
		for _, name := range test.names {
			require.Contains(t, handlers, name)
		}
	}
}

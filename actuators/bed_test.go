package actuators_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/zeta-scaler/zeta-scaler/acting"
	"github.com/zeta-scaler/zeta-scaler/actuators"
	"github.com/zeta-scaler/zeta-scaler/scaling"
	"github.com/zeta-scaler/zeta-scaler/state"
	"github.com/zeta-scaler/zeta-scaler/state/memory"
)

var start = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)

// bench is an executor with everything around it in the test's hands.
type bench struct {
	// values are the inputs of the ticks.
	values map[string]scaling.Measurement
	t      testing.TB
	store  state.Store
	clock  *virtual
	p      *stand
	x      *actuators.Executor
	events []scaling.Event
	// onEvent is told every event, after it was stored.
	onEvent func(scaling.Event)
	cfg     actuators.ScopeConfig
}

// stand is a platform that answers as told.
type stand struct {
	st       actuators.State
	observe  error
	answers  []error
	calls    []int
	fences   []actuators.Fence
	blind    bool
	dry      bool
	onScale  func()
	noEffect bool
}

func (p *stand) Capabilities() actuators.Capabilities {
	return actuators.Capabilities{Observes: !p.blind && !p.dry, DryRun: p.dry}
}

func (p *stand) Observe(context.Context, actuators.Target) (actuators.State, error) {
	return p.st, p.observe
}

func (p *stand) Workers(context.Context, actuators.Target) ([]actuators.Worker, error) {
	return nil, actuators.ErrUnsupported
}

func (p *stand) Release(context.Context, actuators.Target, []actuators.Worker, actuators.Fence) error {
	return actuators.ErrUnsupported
}

func (p *stand) Scale(_ context.Context, _ actuators.Target, want int, f actuators.Fence) error {
	p.calls, p.fences = append(p.calls, want), append(p.fences, f)
	if p.onScale != nil {
		p.onScale()
	}
	var err error
	if len(p.answers) > 0 {
		err, p.answers = p.answers[0], p.answers[1:]
	}
	if err == nil && !p.noEffect {
		p.st.Desired = want
	}
	return err
}

func newBench(t testing.TB, change func(*actuators.ScopeConfig)) *bench {
	b := &bench{t: t, store: memory.New(), clock: &virtual{start}, p: &stand{st: actuators.State{Desired: 2, Ready: 2}}}
	b.cfg = actuators.ScopeConfig{
		Scope: scaling.Scope{Key: scopeKey}, Mode: scaling.Webhook, Kind: "test", Target: "t", Actuator: b.p, TriggerWindow: time.Minute,
	}
	if change != nil {
		change(&b.cfg)
	}
	b.lead(3)
	return b
}

func (b *bench) lead(epoch uint64) {
	x, err := actuators.New(b.t.Context(), acting.Options{
		Store: b.store, Clock: b.clock, Epoch: epoch, Rand: func() float64 { return 0 },
		Emit: func(e scaling.Event) {
			b.events = append(b.events, e)
			if b.onEvent != nil {
				b.onEvent(e)
			}
		},
	})
	require.NoError(b.t, err)
	x.Configure([]actuators.ScopeConfig{b.cfg})
	b.x = x
}

// decide stores and publishes a decision of epoch 3 and returns its id.
func (b *bench) decide(generation uint64, action scaling.Action, current, target int, change ...func(*state.DecisionRecord)) string {
	now := b.clock.t
	id := scaling.RecommendationID(3, generation, scopeKey)
	rec := scaling.Recommendation{
		Scope: scopeKey, RecommendationID: id, MasterEpoch: 3, Generation: generation, Action: action, Row: scaling.RowShortage,
		CurrentWorkers: &current, RecommendedWorkers: &target, ObservedAt: now, ValidUntil: now.Add(45 * time.Second),
		TriggerConditions: []scaling.Condition{{Name: "blocked"}}, RuleSet: scaling.RuleSetRef{Name: "r"},
	}
	d := state.DecisionRecord{
		Epoch: 3, Generation: generation, Intent: scaling.IntentOf(action, target), Row: rec.Row, RecommendationID: id, Recommendation: rec,
	}
	for _, f := range change {
		f(&d)
	}
	b.put(state.Decision, scopeKey, d)
	b.put(state.Tick, "r", state.TickRecord{RuleSet: "r", Last: now})
	b.x.Publish(b.t.Context(), []scaling.Evaluation{{Scope: b.cfg.Scope, Recommendation: rec, Mode: b.cfg.Mode, Tick: now}}, nil)
	return id
}

func (b *bench) put(kind state.Kind, key string, v any) {
	r, err := b.store.Get(b.t.Context(), kind, key)
	if !errors.Is(err, state.ErrNotFound) {
		require.NoError(b.t, err)
	}
	put, err := state.NewPut(kind, key, r.Version, v)
	require.NoError(b.t, err)
	_, err = b.store.Apply(b.t.Context(), state.NoFence, state.Batch{Puts: []state.Put{put}})
	require.NoError(b.t, err)
}

func (b *bench) accept(id string) scaling.Verdict {
	v, err := b.x.Accept(b.t.Context(), id)
	require.NoError(b.t, err)
	return v
}

func (b *bench) advance() { require.NoError(b.t, b.x.Advance(b.t.Context())) }

func (b *bench) wait(d time.Duration) { b.clock.t = b.clock.t.Add(d) }

func (b *bench) record() state.ExecutionRecord {
	r, _, err := state.Load[state.ExecutionRecord](b.t.Context(), b.store, state.Execution, scopeKey)
	require.NoError(b.t, err)
	return r
}

func (b *bench) states() []scaling.ActionState {
	var out []scaling.ActionState
	a := b.record().Action
	if a == nil {
		return nil
	}
	for _, t := range a.Transitions {
		out = append(out, t.State)
	}
	return out
}

// converged lets the workers of the action in flight come.
func (b *bench) converged(generation uint64, n int) {
	b.p.st.Ready = n
	b.wait(15 * time.Second)
	b.decide(generation, scaling.NoAction, n, n)
	b.advance()
}

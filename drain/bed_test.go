package drain_test

import (
	"context"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/zeta-scaler/zeta-scaler/acting"
	"github.com/zeta-scaler/zeta-scaler/drain"
	"github.com/zeta-scaler/zeta-scaler/scaling"
	"github.com/zeta-scaler/zeta-scaler/state"
	"github.com/zeta-scaler/zeta-scaler/state/memory"
	"github.com/zeta-scaler/zeta-scaler/zeta/control"
)

const scopeKey = "st"

var noon = time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)

// bed is a drainer over a modelled cluster.
type bed struct {
	clock  *virtual
	m      *model
	store  state.Store
	x      *drain.Drainer
	epoch  uint64
	gen    uint64
	cfg    drain.ScopeConfig
	events []scaling.Event
	// slotMode is that of the last decision.
	slotMode scaling.SlotMode
	// current is the worker count of the decisions, 0 is unknown; target is theirs.
	current, target int
}

func newBed(t *testing.T, workers, slots int) *bed {
	t.Helper()
	clock := &virtual{t: noon}
	m := newModel(clock, nil, rand.New(rand.NewPCG(1, 2)), workers, slots)
	b := &bed{clock: clock, m: m, store: memory.New(), epoch: 3, gen: 5, slotMode: scaling.FixedSlots, target: min(2, workers-1)}
	b.cfg = drain.ScopeConfig{
		Scope: scaling.Scope{Key: scopeKey}, Mode: scaling.Webhook, Bounds: scaling.DefaultBounds(), Deployment: scaling.Session,
		Kind: "test", Target: "test/st", Actuator: platform{m}, Cluster: "z", Engine: m, Configs: m, Hold: true, Cooldown: 5 * time.Minute,
	}
	b.start(t)
	b.decide(t, scaling.ScaleInCandidate)
	return b
}

// start begins with a new process.
func (b *bed) start(t *testing.T) {
	t.Helper()
	x, err := drain.New(t.Context(), acting.Options{
		Store: b.store, Clock: b.clock, Epoch: b.epoch, Emit: func(e scaling.Event) { b.events = append(b.events, e) },
		Rand: func() float64 { return 0.5 },
	})
	require.NoError(t, err)
	drain.Sequential(x)
	x.Configure([]drain.ScopeConfig{b.cfg})
	b.x = x
}

// decide stores and publishes a decision.
func (b *bed) decide(t *testing.T, a scaling.Action) { b.decideWith(t, a, b.slotMode) }

func (b *bed) decideWith(t *testing.T, a scaling.Action, slots scaling.SlotMode) {
	t.Helper()
	b.slotMode = slots
	require.NoError(t, b.publish(t.Context(), a))
}

func (b *bed) publish(ctx context.Context, a scaling.Action) error {
	store, x, now, epoch, gen := b.store, b.x, b.clock.t, b.epoch, b.gen
	id := scaling.RecommendationID(epoch, gen, scopeKey)
	row := scaling.RowIdle
	if a == scaling.ScaleOut {
		row = scaling.RowShortage
	}
	r := scaling.Recommendation{
		Scope: scopeKey, RecommendationID: id, MasterEpoch: epoch, Generation: gen, Action: a, Row: row,
		ObservedAt: now, ValidUntil: now.Add(45 * time.Second),
	}
	if b.current > 0 {
		r.CurrentWorkers = &b.current
	}
	_, version, err := state.Load[state.DecisionRecord](ctx, store, state.Decision, scopeKey)
	if err != nil {
		return err
	}
	decision := state.DecisionRecord{
		Scope: scaling.Scope{Key: scopeKey}, Epoch: epoch, Generation: gen, Intent: scaling.IntentOf(a, b.target), Row: row, RecommendationID: id, Recommendation: r,
	}
	put, err := state.NewPut(state.Decision, scopeKey, version, decision)
	if err != nil {
		return err
	}
	if _, err := store.Apply(ctx, state.NoFence, state.Batch{Puts: []state.Put{put}}); err != nil {
		return err
	}
	x.Publish(ctx, []scaling.Evaluation{{Scope: scaling.Scope{Key: scopeKey}, Recommendation: r, Mode: scaling.Webhook, SlotMode: b.slotMode, Tick: now}}, nil)
	return nil
}

// run lets the drainer go on for d.
func (b *bed) run(t *testing.T, d time.Duration) {
	t.Helper()
	end := b.clock.t.Add(d)
	for b.clock.t.Before(end) {
		require.NoError(t, b.x.Advance(t.Context()))
		b.clock.t = b.clock.t.Add(100 * time.Millisecond)
		b.m.pass()
		if b.clock.t.Sub(noon)%(15*time.Second) == 0 {
			r, _, err := state.Load[state.DecisionRecord](t.Context(), b.store, state.Decision, scopeKey)
			require.NoError(t, err)
			b.decide(t, r.Recommendation.Action)
		}
	}
	require.Empty(t, b.m.problems)
}

func (b *bed) record(t *testing.T) state.DrainRecord {
	t.Helper()
	r, _, err := state.Load[state.DrainRecord](t.Context(), b.store, state.Drain, scopeKey)
	require.NoError(t, err)
	return r
}

// accept asks for the present recommendation.
func (b *bed) accept(t *testing.T) scaling.Verdict {
	t.Helper()
	v, mine, err := b.x.Accept(t.Context(), scaling.RecommendationID(b.epoch, b.gen, scopeKey))
	require.NoError(t, err)
	require.True(t, mine)
	return v
}

// Three jobs lie on all workers: they are stopped, restored elsewhere while the
// worker's slots are held, and only then the worker goes.
func TestStreamingJobsMove(t *testing.T) {
	b := newBed(t, 3, 4)
	for _, id := range []string{"4501", "4502", "4503"} {
		b.m.submit(id, control.Streaming, 2, 0)
	}
	b.m.beforeRelease = func(w string) {
		for _, id := range b.m.ours() {
			require.Equal(t, control.Running, b.m.jobs[id].Status)
			require.Zero(t, b.m.jobs[id].on[w])
		}
	}
	require.Equal(t, scaling.VerdictAccepted, b.accept(t).Result)
	b.run(t, time.Minute)
	r := b.record(t)
	require.Nil(t, r.Open)
	require.Equal(t, scaling.DrainDecommissioned, r.Last.State, "%+v\n%v", r.Last, b.m.log)
	require.Equal(t, []string{"w-2"}, b.m.removed)
	for _, j := range r.Last.Jobs {
		require.Equal(t, scaling.JobRestored, j.Step)
		require.Positive(t, j.Downtime())
		require.Less(t, j.Downtime(), 5*time.Second)
	}
	require.True(t, r.CooldownUntil.After(noon.Add(5*time.Minute)))
	require.Equal(t, scaling.VerdictDuplicate, b.accept(t).Result)
}

// A job in batch mode is waited for, and never stopped; what streams beside it runs
// on until then.
func TestBatchIsWaitedFor(t *testing.T) {
	b := newBed(t, 2, 4)
	batch := b.m.submit("4501", control.Batch, 1, 40*time.Second)
	stream := b.m.submit("4502", control.Streaming, 1, 0)
	batch.on, stream.on = map[string]int{"w-1": 1}, map[string]int{"w-1": 1}
	b.accept(t)
	b.run(t, 30*time.Second)
	d := b.record(t).Open
	require.Equal(t, scaling.DrainDraining, d.State)
	require.Equal(t, []scaling.DrainStep{scaling.JobWaiting, scaling.JobMoving}, []scaling.DrainStep{d.Jobs[0].Step, d.Jobs[1].Step})
	require.Zero(t, stream.stops)
	b.run(t, 30*time.Second)
	last := b.record(t).Last
	require.Equal(t, scaling.DrainDecommissioned, last.State, "%v", b.m.log)
	require.Equal(t, []scaling.DrainStep{scaling.JobFinished, scaling.JobRestored}, []scaling.DrainStep{last.Jobs[0].Step, last.Jobs[1].Step})
	require.Zero(t, batch.stops)
}

// What does not end in time is left alone: nothing was touched, and the back-off
// holds the next drain.
func TestTimeOut(t *testing.T) {
	b := newBed(t, 2, 4)
	b.m.submit("4501", control.Batch, 1, time.Hour).on = map[string]int{"w-1": 1}
	b.accept(t)
	b.run(t, 16*time.Minute)
	r := b.record(t)
	require.Nil(t, r.Open)
	require.Equal(t, scaling.DrainActive, r.Last.State)
	require.True(t, r.Last.Failed)
	require.Equal(t, "job 4501 (job-4501) in batch mode did not end within 15m0s", r.Last.Error)
	require.True(t, r.BackoffUntil.After(b.clock.t))
	require.Empty(t, b.m.removed)
	require.Equal(t, scaling.EventDrainException, b.events[len(b.events)-1].Kind)
}

// Where slots are dynamic nothing can be held: the worker goes first.
func TestUnheld(t *testing.T) {
	b := newBed(t, 3, 4)
	b.m.dynamic = true
	b.m.submit("4501", control.Streaming, 2, 0).on = map[string]int{"w-2": 2}
	b.decideWith(t, scaling.ScaleInCandidate, scaling.DynamicSlots)
	b.m.beforeRelease = func(string) { require.Equal(t, control.SavepointDone, b.m.jobs["4501"].Status) }
	b.accept(t)
	b.run(t, time.Minute)
	last := b.record(t).Last
	require.Equal(t, scaling.DrainDecommissioned, last.State, "%v", b.m.log)
	require.False(t, last.Held)
	require.Equal(t, scaling.JobRestored, last.Jobs[0].Step)
}

// A job without a registered config blocks the drain, by name, before anything is
// touched; once it is there the drain goes on by itself.
func TestWithoutConfigNothingIsStopped(t *testing.T) {
	b := newBed(t, 2, 4)
	j := b.m.submit("4501", control.Streaming, 1, 0)
	j.on = map[string]int{"w-1": 1}
	b.m.configs["4501"] = false
	b.accept(t)
	b.run(t, time.Minute)
	d := b.record(t).Open
	require.Equal(t, scaling.DrainPending, d.State)
	require.Contains(t, d.Error, "job 4501 (job-4501) cannot be restored")
	require.Zero(t, j.stops)
	b.m.configs["4501"] = true
	b.run(t, time.Minute)
	require.Equal(t, scaling.DrainDecommissioned, b.record(t).Last.State)
}

// A pause, and a scope that asks for more, take back what was done.
func TestCalledOff(t *testing.T) {
	for name, tc := range map[string]struct {
		how  func(t *testing.T, b *bed)
		want string
	}{
		"by a person": {func(t *testing.T, b *bed) {
			t.Helper()
			_, err := b.x.Cancel(t.Context(), scopeKey, "ops", "not now")
			require.NoError(t, err)
		}, "cancelled by ops: not now"},
		"by growth": {func(t *testing.T, b *bed) {
			t.Helper()
			b.gen++
			b.decide(t, scaling.ScaleOut)
		}, "the scope asks for more workers"},
		"by a pause": {func(t *testing.T, b *bed) {
			t.Helper()
			put, err := state.NewPut(state.Control, scopeKey, 0, state.ControlRecord{Paused: true})
			require.NoError(t, err)
			_, err = b.store.Apply(t.Context(), state.NoFence, state.Batch{Puts: []state.Put{put}})
			require.NoError(t, err)
		}, "the scope is paused"},
	} {
		t.Run(name, func(t *testing.T) {
			b := newBed(t, 2, 4)
			j := b.m.submit("4501", control.Streaming, 1, 0)
			j.on = map[string]int{"w-1": 1}
			b.accept(t)
			for b.record(t).Open == nil || b.record(t).Open.State != scaling.DrainDraining || j.Status != control.SavepointDone {
				b.run(t, 100*time.Millisecond)
			}
			tc.how(t, b)
			b.run(t, 30*time.Second)
			last := b.record(t).Last
			require.Equal(t, scaling.DrainActive, last.State)
			require.Equal(t, tc.want, last.GivenUp)
			require.False(t, last.Failed)
			require.Equal(t, control.Running, j.Status)
			require.Empty(t, b.m.removed)
			for id, k := range b.m.jobs {
				require.False(t, k.hold && !k.Status.Ended(), id)
			}
		})
	}
}

// One Zeta cluster, two scopes: the second waits until the first has settled.
func TestOneDrainPerCluster(t *testing.T) {
	b := newBed(t, 3, 4)
	other := b.cfg
	other.Scope.Key = "other"
	b.x.Configure([]drain.ScopeConfig{b.cfg, other})
	_, err := b.x.Request(t.Context(), scopeKey, "", "ops", "one")
	require.NoError(t, err)
	_, err = b.x.Request(t.Context(), "other", "", "ops", "two")
	require.NoError(t, err)
	most := 0
	for range 600 {
		b.run(t, 100*time.Millisecond)
		rows, err := state.Drains(b.store, state.NoFence).List(t.Context())
		require.NoError(t, err)
		inFlight := 0
		for _, r := range rows {
			if r.Value.InFlight() {
				inFlight++
			}
		}
		most = max(most, inFlight)
	}
	require.Equal(t, 1, most)
	require.Equal(t, []string{"w-2", "w-1"}, b.m.removed)
	_, err = b.x.Request(t.Context(), "nowhere", "", "ops", "")
	require.ErrorIs(t, err, drain.ErrNoScope)
	_, err = b.x.Cancel(t.Context(), scopeKey, "ops", "")
	require.ErrorIs(t, err, drain.ErrRefused)
}

// A scope that leaves the configuration, and is gone, leaves no job stopped.
func TestScopeThatIsGone(t *testing.T) {
	b := newBed(t, 2, 4)
	j := b.m.submit("4501", control.Streaming, 1, 0)
	j.on = map[string]int{"w-1": 1}
	b.accept(t)
	for j.Status != control.SavepointDone {
		b.run(t, 100*time.Millisecond)
	}
	b.x.Configure(nil)
	require.True(t, b.x.Busy())
	b.x.Publish(t.Context(), nil, []scaling.Scope{b.cfg.Scope})
	for range 200 {
		require.NoError(t, b.x.Advance(t.Context()))
		b.clock.t = b.clock.t.Add(100 * time.Millisecond)
		b.m.pass()
	}
	require.Equal(t, control.Running, j.Status)
	require.False(t, b.x.Busy())
	_, err := b.store.Get(t.Context(), state.Drain, scopeKey)
	require.ErrorIs(t, err, state.ErrNotFound)
	entries, err := b.store.History(t.Context(), state.Filter{Kind: state.DrainEntry, Limit: 10})
	require.NoError(t, err)
	require.Len(t, entries, 1)
}

package drain_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/zeta-scaler/zeta-scaler/actuators"
	"github.com/zeta-scaler/zeta-scaler/drain"
	"github.com/zeta-scaler/zeta-scaler/scaling"
	"github.com/zeta-scaler/zeta-scaler/state"
	"github.com/zeta-scaler/zeta-scaler/zeta/control"
)

// guarded is a platform that records fences and knows other writers, as
// Kubernetes does.
type guarded struct {
	platform
	st actuators.State
	// lasting says that the other writer stays although its number was accepted.
	lasting bool
	// addresses are those of workers that came back as others.
	addresses map[string]string
	// answers are given to the next releases, which are not carried out; onRelease
	// is called before.
	answers   []error
	onRelease func(f actuators.Fence)
	log       []string
	fences    []actuators.Fence
}

func (g *guarded) Observe(context.Context, actuators.Target) (actuators.State, error) {
	return g.st, nil
}

func (g *guarded) Workers(ctx context.Context, t actuators.Target) ([]actuators.Worker, error) {
	ws, err := g.platform.Workers(ctx, t)
	for i := range ws {
		if a := g.addresses[ws[i].Name]; a != "" {
			ws[i].Address = a
		}
	}
	return ws, err
}

func (g *guarded) Claim(_ context.Context, _ actuators.Target, f actuators.Fence) error {
	if f.Epoch < g.st.Fence.Epoch {
		return actuators.ErrStale
	}
	g.log = append(g.log, fmt.Sprint("claim ", f.Epoch))
	g.st.Fence.Epoch = f.Epoch
	if f.AcceptPresent && !g.lasting {
		g.st.OtherWriter = ""
	}
	return nil
}

func (g *guarded) Release(ctx context.Context, t actuators.Target, ws []actuators.Worker, f actuators.Fence) error {
	g.fences = append(g.fences, f)
	if g.onRelease != nil {
		g.onRelease(f)
	}
	if len(g.answers) > 0 {
		var err error
		if err, g.answers = g.answers[0], g.answers[1:]; err != nil {
			return err
		}
	}
	if f.Epoch < g.st.Fence.Epoch {
		return actuators.ErrStale
	}
	if g.st.Fence.ActionID == f.ActionID {
		return nil
	}
	err := g.platform.Release(ctx, t, ws, f)
	if err == nil {
		g.log = append(g.log, "release")
		g.st.Fence = f
	}
	return err
}

// guard puts such a platform under the bed.
func (b *bed) guard(t *testing.T) *guarded {
	t.Helper()
	g := &guarded{platform: platform{b.m}, addresses: map[string]string{}}
	b.cfg.Actuator = g
	b.start(t)
	b.decide(t, scaling.ScaleInCandidate)
	return g
}

// put stores a record of somebody else's.
func (b *bed) put(t *testing.T, kind state.Kind, v any) {
	t.Helper()
	_, version, err := state.Load[map[string]any](t.Context(), b.store, kind, scopeKey)
	require.NoError(t, err)
	put, err := state.NewPut(kind, scopeKey, version, v)
	require.NoError(t, err)
	_, err = b.store.Apply(t.Context(), state.NoFence, state.Batch{Puts: []state.Put{put}})
	require.NoError(t, err)
}

// stops counts how often jobs were asked to stop.
func (b *bed) stops() (n int) {
	for _, j := range b.m.jobs {
		n += j.stops
	}
	return n
}

// Who else writes to the target is found out before a job is stopped, not when
// the platform refuses to remove the worker.
func TestAnotherWriterIsFoundBeforeAnythingIsStopped(t *testing.T) {
	for name, set := range map[string]func(g *guarded){
		"an autoscaler":  func(g *guarded) { g.st.OtherWriter = "HorizontalPodAutoscaler st/x" },
		"a newer leader": func(g *guarded) { g.st.Fence.Epoch = 9 },
	} {
		t.Run(name, func(t *testing.T) {
			b := newBed(t, 3, 4)
			b.m.submit("4501", control.Streaming, 6, 0)
			g := b.guard(t)
			set(g)
			b.accept(t)
			b.run(t, time.Minute)
			d := b.record(t).Open
			require.NotNil(t, d)
			require.Equal(t, scaling.DrainPending, d.State)
			require.Regexp(t, "another writer changes the target: HorizontalPodAutoscaler st/x|a newer leader, of epoch 9", d.Error)
			require.Zero(t, b.stops())

			g.st = actuators.State{}
			b.run(t, time.Minute)
			require.Equal(t, scaling.DrainDecommissioned, b.record(t).Last.State)
		})
	}
}

// An operator who resumes the scope accepts the number that somebody has written;
// an autoscaler would write again.
func TestAnOperatorAcceptsThePresentNumber(t *testing.T) {
	for name, lasting := range map[string]bool{"somebody wrote once": false, "somebody will write again": true} {
		t.Run(name, func(t *testing.T) {
			b := newBed(t, 3, 4)
			b.m.submit("4501", control.Streaming, 6, 0)
			g := b.guard(t)
			g.st.OtherWriter, g.lasting = "field manager kubectl", lasting
			b.accept(t)
			b.run(t, 40*time.Second)
			require.Equal(t, scaling.DrainPending, b.record(t).Open.State)
			require.Empty(t, g.log)
			b.put(t, state.Control, state.ControlRecord{ResumedAt: b.clock.t})
			b.run(t, time.Minute)
			require.Contains(t, g.log, "claim 3")
			if lasting {
				require.Equal(t, scaling.DrainPending, b.record(t).Open.State)
				require.Zero(t, b.stops())
				return
			}
			require.Equal(t, scaling.DrainDecommissioned, b.record(t).Last.State)
			require.False(t, g.fences[0].AcceptPresent, "the target has recorded it")
		})
	}
}

// A person who drains by hand is told at once, and may ask again once the scope is
// resumed. A resume of before accepts nothing.
func TestAPersonAcceptsThePresentNumber(t *testing.T) {
	b := newBed(t, 3, 4)
	b.decide(t, scaling.NoAction)
	g := b.guard(t)
	b.decide(t, scaling.NoAction)
	g.st.OtherWriter = "field manager kubectl"
	b.put(t, state.Control, state.ControlRecord{ResumedAt: b.clock.t})
	b.run(t, 10*time.Second)
	for range 2 {
		_, err := b.x.Request(t.Context(), scopeKey, "", "ops", "maintenance")
		require.NoError(t, err)
		b.run(t, 10*time.Second)
		last := b.record(t).Last
		require.Equal(t, scaling.DrainActive, last.State)
		require.Contains(t, last.Error, "another writer changes the target: field manager kubectl")
	}
	b.put(t, state.Control, state.ControlRecord{ResumedAt: b.clock.t})
	b.run(t, time.Second)
	_, err := b.x.Request(t.Context(), scopeKey, "", "ops", "maintenance")
	require.NoError(t, err)
	b.run(t, time.Minute)
	require.Equal(t, scaling.DrainDecommissioned, b.record(t).Last.State)

	// The next one is told again.
	b.run(t, 10*time.Second)
	g.st.OtherWriter = "field manager kubectl"
	_, err = b.x.Request(t.Context(), scopeKey, "", "ops", "maintenance")
	require.NoError(t, err)
	b.run(t, 10*time.Second)
	require.Contains(t, b.record(t).Last.Error, "another writer")
}

// The fence that the executor left is gone: nobody is removed until an operator
// says that it is as it should be.
func TestALostFenceHoldsADrain(t *testing.T) {
	b := newBed(t, 3, 4)
	g := b.guard(t)
	b.put(t, state.Execution, state.ExecutionRecord{Epoch: 3, FencedTarget: "test/st"})
	b.accept(t)
	b.run(t, 40*time.Second)
	require.Contains(t, b.record(t).Open.Error, actuators.LostFence)
	b.put(t, state.Control, state.ControlRecord{ResumedAt: b.clock.t})
	b.run(t, time.Minute)
	require.Equal(t, scaling.DrainDecommissioned, b.record(t).Last.State)
	require.True(t, g.fences[0].Fenced && g.fences[0].AcceptPresent)
}

// A leader that was frozen with its request on the way may wake up at any time:
// the next one shuts it out before jobs may use the worker again.
func TestTheNextLeaderClaimsBeforeItGoesBack(t *testing.T) {
	b := newBed(t, 3, 4)
	b.m.submit("4501", control.Streaming, 6, 0)
	g := b.guard(t)
	b.accept(t)
	var late actuators.Fence
	g.onRelease = func(f actuators.Fence) {
		late, g.onRelease = f, nil
		panic(killed{"release"})
	}
	require.Panics(t, func() { b.run(t, time.Minute) })
	require.Equal(t, scaling.DrainDecommissioning, b.record(t).Open.State)

	b.epoch++
	b.start(t)
	b.decide(t, scaling.ScaleOut) // the drain is called off
	g.onRelease = func(actuators.Fence) { t.Error("the worker is wanted again") }
	b.run(t, time.Minute)
	require.Equal(t, scaling.DrainActive, b.record(t).Last.State)
	require.Equal(t, []string{"claim 4"}, g.log)
	require.ErrorIs(t, func() error {
		g.onRelease = nil
		return g.Release(t.Context(), actuators.Target{}, []actuators.Worker{{Name: "w-2"}}, late)
	}(), actuators.ErrStale)
	require.Empty(t, b.m.removed)
}

// A platform that cannot be told of the new leader must not keep jobs stopped.
func TestAClaimThatFailsHoldsUpNothingForEver(t *testing.T) {
	b := newBed(t, 3, 4)
	b.cfg.Hold = false
	b.m.submit("4501", control.Streaming, 6, 0)
	g := b.guard(t)
	b.accept(t)
	g.onRelease = func(actuators.Fence) {
		g.onRelease = nil
		panic(killed{"release"})
	}
	require.Panics(t, func() { b.run(t, time.Minute) })
	require.NotEqual(t, control.Running, b.m.jobs["4501"].Status, "it goes before what was stopped is restored")
	b.epoch++
	g.st.Fence.Epoch = 99 // which refuses every claim
	b.start(t)
	b.decide(t, scaling.ScaleOut)
	b.run(t, 2*time.Minute)
	require.Equal(t, scaling.DrainActive, b.record(t).Last.State)
	require.Equal(t, control.Running, b.m.jobs["4501"].Status)
}

// A request that was taken is known by the fence that it left, also to the leader
// after the one that made it; it is not called off then.
func TestATakenReleaseIsKnownByItsFence(t *testing.T) {
	b := newBed(t, 3, 4)
	b.m.submit("4501", control.Streaming, 6, 0)
	b.m.goDelay = 20 * time.Second
	g := b.guard(t)
	b.accept(t)
	b.run(t, 15*time.Second)
	require.Equal(t, []string{"w-2"}, b.m.removed)
	require.Equal(t, scaling.DrainDecommissioning, b.record(t).Open.State)
	b.m.slowToTell = true
	b.epoch++
	b.start(t)
	b.decide(t, scaling.ScaleOut)
	b.run(t, time.Minute)
	require.Equal(t, scaling.DrainDecommissioned, b.record(t).Last.State)
	require.Equal(t, []string{"release", "claim 4"}, g.log)
	require.Len(t, g.fences, 1)
}

// As long as the platform has taken nothing, a shortage calls the drain off.
func TestWhatWasNotTakenIsCalledOff(t *testing.T) {
	b := newBed(t, 3, 4)
	b.m.submit("4501", control.Streaming, 6, 0)
	g := b.guard(t)
	b.accept(t)
	for range 100 {
		g.answers = append(g.answers, errors.New("503 busy"))
	}
	g.onRelease = func(actuators.Fence) {
		if len(g.fences) == 1 {
			b.decide(t, scaling.ScaleOut)
		}
	}
	b.run(t, time.Minute)
	r := b.record(t)
	require.Equal(t, scaling.DrainActive, r.Last.State)
	require.False(t, r.Last.Failed)
	require.Len(t, g.fences, 1)
	require.Equal(t, control.Running, b.m.jobs["4501"].Status)
}

// A pod that was moved has the name of the one that is drained, and is another.
func TestAWorkerThatComesBackUnderItsNameIsAnother(t *testing.T) {
	b := newBed(t, 3, 4)
	b.m.submit("4501", control.Batch, 6, 30*time.Second)
	g := b.guard(t)
	b.accept(t)
	b.run(t, 10*time.Second)
	require.Equal(t, scaling.DrainDraining, b.record(t).Open.State)
	g.addresses["w-2"] = "elsewhere:5801"
	b.run(t, time.Minute)
	r := b.record(t)
	require.Equal(t, scaling.DrainActive, r.Last.State)
	require.Contains(t, r.Last.Error, "worker w-2 has come back as another one: its address was w-2:5801 and is elsewhere:5801")
	require.Empty(t, b.m.removed)
}

// A Deployment may remove another pod than it was asked to: that is told as harm,
// and asked for no more.
func TestAnotherWorkerThatWentIsHarm(t *testing.T) {
	b := newBed(t, 3, 4)
	b.m.submit("4501", control.Streaming, 6, 0)
	g := b.guard(t)
	b.accept(t)
	g.answers = []error{&actuators.OtherWorkerError{Named: "w-2", Gone: "w-0"}}
	b.run(t, time.Minute)
	last := b.record(t).Last
	require.Equal(t, scaling.DrainActive, last.State)
	require.True(t, last.Failed)
	require.Equal(t, []string{"the platform was asked to remove worker w-2 and has removed w-0"}, last.Harm)
	require.Len(t, g.fences, 1)
	require.Equal(t, control.Running, b.m.jobs["4501"].Status)
}

// Workers that were asked for and have not come yet are no idle ones.
func TestADrainWaitsForWorkersThatMayStillCome(t *testing.T) {
	b := newBed(t, 3, 4)
	b.guard(t)
	b.put(t, state.Execution, state.ExecutionRecord{Epoch: 3, Booting: []scaling.Booting{{Target: 4, Deadline: noon.Add(40 * time.Second)}}})
	require.Equal(t, "4 workers were asked for, and may still come", b.accept(t).Reason)
	b.run(t, 30*time.Second)
	require.Equal(t, scaling.DrainPending, b.record(t).Open.State)
	b.run(t, time.Minute)
	require.Equal(t, scaling.DrainDecommissioned, b.record(t).Last.State)
}

// What the configuration takes back while jobs are stopped is not carried out: they
// are restored, and the worker stays.
func TestADrainThatMayNotGoOnGoesBack(t *testing.T) {
	advisory := scaling.Advisory
	for name, change := range map[string]func(t *testing.T, b *bed){
		"the scope lost its drain": func(_ *testing.T, b *bed) { b.x.Configure(nil) },
		"an operator set advisory": func(t *testing.T, b *bed) { b.put(t, state.Control, state.ControlRecord{Mode: &advisory}) },
		"an operator paused it":    func(t *testing.T, b *bed) { b.put(t, state.Control, state.ControlRecord{Paused: true}) },
		"the actuator was replaced": func(_ *testing.T, b *bed) {
			b.cfg.Actuator = deaf{platform{b.m}}
			b.x.Configure([]drain.ScopeConfig{b.cfg})
		},
	} {
		t.Run(name, func(t *testing.T) {
			b := newBed(t, 3, 4)
			b.m.submit("4501", control.Streaming, 6, 0)
			b.accept(t)
			for range 100 {
				if b.m.jobs["4501"].Status == control.SavepointDone {
					break
				}
				b.run(t, 100*time.Millisecond)
			}
			require.Equal(t, control.SavepointDone, b.m.jobs["4501"].Status)
			change(t, b)
			b.run(t, time.Minute)
			require.Equal(t, scaling.DrainActive, b.record(t).Last.State)
			require.Equal(t, control.Running, b.m.jobs["4501"].Status)
			require.Empty(t, b.m.removed)
		})
	}
}

// deaf is a platform that removes nobody.
type deaf struct{ platform }

func (d deaf) Capabilities() actuators.Capabilities { return actuators.Capabilities{Lists: true} }

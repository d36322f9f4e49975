//go:build e2e && unix

package e2e

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/zeta-scaler/zeta-scaler/acting"
	"github.com/zeta-scaler/zeta-scaler/actuators"
	"github.com/zeta-scaler/zeta-scaler/drain"
	"github.com/zeta-scaler/zeta-scaler/e2e/zeta"
	"github.com/zeta-scaler/zeta-scaler/evaluator"
	"github.com/zeta-scaler/zeta-scaler/scaling"
	"github.com/zeta-scaler/zeta-scaler/state"
	"github.com/zeta-scaler/zeta-scaler/state/memory"
	"github.com/zeta-scaler/zeta-scaler/zeta/control"
)

// yard is a platform whose workers are processes of a real Zeta.
type yard struct {
	c *zeta.Cluster

	mu sync.Mutex
	// released are the workers that went, by the drain that asked for it.
	released map[string]string
}

func (*yard) Capabilities() actuators.Capabilities {
	return actuators.Capabilities{Observes: true, Releases: true, Chooses: true, Lists: true}
}

func (f *yard) Observe(context.Context, actuators.Target) (actuators.State, error) {
	n := len(f.c.Up())
	return actuators.State{Desired: n, Ready: n}, nil
}

func (*yard) Scale(context.Context, actuators.Target, int, actuators.Fence) error {
	return errors.New("nothing is scaled out here")
}

func (f *yard) Workers(context.Context, actuators.Target) ([]actuators.Worker, error) {
	var out []actuators.Worker
	for _, n := range f.c.Up() {
		out = append(out, actuators.Worker{Name: zeta.Name(n), Address: f.c.Address(n)})
	}
	return out, nil
}

func (f *yard) Release(_ context.Context, _ actuators.Target, workers []actuators.Worker, fence actuators.Fence) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.released[fence.ActionID] != "" {
		return nil
	}
	n, err := strconv.Atoi(workers[0].Name[1:])
	if err != nil || !slices.Contains(f.c.Up(), n) {
		return fmt.Errorf("there is no worker %s", workers[0].Name)
	}
	f.released[fence.ActionID] = workers[0].Name
	return f.c.StopWorker(n)
}

// gone are the workers that were removed.
func (f *yard) gone() []string {
	f.mu.Lock()
	defer f.mu.Unlock()
	var out []string
	for _, name := range f.released {
		out = append(out, name)
	}
	slices.Sort(out)
	return out
}

// hooked is an engine that does something of a test's at a step: "before stop",
// "after restore", and so on. Each hook is called once.
type hooked struct {
	drain.Engine
	mu    sync.Mutex
	hooks map[string]func()
}

func (h *hooked) at(step string, f func()) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.hooks[step] = f
}

// left are the steps whose hooks were not called.
func (h *hooked) left() []string {
	h.mu.Lock()
	defer h.mu.Unlock()
	return slices.Sorted(maps.Keys(h.hooks))
}

func (h *hooked) fire(step string) {
	h.mu.Lock()
	f := h.hooks[step]
	delete(h.hooks, step)
	h.mu.Unlock()
	if f != nil {
		f()
	}
}

// around calls f between its hooks, and not if the first one has ended ctx.
func (h *hooked) around(ctx context.Context, step string, f func() error) error {
	h.fire("before " + step)
	if ctx.Err() != nil {
		return ctx.Err()
	}
	err := f()
	h.fire("after " + step)
	return err
}

func (h *hooked) StopWithSavepoint(ctx context.Context, id string) error {
	return h.around(ctx, "stop", func() error { return h.Engine.StopWithSavepoint(ctx, id) })
}

func (h *hooked) Restore(ctx context.Context, id, name string, c control.Config) error {
	return h.around(ctx, "restore", func() error { return h.Engine.Restore(ctx, id, name, c) })
}

func (h *hooked) Hold(ctx context.Context, id, worker string, slots int) error {
	return h.around(ctx, "hold", func() error { return h.Engine.Hold(ctx, id, worker, slots) })
}

// releasing has the hooks of Release.
type releasing struct {
	*yard
	h *hooked
}

func (r releasing) Release(ctx context.Context, t actuators.Target, w []actuators.Worker, f actuators.Fence) error {
	return r.h.around(ctx, "release", func() error { return r.yard.Release(ctx, t, w, f) })
}

// texts are the configs of jobs by id.
type texts struct {
	mu    sync.Mutex
	byJob map[string][]byte
}

func (x *texts) set(id string, text []byte) {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.byJob[id] = text
}

func (x *texts) Config(_ context.Context, j control.Job) (control.Config, error) {
	x.mu.Lock()
	defer x.mu.Unlock()
	text, ok := x.byJob[j.ID]
	if !ok {
		return control.Config{}, errors.New("it is not registered")
	}
	return control.Config{Format: "json", Text: text}, nil
}

// mortal is the store of a process that may die: it writes nothing afterwards.
type mortal struct {
	state.Store
	dead *atomic.Bool
}

func (m mortal) Apply(ctx context.Context, f state.Fence, b state.Batch) ([]uint64, error) {
	if m.dead.Load() {
		return nil, errors.New("this process was killed")
	}
	return m.Store.Apply(ctx, f, b)
}

// drainBed drains workers of a real Zeta.
type drainBed struct {
	t     *testing.T
	c     *zeta.Cluster
	e     *control.Engine
	h     *hooked
	yard  *yard
	texts *texts
	store state.Store
	cfg   drain.ScopeConfig

	mu    sync.Mutex
	x     *drain.Drainer
	kill  func()
	lives int
	jobs  int
}

const drainScope = "real"

func newDrainBed(t *testing.T, o zeta.Options, workers ...int) *drainBed {
	t.Helper()
	b := &drainBed{t: t, c: zeta.StartWith(t, lab, o), store: memory.New(), texts: &texts{byJob: map[string][]byte{}}}
	b.c.StartWorkers(t, workers...)
	b.e = newEngine(t, b.c)
	b.h = &hooked{Engine: b.e, hooks: map[string]func(){}}
	b.yard = &yard{c: b.c, released: map[string]string{}}
	b.cfg = drain.ScopeConfig{
		Scope: scaling.Scope{Key: drainScope}, Bounds: scaling.Bounds{Min: 1, Max: 8}, Deployment: scaling.Session,
		Kind: "test", Target: "test/real", Actuator: releasing{b.yard, b.h}, Cluster: "real", Engine: b.h, Configs: b.texts,
		Hold: true, Timeout: 3 * time.Minute,
	}
	ctx, cancel := context.WithCancel(context.Background())
	var group sync.WaitGroup
	started := make(chan struct{})
	group.Go(func() { b.live(ctx, started) })
	t.Cleanup(func() {
		cancel()
		group.Wait()
	})
	<-started
	return b
}

// live runs one drainer after the other, each with the next epoch.
func (b *drainBed) live(ctx context.Context, started chan<- struct{}) {
	for ctx.Err() == nil {
		running, end := context.WithCancel(ctx)
		dead := &atomic.Bool{}
		b.mu.Lock()
		b.lives++
		x, err := drain.New(ctx, acting.Options{
			Store: mortal{b.store, dead}, Clock: evaluator.WallClock{}, Epoch: uint64(b.lives),
			Emit: func(e scaling.Event) { b.t.Logf("%s: %s", e.Kind, e.Message) },
		})
		if err != nil {
			b.t.Errorf("starting a drainer: %v", err)
			b.mu.Unlock()
			end()
			return
		}
		b.x = x
		b.kill = func() {
			dead.Store(true)
			end()
		}
		x.Configure([]drain.ScopeConfig{b.cfg})
		first := b.lives == 1
		b.mu.Unlock()
		if first {
			close(started)
		}
		if err := x.Run(running); err != nil {
			b.t.Errorf("draining: %v", err)
		}
		end()
	}
}

// configure changes what the next look of the drainer goes by.
func (b *drainBed) configure(change func(*drain.ScopeConfig)) {
	b.mu.Lock()
	defer b.mu.Unlock()
	change(&b.cfg)
	b.x.Configure([]drain.ScopeConfig{b.cfg})
}

// die kills the drainer as a crash would; another one takes up what it has left.
func (b *drainBed) die() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.kill()
}

func (b *drainBed) livesSoFar() int {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.lives
}

func (b *drainBed) drainer() *drain.Drainer {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.x
}

// soonUsed waits until so many slots of a worker are in use, where a test must not
// end: in a hook.
func (b *drainBed) soonUsed(worker string, slots int) {
	ticker := time.NewTicker(100 * time.Millisecond)
	defer ticker.Stop()
	late := time.After(patience)
	for {
		s, err := b.e.Worker(context.Background(), worker)
		if err == nil && s.Used == slots {
			return
		}
		select {
		case <-ticker.C:
		case <-late:
			b.t.Errorf("%d slots of %s are not in use within %s; at last: %+v, %v", slots, worker, patience, s, err)
			return
		}
	}
}

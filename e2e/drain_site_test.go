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

	"github.com/stretchr/testify/require"

	"github.com/zeta-scaler/zeta-scaler/actuators"
	"github.com/zeta-scaler/zeta-scaler/drain"
	"github.com/zeta-scaler/zeta-scaler/e2e/harness"
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
		x, err := drain.New(ctx, drain.Options{
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

// request asks for a drain and returns its id.
func (b *drainBed) request(worker string) string {
	b.t.Helper()
	d, err := b.drainer().Request(b.t.Context(), drainScope, worker, "the test", "because")
	require.NoError(b.t, err)
	b.t.Logf("=== drain of %s", worker)
	return d.ID
}

func (b *drainBed) record() state.DrainRecord {
	b.t.Helper()
	r, _, err := state.Load[state.DrainRecord](b.t.Context(), b.store, state.Drain, drainScope)
	require.NoError(b.t, err)
	return r
}

// over waits until a drain is over and returns it.
func (b *drainBed) over(id string) *scaling.Drain {
	b.t.Helper()
	var last *scaling.Drain
	harness.Wait(b.t, 5*time.Minute, "the drain is over", func(context.Context) error {
		r := b.record()
		if r.Open != nil || r.Last == nil || r.Last.ID != id {
			return fmt.Errorf("%+v", r.Open)
		}
		last = r.Last
		return nil
	})
	b.t.Logf("%s: %s", last.State, summaryOf(last))
	return last
}

func summaryOf(d *scaling.Drain) string {
	text := ""
	for _, tr := range d.Transitions {
		text += fmt.Sprintf("%s %s (%s); ", tr.At.Format("15:04:05.0"), tr.State, tr.Reason)
	}
	for i := range d.Jobs {
		j := &d.Jobs[i]
		text += fmt.Sprintf("%s %s %s; ", j.Name, j.Step, j.Downtime().Round(time.Millisecond))
	}
	return text
}

// gone is over for a drain that removes its worker and harms nobody.
func (b *drainBed) gone(id string) *scaling.Drain {
	b.t.Helper()
	d := b.over(id)
	require.Equal(b.t, scaling.DrainDecommissioned, d.State, d.Error)
	require.Empty(b.t, d.Harm)
	require.NotContains(b.t, b.upNames(), d.Worker)
	return d
}

// stays is over for a drain that leaves its worker where it is.
func (b *drainBed) stays(id, why string) *scaling.Drain {
	b.t.Helper()
	d := b.over(id)
	require.Equal(b.t, scaling.DrainActive, d.State)
	require.Contains(b.t, d.Transitions[len(d.Transitions)-1].Reason+d.Error, why)
	require.Contains(b.t, b.upNames(), d.Worker)
	return d
}

func (b *drainBed) upNames() []string {
	var names []string
	for _, n := range b.c.Up() {
		names = append(names, zeta.Name(n))
	}
	return names
}

// job makes up a job that nobody else has.
func (b *drainBed) job(name string, rows int) zeta.Counted {
	b.jobs++
	n := b.jobs
	return zeta.Counted{
		ID: strconv.Itoa(5000 + n), Name: name, Table: fmt.Sprintf("t%d", 5000+n), Parallelism: 1, Rows: rows, Every: 500 * time.Millisecond,
	}
}

// submit registers a job, submits it and waits until it reads.
func (b *drainBed) submit(jobs ...zeta.Counted) {
	b.t.Helper()
	for _, j := range jobs {
		b.texts.set(j.ID, b.c.Config(j))
		require.NoError(b.t, b.c.SubmitCounted(b.t.Context(), j))
	}
	for _, j := range jobs {
		awaitRows(b.t, b.c, j, 1)
	}
}

// placed is submit for jobs that are to run on one node: the slots of all the
// others are held meanwhile.
func (b *drainBed) placed(worker int, jobs ...zeta.Counted) {
	b.t.Helper()
	var holds []string
	for _, n := range b.c.WithSlots() {
		if n == worker {
			continue
		}
		if id := b.hold(n); id != "" {
			holds = append(holds, id)
		}
	}
	b.submit(jobs...)
	for _, id := range holds {
		require.NoError(b.t, b.e.Cancel(b.t.Context(), id))
	}
	for _, id := range holds {
		awaitEnd(b.t, b.e, id)
	}
	groups, err := b.e.Placed(b.t.Context(), b.c.Address(worker))
	require.NoError(b.t, err)
	for _, j := range jobs {
		require.True(b.t, slices.ContainsFunc(groups, func(g control.TaskGroup) bool { return g.Job == j.ID }), "%s is not on w%d: %v", j.Name, worker, groups)
	}
}

// hold holds the free slots of a node and returns the job that does, none if a job
// would not fit there anyway. What Zeta's master says about slots may be some
// seconds old: it is believed where the node itself says the same, and if it has
// led us wrong, the job that was to hold them fails and another one does it.
func (b *drainBed) hold(n int) (id string) {
	b.t.Helper()
	name := zeta.Name(n)
	harness.Wait(b.t, patience, "the slots of "+name+" are held", func(ctx context.Context) error {
		s, err := b.e.Worker(ctx, name)
		if err != nil {
			return err
		}
		groups, err := b.e.Placed(ctx, b.c.Address(n))
		if err != nil {
			return err
		}
		if len(groups) != s.Used {
			return fmt.Errorf("%d slots are in use, by %v", s.Used, groups)
		}
		if id != "" {
			j, err := b.e.Job(ctx, id)
			if err != nil {
				return err
			}
			if j.Status.Ended() {
				id = ""
			}
		}
		switch {
		case s.Free() < 2:
			return nil
		case id != "":
			return fmt.Errorf("job %s has not all of them: %+v", id, s)
		}
		b.jobs++
		id = strconv.Itoa(6000 + b.jobs)
		return errors.Join(errors.New("job "+id+" is to hold them"), b.e.Hold(ctx, id, name, s.Free()))
	})
	return id
}

// workerOf is a worker that a job runs on.
func (b *drainBed) workerOf(job zeta.Counted) (name string) {
	b.t.Helper()
	harness.Wait(b.t, patience, job.Name+" is on a worker", func(ctx context.Context) error {
		for _, n := range b.c.Up() {
			groups, err := b.e.Placed(ctx, b.c.Address(n))
			if err != nil {
				return err
			}
			if slices.ContainsFunc(groups, func(g control.TaskGroup) bool { return g.Job == job.ID }) {
				name = zeta.Name(n)
				return nil
			}
		}
		return errors.New("it is on none")
	})
	return name
}

// whole waits until every row of the jobs was read once, and ends them.
func (b *drainBed) whole(jobs ...zeta.Counted) {
	b.t.Helper()
	for _, j := range jobs {
		harness.Wait(b.t, 5*time.Minute, "every row of "+j.Name+" is read and written once", func(context.Context) error { return b.c.Whole(j) })
		if !j.Batch {
			require.NoError(b.t, b.e.Cancel(b.t.Context(), j.ID))
			awaitEnd(b.t, b.e, j.ID)
		}
	}
}

// steps are how far the jobs of a drain are, by id.
func steps(d *scaling.Drain) map[string]scaling.DrainStep {
	out := map[string]scaling.DrainStep{}
	for i := range d.Jobs {
		out[d.Jobs[i].ID] = d.Jobs[i].Step
	}
	return out
}

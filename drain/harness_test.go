package drain_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"time"

	"github.com/zeta-scaler/zeta-scaler/acting"
	"github.com/zeta-scaler/zeta-scaler/drain"
	"github.com/zeta-scaler/zeta-scaler/scaling"
	"github.com/zeta-scaler/zeta-scaler/state"
	"github.com/zeta-scaler/zeta-scaler/state/memory"
	"github.com/zeta-scaler/zeta-scaler/zeta/control"
)

// errLost stands for a store whose write may or may not have happened.
var errLost = errors.New("connection lost")

// crashing is a store that survives the crashes of its users.
type crashing struct {
	state.Store
	f *faults
	// spoil breaks the drainer on purpose: writes of the drain's record are swallowed
	// if it says so.
	spoil  func(r *state.DrainRecord) bool
	epochs []uint64
}

func (c *crashing) Apply(ctx context.Context, f state.Fence, b state.Batch) ([]uint64, error) {
	fault := c.f.draw("store", "crash_before", "crash_after", "error_before", "error_after")
	switch fault {
	case "crash_before":
		panic(killed{"store"})
	case "error_before":
		return nil, errLost
	}
	for _, p := range b.Puts {
		if p.Kind != state.Drain {
			continue
		}
		r, err := state.Decode[state.DrainRecord](state.Record{Value: p.Value})
		if err != nil {
			return nil, err
		}
		if c.spoil != nil && c.spoil(&r) {
			old, err := c.Get(ctx, p.Kind, p.Key)
			return []uint64{old.Version}, err
		}
	}
	v, err := c.Store.Apply(ctx, f, b)
	if err == nil {
		for _, p := range b.Puts {
			if p.Kind == state.Drain {
				r, _ := state.Decode[state.DrainRecord](state.Record{Value: p.Value})
				c.epochs = append(c.epochs, r.Epoch)
			}
		}
	}
	switch fault {
	case "crash_after":
		panic(killed{"store"})
	case "error_after":
		return nil, errLost
	}
	return v, err
}

// world is one run of the harness.
type world struct {
	f      *faults
	rng    *rand.Rand
	clock  *virtual
	plain  *memory.Store
	store  *crashing
	m      *model
	x      *drain.Drainer
	cfg    drain.ScopeConfig
	mode   scaling.Mode
	epoch  uint64
	gen    uint64
	action scaling.Action
	paused bool
	frozen []*drain.Drainer
	// workers is how many there were at first, lost how many went by themselves.
	workers, lost int
	nextJob       int
	problems      []string
	// seen are the jobs that were ever asked to stop.
	ended []scaling.Drain
}

func newWorld(seed uint64) *world {
	rng := rand.New(rand.NewPCG(seed, seed^0x9e3779b97f4a7c15))
	f := &faults{rng: rng, left: rng.IntN(6), rate: 0.01 + rng.Float64()*0.1}
	clock := &virtual{t: noon}
	w := &world{
		f: f, rng: rng, clock: clock, plain: memory.New(), mode: scaling.Webhook, epoch: 0, gen: 1, action: scaling.ScaleInCandidate, nextJob: 4500,
		workers: 2 + rng.IntN(3),
	}
	w.store = &crashing{Store: w.plain, f: f}
	w.m = newModel(clock, f, rng, w.workers, 3+rng.IntN(4))
	w.m.dynamic, w.m.chooses = rng.IntN(5) == 0, rng.IntN(3) == 0
	w.m.threads = rng.IntN(10) > 0
	w.m.untold = rng.IntN(15) == 0
	if rng.IntN(3) == 0 {
		w.mode = scaling.Direct
	}
	w.m.beforeRelease = w.checkRelease
	w.cfg = drain.ScopeConfig{
		Scope: scaling.Scope{Key: scopeKey}, Mode: w.mode, Bounds: scaling.DefaultBounds(), Deployment: scaling.Session,
		Kind: "test", Target: "test/st", Actuator: platform{w.m}, Cluster: "z", Engine: w.m, Configs: w.m,
		Hold: rng.IntN(5) > 0, Cooldown: time.Minute, FailureBackoff: 30 * time.Second, Timeout: 3 * time.Minute, ConvergenceTimeout: time.Minute,
	}
	if rng.IntN(2) == 0 {
		w.cfg.Actuator = fencing{platform{w.m}}
	}
	for range rng.IntN(4) {
		w.submit()
	}
	return w
}

func (w *world) problem(format string, args ...any) {
	w.problems = append(w.problems, fmt.Sprintf(format, args...))
}

// submit starts a job of somebody's.
func (w *world) submit() {
	w.nextJob++
	mode := control.Streaming
	if w.rng.IntN(4) == 0 {
		mode = control.Batch
	}
	j := w.m.submit(fmt.Sprint(w.nextJob), mode, 1+w.rng.IntN(3), time.Duration(w.rng.IntN(100))*time.Second)
	w.m.configs[j.ID] = w.rng.IntN(15) > 0
}

// guard runs f and has a new leader start if it was killed.
func (w *world) guard(f func()) {
	defer func() {
		switch k := recover().(type) {
		case nil:
		case killed:
			w.f.log = append(w.f.log, "killed in "+k.at)
			w.m.note("killed in %s", k.at)
			w.x = nil
		default:
			panic(k)
		}
	}()
	f()
}

// lead makes sure that somebody leads.
func (w *world) lead() {
	for w.x == nil {
		w.epoch++
		w.guard(func() {
			w.put(state.Leader, state.EpochKey, state.LeaderRecord{Epoch: w.epoch})
			x, err := drain.New(context.Background(), acting.Options{
				Store: w.store, Clock: w.clock, Epoch: w.epoch, Rand: w.rng.Float64, Emit: w.emit,
			})
			if err != nil {
				w.problem("starting epoch %d: %v", w.epoch, err)
				return
			}
			drain.Sequential(x)
			x.Configure([]drain.ScopeConfig{w.cfg})
			w.x = x
			w.m.note("epoch %d leads", w.epoch)
		})
	}
}

// put stores a record as its own writer would.
func (w *world) put(kind state.Kind, key string, v any) {
	r, err := w.plain.Get(context.Background(), kind, key)
	if err != nil && !errors.Is(err, state.ErrNotFound) {
		panic(err)
	}
	put, err := state.NewPut(kind, key, r.Version, v)
	if err == nil {
		_, err = w.plain.Apply(context.Background(), state.NoFence, state.Batch{Puts: []state.Put{put}})
	}
	if err != nil {
		panic(err)
	}
}

func (w *world) emit(e scaling.Event) {
	w.m.note("%s %s", e.Kind, e.Message)
}

func (w *world) record() state.DrainRecord {
	r, _, err := state.Load[state.DrainRecord](context.Background(), w.plain, state.Drain, scopeKey)
	if err != nil {
		panic(err)
	}
	return r
}

// tick is one tick of the evaluator.
func (w *world) tick() {
	r := w.record()
	action, row := w.action, scaling.RowIdle
	var blockers []scaling.Condition
	switch {
	case w.paused:
		action, row = scaling.NoAction, scaling.RowPaused
	case action == scaling.ScaleInCandidate && (r.InFlight() || r.CooldownUntil.After(w.clock.t)):
		action, row = scaling.ScaleInBlocked, scaling.RowIdleHeld
		if r.InFlight() {
			blockers = []scaling.Condition{{Name: scaling.BlockerActionInFlight}}
		}
	case action == scaling.ScaleOut:
		row = scaling.RowShortage
	case action == scaling.NoAction:
		row = scaling.RowSteady
	}
	ctx := context.Background()
	old, _, err := state.Load[state.DecisionRecord](ctx, w.plain, state.Decision, scopeKey)
	if err != nil {
		panic(err)
	}
	intent := scaling.IntentOf(action, len(w.m.alive)-1)
	again := r.Open == nil && r.Last != nil && r.Last.Failed && r.Last.RecommendationID == old.RecommendationID && !w.clock.t.Before(r.BackoffUntil)
	if old.Intent != intent || old.Epoch != w.epoch || again {
		w.gen++
	}
	id := scaling.RecommendationID(w.epoch, w.gen, scopeKey)
	rec := scaling.Recommendation{
		Scope: scopeKey, RecommendationID: id, MasterEpoch: w.epoch, Generation: w.gen, Action: action, Row: row, BlockingConditions: blockers,
		ObservedAt: w.clock.t, ValidUntil: w.clock.t.Add(45 * time.Second),
	}
	w.put(state.Decision, scopeKey, state.DecisionRecord{
		Scope: scaling.Scope{Key: scopeKey}, Epoch: w.epoch, Generation: w.gen, Intent: intent, Row: row, RecommendationID: id, Recommendation: rec,
	})
	slots := scaling.FixedSlots
	if w.m.dynamic {
		slots = scaling.DynamicSlots
	}
	w.guard(func() {
		w.x.Publish(ctx, []scaling.Evaluation{{Scope: scaling.Scope{Key: scopeKey}, Recommendation: rec, Mode: w.mode, SlotMode: slots, Tick: w.clock.t}}, nil)
	})
	if action == scaling.ScaleInCandidate && w.mode == scaling.Webhook && w.x != nil {
		w.guard(func() { _, _, _ = w.x.Accept(ctx, id) })
	}
	if action != scaling.ScaleInCandidate && w.x != nil && w.rng.IntN(3) == 0 {
		w.guard(func() { _, _, _ = w.x.Resolve(ctx, id) })
	}
}

// happen lets something happen that nobody asked for.
func (w *world) happen() {
	ctx := context.Background()
	switch w.rng.IntN(62) {
	case 0, 1:
		w.submit()
	case 2:
		if len(w.m.alive) > 1 && w.lost == 0 {
			w.lost++
			victim := w.m.alive[w.rng.IntN(len(w.m.alive))]
			if _, going := w.m.goneAt[victim]; going {
				w.lost--
				return
			}
			w.m.lose(victim)
		}
	case 3:
		w.m.restartMaster()
	case 4:
		w.paused = !w.paused
		w.put(state.Control, scopeKey, state.ControlRecord{Paused: w.paused, Reason: "test", UpdatedAt: w.clock.t})
		w.m.note("paused %v", w.paused)
	case 5:
		w.action = []scaling.Action{scaling.ScaleInCandidate, scaling.ScaleInCandidate, scaling.ScaleOut, scaling.NoAction}[w.rng.IntN(4)]
		w.m.note("decision %s", w.action)
	case 6:
		w.guard(func() { _, _ = w.x.Cancel(ctx, scopeKey, "ops", "test") })
	case 7:
		w.guard(func() { _, _ = w.x.Request(ctx, scopeKey, "", "ops", "maintenance") })
	case 8:
		open := w.rng.IntN(2) == 0
		r := state.ExecutionRecord{Epoch: w.epoch, ActionInFlight: open}
		if open {
			r.Action = &scaling.Execution{ID: "a", State: scaling.ActionExecuting}
		}
		w.put(state.Execution, scopeKey, r)
		w.m.note("action in flight %v", open)
	case 9:
		for id := range w.m.configs {
			w.m.configs[id] = w.rng.IntN(4) > 0
		}
	case 12:
		if ids := w.m.ours(); len(ids) > 0 {
			w.m.cancelByHand(ids[w.rng.IntN(len(ids))])
		}
	case 10:
		w.m.pending = w.rng.IntN(2)
	case 11:
		if w.epoch < 8 {
			w.frozen = append(w.frozen, w.x)
			w.x = nil
			w.lead()
		}
	}
}

// run plays one whole run and returns what was wrong.
func (w *world) run() []string {
	ctx := context.Background()
	next := w.clock.t
	for range 120 {
		w.lead()
		if !w.clock.t.Before(next) {
			w.tick()
			next = w.clock.t.Add(15 * time.Second)
		}
		w.lead()
		w.happen()
		w.lead()
		w.guard(func() { _ = w.x.Advance(ctx) })
		if len(w.frozen) > 0 && w.rng.IntN(3) == 0 {
			old, alive := w.frozen[0], w.x
			w.frozen = w.frozen[1:]
			w.guard(func() { _ = old.Advance(ctx) })
			w.x = alive
		}
		w.clock.t = w.clock.t.Add([]time.Duration{200 * time.Millisecond, 200 * time.Millisecond, time.Second, 5 * time.Second}[w.rng.IntN(4)])
		w.m.pass()
		if len(w.m.removed)+w.lost > w.workers {
			w.problem("%d workers were removed", len(w.m.removed))
		}
	}
	w.recover()
	return w.check()
}

// recover ends all faults and lets the last leader finish.
func (w *world) recover() {
	ctx := context.Background()
	w.m.note("no more faults")
	w.f.left, w.paused, w.action, w.m.pending = 0, false, scaling.NoAction, 0
	for id := range w.m.configs {
		w.m.configs[id] = true
	}
	w.put(state.Control, scopeKey, state.ControlRecord{})
	w.put(state.Execution, scopeKey, state.ExecutionRecord{})
	// Room for everybody: what could not be restored for want of slots can.
	w.m.slots += 20
	if len(w.m.alive) == 0 {
		w.m.alive = []string{"w-new"}
	}
	end := w.clock.t.Add(time.Hour)
	for step := 200 * time.Millisecond; w.clock.t.Before(end); {
		w.lead()
		w.tick()
		w.lead()
		w.guard(func() {
			if err := w.x.Advance(ctx); err != nil && !errors.Is(err, state.ErrFenced) {
				w.problem("after all faults: %v", err)
			}
		})
		if w.record().Open == nil {
			return
		}
		if step < 10*time.Second {
			step += step / 20
		}
		w.clock.t = w.clock.t.Add(step)
		w.m.pass()
	}
}

// story is what happened, for people.
func (w *world) story() string { return strings.Join(w.m.log, "\n") }

package actuators_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"time"

	"github.com/zeta-scaler/zeta-scaler/acting"
	"github.com/zeta-scaler/zeta-scaler/actuators"
	"github.com/zeta-scaler/zeta-scaler/scaling"
	"github.com/zeta-scaler/zeta-scaler/state"
	"github.com/zeta-scaler/zeta-scaler/state/memory"
)

// killed is what a wrapper panics with to end the executor on the spot.
type killed struct{ at string }

// errLost stands for a store whose write may or may not have happened.
var errLost = errors.New("connection lost")

const scopeKey = "st"

// virtual is a clock that moves only when told.
type virtual struct{ t time.Time }

func (c *virtual) Now() time.Time { return c.t }

func (c *virtual) WaitUntil(ctx context.Context, t time.Time) error {
	if t.After(c.t) {
		c.t = t
	}
	return ctx.Err()
}

// faults decide what goes wrong; every number drawn comes from the seed.
type faults struct {
	rng *rand.Rand
	// left is how many more faults this run may have.
	left int
	// rate is how likely a fault is at one chance.
	rate float64
	log  []string
}

// draw picks one of the named faults, or "".
func (f *faults) draw(where string, names ...string) string {
	if f.left == 0 || f.rng.Float64() >= f.rate {
		return ""
	}
	f.left--
	n := names[f.rng.IntN(len(names))]
	f.log = append(f.log, where+": "+n)
	return n
}

// crashing is a store that survives the crashes of its users.
type crashing struct {
	state.Store
	f *faults
	// dropExecuting breaks the executor on purpose: the write that announces a
	// call is swallowed.
	dropExecuting bool
	writes        *[]write
}

// write is one durable write of an action record.
type write struct {
	epoch uint64
}

func (c *crashing) Apply(ctx context.Context, f state.Fence, b state.Batch) ([]uint64, error) {
	fault := c.f.draw("store", "crash_before", "crash_after", "error_before", "error_after")
	switch fault {
	case "crash_before":
		panic(killed{"store"})
	case "error_before":
		return nil, errLost
	}
	if c.dropExecuting {
		for _, p := range b.Puts {
			if strings.Contains(string(p.Value), `"actionInFlight":true`) && strings.Contains(string(p.Value), `"state":"EXECUTING","transitions"`) {
				r, err := c.Get(ctx, p.Kind, p.Key)
				return []uint64{r.Version}, err
			}
		}
	}
	v, err := c.Store.Apply(ctx, f, b)
	if err == nil && c.writes != nil {
		for _, p := range b.Puts {
			if p.Kind == state.Execution {
				r, _ := state.Decode[state.ExecutionRecord](state.Record{Value: p.Value})
				*c.writes = append(*c.writes, write{r.Epoch})
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

// promise is an Accept that was acknowledged.
type promise struct {
	id     string
	target int
}

// world is one run of the harness.
type world struct {
	f        *faults
	clock    *virtual
	store    *crashing
	plain    *memory.Store
	p        *platform
	act      actuators.Actuator
	rounds   bool
	mode     scaling.Mode
	x        *actuators.Executor
	epoch    uint64
	frozen   []*actuators.Executor
	gen      uint64
	workers  int
	target   int
	need     int
	promises []promise
	writes   []write
	version  map[string]uint64
	problems []string
}

func newWorld(seed uint64, dropExecuting bool) *world {
	rng := rand.New(rand.NewPCG(seed, seed^0x9e3779b97f4a7c15))
	f := &faults{rng: rng, left: rng.IntN(5), rate: 0.02 + rng.Float64()*0.3}
	if dropExecuting {
		f.left += 2
	}
	w := &world{
		f: f, clock: &virtual{time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)}, plain: memory.New(),
		p:    &platform{f: f, observes: rng.IntN(3) > 0, desired: 2, ready: 2},
		mode: scaling.Webhook, rounds: rng.IntN(2) == 0, workers: 2, target: 2, version: map[string]uint64{},
	}
	if rng.IntN(3) == 0 {
		w.mode = scaling.Direct
	}
	w.act = w.p
	if w.p.observes {
		w.act = fenced{w.p}
	}
	w.store = &crashing{Store: w.plain, f: f, dropExecuting: dropExecuting, writes: &w.writes}
	return w
}

// guard runs f and starts a new leader if it was killed.
func (w *world) guard(f func()) {
	defer func() {
		switch k := recover().(type) {
		case nil:
		case killed:
			w.f.log = append(w.f.log, "killed in "+k.at)
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
			x, err := actuators.New(context.Background(), acting.Options{
				Store: w.store, Clock: w.clock, Epoch: w.epoch, Rand: w.f.rng.Float64,
			})
			if err != nil {
				w.problem("starting epoch %d: %v", w.epoch, err)
				return
			}
			x.Configure([]actuators.ScopeConfig{{
				Scope: scaling.Scope{Key: scopeKey}, Mode: w.mode, Kind: "test", Target: "t", Actuator: w.act,
				Rounds: w.rounds, TriggerWindow: time.Minute,
			}})
			w.x = x
		})
	}
}

func (w *world) problem(format string, args ...any) {
	w.problems = append(w.problems, fmt.Sprintf(format, args...))
}

// put stores a record as its own writer would.
func (w *world) put(kind state.Kind, key string, v any) {
	put, err := state.NewPut(kind, key, w.version[string(kind)], v)
	if err != nil {
		panic(err)
	}
	versions, err := w.plain.Apply(context.Background(), state.NoFence, state.Batch{Puts: []state.Put{put}})
	if err != nil {
		panic(err)
	}
	w.version[string(kind)] = versions[0]
}

// tick is one tick of the evaluator: it wants need workers, in steps.
func (w *world) tick() string {
	now := w.clock.t
	ctx := context.Background()
	r, _, err := state.Load[state.ExecutionRecord](ctx, w.plain, state.Execution, scopeKey)
	if err != nil {
		panic(err)
	}
	booting := scaling.BootingWorkers(r.Booting, w.workers, now)
	action, target := scaling.NoAction, w.workers
	if w.need > w.workers {
		action, target = scaling.ScaleOut, min(w.need, w.workers+max(booting, 1))
		if w.rounds {
			target = min(w.need, w.workers+booting+1)
		}
	}
	intent := scaling.IntentOf(action, target)
	old, _, err := state.Load[state.DecisionRecord](ctx, w.plain, state.Decision, scopeKey)
	if err != nil {
		panic(err)
	}
	retry := action == scaling.ScaleOut && r.Action != nil && r.Action.State.Final() &&
		r.Action.Generation == w.gen && now.After(r.BackoffUntil) && now.After(r.CooldownUntil)
	if w.gen == 0 || old.Intent != intent || retry {
		w.gen++
	}
	current := w.workers
	rec := scaling.Recommendation{
		Scope: scopeKey, RecommendationID: scaling.RecommendationID(w.epoch, w.gen, scopeKey),
		MasterEpoch: w.epoch, Generation: w.gen, Action: action, Row: scaling.RowShortage,
		CurrentWorkers: &current, RecommendedWorkers: &target, ObservedAt: now, ValidUntil: now.Add(45 * time.Second),
		RuleSet: scaling.RuleSetRef{Name: "r"},
	}
	if action == scaling.NoAction {
		rec.Row = scaling.RowSteady
	}
	w.put(state.Decision, scopeKey, state.DecisionRecord{
		Epoch: w.epoch, Generation: w.gen, Intent: intent, Row: rec.Row, RecommendationID: rec.RecommendationID, Recommendation: rec,
	})
	w.put(state.Tick, "r", state.TickRecord{RuleSet: "r", Last: now})
	w.guard(func() {
		w.x.Publish(ctx, []scaling.Evaluation{{
			Scope: scaling.Scope{Key: scopeKey}, Recommendation: rec, Mode: w.mode, Tick: now,
		}}, nil)
	})
	if action == scaling.ScaleOut {
		w.target = target
		return rec.RecommendationID
	}
	return ""
}

// notify is Alertmanager, which delivers what fires, repeats it, and delivers
// what is old.
func (w *world) notify(id string) {
	target := w.target
	for range 1 + w.f.rng.IntN(2) {
		w.guard(func() {
			if w.x == nil {
				return
			}
			v, err := w.x.Accept(context.Background(), id)
			if err == nil && (v.Result == scaling.VerdictAccepted || v.Result == scaling.VerdictHeld) {
				w.promises = append(w.promises, promise{id, target})
			}
		})
	}
}

// run plays one whole run and returns what was wrong.
func (w *world) run() []string {
	rng := w.f.rng
	w.need = 3 + rng.IntN(4)
	var id string
	for i := range 36 {
		w.lead()
		if i%3 == 0 {
			if now := w.tick(); now != "" || rng.IntN(2) == 0 {
				id = now
			}
		}
		if w.x != nil && id != "" && w.mode == scaling.Webhook {
			w.notify(id)
		}
		w.step()
		if i == 15 && rng.IntN(2) == 0 {
			w.need += rng.IntN(3)
		}
	}
	w.recover()
	return w.check()
}

// step lets everybody do something.
func (w *world) step() {
	rng := w.f.rng
	if rng.IntN(25) == 0 && w.x != nil && w.epoch < 8 {
		// The leader freezes between two steps; it wakes up when another leads.
		w.f.log = append(w.f.log, "frozen")
		w.frozen = append(w.frozen, w.x)
		w.x = nil
		w.lead()
	}
	w.guard(func() {
		if w.x != nil {
			_ = w.x.Advance(context.Background())
		}
	})
	if len(w.frozen) > 0 && rng.IntN(3) == 0 {
		old := w.frozen[0]
		w.frozen = w.frozen[1:]
		alive := w.x
		w.guard(func() { _ = old.Advance(context.Background()) })
		w.x = alive
	}
	if len(w.p.delayed) > 0 && rng.IntN(2) == 0 {
		w.p.delayed[0]()
		w.p.delayed = w.p.delayed[1:]
	}
	w.clock.t = w.clock.t.Add(5 * time.Second)
	// Pods get ready, then workers register.
	if w.workers < w.p.ready && rng.IntN(2) == 0 {
		w.workers++
	}
	if w.p.ready < w.p.desired && rng.IntN(2) == 0 {
		w.p.ready++
	}
}

// recover ends all faults and lets the last leader finish.
func (w *world) recover() {
	w.f.left = 0
	for _, land := range w.p.delayed {
		land()
	}
	w.p.delayed = nil
	for i := range 60 {
		if i > 2 && w.settled() {
			return
		}
		w.lead()
		w.p.ready = w.p.desired
		w.workers = w.p.ready
		w.need = min(w.need, w.workers)
		w.tick()
		for range 3 {
			if err := w.x.Advance(context.Background()); err != nil && !errors.Is(err, state.ErrFenced) {
				w.problem("after all faults: %v", err)
			}
		}
		w.clock.t = w.clock.t.Add(15 * time.Second)
	}
}

// settled reports whether no action is open.
func (w *world) settled() bool {
	r, _, err := state.Load[state.ExecutionRecord](context.Background(), w.plain, state.Execution, scopeKey)
	return err == nil && r.Held == nil && (r.Action == nil || r.Action.State.Final())
}

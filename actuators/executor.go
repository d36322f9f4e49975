package actuators

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/zeta-scaler/zeta-scaler/scaling"
	"github.com/zeta-scaler/zeta-scaler/state"
)

// Executor carries recommendations out, one action per scope at a time:
//
//	Accept, Publish ──► PENDING (ExecutionRecord.Held)
//	                       │ waits: action in flight, cooldown, back-off, other writer
//	                       ├──► SUPERSEDED, CANCELLED     no longer current; paused, mode, resolved
//	                       ├──► SUCCEEDED                 the platform has enough (platform_ahead)
//	                       ▼
//	   ┌── round ──► EXECUTING ──► FAILED, REJECTED_STALE, SUPERSEDED, CANCELLED   nothing was done
//	   │              │  ▲   │
//	   │              │  │   └─ time-out, lost reply ──► UNKNOWN ──► FAILED   nobody can tell
//	   │        taken │  └───────── not done, own epoch ────┤ │
//	   │              ▼                                     │ └──► SUPERSEDED   not done, older epoch
//	   └───────── CONVERGING ◄────────────── done ──────────┘
//	                  ├──► FAILED       time-out; another writer lowered it
//	                  └──► SUCCEEDED    platform and inventory at the target: cooldown
//
// Every arrow is stored by compare-and-set before the step that it announces.
// A platform is called only in EXECUTING, after a write that names the target
// as booting; whoever finds EXECUTING in the store and did not write it himself
// treats it as UNKNOWN. So an action is never sent twice, a crash loses nothing
// that was accepted, and an older leader is stopped by the store, and by the
// platform if that records fences.
//
// All methods are safe for concurrent use.
type Executor struct {
	o   Options
	m   *instruments
	run sync.Mutex // held by Run

	// lost is true once a newer epoch was seen; it stays.
	lost atomic.Bool
	// configured is true from the first Configure on: nothing moves before.
	configured atomic.Bool

	mu     sync.RWMutex
	scopes map[string]*scope
	// added wakes Run when scopes has grown.
	added chan struct{}
}

// scope is what the executor knows about one scope.
type scope struct {
	key string
	cfg atomic.Pointer[ScopeConfig]
	// copied is the stored record, nil while it has to be read. What it points
	// to is never changed.
	copied atomic.Pointer[copied]
	// writer is held while the record is read, judged and written; turn while
	// the scope advances. Calls of a platform are made with turn alone.
	writer, turn semaphore
	// wake has room for one: something has happened that advance may act on.
	wake chan struct{}

	facts facts

	// The rest belongs to whoever has turn.

	// answer is what the platform said and is not stored yet.
	answer *answer
	// observed is the recommendation whose target was just observed.
	observed string
	// claimed is true once the target carries our epoch.
	claimed bool
	// failures counts observations that failed in a row, notBefore is when the
	// next is due.
	failures  int
	notBefore time.Time
	// directTick is the last tick whose recommendation was taken up.
	directTick time.Time

	// The rest belongs to whoever has writer.

	counted bool // in the in-flight gauge
	// recommendation is the newest that was accepted.
	recommendation *scaling.Recommendation
	triggers       map[string]bool
}

// copied is a record as it is stored.
type copied struct {
	state.ExecutionRecord
	version uint64
}

// semaphore is a mutex that can be waited for with a context.
type semaphore chan struct{}

func (m semaphore) lock(ctx context.Context) error {
	select {
	case m <- struct{}{}:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (m semaphore) unlock() { <-m }

// New reads what the store knows about actions. It fails with ErrNotLeader if a
// newer epoch has written there.
func New(ctx context.Context, o Options) (*Executor, error) {
	o, err := o.withDefaults()
	if err != nil {
		return nil, err
	}
	x := &Executor{o: o, scopes: map[string]*scope{}, added: make(chan struct{}, 1)}
	if x.m, err = newInstruments(o.Registerer); err != nil {
		return nil, fmt.Errorf("registering the executor's metrics: %w", err)
	}
	records, err := o.Store.List(ctx, state.Execution)
	if err != nil {
		return nil, fmt.Errorf("%w: reading actions: %w", ErrStore, err)
	}
	for _, r := range records {
		e, err := state.Decode[state.ExecutionRecord](r)
		if err != nil {
			return nil, err
		}
		if e.Epoch > o.Epoch {
			return nil, fmt.Errorf("%w: scope %s was written by epoch %d, this is epoch %d", ErrNotLeader, r.Key, e.Epoch, o.Epoch)
		}
		if e.Held != nil || open(e.Action) {
			x.add(r.Key)
		}
	}
	return x, nil
}

// Configure says which scopes may be acted on, at the start and after each
// reload. What a scope that left the list has accepted and not begun is
// cancelled; what it has begun is followed to its end.
func (x *Executor) Configure(scopes []ScopeConfig) {
	listed := map[string]bool{}
	for _, c := range scopes {
		c = c.withDefaults()
		listed[c.Scope.Key] = true
		x.m.actuator(c.Kind)
		x.add(c.Scope.Key).cfg.Store(&c)
	}
	x.configured.Store(true)
	for _, s := range x.all() {
		if c := s.cfg.Load(); c != nil && !listed[s.key] {
			left := *c
			left.Mode = "" // nobody may act on it; its actuator still observes
			s.cfg.Store(&left)
		}
		s.poke()
	}
}

// add returns the scope's entry, made if need be.
func (x *Executor) add(key string) *scope {
	x.mu.Lock()
	defer x.mu.Unlock()
	if s, ok := x.scopes[key]; ok {
		return s
	}
	s := &scope{
		key: key, wake: make(chan struct{}, 1),
		writer: make(semaphore, 1), turn: make(semaphore, 1),
	}
	x.scopes[key] = s
	select {
	case x.added <- struct{}{}:
	default:
	}
	return s
}

// scope returns the scope's entry, nil if there is none.
func (x *Executor) scope(key string) *scope {
	x.mu.RLock()
	defer x.mu.RUnlock()
	return x.scopes[key]
}

// all returns the scopes sorted by key.
func (x *Executor) all() []*scope {
	x.mu.RLock()
	defer x.mu.RUnlock()
	out := make([]*scope, 0, len(x.scopes))
	for _, key := range slices.Sorted(maps.Keys(x.scopes)) {
		out = append(out, x.scopes[key])
	}
	return out
}

func (x *Executor) now() time.Time { return x.o.Clock.Now().UTC() }

// poke lets advance look at the scope again.
func (s *scope) poke() {
	select {
	case s.wake <- struct{}{}:
	default:
	}
}

// Advance does every step of every scope that is due now, one scope after the
// other. It fails with ErrNotLeader when this process must not act, and with
// what went wrong in the store otherwise; then it can be called again.
func (x *Executor) Advance(ctx context.Context) error {
	var errs []error
	for _, s := range x.all() {
		_, err := x.advance(ctx, s)
		if errors.Is(err, ErrNotLeader) || ctx.Err() != nil {
			return err
		}
		errs = append(errs, err)
	}
	return errors.Join(errs...)
}

// Run carries out what is accepted until ctx ends (nil) or this process leads
// no longer (ErrNotLeader). Scopes advance at the same time, each by itself, so
// that one platform that hangs holds up nobody else.
func (x *Executor) Run(ctx context.Context) error {
	if !x.run.TryLock() {
		return errors.New("the executor runs already")
	}
	defer x.run.Unlock()
	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	var wg sync.WaitGroup
	defer wg.Wait()
	started := map[*scope]bool{}
	for {
		for _, s := range x.all() {
			if started[s] {
				continue
			}
			started[s] = true
			wg.Go(func() {
				if err := x.follow(ctx, s); err != nil {
					stop(err)
				}
			})
		}
		select {
		case <-ctx.Done():
			if err := context.Cause(ctx); errors.Is(err, ErrNotLeader) {
				return err
			}
			return nil
		case <-x.added:
		}
	}
}

// follow advances one scope whenever something is due. It returns only the
// reason to stop everything.
func (x *Executor) follow(ctx context.Context, s *scope) error {
	failures := 0
	for {
		next, err := x.advance(ctx, s)
		switch {
		case ctx.Err() != nil:
			return nil
		case errors.Is(err, ErrNotLeader):
			x.o.Logger.Error("This process acts no longer", "scope", s.key, "err", err)
			return err
		case err != nil:
			failures++
			next = x.now().Add(x.backoff(failures))
			x.o.Logger.Warn("An action could not go on and is tried again", "scope", s.key, "err", err)
		default:
			failures = 0
		}
		if x.rest(ctx, s, next) != nil {
			return nil
		}
	}
}

// rest waits for next (zero: for ever) or for something to happen.
func (x *Executor) rest(ctx context.Context, s *scope, next time.Time) error {
	if next.IsZero() {
		select {
		case <-s.wake:
			return nil
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	waiting, cancel := context.WithCancel(ctx)
	var wg sync.WaitGroup
	defer wg.Wait()
	defer cancel()
	wg.Go(func() {
		select {
		case <-s.wake:
			cancel()
		case <-waiting.Done():
		}
	})
	if err := x.o.Clock.WaitUntil(waiting, next); err != nil && ctx.Err() != nil {
		return ctx.Err()
	}
	return nil
}

// backoff is the wait after the nth failure in a row, n ≥ 1.
func (x *Executor) backoff(n int) time.Duration {
	d := doubled(x.o.RetryBase, n, x.o.RetryMax)
	return d - time.Duration(float64(d)/2*x.o.Rand())
}

// doubled is base · 2^(n−1), at most limit.
func doubled(base time.Duration, n int, limit time.Duration) time.Duration {
	for ; n > 1 && base < limit; n-- {
		base *= 2
	}
	return min(base, limit)
}

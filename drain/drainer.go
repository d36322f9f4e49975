package drain

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"golang.org/x/sync/semaphore"

	"github.com/zeta-scaler/zeta-scaler/actuators"
	"github.com/zeta-scaler/zeta-scaler/loops"
	"github.com/zeta-scaler/zeta-scaler/scaling"
	"github.com/zeta-scaler/zeta-scaler/state"
)

// Options are what a drainer needs. Store, Clock and Epoch have no default.
type Options struct {
	Store state.Store
	Clock actuators.Clock
	// Epoch is that of this leader, ≥ 1.
	Epoch uint64
	// Leads is asked before every step; an error says that this process leads no
	// longer, and nothing is done. It must be quick. Nil: always.
	Leads func() error
	// Emit is told every step after it was stored; it must not block.
	Emit func(scaling.Event)
	// Logger is silent if nil.
	Logger *slog.Logger
	// Registerer may be nil.
	Registerer prometheus.Registerer
	// Rand draws from [0, 1) for jitter; nil: the runtime's.
	Rand func() float64
}

func (o Options) withDefaults() (Options, error) {
	if o.Store == nil || o.Clock == nil || o.Epoch == 0 {
		return o, errors.New("a drainer needs a store, a clock and an epoch of at least 1")
	}
	if o.Leads == nil {
		o.Leads = func() error { return nil }
	}
	if o.Emit == nil {
		o.Emit = func(scaling.Event) {}
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	if o.Rand == nil {
		o.Rand = rand.Float64
	}
	return o, nil
}

// Drainer drains workers, one per scope and one per Zeta cluster at a time: it
// folds what happens into each scope's record (step), stores that, and carries out
// the effect. All methods are safe for concurrent use.
type Drainer struct {
	o       Options
	m       *instruments
	records *state.Led[state.DrainRecord]
	// parallel is how many requests of one drain are under way at once.
	parallel int

	// open counts the drains that are not over.
	open atomic.Int64
	// configured is true from the first Configure on: nothing moves before.
	configured atomic.Bool

	scopes *loops.Set[*scope]

	mu sync.RWMutex
	// resumed are the scopes with a drain in flight that an older leader began, with
	// the endpoint of its cluster.
	resumed map[string]string
	// draining says which scope drains a worker of a Zeta cluster, by cluster.
	draining map[string]string
}

// scope is what the drainer knows about one scope.
type scope struct {
	loops.Seat
	cfg  atomic.Pointer[ScopeConfig]
	tick atomic.Pointer[tick]
	// writer is held while an input is folded and stored; turn while the scope
	// advances. Others are asked with turn alone.
	writer, turn *semaphore.Weighted
	// attempts and shown (in the metrics) belong to whoever has writer.
	attempts attempts
	shown    scaling.DrainState
}

// New reads what the store knows about drains. It fails with state.ErrFenced if a
// newer epoch has written there.
func New(ctx context.Context, o Options) (*Drainer, error) {
	o, err := o.withDefaults()
	if err != nil {
		return nil, err
	}
	x := &Drainer{
		o: o, m: newInstruments(o.Registerer), records: state.Lead(state.Drains(o.Store, state.Fence(o.Epoch)), "drain", o.Leads),
		scopes: loops.NewSet[*scope](), resumed: map[string]string{}, draining: map[string]string{},
		parallel: parallelRequests,
	}
	rows, bad, err := x.records.Load(ctx)
	if err != nil {
		return nil, err
	}
	for _, b := range bad {
		// Every step of the scope reads it again, and fails before it does anything. A
		// worker may be half empty: no other scope of its cluster drains one.
		x.o.Logger.Error(state.UnreadableActions(state.Drain), "scope", b.Key, "err", b.Err)
		x.add(b.Key)
		x.resumed[b.Key] = ""
	}
	for _, r := range rows {
		x.show(x.add(r.Key), r.Value.Open)
		if r.Value.InFlight() {
			x.resumed[r.Key] = r.Value.Open.Endpoint
		}
	}
	return x, nil
}

// Busy reports whether a drain is not over: then what its scope was configured with
// is still needed, be it listed or not.
func (x *Drainer) Busy() bool { return x.open.Load() > 0 }

// Configure says of which scopes workers may be drained, at the start and after
// each reload. A drain of a scope that left the list goes back.
func (x *Drainer) Configure(scopes []ScopeConfig) {
	listed := map[string]bool{}
	for _, c := range scopes {
		c = c.withDefaults()
		listed[c.Scope.Key] = true
		x.list(&c)
	}
	if !x.configured.Load() {
		for _, s := range x.scopes.All() {
			if _, resumed := x.resumed[s.Key()]; resumed {
				x.claim(s)
			}
		}
	}
	x.configured.Store(true)
	for _, s := range x.scopes.All() {
		if c := s.cfg.Load(); c != nil && !listed[s.Key()] {
			left := *c
			left.Mode = "" // nobody may begin a drain; one that has begun still has its engine
			s.cfg.Store(&left)
		}
		s.Poke()
	}
}

// Publish takes a tick's decisions. It only notes them and never waits: Run or
// Advance acts. It has one caller at a time.
func (x *Drainer) Publish(_ context.Context, evaluations []scaling.Evaluation, gone []scaling.Scope) {
	for i := range evaluations {
		ev := &evaluations[i]
		if s := x.scope(ev.Scope.Key); s != nil {
			r := &ev.Recommendation
			s.tick.Store(&tick{
				at: ev.Tick, workers: r.CurrentWorkers, slotMode: ev.SlotMode, action: r.Action, mode: ev.Mode, recommendation: r.RecommendationID,
			})
			s.Poke()
		}
	}
	for _, g := range gone {
		if s := x.scope(g.Key); s != nil {
			s.tick.Store(&tick{gone: true})
			s.Poke()
		}
	}
}

// Accept asks to carry out a SCALE_IN_CANDIDATE, of which only the id is taken
// from the caller. mine is false if the id is of no such recommendation, or its
// scope has no drain: then somebody else answers. When it returns accepted or held
// the intent is durable; nobody is called. It fails only with state.ErrUnusable,
// actuators.ErrLate, state.ErrFenced or ctx's error, after which it can be asked
// again, here or at the leader.
func (x *Drainer) Accept(ctx context.Context, recommendationID string) (v scaling.Verdict, mine bool, err error) {
	s, row, err := x.of(ctx, recommendationID)
	if s == nil || err != nil {
		return v, false, err
	}
	if v, ok := knownVerdict(&row.Value, recommendationID); ok {
		return v, true, nil
	}
	decision, _, err := state.Load[state.DecisionRecord](ctx, x.o.Store, state.Decision, s.Key())
	if err != nil {
		return v, false, fmt.Errorf("%w: reading scope %s: %w", state.ErrUnusable, s.Key(), err)
	}
	if decision.Intent.Action != scaling.ScaleInCandidate || decision.RecommendationID != recommendationID {
		return v, false, nil
	}
	o, err := x.ask(ctx, s, input{kind: accept, recommendation: recommendationID})
	if err != nil {
		return v, true, err
	}
	return o.verdict, true, nil
}

// Resolve says that a recommendation's alert is over: a drain that has not begun
// is cancelled. mine and err are as with Accept.
func (x *Drainer) Resolve(ctx context.Context, recommendationID string) (v scaling.Verdict, mine bool, err error) {
	s, row, err := x.of(ctx, recommendationID)
	if s == nil || err != nil {
		return v, false, err
	}
	if _, ok := knownVerdict(&row.Value, recommendationID); !ok {
		return v, false, nil
	}
	o, err := x.ask(ctx, s, input{kind: resolve, recommendation: recommendationID})
	if err != nil {
		return v, true, err
	}
	return o.verdict, true, nil
}

// of finds the scope of a recommendation, nil if it is none of ours.
func (x *Drainer) of(ctx context.Context, recommendationID string) (*scope, state.Row[state.DrainRecord], error) {
	var row state.Row[state.DrainRecord]
	if err := x.records.Leads(); err != nil {
		return nil, row, err
	}
	id, ok := scaling.ParseRecommendationID(recommendationID)
	s := x.scope(id.Scope)
	if !ok || s == nil || s.cfg.Load() == nil {
		return nil, row, nil
	}
	row, err := x.records.Get(ctx, s.Key())
	if err != nil {
		return nil, row, err
	}
	return s, row, nil
}

// ErrRefused says that a drain is not begun, or not cancelled; its text says why.
var ErrRefused = errors.New("refused")

// ErrNoScope says that the scope is not listed with a drain.
var ErrNoScope = errors.New("the scope is not listed in the configuration with a drain")

// Request begins a drain that a person asks for: of the worker of that name, or of
// the one that the platform would remove if it is empty. It returns the drain as
// it is stored; whether it can go on is found out afterwards (see Plan). It fails
// as Accept does, and with ErrNoScope and ErrRefused.
func (x *Drainer) Request(ctx context.Context, scopeKey, worker, by, reason string) (scaling.Drain, error) {
	return x.byHand(ctx, scopeKey, input{kind: request, worker: worker, by: by, reason: reason})
}

// Cancel has the open drain of a scope go back. It fails as Request does.
func (x *Drainer) Cancel(ctx context.Context, scopeKey, by, reason string) (scaling.Drain, error) {
	return x.byHand(ctx, scopeKey, input{kind: cancel, by: by, reason: reason})
}

func (x *Drainer) byHand(ctx context.Context, scopeKey string, in input) (scaling.Drain, error) {
	if err := x.records.Leads(); err != nil {
		return scaling.Drain{}, err
	}
	s := x.scope(scopeKey)
	if s == nil {
		return scaling.Drain{}, fmt.Errorf("%w: %s", ErrNoScope, scaling.ShownKey(scopeKey))
	}
	o, err := x.ask(ctx, s, in)
	switch {
	case err != nil:
		return scaling.Drain{}, err
	case o.refusal != "":
		return scaling.Drain{}, fmt.Errorf("%w: %s", ErrRefused, o.refusal)
	case o.Open == nil:
		return *cloned(o.Last), nil
	}
	return *cloned(o.Open), nil
}

// ask folds what somebody asks for. What that begins is advance's.
func (x *Drainer) ask(ctx context.Context, s *scope, in input) (*outcome, error) {
	o, err := x.fold(ctx, s, in)
	if err != nil {
		return nil, err
	}
	if o.changed {
		s.Poke()
	}
	return o, nil
}

// list gives a scope its configuration.
func (x *Drainer) list(c *ScopeConfig) {
	x.scopes.Add(c.Scope.Key, newScope(c.Scope.Key), func(s *scope) { s.cfg.Store(c) })
}

// unlist gives back what a scope took that is gone.
func (x *Drainer) unlist(s *scope) {
	x.scopes.Remove(s, func() bool {
		c := s.cfg.Load()
		return c == nil || c.Mode == ""
	})
}

// add returns the scope's entry, made if need be.
func (x *Drainer) add(key string) *scope { return x.scopes.Add(key, newScope(key), nil) }

func newScope(key string) func() *scope {
	return func() *scope {
		s := &scope{Seat: loops.NewSeat(key), writer: semaphore.NewWeighted(1), turn: semaphore.NewWeighted(1)}
		s.tick.Store(&tick{})
		return s
	}
}

// scope returns the scope's entry, nil if there is none.
func (x *Drainer) scope(key string) *scope {
	s, _ := x.scopes.Get(key)
	return s
}

func (x *Drainer) now() time.Time { return x.o.Clock.Now().UTC() }

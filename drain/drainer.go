package drain

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/zeta-scaler/zeta-scaler/acting"
	"github.com/zeta-scaler/zeta-scaler/scaling"
	"github.com/zeta-scaler/zeta-scaler/state"
)

// Drainer drains workers, one per scope and one per Zeta cluster at a time: it
// folds what happens into each scope's record (step), stores that, and carries out
// the effect. All methods are safe for concurrent use.
type Drainer struct {
	o       acting.Options
	m       *instruments
	records *state.Led[state.DrainRecord]
	scopes  *acting.Scopes[ScopeConfig, tick, own]
	// parallel is how many requests of one drain are under way at once.
	parallel int

	// open counts the drains that are not over.
	open atomic.Int64

	mu sync.RWMutex
	// resumed are the scopes with a drain in flight that an older leader began, with
	// the endpoint of its cluster.
	resumed map[string]string
	// draining says which scope drains a worker of a Zeta cluster, by cluster.
	draining map[string]string
}

// scope is what the drainer knows about one scope.
type scope = acting.Scope[ScopeConfig, tick, own]

// own is what it knows beside the configuration and the last tick.
type own struct {
	attempts attempts
	// shown is the state that the metrics show.
	shown scaling.DrainState
}

// New reads what the store knows about drains. It fails with state.ErrFenced if a
// newer epoch has written there.
func New(ctx context.Context, o acting.Options) (*Drainer, error) {
	o, err := o.WithDefaults("a drainer")
	if err != nil {
		return nil, err
	}
	x := &Drainer{
		o: o, m: newInstruments(o.Registerer), records: state.Lead(state.Drains(o.Store, state.Fence(o.Epoch)), "drain", o.Leads),
		scopes: acting.NewScopes[ScopeConfig, tick, own](), resumed: map[string]string{}, draining: map[string]string{},
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
		x.scopes.Add(b.Key)
		x.resumed[b.Key] = ""
	}
	for _, r := range rows {
		x.show(x.scopes.Add(r.Key), r.Value.Open)
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
	complete := make([]ScopeConfig, len(scopes))
	for i, c := range scopes {
		complete[i] = c.withDefaults()
	}
	x.scopes.Configure(complete, func() {
		for _, key := range slices.Sorted(maps.Keys(x.resumed)) {
			x.claim(x.scopes.Get(key))
		}
	})
}

// Publish takes a tick's decisions. It only notes them and never waits: Run or
// Advance acts. It has one caller at a time.
func (x *Drainer) Publish(_ context.Context, evaluations []scaling.Evaluation, gone []scaling.Scope) {
	x.scopes.Publish(evaluations, func(_ *scope, ev *scaling.Evaluation) tick {
		r := &ev.Recommendation
		return tick{
			at: ev.Tick, workers: r.CurrentWorkers, slotMode: ev.SlotMode, action: r.Action, mode: ev.Mode, recommendation: r.RecommendationID,
		}
	}, gone, tick{gone: true})
}

// Accept asks to carry out a SCALE_IN_CANDIDATE, of which only the id is taken
// from the caller. mine is false if the id is of no such recommendation, or its
// scope has no drain: then somebody else answers. When it returns accepted or held
// the intent is durable; nobody is called. It fails only with state.ErrUnusable,
// state.ErrLate, state.ErrFenced or ctx's error, after which it can be asked
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
	s := x.scopes.Get(id.Scope)
	if !ok || s == nil || s.Config.Load() == nil {
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
	s := x.scopes.Get(scopeKey)
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

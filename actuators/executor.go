package actuators

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/zeta-scaler/zeta-scaler/acting"
	"github.com/zeta-scaler/zeta-scaler/scaling"
	"github.com/zeta-scaler/zeta-scaler/state"
)

// Executor carries recommendations out, one action per scope at a time: it folds
// what happens into each scope's record (step), stores that, and carries out the
// effect. All methods are safe for concurrent use.
type Executor struct {
	o       acting.Options
	m       *instruments
	records *state.Led[state.ExecutionRecord]
	scopes  *acting.Scopes[ScopeConfig, tick, own]
}

// scope is what the executor knows about one scope.
type scope = acting.Scope[ScopeConfig, tick, own]

// own is what it knows beside the configuration and the last tick.
type own struct {
	attempts attempts
	// inFlight is whether the gauge counts it.
	inFlight bool
	// answer is what the platform said to scale and is not stored yet, nil if
	// there is nothing. It belongs to whoever has Turn.
	answer *input
}

// New reads what the store knows about actions. It fails with state.ErrFenced if a
// newer epoch has written there.
func New(ctx context.Context, o acting.Options) (*Executor, error) {
	o, err := o.WithDefaults("an executor")
	if err != nil {
		return nil, err
	}
	x := &Executor{
		o: o, m: newInstruments(o.Registerer), records: state.Lead(state.Executions(o.Store, state.Fence(o.Epoch)), "action", o.Leads),
		scopes: acting.NewScopes[ScopeConfig, tick, own](),
	}
	rows, bad, err := x.records.Load(ctx)
	if err != nil {
		return nil, err
	}
	for _, b := range bad {
		// Every step of the scope reads it again, and fails before it does anything.
		x.o.Logger.Error(state.UnreadableActions(state.Execution), "scope", b.Key, "err", b.Err)
	}
	last, err := lastTick(ctx, o.Store)
	if err != nil {
		return nil, err
	}
	for _, r := range rows {
		if r.Value.Held != nil || open(r.Value.Action) {
			s := x.scopes.Add(r.Key)
			if s.Own.inFlight = open(r.Value.Action); s.Own.inFlight {
				x.m.inFlight.Inc()
			}
		}
		if n := len(r.Value.Seen); n > 0 {
			// What was there when it was stored was there until the last tick.
			seen := slices.Clone(inventory(r.Value.Seen))
			if last.After(seen[n-1].At) {
				seen[n-1].At = last
			}
			x.scopes.Add(r.Key).Tick.Store(&tick{seen: seen})
		}
	}
	return x, nil
}

// lastTick is when this service or the one before decided last.
func lastTick(ctx context.Context, store state.Store) (last time.Time, err error) {
	rows, _, err := state.Ticks(store, state.NoFence).ListReadable(ctx)
	if err != nil {
		return last, fmt.Errorf("%w: reading the last ticks: %w", state.ErrUnusable, err)
	}
	for _, r := range rows {
		if r.Value.Last.After(last) {
			last = r.Value.Last
		}
	}
	return last, nil
}

// Configure says which scopes may be acted on, at the start and after each
// reload. What a scope that left the list has accepted and not begun is
// cancelled; what it has begun is followed to its end.
func (x *Executor) Configure(scopes []ScopeConfig) {
	complete := make([]ScopeConfig, len(scopes))
	for i, c := range scopes {
		complete[i] = c.withDefaults()
		x.m.actuator(c.Kind)
	}
	x.scopes.Configure(complete, nil)
}

// Publish takes the worker counts of a tick, and in mode direct its
// recommendations. It only notes them and never waits: Run or Advance acts. It
// has one caller at a time.
func (x *Executor) Publish(_ context.Context, evaluations []scaling.Evaluation, gone []scaling.Scope) {
	x.scopes.Publish(evaluations, func(s *scope, ev *scaling.Evaluation) tick {
		window := DefaultConvergenceTimeout
		if c := s.Config.Load(); c != nil {
			window = c.ConvergenceTimeout
		}
		return s.Tick.Load().followedBy(ev, window)
	}, gone, tick{gone: true})
}

// Accept asks to carry out a recommendation, of which only the id is taken from
// the caller. When it returns accepted or held the intent is durable. It does
// not call a platform. It fails only with state.ErrUnusable, state.ErrLate,
// state.ErrFenced or ctx's error, after which it can be asked again, here or at the leader.
func (x *Executor) Accept(ctx context.Context, recommendationID string) (scaling.Verdict, error) {
	if err := x.records.Leads(); err != nil {
		return scaling.Verdict{}, err
	}
	id, ok := scaling.ParseRecommendationID(recommendationID)
	if !ok {
		return scaling.Verdict{Result: scaling.VerdictUnknown, Reason: "it is not a recommendation id"}, nil
	}
	s := x.scopes.Get(id.Scope)
	if s == nil {
		// Nobody may act on it; only why is to be found.
		v := view{epoch: x.o.Epoch, now: x.o.Now()}
		var err error
		if v.stored, err = readStored(ctx, x.o.Store, id.Scope); err != nil {
			return scaling.Verdict{}, err
		}
		return v.refusal(id)
	}
	// Most are repetitions, which need no look at anything but the record.
	if row, err := x.records.Get(ctx, s.Key()); err == nil {
		if verdict, ok := knownVerdict(&row.Value, recommendationID); ok {
			return verdict, nil
		}
	}
	return x.request(ctx, s, input{kind: accept, recommendation: recommendationID})
}

// Resolve says that a recommendation's alert is over: what has not begun is
// cancelled, what has is left alone. It fails as Accept does.
func (x *Executor) Resolve(ctx context.Context, recommendationID string) (scaling.Verdict, error) {
	if err := x.records.Leads(); err != nil {
		return scaling.Verdict{}, err
	}
	id, ok := scaling.ParseRecommendationID(recommendationID)
	s := x.scopes.Get(id.Scope)
	if !ok || s == nil {
		return resolvedVerdict(&state.ExecutionRecord{}, recommendationID), nil
	}
	if row, err := x.records.Get(ctx, s.Key()); err == nil && (row.Value.Held == nil || !row.Value.Held.Has(recommendationID)) {
		return resolvedVerdict(&row.Value, recommendationID), nil
	}
	return x.request(ctx, s, input{kind: resolve, recommendation: recommendationID})
}

// request folds what somebody asks for. What that begins is advance's.
func (x *Executor) request(ctx context.Context, s *scope, in input) (scaling.Verdict, error) {
	o, err := x.fold(ctx, s, in)
	if err != nil {
		return scaling.Verdict{}, err
	}
	if o.changed {
		s.Poke()
	}
	return o.verdict, nil
}

// Run carries out what is accepted until ctx ends (nil) or this process leads
// no longer (state.ErrFenced). Scopes advance at the same time, each by itself, so
// that one platform that hangs holds up nobody else.
func (x *Executor) Run(ctx context.Context) error { return x.scopes.Run(ctx, x.work()) }

// Advance does every step of every scope that is due now, one scope after the
// other. It fails with state.ErrFenced when this process must not act, and with
// what went wrong in the store otherwise; then it can be called again.
func (x *Executor) Advance(ctx context.Context) error { return x.scopes.Advance(ctx, x.work()) }

func (x *Executor) work() acting.Work[ScopeConfig, tick, own] {
	return acting.Work[ScopeConfig, tick, own]{
		Options: &x.o, Advance: x.advance,
		Ended: "This process acts no longer", Failed: "An action could not go on and is tried again",
	}
}

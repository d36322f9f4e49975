package drain

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/zeta-scaler/zeta-scaler/acting"
	"github.com/zeta-scaler/zeta-scaler/actuators"
	"github.com/zeta-scaler/zeta-scaler/scaling"
	"github.com/zeta-scaler/zeta-scaler/state"
)

// Run drains until ctx ends (nil) or this process leads no longer
// (state.ErrFenced). Scopes advance at the same time, each by itself.
func (x *Drainer) Run(ctx context.Context) error { return x.scopes.Run(ctx, x.work()) }

// Advance does every step of every scope that is due now, one scope after the
// other. It fails with state.ErrFenced when this process must not act, and with
// what went wrong in the store otherwise; then it can be called again.
func (x *Drainer) Advance(ctx context.Context) error { return x.scopes.Advance(ctx, x.work()) }

func (x *Drainer) work() acting.Work[ScopeConfig, tick, own] {
	return acting.Work[ScopeConfig, tick, own]{
		Options: &x.o, Advance: x.advance,
		Ended: "This process drains no longer", Failed: "A drain could not go on and is tried again",
	}
}

// advance folds, stores and carries out effects until there is nothing to do. It
// returns when the next step is due, zero if only an event can bring it.
func (x *Drainer) advance(ctx context.Context, s *scope) (time.Time, error) {
	in := input{kind: look}
	for {
		if err := x.records.Leads(); err != nil {
			return time.Time{}, err
		}
		if s.Tick.Load().gone && in.kind == look {
			in.kind = gone
		}
		o, err := x.fold(ctx, s, in)
		if err != nil {
			return time.Time{}, err
		}
		switch o.effect.kind {
		case rest:
			return o.effect.until, nil
		case again:
			in = o.input
			continue
		case forget:
			return time.Time{}, x.forget(ctx, s, o)
		}
		if in, err = x.perform(ctx, o); err != nil {
			return time.Time{}, err
		}
	}
}

// fold makes one step and stores what it changed. A record that somebody else has
// changed meanwhile is folded anew.
func (x *Drainer) fold(ctx context.Context, s *scope, in input) (*outcome, error) {
	if in.kind == asked { // the answer of a request is stored in any case
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(context.WithoutCancel(ctx), acting.AnswerTimeout)
		defer cancel()
	}
	if err := s.Writer.Acquire(ctx, 1); err != nil {
		return nil, err
	}
	defer s.Writer.Release(1)
	if err := x.takeOver(ctx, s); err != nil {
		return nil, err
	}
	v := x.view(s)
	var err error
	if v.stored, err = readStored(ctx, x.o.Store, s.Key()); err != nil {
		return nil, err
	}
	v.busy = x.claim(s)
	o, err := x.change(ctx, s, func(r *state.DrainRecord) (*outcome, error) {
		o := step(progress{*r, s.Own.attempts}, v, in)
		return o, o.err
	})
	if err == nil && !o.InFlight() {
		x.unclaim(s)
	}
	return o, err
}

// claim lets a scope be the one of its Zeta cluster whose workers are drained; it
// returns which other one is.
func (x *Drainer) claim(s *scope) (other string) {
	c := s.Config.Load()
	if c == nil || c.Cluster == "" {
		return ""
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	if other := x.draining[c.Cluster]; other != "" && other != s.Key() {
		return other
	}
	if other := x.orphan(c.Endpoint); other != "" && other != s.Key() {
		return other
	}
	x.draining[c.Cluster] = s.Key()
	return ""
}

// orphan is a scope that has left the configuration while a drain of it was open in
// the cluster of that endpoint: nobody goes on with it until it is listed again, and
// what it has stopped needs the workers that there are. The caller has mu.
func (x *Drainer) orphan(endpoint string) string {
	for _, key := range slices.Sorted(maps.Keys(x.resumed)) {
		if x.resumed[key] == endpoint && endpoint != "" && !equipped(x.scopes.Get(key)) {
			return key
		}
	}
	return ""
}

// equipped reports whether the scope was listed since this process began.
func equipped(s *scope) bool { return s != nil && s.Config.Load().equipped() }

// unclaim gives the cluster back to others.
func (x *Drainer) unclaim(s *scope) {
	x.mu.Lock()
	defer x.mu.Unlock()
	maps.DeleteFunc(x.draining, func(_, key string) bool { return key == s.Key() })
	delete(x.resumed, s.Key())
}

// takeOver makes a record of an older leader ours, so that an older leader cannot
// go on. A scope without a record needs none.
func (x *Drainer) takeOver(ctx context.Context, s *scope) error {
	row, err := x.records.Get(ctx, s.Key())
	if err != nil {
		return err
	}
	if row.Value.Epoch == x.o.Epoch || row.Version == 0 && !s.Config.Load().equipped() {
		return nil
	}
	_, err = x.change(ctx, s, func(r *state.DrainRecord) (*outcome, error) {
		return step(progress{*r, s.Own.attempts}, x.view(s), input{kind: takeOver}), nil
	})
	return err
}

// change stores what a step makes of the record, and reports it.
func (x *Drainer) change(ctx context.Context, s *scope, f func(*state.DrainRecord) (*outcome, error)) (*outcome, error) {
	var o *outcome
	err := x.records.Step(ctx, s.Key(), func(old state.DrainRecord) (next state.DrainRecord, history []state.Entry, changed bool, err error) {
		if o, err = f(&old); err != nil || !o.changed {
			return old, nil, false, err
		}
		history, err = historyOf(s.Key(), o)
		return o.DrainRecord, history, true, err
	})
	if err != nil {
		return nil, err
	}
	s.Own.attempts = o.attempts
	if o.changed {
		x.tell(s, o)
	}
	return o, nil
}

// view is what the next step of a scope goes by, without what has to be read.
func (x *Drainer) view(s *scope) *view {
	v := &view{now: x.o.Now(), epoch: x.o.Epoch, scope: s.Key(), cfg: s.Config.Load(), tick: *s.Tick.Load(), jitter: x.o.Rand()}
	if v.cfg != nil && v.cfg.Actuator != nil {
		v.can = v.cfg.Actuator.Capabilities()
		_, v.claims = v.cfg.Actuator.(actuators.Claimer)
	}
	return v
}

// forget removes the record of a scope that is gone.
func (x *Drainer) forget(ctx context.Context, s *scope, o *outcome) error {
	if err := s.Writer.Acquire(ctx, 1); err != nil {
		return err
	}
	defer s.Writer.Release(1)
	history, err := historyOf(s.Key(), o)
	if err != nil {
		return err
	}
	w := state.NewWrite(x.o.Store, state.Fence(x.o.Epoch))
	w.Append(history...)
	x.records.Remove(w, s.Key())
	if err := w.Commit(ctx); err != nil {
		return fmt.Errorf("%w: removing the drain of scope %s: %w", state.ErrUnusable, s.Key(), err)
	}
	x.tell(s, o)
	x.scopes.Forget(s, (*tick).over)
	return nil
}

// historyOf renders the drains that end with a step.
func historyOf(key string, o *outcome) ([]state.Entry, error) {
	return state.WithEach(state.Entry{Scope: key, At: o.view.now, Action: string(scaling.ScaleInCandidate), Kind: state.DrainEntry}, o.ended)
}

// tell reports what was stored.
func (x *Drainer) tell(s *scope, o *outcome) {
	for _, d := range o.ended {
		x.m.ended(d)
	}
	x.show(s, o.Open)
	sc := scaling.Scope{Key: s.Key()}
	if o.view.cfg != nil {
		sc = o.view.cfg.Scope
	}
	for _, t := range o.told {
		x.o.Emit(scaling.Event{Kind: t.kind, Severity: scaling.SeverityOf(t.kind), Scope: sc, Message: t.message, Drain: t.drain, At: o.view.now})
	}
}

// show has the metrics say how many drains are where.
func (x *Drainer) show(s *scope, d *scaling.Drain) {
	now := scaling.DrainState("")
	if d != nil {
		now = d.State
	}
	x.m.shows(s.Key(), s.Own.shown, d)
	switch {
	case s.Own.shown == "" && now != "":
		x.open.Add(1)
	case s.Own.shown != "" && now == "":
		x.open.Add(-1)
	}
	s.Own.shown = now
}

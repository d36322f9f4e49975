package actuators

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/zeta-scaler/zeta-scaler/acting"
	"github.com/zeta-scaler/zeta-scaler/scaling"
	"github.com/zeta-scaler/zeta-scaler/state"
)

// advance folds, stores and carries out effects until there is nothing to do. It
// returns when the next step is due, zero if only an event can bring it.
func (x *Executor) advance(ctx context.Context, s *scope) (time.Time, error) {
	in := input{kind: look}
	for {
		if err := x.records.Leads(); err != nil {
			return time.Time{}, err
		}
		if s.Tick.Load().gone {
			return time.Time{}, x.forget(ctx, s)
		}
		o, err := x.foldNext(ctx, s, in)
		if err != nil {
			return time.Time{}, err
		}
		if o.effect.kind == rest {
			return o.effect.until, nil
		}
		if in, err = x.perform(ctx, s, o); err != nil {
			return time.Time{}, err
		}
	}
}

// foldNext folds the answer of the platform that is not stored yet, or else in.
func (x *Executor) foldNext(ctx context.Context, s *scope, in input) (*outcome, error) {
	if s.Own.answer == nil {
		return x.fold(ctx, s, in)
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), acting.AnswerTimeout)
	defer cancel()
	o, err := x.fold(ctx, s, *s.Own.answer)
	if err == nil {
		s.Own.answer = nil
	}
	return o, err
}

// perform carries out an effect and returns its answer, which is the next input.
// It takes the configuration that the step went by: a reload meanwhile may have
// brought another actuator, whose target was not observed.
func (x *Executor) perform(ctx context.Context, s *scope, o *outcome) (input, error) {
	e, c := o.effect, o.view.cfg
	in := input{about: e}
	switch e.kind {
	case observe:
		in.err = x.call(ctx, c, verbObserve, func(ctx context.Context, t Target) (err error) {
			in.platform, err = c.Actuator.Observe(ctx, t)
			return err
		})
		in.kind = observed
		if in.err != nil {
			in.kind = unobserved
		}
	case claim:
		if err := x.records.Leads(); err != nil {
			return in, err
		}
		in.err = x.call(ctx, c, verbClaim, func(ctx context.Context, t Target) error {
			return c.Actuator.(Claimer).Claim(ctx, t, e.fence)
		})
		in.kind = claimed
		if in.err != nil && !errors.Is(in.err, ErrUnsupported) {
			in.kind = unclaimed
		}
	case withdraw:
		if err := x.records.Leads(); err != nil {
			return in, err
		}
		in.err = x.call(ctx, c, verbWithdraw, func(ctx context.Context, t Target) (err error) {
			in.left, err = c.Actuator.(Withdrawer).Withdraw(ctx, t, e.fence)
			return err
		})
		in.kind = withdrawn
		if in.err != nil {
			in.kind = unwithdrawn
		}
	case scale:
		if err := x.records.Leads(); err != nil {
			return in, err
		}
		in.err = x.call(ctx, c, verbScale, func(ctx context.Context, t Target) error {
			return c.Actuator.Scale(ctx, t, e.target, e.fence)
		})
		in.kind = answerTo(in.err)
		s.Own.answer = &in
		return in, nil
	default:
		return o.input, nil
	}
	if s.Config.Load() != c {
		return input{kind: look}, ctx.Err()
	}
	return in, ctx.Err()
}

// answerTo says what a platform's answer to scale is for the machine.
func answerTo(err error) inputKind {
	switch resultOf(err) {
	case resultOK:
		return taken
	case resultUnknown:
		return lost
	case resultError:
		return failed
	default:
		return refused
	}
}

// call makes one call of the scope's platform, in its time, and counts it.
func (x *Executor) call(ctx context.Context, c *ScopeConfig, verb string, f func(context.Context, Target) error) error {
	start := time.Now()
	ctx, cancel := context.WithTimeout(ctx, cmp.Or(c.CallTimeout, acting.CallTimeout))
	defer cancel()
	err := f(ctx, Target{Scope: c.Scope, Name: c.Target})
	x.m.called(c.Kind, verb, start, err)
	return err
}

// fold makes one step and stores what it changed. A record that somebody else
// has changed meanwhile is folded anew.
func (x *Executor) fold(ctx context.Context, s *scope, in input) (*outcome, error) {
	if err := s.Writer.Acquire(ctx, 1); err != nil {
		return nil, err
	}
	defer s.Writer.Release(1)
	if err := x.takeOver(ctx, s); err != nil {
		return nil, err
	}
	return x.change(ctx, s, func(r *state.ExecutionRecord) (*outcome, error) {
		v := x.view(s)
		if v.reads(r, in.kind) {
			var err error
			if v.stored, err = readStored(ctx, x.o.Store, s.Key()); err != nil {
				return nil, err
			}
		}
		o := step(progress{*r, s.Own.attempts}, v, in)
		return o, o.err
	})
}

// takeOver makes a record of an older leader ours. A scope that nobody may act on
// needs no record; every other one gets ours, so that an older leader cannot
// begin anything there any more.
func (x *Executor) takeOver(ctx context.Context, s *scope) error {
	row, err := x.records.Get(ctx, s.Key())
	if err != nil {
		return err
	}
	v := x.view(s)
	idle := row.Version == 0 && (!v.listed() || v.cfg.Actuator == nil)
	if row.Value.Epoch == x.o.Epoch || idle {
		return nil
	}
	_, err = x.change(ctx, s, func(r *state.ExecutionRecord) (*outcome, error) {
		return step(progress{*r, s.Own.attempts}, v, input{kind: takeOver}), nil
	})
	return err
}

// change stores what a step makes of the record, and reports it.
func (x *Executor) change(ctx context.Context, s *scope, f func(*state.ExecutionRecord) (*outcome, error)) (*outcome, error) {
	var o *outcome
	err := x.records.Step(ctx, s.Key(), func(old state.ExecutionRecord) (next state.ExecutionRecord, history []state.Entry, changed bool, err error) {
		if o, err = f(&old); err != nil || !o.changed {
			return old, nil, false, err
		}
		history, err = historyOf(s.Key(), o)
		return o.ExecutionRecord, history, true, err
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
func (x *Executor) view(s *scope) *view {
	v := &view{
		now: x.o.Now(), epoch: x.o.Epoch, scope: s.Key(), cfg: s.Config.Load(), tick: *s.Tick.Load(), jitter: x.o.Rand(),
	}
	if v.cfg != nil && v.cfg.Actuator != nil {
		v.can = v.cfg.Actuator.Capabilities()
		_, v.claims = v.cfg.Actuator.(Claimer)
	}
	return v
}

// forget drops a scope that is gone; its record was removed by who said so.
func (x *Executor) forget(ctx context.Context, s *scope) error {
	if err := s.Writer.Acquire(ctx, 1); err != nil {
		return err
	}
	defer s.Writer.Release(1)
	row, err := x.records.Get(ctx, s.Key())
	if err != nil {
		return err
	}
	if open(row.Value.Action) {
		x.o.Logger.Warn("A scope is gone, and its action in flight is not followed any more", "scope", s.Key(), "action", row.Value.Action.ID)
	}
	o := step(progress{ExecutionRecord: row.Value}, x.view(s), input{kind: gone})
	history, err := historyOf(s.Key(), o)
	if err != nil {
		return err
	}
	w := state.NewWrite(x.o.Store, state.Fence(x.o.Epoch))
	w.Append(history...)
	if !w.Empty() {
		err = w.Commit(ctx)
	}
	if err != nil {
		return fmt.Errorf("%w: ending the action of scope %s: %w", state.ErrUnusable, s.Key(), err)
	}
	x.records.Forget(s.Key())
	x.tell(s, o)
	s.Own.answer, s.Own.attempts = nil, o.attempts
	x.scopes.Forget(s, (*tick).over)
	return nil
}

// historyOf renders the actions that end with a step.
func historyOf(key string, o *outcome) ([]state.Entry, error) {
	return state.WithEach(state.Entry{Scope: key, At: o.view.now, Action: string(scaling.ScaleOut), Kind: state.ActionEntry}, o.ended)
}

// tell reports what was stored.
func (x *Executor) tell(s *scope, o *outcome) {
	if now := open(o.Action); now != s.Own.inFlight {
		s.Own.inFlight = now
		if now {
			x.m.inFlight.Inc()
		} else {
			x.m.inFlight.Dec()
		}
	}
	for _, a := range o.ended {
		x.m.actions.WithLabelValues(string(a.State)).Inc()
	}
	sc := scaling.Scope{Key: s.Key()}
	if o.view.cfg != nil {
		sc = o.view.cfg.Scope
	}
	for _, t := range o.told {
		x.o.Emit(scaling.Event{
			Kind: t.kind, Severity: scaling.SeverityOf(t.kind), Scope: sc, Message: t.message, Execution: t.action, At: o.view.now,
		})
	}
}

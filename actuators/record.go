package actuators

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/zeta-scaler/zeta-scaler/scaling"
	"github.com/zeta-scaler/zeta-scaler/state"
)

// errAgain says that the record was changed under our feet and has to be
// judged again.
var errAgain = fmt.Errorf("%w: the action record was changed by another writer", ErrStore)

// open reports whether the action has begun and is not over.
func open(a *scaling.Execution) bool { return a != nil && !a.State.Final() }

// draft is a record that is about to be stored.
type draft struct {
	state.ExecutionRecord
	now time.Time
	cfg *ScopeConfig
	// over are actions that end with this write, told the transitions it makes.
	over, told []*scaling.Execution
}

func (x *Executor) draft(s *scope, r *state.ExecutionRecord) *draft {
	d := &draft{ExecutionRecord: *r, now: x.now(), cfg: s.cfg.Load()}
	d.Booting = slices.Clone(r.Booting)
	d.Action, d.Held = cloned(r.Action), cloned(r.Held)
	d.Epoch = x.o.Epoch
	return d
}

func cloned(a *scaling.Execution) *scaling.Execution {
	if a == nil {
		return nil
	}
	c := *a
	c.Transitions, c.Rounds = slices.Clone(a.Transitions), slices.Clone(a.Rounds)
	return &c
}

// enter moves an action to a state.
func (d *draft) enter(a *scaling.Execution, to scaling.ActionState, reason string) {
	a.State = to
	a.Transitions = append(a.Transitions, scaling.Transition{State: to, At: d.now, Reason: reason})
	d.told = append(d.told, cloned(a))
	if to.Final() {
		d.over = append(d.over, cloned(a))
	}
}

// drop ends what is held.
func (d *draft) drop(to scaling.ActionState, reason string) {
	d.enter(d.Held, to, reason)
	d.Held = nil
}

// end finishes the action in flight.
func (d *draft) end(to scaling.ActionState, reason string) {
	d.ActionInFlight, d.Attempts = false, 0
	d.Deadline, d.NextAttempt = time.Time{}, time.Time{}
	if to != scaling.ActionSucceeded {
		d.Action.Error = reason
	}
	d.enter(d.Action, to, reason)
}

// fail ends the action in flight and starts the back-off.
func (d *draft) fail(reason string) {
	d.rest()
	d.end(scaling.ActionFailed, reason)
}

// reject is fail for a platform that has heard of a newer leader. If there is
// one, it takes over; if not, the state is older than the platform, which
// somebody has to be told.
func (d *draft) reject(reason string) {
	d.rest()
	d.end(scaling.ActionRejectedStale, reason)
}

// rest starts the back-off, longer with each failure in a row.
func (d *draft) rest() {
	d.Failures++
	base := DefaultFailureBackoff
	if d.cfg != nil {
		base = d.cfg.FailureBackoff
	}
	d.BackoffUntil = d.now.Add(doubled(base, d.Failures, max(maxFailureBackoff, base)))
}

// announce names the action's target as booting.
func (d *draft) announce() {
	wait := DefaultBootDeadline
	if d.cfg != nil {
		wait = d.cfg.BootDeadline
	}
	d.withdraw(d.Action.Target)
	d.Booting = append(d.Booting, scaling.Booting{Target: d.Action.Target, Deadline: d.now.Add(wait)})
}

// announced reports whether the action's target is named as booting: without
// it no call was made.
func announced(r *state.ExecutionRecord) bool {
	return slices.ContainsFunc(r.Booting, func(b scaling.Booting) bool { return b.Target == r.Action.Target })
}

// withdraw takes back the entry of a request that was not carried out.
func (d *draft) withdraw(target int) {
	d.Booting = slices.DeleteFunc(d.Booting, func(b scaling.Booting) bool { return b.Target == target })
}

// withdrawAbove takes back every entry that the platform was not asked for.
func (d *draft) withdrawAbove(desired int) {
	d.Booting = slices.DeleteFunc(d.Booting, func(b scaling.Booting) bool { return b.Target > desired })
}

// allow gives the action its time to converge from now on.
func (d *draft) allow() {
	wait := DefaultConvergenceTimeout
	if d.cfg != nil {
		wait = d.cfg.ConvergenceTimeout
	}
	d.Deadline = d.now.Add(wait)
}

// record returns the scope's record, read and taken over if need be.
func (x *Executor) record(ctx context.Context, s *scope) (*copied, error) {
	if c := s.copied.Load(); c != nil {
		return c, nil
	}
	if err := s.writer.lock(ctx); err != nil {
		return nil, err
	}
	defer s.writer.unlock()
	return x.load(ctx, s)
}

// load is record for whoever has writer.
func (x *Executor) load(ctx context.Context, s *scope) (*copied, error) {
	if c := s.copied.Load(); c != nil {
		return c, nil
	}
	r, version, err := state.Load[state.ExecutionRecord](ctx, x.o.Store, state.Execution, s.key)
	if err != nil {
		return nil, fmt.Errorf("%w: reading the action of scope %s: %w", ErrStore, s.key, err)
	}
	if r.Epoch > x.o.Epoch {
		x.lost.Store(true)
		return nil, fmt.Errorf("%w: scope %s was written by epoch %d, this is epoch %d", ErrNotLeader, s.key, r.Epoch, x.o.Epoch)
	}
	// A scope that nobody may act on needs no record; every other one gets ours,
	// so that an older leader cannot begin anything there any more.
	c := s.cfg.Load()
	idle := version == 0 && (c == nil || c.Mode == "" || c.Actuator == nil)
	if r.Epoch == x.o.Epoch || idle {
		s.hold(x, &copied{r, version})
		return s.copied.Load(), nil
	}
	d := x.draft(s, &r)
	d.takeOver()
	if err := x.store(ctx, s, version, d); err != nil {
		return nil, err
	}
	return s.copied.Load(), nil
}

// change lets f make a new record out of the stored one and stores it, unless f
// returns false.
func (x *Executor) change(ctx context.Context, s *scope, f func(d *draft) bool) error {
	if err := s.writer.lock(ctx); err != nil {
		return err
	}
	defer s.writer.unlock()
	c, err := x.load(ctx, s)
	if err != nil {
		return err
	}
	d := x.draft(s, &c.ExecutionRecord)
	if !f(d) {
		return nil
	}
	return x.store(ctx, s, c.version, d)
}

// store writes a draft. If it cannot, the copy is dropped, because it may be
// wrong now; a conflict is looked into at once. The caller has writer.
func (x *Executor) store(ctx context.Context, s *scope, version uint64, d *draft) error {
	put, err := state.NewPut(state.Execution, s.key, version, d.ExecutionRecord)
	if err != nil {
		return err
	}
	history, err := historyOf(s.key, d)
	if err != nil {
		return err
	}
	versions, err := x.o.Store.Apply(ctx, state.Batch{Puts: []state.Put{put}, History: history})
	if err != nil {
		s.copied.Store(nil)
		if errors.Is(err, state.ErrConflict) {
			if _, err := x.load(ctx, s); err != nil && !errors.Is(err, errAgain) {
				return err
			}
			return errAgain
		}
		return fmt.Errorf("%w: writing the action of scope %s: %w", ErrStore, s.key, err)
	}
	s.hold(x, &copied{d.ExecutionRecord, versions[0]})
	x.tell(s, d)
	return nil
}

// historyOf renders the actions that end with a draft.
func historyOf(key string, d *draft) ([]state.Entry, error) {
	var out []state.Entry
	for _, a := range d.over {
		v, err := json.Marshal(a)
		if err != nil {
			return nil, fmt.Errorf("encoding action %s: %w", a.ID, err)
		}
		out = append(out, state.Entry{
			Scope: key, At: d.now, Action: string(scaling.ScaleOut), Kind: state.ActionEntry, Value: v,
		})
	}
	return out, nil
}

// hold takes over what is stored now.
func (s *scope) hold(x *Executor, c *copied) {
	s.copied.Store(c)
	if now := open(c.Action); now != s.counted {
		s.counted = now
		if now {
			x.m.inFlight.Inc()
		} else {
			x.m.inFlight.Dec()
		}
	}
}

// tell reports what was stored.
func (x *Executor) tell(s *scope, d *draft) {
	for _, a := range d.over {
		x.m.actions.WithLabelValues(string(a.State)).Inc()
	}
	for _, a := range d.told {
		kind := scaling.EventScalingReport
		if a.State == scaling.ActionFailed || a.State == scaling.ActionRejectedStale {
			kind = scaling.EventScalingException
		}
		message := fmt.Sprintf("%s to %d workers", a.State, a.Target)
		if reason := a.Transitions[len(a.Transitions)-1].Reason; reason != "" {
			message += ": " + reason
		}
		x.emit(s, kind, message, a)
	}
}

func (x *Executor) emit(s *scope, kind scaling.EventKind, message string, a *scaling.Execution) {
	sc := scaling.Scope{Key: s.key}
	if cfg := s.cfg.Load(); cfg != nil {
		sc = cfg.Scope
	}
	x.o.Emit(scaling.Event{
		Kind: kind, Severity: scaling.SeverityOf(kind), Scope: sc, Message: message, Execution: a, At: x.now(),
	})
}

package actuators

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/zeta-scaler/zeta-scaler/scaling"
	"github.com/zeta-scaler/zeta-scaler/state"
)

// sight is what the store says about a scope, read in one go.
type sight struct {
	decision        state.DecisionRecord
	found           bool
	control, global state.ControlRecord
	validUntil      time.Time
}

// look reads what decides whether a scope may be acted on.
func (x *Executor) look(ctx context.Context, key string) (v sight, err error) {
	defer func() {
		if err != nil {
			err = fmt.Errorf("%w: reading scope %s: %w", ErrStore, key, err)
		}
	}()
	var version uint64
	if v.decision, version, err = state.Load[state.DecisionRecord](ctx, x.o.Store, state.Decision, key); err != nil || version == 0 {
		return v, err
	}
	v.found = true
	if v.control, _, err = state.Load[state.ControlRecord](ctx, x.o.Store, state.Control, key); err != nil {
		return v, err
	}
	if v.global, _, err = state.Load[state.ControlRecord](ctx, x.o.Store, state.Control, state.GlobalKey); err != nil {
		return v, err
	}
	// A recommendation that stands is refreshed by the rule set's tick, not in
	// every scope's record.
	r := &v.decision.Recommendation
	v.validUntil = r.ValidUntil
	tick, version, err := state.Load[state.TickRecord](ctx, x.o.Store, state.Tick, r.RuleSet.Name)
	if err == nil && version > 0 {
		if t := tick.Last.Add(r.ValidUntil.Sub(r.ObservedAt)); t.After(v.validUntil) {
			v.validUntil = t
		}
	}
	return v, err
}

// mode is the configured mode, overlaid by what operators set at run time.
func (v *sight) mode(c *ScopeConfig) (scaling.Mode, string) {
	switch {
	case c == nil || c.Mode == "":
		return scaling.Advisory, "the scope is not listed in the configuration"
	case c.Deployment == scaling.Application:
		return scaling.Advisory, "Application Mode has a fixed capacity"
	case c.Actuator == nil:
		return scaling.Advisory, "the scope has no actuator"
	}
	_, mode := v.control.Overlay(scaling.Bounds{}, c.Mode)
	if mode == scaling.Webhook || mode == scaling.Direct {
		return mode, ""
	}
	return scaling.Advisory, "the scope's mode is advisory"
}

func (v *sight) paused(now time.Time) bool {
	return v.control.PausedAt(now) || v.global.PausedAt(now)
}

// resumedAfter reports whether an operator has accepted what the platform has
// since t.
func (v *sight) resumedAfter(t time.Time) bool {
	return v.control.ResumedAt.After(t) || v.global.ResumedAt.After(t)
}

// judge says whether a recommendation may be carried out, whatever else is
// going on; ok is false with the verdict if it may not.
func (x *Executor) judge(v *sight, id identity, c *ScopeConfig, now time.Time) (verdict scaling.Verdict, ok bool, err error) {
	d := &v.decision
	refuse := func(r scaling.VerdictResult, format string, args ...any) (scaling.Verdict, bool, error) {
		return scaling.Verdict{Result: r, Reason: fmt.Sprintf(format, args...)}, false, nil
	}
	switch {
	case !v.found:
		return refuse(scaling.VerdictUnknown, "there is no recommendation for scope %s", id.scope)
	case id.epoch < x.o.Epoch:
		return refuse(scaling.VerdictStaleEpoch, "epoch %d is over, this is epoch %d", id.epoch, x.o.Epoch)
	case id.epoch > x.o.Epoch, d.Epoch > x.o.Epoch:
		return scaling.Verdict{}, false, fmt.Errorf("%w: the recommendation is of epoch %d, this is epoch %d", ErrNotLeader, max(id.epoch, d.Epoch), x.o.Epoch)
	case id.generation < d.Generation:
		return refuse(scaling.VerdictSuperseded, "generation %d has taken its place", d.Generation)
	case id.generation > d.Generation:
		return refuse(scaling.VerdictUnknown, "the newest generation is %d", d.Generation)
	case !now.Before(v.validUntil):
		return refuse(scaling.VerdictExpired, "it was valid until %s", v.validUntil.UTC().Format(time.RFC3339))
	case d.Intent.Action == scaling.ScaleInCandidate:
		return refuse(scaling.VerdictAdvisory, "scale-in needs a drain, which this version does not have")
	case d.Intent.Action != scaling.ScaleOut:
		return refuse(scaling.VerdictSuperseded, "nothing asks for more workers any more")
	}
	if mode, why := v.mode(c); mode == scaling.Advisory {
		return refuse(scaling.VerdictAdvisory, "%s", why)
	}
	if v.paused(now) {
		return refuse(scaling.VerdictPaused, "the scope is paused")
	}
	return scaling.Verdict{}, true, nil
}

// Accept asks to carry out a recommendation, of which only the id is taken from
// the caller. When it returns accepted or held the intent is durable. It does
// not call a platform. It fails only with ErrStore, ErrNotLeader or ctx's error,
// after which it can be asked again, here or at the leader.
func (x *Executor) Accept(ctx context.Context, recommendationID string) (scaling.Verdict, error) {
	if err := x.leads(); err != nil {
		return scaling.Verdict{}, err
	}
	id, ok := parseID(recommendationID)
	if !ok {
		return scaling.Verdict{Result: scaling.VerdictUnknown, Reason: "it is not a recommendation id"}, nil
	}
	s := x.scope(id.scope)
	if s != nil {
		if v, ok := s.known(recommendationID); ok {
			return v, nil
		}
	}
	for conflicts := 0; ; conflicts++ {
		v, err := x.accept(ctx, s, id, recommendationID)
		if errors.Is(err, errAgain) && conflicts < maxConflicts && ctx.Err() == nil {
			continue
		}
		return v, err
	}
}

// known answers for a recommendation that has an action already, from the copy
// alone. One that was called off before anything was done may be asked for
// again.
func (s *scope) known(recommendationID string) (scaling.Verdict, bool) {
	c := s.copied.Load()
	if c == nil {
		return scaling.Verdict{}, false
	}
	for _, a := range []*scaling.Execution{c.Held, c.Action} {
		if a != nil && a.Has(recommendationID) && a.State != scaling.ActionCancelled {
			return scaling.Verdict{
				Result: scaling.VerdictDuplicate, ActionID: a.ID, State: a.State,
				Reason: "an action of this recommendation is " + string(a.State),
			}, true
		}
	}
	return scaling.Verdict{}, false
}

func (x *Executor) accept(ctx context.Context, s *scope, id identity, recommendationID string) (scaling.Verdict, error) {
	sight, err := x.look(ctx, id.scope)
	if err != nil {
		return scaling.Verdict{}, err
	}
	var cfg *ScopeConfig
	if s != nil {
		cfg = s.cfg.Load()
	}
	verdict, ok, err := x.judge(&sight, id, cfg, x.now())
	if err != nil || !ok {
		return verdict, err
	}
	err = x.change(ctx, s, func(d *draft) bool {
		if v, ok := s.known(recommendationID); ok {
			verdict = v
			return false
		}
		if newer := d.newest(x.o.Epoch); newer > id.generation {
			verdict = scaling.Verdict{Result: scaling.VerdictSuperseded, Reason: fmt.Sprintf("generation %d was accepted before", newer)}
			return false
		}
		verdict = x.admit(s, d, &sight, recommendationID)
		return true
	})
	if err != nil {
		return scaling.Verdict{}, err
	}
	s.poke()
	return verdict, nil
}

// newest is the greatest generation of an epoch that was accepted.
func (d *draft) newest(epoch uint64) uint64 {
	var n uint64
	for _, a := range []*scaling.Execution{d.Held, d.Action} {
		if a != nil && a.MasterEpoch == epoch {
			n = max(n, a.Generation)
		}
	}
	return n
}

// admit puts a recommendation into the record: into the action in flight as a
// later round, or as what begins next.
func (x *Executor) admit(s *scope, d *draft, v *sight, recommendationID string) scaling.Verdict {
	r := v.decision.Recommendation
	s.recommendation = &r
	s.triggers = triggersOf(&r)
	a := scaling.Execution{
		ID: recommendationID, RecommendationID: recommendationID, Scope: s.key,
		MasterEpoch: x.o.Epoch, Generation: v.decision.Generation, Row: v.decision.Row,
		From: s.facts.load().current, Target: v.decision.Intent.Target, Actuator: d.cfg.Kind,
	}
	over := s.over(&d.ExecutionRecord)
	if raises(d, a.Target, over) {
		d.raise(&a)
		return scaling.Verdict{
			Result: scaling.VerdictAccepted, ActionID: d.Action.ID, State: d.Action.State,
			Reason: fmt.Sprintf("a later round of the action in flight, now to %d workers", a.Target),
		}
	}
	if d.Held != nil {
		d.drop(scaling.ActionSuperseded, fmt.Sprintf("generation %d was accepted before it began", a.Generation))
	}
	verdict := scaling.Verdict{Result: scaling.VerdictAccepted, ActionID: a.ID, State: scaling.ActionPending}
	why, _ := blocked(&d.ExecutionRecord, &a, d.cfg, over, v.resumedAfter(d.OtherWriterSince), d.now)
	if why != "" {
		verdict.Result, verdict.Reason = scaling.VerdictHeld, why
	}
	d.Held = &a
	d.enter(d.Held, scaling.ActionPending, why)
	return verdict
}

// raises reports whether a target is a later round of the action in flight. One
// whose outcome is not known is left alone until it is.
func raises(d *draft, target int, over bool) bool {
	return open(d.Action) && d.Action.State != scaling.ActionUnknown && d.cfg.Rounds && !over && target > d.Action.Target
}

// raise makes a the newest round of the action in flight.
func (d *draft) raise(a *scaling.Execution) {
	x := d.Action
	x.Rounds = append(x.Rounds, x.RecommendationID)
	x.RecommendationID, x.MasterEpoch, x.Generation = a.RecommendationID, a.MasterEpoch, a.Generation
	x.Row, x.Target, x.Condition = a.Row, a.Target, ""
	d.Attempts, d.NextAttempt = 0, time.Time{}
	d.announce()
	d.allow()
	d.enter(x, scaling.ActionExecuting, fmt.Sprintf("the next round asks for %d workers", a.Target))
	if d.Held != nil {
		d.drop(scaling.ActionSuperseded, fmt.Sprintf("generation %d was accepted before it began", a.Generation))
	}
}

// blocked says what keeps a from beginning, and until when if that is known.
func blocked(r *state.ExecutionRecord, a *scaling.Execution, c *ScopeConfig, over, resumed bool, now time.Time) (why string, until time.Time) {
	round := c != nil && c.Rounds && !over && r.Action != nil && r.Action.State == scaling.ActionSucceeded && a.Target > r.Action.Target
	switch {
	case open(r.Action):
		return "an action is in flight", time.Time{}
	case r.OtherWriter != "" && !resumed:
		return "another writer changes the target: " + r.OtherWriter, time.Time{}
	case now.Before(r.BackoffUntil):
		return "failure back-off until " + r.BackoffUntil.UTC().Format(time.RFC3339), r.BackoffUntil
	case now.Before(r.CooldownUntil) && a.Row != scaling.RowBelowMin && !round:
		return "cooldown until " + r.CooldownUntil.UTC().Format(time.RFC3339), r.CooldownUntil
	}
	return "", time.Time{}
}

// Resolve says that a recommendation's alert is over: what has not begun is
// cancelled, what has is left alone. It fails as Accept does.
func (x *Executor) Resolve(ctx context.Context, recommendationID string) (scaling.Verdict, error) {
	if err := x.leads(); err != nil {
		return scaling.Verdict{}, err
	}
	verdict := scaling.Verdict{Result: scaling.VerdictResolved, Reason: "no action waits for it"}
	id, ok := parseID(recommendationID)
	s := x.scope(id.scope)
	if !ok || s == nil {
		return verdict, nil
	}
	if c := s.copied.Load(); c != nil && (c.Held == nil || !c.Held.Has(recommendationID)) {
		return resolved(verdict, c.Action, recommendationID), nil
	}
	for conflicts := 0; ; conflicts++ {
		err := x.change(ctx, s, func(d *draft) bool {
			if d.Held == nil || !d.Held.Has(recommendationID) {
				verdict = resolved(verdict, d.Action, recommendationID)
				return false
			}
			verdict.ActionID, verdict.State = d.Held.ID, scaling.ActionCancelled
			verdict.Reason = "the action had not begun and is cancelled"
			d.drop(scaling.ActionCancelled, "its alert was resolved before it began")
			return true
		})
		if errors.Is(err, errAgain) && conflicts < maxConflicts && ctx.Err() == nil {
			continue
		}
		return verdict, err
	}
}

// resolved adds the action that has begun, if it is the recommendation's.
func resolved(v scaling.Verdict, a *scaling.Execution, recommendationID string) scaling.Verdict {
	if a != nil && a.Has(recommendationID) {
		v.ActionID, v.State, v.Reason = a.ID, a.State, "the action had begun and is left alone"
	}
	return v
}

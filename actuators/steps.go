package actuators

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/zeta-scaler/zeta-scaler/scaling"
)

// settleTimeout bounds the write of a platform's answer, which is made even
// when the process is told to stop.
const settleTimeout = 10 * time.Second

// answer is what a platform said to one call of Scale.
type answer struct {
	action string
	target int
	accept bool
	// dry is true if nothing was called.
	dry bool
	err error
}

// begin carries out what is held once nothing blocks it and it is still wanted.
func (x *Executor) begin(ctx context.Context, s *scope, r *copied) (pace, error) {
	h, now, c := r.Held, x.now(), s.cfg.Load()
	v, err := x.look(ctx, s.key)
	if err != nil {
		return pace{}, err
	}
	if to, why := x.unwanted(&v, h, c, now); why != "" {
		return pace{again: true}, x.dropHeld(ctx, s, h, to, why)
	}
	resumed := v.resumedAfter(r.OtherWriterSince)
	if why, until := blocked(&r.ExecutionRecord, h, c, s.over(&r.ExecutionRecord), resumed, now); why != "" {
		if until.IsZero() {
			until = now.Add(x.o.Poll)
		}
		return pace{next: until}, nil
	}
	if now.Before(s.notBefore) {
		return pace{next: s.notBefore}, nil
	}
	st, ahead, p, err := x.survey(ctx, s, c, h, r.OtherWriter != "" && resumed)
	if st != proceed || err != nil {
		return p, err
	}
	s.observed = h.RecommendationID
	return pace{again: true}, x.change(ctx, s, func(d *draft) bool {
		// After a reload all is judged again.
		if d.Held == nil || d.Held.ID != h.ID || open(d.Action) || d.cfg != c {
			return false
		}
		d.start()
		switch {
		case ahead && s.enough(d.Action, time.Time{}):
			d.withdraw(d.Action.Target)
			d.Action.Condition = scaling.ConditionPlatformAhead
			d.end(scaling.ActionSucceeded, "the platform has enough workers already")
		case ahead:
			d.Action.Condition = scaling.ConditionPlatformAhead
			d.enter(d.Action, scaling.ActionConverging, "the platform was asked for enough already; the workers are still to come")
		default:
			d.enter(d.Action, scaling.ActionExecuting, fmt.Sprintf("the platform is asked for %d workers", d.Action.Target))
		}
		return true
	})
}

// start makes what is held the scope's action.
func (d *draft) start() {
	d.Action, d.Held = d.Held, nil
	d.Attempts, d.NextAttempt, d.EpisodeOver, d.CheckAt = 0, time.Time{}, false, time.Time{}
	// What is past its deadline no longer counts for anybody.
	kept := d.Booting[:0]
	for _, b := range d.Booting {
		if !d.now.After(b.Deadline) {
			kept = append(kept, b)
		}
	}
	d.Booting = kept
	d.Action.Actuator = d.cfg.Kind
	if d.cfg.dryRun() {
		return
	}
	d.ActionInFlight = true
	d.announce()
	d.allow()
}

// unwanted says why an action that has done nothing yet must not begin or go
// on; why is empty if it may.
func (x *Executor) unwanted(v *sight, a *scaling.Execution, c *ScopeConfig, now time.Time) (to scaling.ActionState, why string) {
	mode, reason := v.mode(c)
	switch {
	case !v.found || v.decision.Epoch > x.o.Epoch || v.decision.Generation != a.Generation || a.MasterEpoch != x.o.Epoch:
		return scaling.ActionSuperseded, "a newer decision was made before it began"
	case mode == scaling.Advisory:
		return scaling.ActionCancelled, reason
	case v.paused(now):
		return scaling.ActionCancelled, "the scope is paused"
	case !now.Before(v.validUntil):
		return scaling.ActionCancelled, "the recommendation has expired"
	}
	return "", ""
}

// outlook is what an observation before a call says.
type outlook int

const (
	proceed outlook = iota
	wait            // what to do is in the pace
)

// survey observes the target before anything is asked of it. ahead is true if
// there is nothing to ask.
func (x *Executor) survey(ctx context.Context, s *scope, c *ScopeConfig, a *scaling.Execution, accept bool) (o outlook, ahead bool, p pace, err error) {
	if !c.observes() {
		return proceed, false, pace{}, nil
	}
	st, err := x.observe(ctx, c)
	if err != nil {
		if ctx.Err() != nil {
			return wait, false, pace{}, ctx.Err()
		}
		p, err := x.surveyFailed(ctx, s, a, err)
		return wait, false, p, err
	}
	s.failures, s.notBefore = 0, time.Time{}
	switch {
	case st.Fence.Epoch > x.o.Epoch:
		return wait, false, pace{again: true}, x.refuse(ctx, s, a, fmt.Errorf("%w: epoch %d", ErrStale, st.Fence.Epoch))
	case st.Desired >= a.Target:
		return proceed, true, pace{}, nil
	case st.OtherWriter != "" && !accept:
		return wait, false, pace{again: true}, x.refuse(ctx, s, a, &OtherWriterError{Writer: st.OtherWriter, Detail: fmt.Sprintf("it has %d workers now", st.Desired)})
	}
	return proceed, false, pace{}, nil
}

// surveyFailed counts an observation that failed before a call.
func (x *Executor) surveyFailed(ctx context.Context, s *scope, a *scaling.Execution, cause error) (pace, error) {
	s.failures++
	if r := resultOf(cause); s.failures < x.o.MaxAttempts && r != resultRefused && r != resultStale {
		s.notBefore = x.now().Add(x.backoff(s.failures))
		return pace{next: s.notBefore}, nil
	}
	s.failures, s.notBefore = 0, time.Time{}
	return pace{again: true}, x.refuse(ctx, s, a, fmt.Errorf("observing the target: %w", cause))
}

// refuse ends a, held or executing, of which nothing was done.
func (x *Executor) refuse(ctx context.Context, s *scope, a *scaling.Execution, cause error) error {
	return x.change(ctx, s, func(d *draft) bool {
		switch {
		case d.Held != nil && d.Held.ID == a.ID && !open(d.Action):
			d.Action, d.Held = d.Held, nil
			d.EpisodeOver, d.CheckAt = false, time.Time{}
		case d.Action == nil || d.Action.ID != a.ID || d.Action.State != scaling.ActionExecuting:
			return false
		}
		d.withdraw(d.Action.Target)
		d.giveUp(cause)
		return true
	})
}

// giveUp ends the action for an error that no further attempt can mend.
func (d *draft) giveUp(cause error) {
	if errors.Is(cause, ErrStale) {
		d.reject(cause.Error())
		return
	}
	if other, ok := errors.AsType[*OtherWriterError](cause); ok {
		d.OtherWriter, d.OtherWriterSince = other.Writer, d.now
	}
	d.fail(cause.Error())
}

// execute asks the platform. The record names the target as booting before.
func (x *Executor) execute(ctx context.Context, s *scope, r *copied) (pace, error) {
	a, now, c := r.Action, x.now(), s.cfg.Load()
	if due := later(r.NextAttempt, s.notBefore); now.Before(due) {
		return pace{next: due}, nil
	}
	v, err := x.look(ctx, s.key)
	if err != nil {
		return pace{}, err
	}
	if to, why := x.unwanted(&v, a, c, now); why != "" {
		return pace{again: true}, x.callOff(ctx, s, a, to, why)
	}
	if now.After(r.Deadline) && !r.Deadline.IsZero() {
		return pace{again: true}, x.refuse(ctx, s, a, errors.New("there was no time left for another attempt"))
	}
	accept := r.OtherWriter != "" && v.resumedAfter(r.OtherWriterSince)
	dry := c.dryRun()
	if s.observed != a.RecommendationID {
		o, ahead, p, err := x.survey(ctx, s, c, a, accept)
		if o != proceed || err != nil {
			return p, err
		}
		if ahead {
			return pace{again: true}, x.taken(ctx, s, a, scaling.ConditionPlatformAhead, "the platform was asked for enough already")
		}
		s.observed = a.RecommendationID
		return pace{again: true}, nil
	}
	if a.Actuator != c.Kind || !dry && !announced(&r.ExecutionRecord) {
		return pace{again: true}, x.change(ctx, s, func(d *draft) bool {
			if !same(d.Action, a) {
				return false
			}
			d.Action.Actuator = c.Kind
			if !dry {
				d.announce()
			}
			return true
		})
	}
	if err := x.leads(); err != nil {
		return pace{}, err
	}
	s.observed = ""
	err = x.scale(ctx, c, a, x.fence(s, &v, a, accept))
	s.answer = &answer{action: a.ID, target: a.Target, accept: accept, dry: dry, err: err}
	return pace{again: true}, nil
}

// later returns the later of two times.
func later(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}

// same reports whether the record's action is still the one that was judged.
func same(a, judged *scaling.Execution) bool {
	return a != nil && a.ID == judged.ID && a.RecommendationID == judged.RecommendationID && a.State == judged.State
}

// taken moves the action to CONVERGING.
func (x *Executor) taken(ctx context.Context, s *scope, a *scaling.Execution, condition, reason string) error {
	return x.change(ctx, s, func(d *draft) bool {
		if !same(d.Action, a) {
			return false
		}
		d.Action.Condition = condition
		d.enter(d.Action, scaling.ActionConverging, reason)
		return true
	})
}

// callOff ends an action whose call was not made or did nothing. If an earlier
// round was carried out, that is followed to its end instead.
func (x *Executor) callOff(ctx context.Context, s *scope, a *scaling.Execution, to scaling.ActionState, reason string) error {
	return x.change(ctx, s, func(d *draft) bool {
		if !same(d.Action, a) {
			return false
		}
		d.withdraw(d.Action.Target)
		before := 0
		for _, b := range d.Booting {
			before = max(before, b.Target)
		}
		if len(d.Action.Rounds) > 0 && before > 0 && before < d.Action.Target {
			d.Action.Target, d.Attempts, d.NextAttempt = before, 0, time.Time{}
			d.enter(d.Action, scaling.ActionConverging, "the last round was called off: "+reason)
			return true
		}
		d.end(to, reason)
		return true
	})
}

// settle stores what the platform said. The write is made even if ctx is over:
// what is known is not to be found out again.
func (x *Executor) settle(ctx context.Context, s *scope) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), settleTimeout)
	defer cancel()
	ans := s.answer
	err := x.change(ctx, s, func(d *draft) bool {
		if d.Action == nil || d.Action.ID != ans.action || d.Action.State != scaling.ActionExecuting {
			return false
		}
		return x.settled(d, ans)
	})
	if err == nil {
		s.answer = nil
	}
	return err
}

// settled applies an answer to the record.
func (x *Executor) settled(d *draft, ans *answer) bool {
	raised := d.Action.Target != ans.target
	if ans.err == nil && ans.accept {
		d.OtherWriter, d.OtherWriterSince = "", time.Time{}
	}
	switch resultOf(ans.err) {
	case resultOK:
		switch {
		case raised:
			return ans.accept
		case ans.dry:
			d.end(scaling.ActionSucceeded, "dry run: nothing was asked for")
		default:
			d.Attempts, d.NextAttempt = 0, time.Time{}
			d.enter(d.Action, scaling.ActionConverging, "the platform has taken the request")
		}
	case resultUnknown:
		d.enter(d.Action, scaling.ActionUnknown, ans.err.Error())
	case resultError:
		d.withdraw(ans.target)
		x.retry(d, ans.err.Error())
	default:
		d.withdraw(ans.target)
		d.withdraw(d.Action.Target)
		d.giveUp(ans.err)
	}
	return true
}

// retry counts a failed attempt and schedules the next, or gives up.
func (x *Executor) retry(d *draft, reason string) {
	d.Attempts++
	if d.Attempts >= x.o.MaxAttempts {
		d.withdraw(d.Action.Target)
		d.fail(fmt.Sprintf("given up after %d attempts: %s", d.Attempts, reason))
		return
	}
	d.NextAttempt = d.now.Add(x.backoff(d.Attempts))
	d.Action.Error = reason
}

// fence is what goes with a call.
func (x *Executor) fence(s *scope, v *sight, a *scaling.Execution, accept bool) Fence {
	r := v.decision.Recommendation
	target := a.Target
	r.Scope, r.RecommendationID, r.MasterEpoch, r.Generation = s.key, a.RecommendationID, a.MasterEpoch, a.Generation
	r.Action, r.RecommendedWorkers = scaling.ScaleOut, &target
	return Fence{
		Epoch: x.o.Epoch, Generation: a.Generation, RecommendationID: a.RecommendationID, ActionID: a.ID,
		From: a.From, Recommendation: r, AcceptPresent: accept,
	}
}

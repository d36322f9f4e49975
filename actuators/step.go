package actuators

import (
	"fmt"
	"time"

	"github.com/zeta-scaler/zeta-scaler/scaling"
	"github.com/zeta-scaler/zeta-scaler/state"
)

// One scope's way from a recommendation to workers, one action at a time:
//
//	accept, or a tick in mode direct ──► PENDING (ExecutionRecord.Held)
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
//	                  ├──► FAILED       time-out (what has not come is withdrawn where the
//	                  │                 platform can do that); another writer lowered it
//	                  └──► SUCCEEDED    platform and inventory at the target: cooldown
//
// step is this machine as a pure fold: it has no clock, does no I/O and draws
// no random number. What is known (progress), what the store and the last tick
// say (view) and what has happened (input) give the progress to store, what to
// tell, and one effect:
//
//	          ┌──────────────── input ◄───────────────┐
//	          ▼                                       │ its answer
//	progress ─► step(progress, view, input) ─► store ─► effect: observe, claim, scale, withdraw
//	               ▲                             │
//	               └───── again, same input ─────┴──► rest until something is due
//
// The loop (Executor) stores by compare-and-set before it carries out the
// effect. A platform is called only in EXECUTING, after a write that names the
// target as booting; a new leader who finds EXECUTING in the store treats it as
// UNKNOWN. So an action is never sent twice, a crash loses nothing that was
// accepted, and an older leader is stopped by the store, and by the platform if
// that records fences.

// progress is what is folded.
type progress struct {
	// ExecutionRecord is stored.
	state.ExecutionRecord
	// attempts are not: a process that begins with none asks at once.
	attempts attempts
}

// attempts are what one process has tried beside the steps that are stored.
type attempts struct {
	// claimed is true once the target carries our epoch.
	claimed bool
	// failed counts observations that failed in a row, next is when another one
	// is due.
	failed int
	next   time.Time
	// direct is the last tick whose recommendation was taken up without an alert.
	direct time.Time
	// shown is the recommendation whose target the platform has shown.
	shown string
	// withdrawals counts those that failed for the action in flight.
	withdrawals int
}

// inputKind is what has happened.
type inputKind string

// The inputs. Those of one line in the table are answers to an effect and say
// what they are about (input.about); one that came too late counts as look.
const (
	// look: time has passed, a tick was published, or a scope was configured.
	look inputKind = "look"
	// accept and resolve ask about a recommendation.
	accept  inputKind = "accept"
	resolve inputKind = "resolve"
	// takeOver: the record is an older leader's.
	takeOver inputKind = "take_over"
	// gone: the scope is gone, and its record with it.
	gone inputKind = "gone"

	observed   inputKind = "observed"
	unobserved inputKind = "unobserved"

	claimed   inputKind = "claimed"
	unclaimed inputKind = "unclaimed"

	withdrawn   inputKind = "withdrawn"
	unwithdrawn inputKind = "unwithdrawn"

	// taken: the platform has the request. lost: nobody knows. failed: it was not
	// done, and another attempt may work. refused: it was not, and none will.
	taken   inputKind = "taken"
	lost    inputKind = "lost"
	failed  inputKind = "failed"
	refused inputKind = "refused"
)

// input is one thing that has happened.
type input struct {
	kind inputKind
	// recommendation is the id that accept and resolve ask about.
	recommendation string
	// about is the effect that is answered.
	about effect
	// platform is what was observed, left the number that withdraw has left.
	platform State
	left     int
	// err is why it did not work.
	err error
}

// effectKind is what the loop does once the progress is stored.
type effectKind string

// The effects.
const (
	// rest: nothing until effect.until (zero: until something happens).
	rest effectKind = "rest"
	// again: fold outcome.input, now that the progress is stored and with the
	// store read anew.
	again effectKind = "again"
	// observe and claim the target; scale it to effect.target workers; withdraw
	// what of that has not come.
	observe  effectKind = "observe"
	claim    effectKind = "claim"
	scale    effectKind = "scale"
	withdraw effectKind = "withdraw"
	// forget: drop what is known about the scope.
	forget effectKind = "forget"
)

// effect is what comes next.
type effect struct {
	kind  effectKind
	until time.Time
	// action and recommendation are what the platform is called for, state is where
	// that action stands.
	action, recommendation string
	state                  scaling.ActionState
	// target, fence, dryRun and fenced are those of scale. dryRun says that
	// nothing is called, fenced names the target that carries the fence then.
	target int
	fence  Fence
	dryRun bool
	fenced string
	// reason is why withdraw is asked for: what the action fails with.
	reason string
}

// outcome is what a step has made of its progress.
type outcome struct {
	progress
	view   *view
	effect effect
	// input is what again folds: look, or the same once more.
	input input
	// changed is true if ExecutionRecord has to be stored before the effect.
	changed bool
	// told are the events of the step, ended the actions that are over with it.
	told  []told
	ended []*scaling.Execution
	// verdict answers accept and resolve.
	verdict scaling.Verdict
	// err says that this process must not act (state.ErrFenced).
	err error
}

// told is one event about an action.
type told struct {
	kind    scaling.EventKind
	message string
	action  *scaling.Execution
}

// step folds one input into the progress of a scope. It changes nothing that p
// points to.
func step(p progress, v *view, in input) *outcome {
	o := &outcome{progress: p.cloned(), view: v, input: input{kind: look}}
	o.effect = o.next(in)
	return o
}

// next is the table: every state with every input that it has. What is not named
// counts as look.
func (o *outcome) next(in input) effect {
	moved := o.limitInstants()
	switch in.kind { // in every state
	case accept:
		o.verdict = o.accept(in.recommendation)
		return o.look()
	case resolve:
		o.verdict = o.resolve(in.recommendation)
		return o.look()
	case takeOver:
		o.takeOver()
		return o.look()
	case gone:
		return o.forget()
	case look:
		if moved || o.followTick() {
			return o.look()
		}
	case taken, lost, failed, refused: // what is known is not put off
		if !o.current(in.about) {
			return o.look()
		}
	default:
		if moved || !o.current(in.about) {
			return o.look()
		}
	}
	if in.kind == observed {
		o.attempts.failed, o.attempts.next = 0, time.Time{}
	}
	switch o.state() {
	case scaling.ActionPending:
		switch in.kind {
		case observed:
			return o.begin(in)
		case unobserved:
			return o.observeLater(in.err)
		default:
			return o.prepare(in)
		}
	case scaling.ActionExecuting:
		switch in.kind {
		case observed:
			return o.ask(in)
		case unobserved:
			return o.observeLater(in.err)
		case taken:
			return o.converge(in.about)
		case lost:
			o.enter(o.Action, scaling.ActionUnknown, in.err.Error())
			return o.look()
		case failed:
			o.withdraw(in.about.target)
			o.retry(in.err.Error())
			return o.look()
		case refused:
			o.withdraw(in.about.target)
			return o.refuse(in.err)
		default:
			return o.prepareCall(in)
		}
	case scaling.ActionUnknown:
		switch in.kind {
		case observed:
			return o.findOut(in.platform)
		case claimed:
			o.attempts.claimed = true
			return o.prepareFindingOut()
		case unobserved, unclaimed:
			return o.notFoundOut(in.err)
		default:
			return o.prepareFindingOut()
		}
	case scaling.ActionConverging:
		switch in.kind {
		case observed:
			return o.compare(&in.platform)
		case unobserved:
			o.failedToObserve()
			return o.restOrFail(o.attempts.next, fmt.Sprintf("the platform could not be observed (%s); %s", in.err, o.view.tick.showing()))
		case withdrawn:
			return o.takenBack(in)
		case unwithdrawn:
			return o.notTakenBack(in)
		default:
			return o.prepareComparing()
		}
	default: // no action, or one that is over
		return effect{kind: rest}
	}
}

// state is where the scope stands: that of the action in flight, else PENDING if
// one waits, else that of the last one, empty if there was none.
func (o *outcome) state() scaling.ActionState {
	switch {
	case open(o.Action):
		return o.Action.State
	case o.Held != nil:
		return scaling.ActionPending
	case o.Action != nil:
		return o.Action.State
	}
	return ""
}

// subject is the action that state is about, nil if there is none.
func (o *outcome) subject() *scaling.Execution {
	if !open(o.Action) && o.Held != nil {
		return o.Held
	}
	return o.Action
}

// current reports whether an effect's answer is still about what is done. The
// answer to scale is, even if a later round has raised the target meanwhile.
func (o *outcome) current(about effect) bool {
	a := o.subject()
	return a != nil && a.ID == about.action && o.state() == about.state &&
		(about.kind == scale || a.RecommendationID == about.recommendation)
}

// look goes on with what is stored now.
func (o *outcome) look() effect { return effect{kind: again} }

// same hands the input in once more, now that the action is where it has to be.
func (o *outcome) same(in input) effect {
	in.about.state = o.state()
	o.input = in
	return effect{kind: again}
}

// call is an effect on the platform on behalf of an action.
func (o *outcome) call(k effectKind, a *scaling.Execution) effect {
	return effect{kind: k, action: a.ID, recommendation: a.RecommendationID, state: o.state(), fence: Fence{Epoch: o.view.epoch}}
}

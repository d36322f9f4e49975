package drain

import (
	"maps"
	"slices"
	"time"

	"github.com/zeta-scaler/zeta-scaler/actuators"
	"github.com/zeta-scaler/zeta-scaler/scaling"
	"github.com/zeta-scaler/zeta-scaler/state"
)

// One scope's way from a recommendation, or a person's request, to one worker
// less:
//
//	accept, request, or a tick in mode direct ──► PENDING
//	          │ waits: action in flight, cooldown, back-off, another drain in the
//	          │ cluster, or what a look at the cluster speaks against it
//	          ├──► ACTIVE                    no longer asked for, cancelled
//	          ▼
//	      DRAINING  batch jobs are waited for ──► ACTIVE   time-out, growth, cancelled
//	          │     streaming jobs are stopped with a savepoint, slots are held
//	          ▼
//	      DRAINED   held: the jobs are restored elsewhere
//	          │  └──► DRAINING               a job has landed there
//	          ▼
//	   DECOMMISSIONING  the platform removes the worker; not held: the jobs are
//	          │         restored once it is gone
//	          ▼
//	    DECOMMISSIONED  cooldown
//
//	from every state but the last, once a job was stopped: the drain goes back.
//	What was stopped is restored, what was held is given back, and it ends ACTIVE;
//	FAILED on the way if that was for a failure.
//
// step is this machine as a pure fold: it has no clock, does no I/O and draws no
// random number. What is known (progress), what the store and the last tick say
// (view) and what has happened (input) give the progress to store, what to tell,
// and one effect:
//
//	          ┌──────────────── input ◄───────────────┐
//	          ▼                                       │ its answer
//	progress ─► step(progress, view, input) ─► store ─► effect: choose, survey,
//	               ▲                             │      follow, stop, restore, …
//	               └───── kept: do it ─────────┴──► rest until something is due
//
// The loop (Drainer) stores by compare-and-set before it carries out the effect.
// Zeta and the platform are asked for something only after a write that says so;
// whoever finds that in the store without having asked himself looks first.

// progress is what is folded.
type progress struct {
	// DrainRecord is stored.
	state.DrainRecord
	// attempts are not: a process that begins with none looks first.
	attempts attempts
}

// attempts are what one process has tried and seen beside what is stored.
type attempts struct {
	// next is when another look is due, failed counts those in a row that said
	// nothing.
	next   time.Time
	failed int
	// victim is whom the next survey is about, while that is not stored.
	victim actuators.Worker
	// clean counts surveys in a row that found no slot of the worker in use, odd
	// those that found some and no job.
	clean, odd int
	// absent is since when Zeta does not know a job any more.
	absent map[string]time.Time
	// received is how much a restored job had read when it was first seen at work.
	received map[string]int64
	// released is true once the platform has taken our request, releases counts
	// the requests, released or not.
	released bool
	releases int
	// claimed is true once the target carries our epoch, claims counts the requests
	// for it. accepted is true once it has recorded that an operator has accepted
	// its present number.
	claimed, accepted bool
	claims            int
	// unholding is since when the slots are given back, zero if they are not, and
	// nextUnhold when that is asked for again.
	unholding, nextUnhold time.Time
	// direct is the last tick whose recommendation was taken up without an alert.
	direct time.Time
}

func (a attempts) cloned() attempts {
	a.absent, a.received = maps.Clone(a.absent), maps.Clone(a.received)
	return a
}

// inputKind is what has happened.
type inputKind string

// The inputs.
const (
	// look: time has passed, a tick was published, or a scope was configured.
	look inputKind = "look"
	// kept: what input.next announces is in the store.
	kept inputKind = "stored"
	// accept and resolve ask about a recommendation; request and cancel are a
	// person's.
	accept  inputKind = "accept"
	resolve inputKind = "resolve"
	request inputKind = "request"
	cancel  inputKind = "cancel"
	// takeOver: the record is an older leader's. gone: the scope is gone.
	takeOver inputKind = "take_over"
	gone     inputKind = "gone"

	// chosen, surveyed and followed are what was seen.
	chosen   inputKind = "chosen"
	surveyed inputKind = "surveyed"
	followed inputKind = "followed"
	// asked: Zeta or the platform has answered a request.
	asked inputKind = "asked"
)

// input is one thing that has happened.
type input struct {
	kind inputKind
	// recommendation is the id that accept and resolve ask about.
	recommendation string
	// worker, by and reason are those of request and cancel.
	worker, by, reason string
	// about is the effect that is answered, next the one that kept announces.
	about, next effect
	// seen is what was seen.
	seen reading
	// errs are what went wrong with a request, by job; the platform's is under "".
	errs map[string]error
}

// effectKind is what the loop does once the progress is stored.
type effectKind string

// The effects.
const (
	// rest: nothing until effect.until (zero: until something happens).
	rest effectKind = "rest"
	// again: fold outcome.input, now that the progress is stored and with the store
	// read anew.
	again effectKind = "again"
	// choose reads whom the platform has; survey looks at the whole cluster and at
	// effect.worker, follow at that worker and at the jobs of the drain.
	choose effectKind = "choose"
	survey effectKind = "survey"
	follow effectKind = "follow"
	// stop and restore effect.jobs; hold effect.worker's slots; unhold gives
	// effect.jobs, which hold slots, back; release the worker; claim the target.
	stop    effectKind = "stop"
	restore effectKind = "restore"
	hold    effectKind = "hold"
	unhold  effectKind = "unhold"
	release effectKind = "release"
	claim   effectKind = "claim"
	// forget: drop what is known about the scope.
	forget effectKind = "forget"
)

// effect is what comes next.
type effect struct {
	kind  effectKind
	until time.Time
	// drain and state are what it is done for.
	drain string
	state scaling.DrainState
	// worker is the victim, jobs are ids.
	worker actuators.Worker
	jobs   []string
	// each are the jobs that follow asks about one by one, holding is the one that
	// holds the slots. gone says that the worker's end is looked for, too, recorded
	// that the platform may have recorded our request.
	each     []string
	holding  string
	gone     bool
	recorded bool
	// back says that it is a step of a drain that goes back.
	back bool
	// names are the jobs' by id, configs the digests of what they are restored from;
	// slots is for hold, fence for release and claim.
	names   map[string]string
	configs map[string]string
	slots   int
	fence   actuators.Fence
}

// outcome is what a step has made of its progress.
type outcome struct {
	progress
	view   *view
	effect effect
	// input is what again folds: look, or kept.
	input input
	// changed is true if DrainRecord has to be stored before the effect.
	changed bool
	// told are the events of the step, ended the drains that are over with it.
	told  []told
	ended []*scaling.Drain
	// verdict answers accept and resolve, refusal request and cancel (empty: done).
	verdict scaling.Verdict
	refusal string
	// err says that this process must not act (state.ErrFenced).
	err error
}

// told is one event about a drain.
type told struct {
	kind    scaling.EventKind
	message string
	drain   *scaling.Drain
}

// step folds one input into the progress of a scope. It changes nothing that p
// points to.
func step(p progress, v *view, in input) *outcome {
	p.Open, p.Others = cloned(p.Open), maps.Clone(p.Others)
	p.attempts = p.attempts.cloned()
	o := &outcome{progress: p, view: v, input: input{kind: look}}
	o.effect = o.next(in)
	if o.changed && o.effect.kind != forget && o.effect.kind != again {
		o.effect = effect{kind: again}
	}
	return o
}

// next is the table: every state with every input that it has. What is not named
// counts as look.
func (o *outcome) next(in input) effect {
	moved := o.limitInstants()
	switch in.kind { // in every state
	case accept:
		o.verdict = o.accept(in.recommendation)
		return o.again()
	case resolve:
		o.verdict = o.resolve(in.recommendation)
		return o.again()
	case request:
		o.refusal = o.request(in)
		return o.again()
	case cancel:
		o.refusal = o.cancel(in)
		return o.again()
	case takeOver:
		o.takeOver()
		return o.again()
	case gone:
		if e, all := o.forget(); all {
			return e
		}
	case look:
		if moved || o.followTick() {
			return o.again()
		}
	default: // an answer that came too late, or for what is no longer done
		if moved || !o.current(in) {
			return o.again()
		}
	}
	d := o.Open
	switch {
	case d == nil:
		return effect{kind: rest}
	case d.GivenUp != "":
		return o.goBack(in)
	case d.State == scaling.DrainPending:
		return o.wait(in)
	case d.State == scaling.DrainDraining:
		return o.drain(in)
	case d.State == scaling.DrainDrained:
		return o.drained(in)
	default:
		return o.decommission(in)
	}
}

// current reports whether an answer is still about what is done.
func (o *outcome) current(in input) bool {
	about := in.about
	if in.kind == kept {
		about = in.next
	}
	return o.Open != nil && o.Open.ID == about.drain && o.Open.State == about.state
}

// again goes on with what is stored now.
func (o *outcome) again() effect { return effect{kind: again} }

// then stores the progress and does e afterwards, if it is still to be done.
func (o *outcome) then(e effect) effect {
	o.save()
	e.state = o.Open.State
	o.input = input{kind: kept, next: e}
	return effect{kind: again}
}

// call is an effect on behalf of the drain.
func (o *outcome) call(k effectKind) effect {
	d := o.Open
	e := effect{kind: k, drain: d.ID, state: d.State, worker: actuators.Worker{Name: d.Worker, Address: d.Address}, holding: d.HoldJob}
	if d.Worker == "" || d.State == scaling.DrainPending {
		e.worker = o.attempts.victim
	}
	return e
}

// later rests until the next look is due, or at most until the drain's deadline.
func (o *outcome) later(d time.Duration) effect {
	o.attempts.next = o.view.now.Add(d)
	return effect{kind: rest, until: o.attempts.next}
}

// due is a look, or a rest until it is due.
func (o *outcome) due(e effect) effect {
	if o.view.now.Before(o.attempts.next) {
		return effect{kind: rest, until: o.attempts.next}
	}
	return e
}

// unknown waits before the next look because the last one said nothing.
func (o *outcome) unknown() effect {
	o.attempts.failed++
	o.attempts.clean = 0
	o.attempts.next = o.view.again(o.attempts.failed)
	return effect{kind: rest, until: o.attempts.next}
}

// cloned is a copy that shares nothing that a step changes.
func cloned(d *scaling.Drain) *scaling.Drain {
	if d == nil {
		return nil
	}
	c := *d
	c.Transitions, c.Jobs, c.Harm = slices.Clone(d.Transitions), slices.Clone(d.Jobs), slices.Clone(d.Harm)
	return &c
}

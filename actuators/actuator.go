// Package actuators carries recommendations out. Executor is the one state
// machine that all platforms share: it stores every step of an action before it
// takes it, acts once per recommendation, and ends an action only when platform
// and Zeta's inventory agree (spec 4.2). An Actuator knows one platform; each
// has a folder of its own below this one.
package actuators

import (
	"context"
	"errors"
	"time"

	"github.com/zeta-scaler/zeta-scaler/scaling"
)

// Target is what an actuator writes to on behalf of a scope.
type Target struct {
	Scope scaling.Scope
	// Name is unique among all scopes, such as
	// "kubernetes/st/statefulset/seatunnel-worker"; empty for log.
	Name string
}

// Fence is what goes with every write, so that the platform can tell an older
// writer from a newer one, and a repetition from something new.
type Fence struct {
	// Epoch is that of the leader that asks; a platform that has recorded a
	// newer one must refuse.
	Epoch uint64
	// Generation and RecommendationID are what is carried out; ActionID stays
	// the same over retries and later rounds.
	Generation       uint64
	RecommendationID string
	ActionID         string
	// From is the worker count that Zeta's inventory has, nil if unknown.
	From *int
	// Recommendation is all that was decided, for actuators that pass it on.
	Recommendation scaling.Recommendation
	// AcceptPresent says that an operator has resumed the scope after another
	// writer was found: the platform's present number is taken as our own.
	AcceptPresent bool
	// Fenced says that an earlier call has left a fence on the target: where it
	// is gone, somebody else has written (see LostFence).
	Fenced bool
}

// LostFence names the writer of a target whose fence is not the one that we
// left there.
const LostFence = "whoever replaced the target or removed our annotations from it"

// State is what a platform says about a target.
type State struct {
	// Desired is the worker count that the platform was asked for, Ready how
	// many of them it says are up; both ≥ 0.
	Desired int
	Ready   int
	// Fence is what our last write recorded there; Epoch 0 if the platform keeps
	// none or there was none. Only Epoch, Generation, RecommendationID and
	// ActionID are meaningful.
	Fence Fence
	// OtherWriter names who else writes to the target, empty if nobody is known.
	OtherWriter string
	// Detail says, for people, why fewer are ready than were asked for; empty if
	// the platform does not say.
	Detail string
}

// Worker is one worker of a target.
type Worker struct {
	// Name is the platform's name for it: the pod's, the instance's.
	Name string
	// Address is where Zeta's member listens (host:port, or the host alone where
	// the platform does not know the port), empty if the platform cannot say. One
	// that comes back under its old name may have another.
	Address string
	// Leaving says that the platform removes it already.
	Leaving bool
}

// Capabilities say what an actuator can do. The zero value is an actuator that
// scales and knows nothing else.
type Capabilities struct {
	// DryRun is true if nothing is ever called: an action succeeds at once,
	// without booting entry and cooldown, and a drain must stop nothing.
	DryRun bool
	// Observes is true if Observe works. Else Zeta's inventory alone decides
	// convergence.
	Observes bool
	// Releases is true if Release works, Chooses if the caller may name any
	// worker there; else the platform decides which one goes.
	Releases bool
	Chooses  bool
	// Lists is true if Workers says what the platform has now: whoever is gone is
	// no longer there. Else the configuration names the workers, and only Zeta
	// tells which of them are up.
	Lists bool
	// Poll is how often Observe may be called while workers are waited for; 0
	// leaves it to the executor.
	Poll time.Duration
	// Withdraws is true if what has not come in time is to be taken back. It needs
	// a Withdrawer.
	Withdraws bool
}

// Actuator changes the worker count of a target on one platform. All methods
// return within their context and are safe for concurrent use.
type Actuator interface {
	// Observe reads the target. It fails with ErrUnsupported where there is
	// nothing to read.
	Observe(ctx context.Context, t Target) (State, error)
	// Scale asks for want workers in all, want ≥ 0. Asking twice for the same is
	// harmless. An error that is none of this package's says that the platform
	// was not changed and that another attempt may work.
	Scale(ctx context.Context, t Target, want int, f Fence) error
	// Workers are those that the platform has, in the order in which it would
	// remove them; a worker that is gone is no longer among them (see
	// Capabilities.Lists). Empty means that there is none. It fails with
	// ErrUnsupported where the platform cannot tell.
	Workers(ctx context.Context, t Target) ([]Worker, error)
	// Release removes one worker, which holds no job. It is refused for one that
	// the platform would not remove now, or that is not the one which was named:
	// an Address says whom the caller means. Fence.ActionID is the drain's:
	// whoever asks again under the same, because a reply was lost, never has a
	// second worker removed. Errors are those of Scale, and OtherWorkerError.
	Release(ctx context.Context, t Target, workers []Worker, f Fence) error
	Capabilities() Capabilities
}

// Claimer is an Actuator whose platform records fences. Claim records a new
// leader's epoch on the target and changes nothing else: from then on a write
// of an older epoch is refused, so that what Observe says afterwards stays true.
type Claimer interface {
	Claim(ctx context.Context, t Target, f Fence) error
}

// Withdrawer is an Actuator that can take back a request that was not carried out
// whole, so that it does not wait on the platform for ever. It lowers the number
// that the platform was asked for as far as no worker that runs is removed, and
// returns the number that is left. Asking again is harmless.
type Withdrawer interface {
	Withdraw(ctx context.Context, t Target, f Fence) (left int, err error)
}

// Errors that actuators wrap to say what the executor has to do.
var (
	// ErrUnsupported: the actuator cannot do that at all.
	ErrUnsupported = errors.New("not supported by this actuator")
	// ErrStale: a newer epoch has written to the target; the action ends
	// REJECTED_STALE.
	ErrStale = errors.New("a newer leader has written to the target")
	// ErrUnknownOutcome: the request may have been carried out (time-out, lost
	// reply); the platform is read again and never asked blindly.
	ErrUnknownOutcome = errors.New("it is not known whether the platform acted")
	// ErrRefused: the platform will not do it, however often it is asked (not
	// allowed, no such target, Application Mode); the action fails at once.
	ErrRefused = errors.New("refused")
)

// OtherWriterError says that somebody else changes the target, whom it names.
// The action fails, and nothing is written until an operator resumes the scope.
type OtherWriterError struct {
	// Writer names them: "HorizontalPodAutoscaler st/worker", "field manager
	// kubectl".
	Writer string
	// Detail says what was found.
	Detail string
}

// OtherWorkerError says that the platform has removed another worker than the
// one that was named: what ran there was not stopped before.
type OtherWorkerError struct {
	// Named was to be removed, Gone was; empty if it is not known which one.
	Named, Gone string
}

// Error says which one went.
func (e *OtherWorkerError) Error() string {
	gone := e.Gone
	if gone == "" {
		gone = "another one"
	}
	return "the platform was asked to remove worker " + e.Named + " and has removed " + gone
}

// Error says who and what.
func (e *OtherWriterError) Error() string {
	return "another writer changes the target: " + e.Writer + ": " + e.Detail
}

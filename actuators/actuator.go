// Package actuators carries recommendations out. Executor is the one state
// machine that all platforms share: it stores every step of an action before it
// takes it, acts once per recommendation, and ends an action only when platform
// and Zeta's inventory agree (spec 4.2). An Actuator knows one platform; each
// has a folder of its own below this one.
package actuators

import (
	"context"
	"errors"

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
	// From is the worker count that Zeta's inventory had, nil if unknown.
	From *int
	// Recommendation is all that was decided, for actuators that pass it on.
	Recommendation scaling.Recommendation
	// AcceptPresent says that an operator has resumed the scope after another
	// writer was found: the platform's present number is taken as our own.
	AcceptPresent bool
}

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
}

// Worker is one worker that a drain has emptied.
type Worker struct {
	// Name is the platform's name for it, Address Zeta's (host:port).
	Name    string
	Address string
}

// Capabilities say what an actuator can do. The zero value is an actuator that
// scales and knows nothing else.
type Capabilities struct {
	// DryRun is true if nothing is ever called: an action succeeds at once,
	// without booting entry and cooldown.
	DryRun bool
	// Observes is true if Observe works. Else Zeta's inventory alone decides
	// convergence.
	Observes bool
	// Releases is true if Release works, Chooses if the caller may name any
	// worker there; else the platform decides which one goes.
	Releases bool
	Chooses  bool
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
	// Release removes workers that hold no job.
	Release(ctx context.Context, t Target, workers []Worker, f Fence) error
	Capabilities() Capabilities
}

// Claimer is an Actuator whose platform records fences. Claim records a new
// leader's epoch on the target and changes nothing else: from then on a write
// of an older epoch is refused, so that what Observe says afterwards stays true.
type Claimer interface {
	Claim(ctx context.Context, t Target, f Fence) error
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

// Error says who and what.
func (e *OtherWriterError) Error() string {
	return "another writer changes the target: " + e.Writer + ": " + e.Detail
}

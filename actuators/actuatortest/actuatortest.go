// Package actuatortest is the contract of actuators.Actuator as tests, which
// every actuator passes.
package actuatortest

import (
	"context"
	"errors"
	"sync"
	"testing"
	"time"

	"github.com/zeta-scaler/zeta-scaler/actuators"
	"github.com/zeta-scaler/zeta-scaler/scaling"
)

const (
	// patience is how long a call that hangs is given before its context ends.
	patience = 300 * time.Millisecond
	// promptness is how soon after that it has to return: time enough for a
	// child process to be asked nicely first.
	promptness = 5 * time.Second
	// callers is how many goroutines use an actuator at once.
	callers = 8
)

// Fixture is an actuator and the platform that it writes to. Each is used by
// one test. Actuator and Target are required; a test whose hook is nil is
// skipped.
type Fixture struct {
	Actuator actuators.Actuator
	// Target has no workers at first, and nobody else writes to it.
	Target actuators.Target
	// Desired returns how many workers the platform itself was last asked for,
	// 0 before the first request.
	Desired func(t *testing.T) int
	// Settle waits until the platform has done what it was asked for, as far as
	// Workers tells; nil where that is at once.
	Settle func(t *testing.T)
	// Stall makes the platform answer nothing until resume is called, and do
	// nothing that was asked meanwhile.
	Stall func(t *testing.T) (resume func())
	// LoseReply makes the platform do what the next request to change something
	// asks, and its answer get lost.
	LoseReply func(t *testing.T)
	// Forget removes from the target whatever a write has recorded there, as who
	// replaces it does. Only where fences are recorded.
	Forget func(t *testing.T)
	// Refuse makes the platform refuse every request to change something.
	Refuse func(t *testing.T)
	// Fail makes the platform fail every request to change something without
	// having done it, in a way that may pass.
	Fail func(t *testing.T)
}

// test is one of the suite.
type test struct {
	name string
	run  func(t *testing.T, f Fixture)
}

// RunConformance runs the tests. open makes a new fixture for each.
func RunConformance(t *testing.T, open func(t *testing.T) Fixture) {
	t.Helper()
	for _, test := range append([]test{
		{"capabilities agree with each other", capabilities},
		{"what is not supported says so", unsupported},
		{"scaling is seen", scales},
		{"asking twice for the same is harmless", repeats},
		{"no workers can be asked for", zero},
		{"fewer than none are refused", negative},
		{"what a write recorded is read back", fences},
		{"a context that has ended does nothing", ended},
		{"a platform that hangs is left when the context ends", hangs},
		{"a lost reply is an unknown outcome", lostReply},
		{"a refusal is one", refuses},
		{"a failure changes nothing and may pass", fails},
		{"many callers at once", concurrent},
		{"a claim stops older epochs", claims},
		{"a fence that is gone is another writer", forgets},
	}, releaseTests...) {
		t.Run(test.name, func(t *testing.T) { test.run(t, open(t)) })
	}
}

// fence is the fence of one generation of an epoch.
func (f Fixture) fence(epoch, generation uint64) actuators.Fence {
	id := scaling.RecommendationID(epoch, generation, f.Target.Scope.Key)
	return actuators.Fence{
		Epoch: epoch, Generation: generation, RecommendationID: id, ActionID: id,
		Recommendation: scaling.Recommendation{
			Scope: f.Target.Scope.Key, RecommendationID: id, MasterEpoch: epoch, Generation: generation,
			Action: scaling.ScaleOut, Row: scaling.RowShortage, Reason: `jobs wait for slots ("conformance")`,
		},
	}
}

// scale asks for want workers, which has to work.
func (f Fixture) scale(t *testing.T, want int, fence actuators.Fence) {
	t.Helper()
	if err := f.Actuator.Scale(t.Context(), f.Target, want, fence); err != nil {
		t.Fatalf("scaling to %d: %v", want, err)
	}
}

// has checks what the platform was asked for, both as it says itself and as the
// actuator reads it. A dry run asks for nothing.
func (f Fixture) has(t *testing.T, want int) {
	t.Helper()
	c := f.Actuator.Capabilities()
	if f.Desired != nil && !c.DryRun {
		if got := f.Desired(t); got != want {
			t.Fatalf("the platform was asked for %d workers, want %d", got, want)
		}
	}
	if !c.Observes {
		return
	}
	if s := f.observe(t); s.Desired != want {
		t.Fatalf("Observe says that %d workers were asked for, want %d", s.Desired, want)
	}
}

func (f Fixture) observe(t *testing.T) actuators.State {
	t.Helper()
	s, err := f.Actuator.Observe(t.Context(), f.Target)
	if err != nil {
		t.Fatalf("observing: %v", err)
	}
	if s.Desired < 0 || s.Ready < 0 {
		t.Fatalf("Observe says that %d workers were asked for and %d are ready", s.Desired, s.Ready)
	}
	if s.OtherWriter != "" {
		t.Fatalf("Observe says that %s writes to the target, where nobody else does", s.OtherWriter)
	}
	return s
}

// wrongly fails the test if err is not one of want.
func wrongly(t *testing.T, err error, want ...error) {
	t.Helper()
	for _, w := range want {
		if errors.Is(err, w) {
			return
		}
	}
	t.Fatalf("got error %v, want %v", err, want)
}

// verdict reports whether err is one of those that the executor knows, and not
// a plain one, after which it tries again.
func verdict(err error) bool {
	if _, other := errors.AsType[*actuators.OtherWriterError](err); other {
		return true
	}
	for _, known := range []error{
		actuators.ErrUnsupported, actuators.ErrStale, actuators.ErrUnknownOutcome, actuators.ErrRefused,
		context.Canceled, context.DeadlineExceeded,
	} {
		if errors.Is(err, known) {
			return true
		}
	}
	return false
}

func capabilities(t *testing.T, f Fixture) {
	c := f.Actuator.Capabilities()
	if again := f.Actuator.Capabilities(); c != again {
		t.Fatalf("capabilities change: %+v and then %+v", c, again)
	}
	if c.Chooses && !c.Releases {
		t.Fatal("it lets the caller choose what to release, and releases nothing")
	}
	if _, ok := f.Actuator.(actuators.Withdrawer); c.Withdraws && !ok {
		t.Fatal("it is said to withdraw what has not come, and has no method for it")
	}
	if c.DryRun && (c.Observes || c.Lists) {
		t.Fatalf("a dry run has no platform that it could observe: %+v", c)
	}
}

func unsupported(t *testing.T, f Fixture) {
	c := f.Actuator.Capabilities()
	if !c.Observes {
		_, err := f.Actuator.Observe(t.Context(), f.Target)
		wrongly(t, err, actuators.ErrUnsupported)
	}
	if !c.Releases {
		if !c.Lists {
			_, err := f.Actuator.Workers(t.Context(), f.Target)
			wrongly(t, err, actuators.ErrUnsupported)
		}
		workers := []actuators.Worker{{Name: "worker-0", Address: "worker-0:5801"}}
		wrongly(t, f.Actuator.Release(t.Context(), f.Target, workers, f.fence(5, 1)), actuators.ErrUnsupported)
	}
	f.has(t, 0)
}

func scales(t *testing.T, f Fixture) {
	f.has(t, 0)
	for want := 1; want <= 3; want++ {
		f.scale(t, want, f.fence(5, uint64(want)))
		f.has(t, want)
	}
}

func repeats(t *testing.T, f Fixture) {
	for range 3 {
		f.scale(t, 2, f.fence(5, 1))
		f.has(t, 2)
	}
	f.scale(t, 2, f.fence(5, 2))
	f.has(t, 2)
}

func zero(t *testing.T, f Fixture) {
	f.scale(t, 0, f.fence(5, 1))
	f.has(t, 0)
}

func negative(t *testing.T, f Fixture) {
	wrongly(t, f.Actuator.Scale(t.Context(), f.Target, -1, f.fence(5, 1)), actuators.ErrRefused)
	f.has(t, 0)
}

func ended(t *testing.T, f Fixture) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	wrongly(t, f.Actuator.Scale(ctx, f.Target, 2, f.fence(5, 1)), actuators.ErrUnknownOutcome, context.Canceled)
	if f.Actuator.Capabilities().Observes {
		_, err := f.Actuator.Observe(ctx, f.Target)
		wrongly(t, err, context.Canceled)
	}
	f.has(t, 0)
	f.scale(t, 1, f.fence(5, 2))
	f.has(t, 1)
}

func hangs(t *testing.T, f Fixture) {
	if f.Stall == nil {
		t.Skip("the platform cannot be made to hang")
	}
	resume := f.Stall(t)
	resumed := sync.OnceFunc(resume)
	defer resumed()
	err := promptly(t, func(ctx context.Context) error { return f.Actuator.Scale(ctx, f.Target, 1, f.fence(5, 1)) })
	wrongly(t, err, actuators.ErrUnknownOutcome, context.DeadlineExceeded)
	if f.Actuator.Capabilities().Observes {
		err := promptly(t, func(ctx context.Context) error {
			_, err := f.Actuator.Observe(ctx, f.Target)
			return err
		})
		wrongly(t, err, context.DeadlineExceeded)
	}
	resumed()
	f.scale(t, 1, f.fence(5, 1))
	f.has(t, 1)
}

// promptly makes a call whose context ends while it waits.
func promptly(t *testing.T, call func(context.Context) error) error {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	start := time.Now()
	err := call(ctx)
	if took := time.Since(start); took > patience+promptness {
		t.Fatalf("it returned %s after its context had ended", took-patience)
	}
	return err
}

func lostReply(t *testing.T, f Fixture) {
	if f.LoseReply == nil {
		t.Skip("the platform's reply cannot get lost")
	}
	f.LoseReply(t)
	wrongly(t, f.Actuator.Scale(t.Context(), f.Target, 2, f.fence(5, 1)), actuators.ErrUnknownOutcome)
	f.has(t, 2)
	f.scale(t, 2, f.fence(5, 1))
	f.has(t, 2)
}

func refuses(t *testing.T, f Fixture) {
	if f.Refuse == nil {
		t.Skip("the platform cannot be made to refuse")
	}
	f.Refuse(t)
	wrongly(t, f.Actuator.Scale(t.Context(), f.Target, 1, f.fence(5, 1)), actuators.ErrRefused)
	f.has(t, 0)
}

func fails(t *testing.T, f Fixture) {
	if f.Fail == nil {
		t.Skip("the platform cannot be made to fail")
	}
	f.Fail(t)
	err := f.Actuator.Scale(t.Context(), f.Target, 1, f.fence(5, 1))
	if err == nil || verdict(err) {
		t.Fatalf("got error %v, want one after which the executor tries again", err)
	}
	f.has(t, 0)
}

// concurrent lets many ask for the same: one may get in another's way, but none
// gets a wrong answer, and in the end the platform has what all wanted.
func concurrent(t *testing.T, f Fixture) {
	fence := f.fence(5, 1)
	errs := together(func() error {
		err := f.Actuator.Scale(t.Context(), f.Target, 3, fence)
		if f.Actuator.Capabilities().Observes {
			_, observed := f.Actuator.Observe(t.Context(), f.Target)
			err = errors.Join(err, observed)
		}
		return err
	})
	for _, err := range errs {
		if verdict(err) {
			t.Errorf("one of %d callers who ask for the same got: %v", callers, err)
		}
	}
	f.scale(t, 3, fence)
	f.has(t, 3)
}

// together makes a call many times at once.
func together(call func() error) []error {
	errs := make([]error, callers)
	var wg sync.WaitGroup
	for i := range callers {
		wg.Go(func() { errs[i] = call() })
	}
	wg.Wait()
	return errs
}

// Kind names what the executor makes of an error: done, unknown, stale, refused
// or plain.
func Kind(err error) string {
	switch {
	case err == nil:
		return "done"
	case errors.Is(err, actuators.ErrUnknownOutcome):
		return "unknown"
	case errors.Is(err, actuators.ErrStale):
		return "stale"
	case errors.Is(err, actuators.ErrRefused):
		return "refused"
	}
	return "plain"
}

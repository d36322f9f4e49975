package actuatortest

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"

	"github.com/zeta-scaler/zeta-scaler/actuators"
	"github.com/zeta-scaler/zeta-scaler/scaling"
)

// releaseTests are those of Workers and Release.
var releaseTests = []test{
	{"workers are named", workersNamed},
	{"a released worker is gone, and no other", released},
	{"releasing twice under one id removes one", releasedTwice},
	{"the next id removes another one", releasedNext},
	{"a release whose reply is lost is an unknown outcome", releaseLost},
	{"a release is of one worker that is there", releaseOfWhom},
	{"a release that is refused removes nothing", releaseRefused},
	{"a release that fails removes nothing and may pass", releaseFails},
	{"a release whose context has ended does nothing", releaseEnded},
	{"a platform that hangs in a release is left when the context ends", releaseHangs},
	{"many callers release one worker", releaseConcurrent},
	{"a release is fenced", releaseFenced},
	{"a release from a target that has lost its fence is refused", releaseForgotten},
	{"scaling after a release", scaledAfterRelease},
}

// drain is the fence of the nth drain of an epoch.
func (f Fixture) drain(epoch uint64, n int) actuators.Fence {
	fence := f.fence(epoch, uint64(n)) //nolint:gosec // a handful
	fence.ActionID = fmt.Sprintf("drain-%d-%s", n, f.Target.Scope.Key)
	fence.Recommendation.Action, fence.Recommendation.Row = scaling.ScaleInCandidate, scaling.RowIdle
	return fence
}

// three scales to three workers and names them, those that go first first.
func (f Fixture) three(t *testing.T) []actuators.Worker {
	t.Helper()
	if !f.Actuator.Capabilities().Releases {
		t.Skip("nothing can be released")
	}
	f.scale(t, 3, f.fence(5, 1))
	workers := f.workers(t)
	if c := f.Actuator.Capabilities(); c.DryRun {
		t.Skip("a dry run removes nothing")
	}
	if len(workers) != 3 {
		t.Fatalf("3 workers were asked for, and Workers names %v", workers)
	}
	return workers
}

// workers are those of the platform once it has done what it was asked for.
func (f Fixture) workers(t *testing.T) []actuators.Worker {
	t.Helper()
	if f.Settle != nil {
		f.Settle(t)
	}
	workers, err := f.Actuator.Workers(t.Context(), f.Target)
	if err != nil {
		t.Fatalf("naming the workers: %v", err)
	}
	for i, w := range workers {
		if w.Name == "" || w.Leaving || slices.ContainsFunc(workers[:i], func(o actuators.Worker) bool { return o.Name == w.Name }) {
			t.Fatalf("Workers names %+v", workers)
		}
	}
	return workers
}

func (f Fixture) release(t *testing.T, w actuators.Worker, fence actuators.Fence) {
	t.Helper()
	if err := f.Actuator.Release(t.Context(), f.Target, []actuators.Worker{w}, fence); err != nil {
		t.Fatalf("releasing %+v: %v", w, err)
	}
}

// left checks who is still there.
func (f Fixture) left(t *testing.T, want ...actuators.Worker) {
	t.Helper()
	f.has(t, len(want))
	if !f.Actuator.Capabilities().Lists {
		return
	}
	got := names(f.workers(t))
	slices.Sort(got)
	sorted := names(want)
	slices.Sort(sorted)
	if !slices.Equal(got, sorted) {
		t.Fatalf("workers %v are left, want %v", got, sorted)
	}
}

func names(workers []actuators.Worker) []string {
	out := make([]string, len(workers))
	for i, w := range workers {
		out[i] = w.Name
	}
	return out
}

func workersNamed(t *testing.T, f Fixture) {
	c := f.Actuator.Capabilities()
	switch {
	case c.Lists:
		if before := f.workers(t); len(before) != 0 {
			t.Fatalf("a target without workers has %v", before)
		}
		for want := 1; want <= 3; want++ {
			f.scale(t, want, f.fence(5, uint64(want)))
			if got := f.workers(t); len(got) != want {
				t.Fatalf("%d workers were asked for, and Workers names %v", want, got)
			}
		}
	case c.Releases:
		before := f.workers(t)
		f.scale(t, 1, f.fence(5, 1))
		if again := f.workers(t); len(again) == 0 || !slices.Equal(before, again) {
			t.Fatalf("the names that are configured change: %v and then %v", before, again)
		}
	default:
		t.Skip("nothing can be released")
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := f.Actuator.Workers(ctx, f.Target); err != nil {
		wrongly(t, err, context.Canceled)
	}
}

func released(t *testing.T, f Fixture) {
	workers := f.three(t)
	f.release(t, workers[0], f.drain(5, 1))
	f.left(t, workers[1:]...)
	if f.Actuator.Capabilities().Observes {
		got, want := f.observe(t).Fence, f.drain(5, 1)
		if got.Epoch != 0 && (got.Epoch != want.Epoch || got.ActionID != want.ActionID || got.RecommendationID != want.RecommendationID) {
			t.Fatalf("the fence read back is %+v, written was %+v", got, want)
		}
	}
}

func releasedTwice(t *testing.T, f Fixture) {
	workers := f.three(t)
	for range 3 {
		f.release(t, workers[0], f.drain(5, 1))
	}
	f.left(t, workers[1:]...)
	if _, ok := f.Actuator.(actuators.Claimer); ok {
		// A new leader goes on with the drain of the one before.
		f.release(t, workers[0], f.drain(6, 1))
		f.left(t, workers[1:]...)
	}
}

func releasedNext(t *testing.T, f Fixture) {
	workers := f.three(t)
	f.release(t, workers[0], f.drain(5, 1))
	f.left(t, workers[1:]...)
	f.release(t, workers[1], f.drain(5, 2))
	f.left(t, workers[2])
	if !f.Actuator.Capabilities().Lists {
		return
	}
	wrongly(t, f.Actuator.Release(t.Context(), f.Target, workers[:1], f.drain(5, 3)), actuators.ErrRefused)
	f.left(t, workers[2])
}

func releaseLost(t *testing.T, f Fixture) {
	if f.LoseReply == nil {
		t.Skip("the platform's reply cannot get lost")
	}
	workers := f.three(t)
	f.LoseReply(t)
	wrongly(t, f.Actuator.Release(t.Context(), f.Target, workers[:1], f.drain(5, 1)), actuators.ErrUnknownOutcome)
	f.left(t, workers[1:]...)
	f.release(t, workers[0], f.drain(5, 1))
	f.left(t, workers[1:]...)
}

func releaseOfWhom(t *testing.T, f Fixture) {
	workers := f.three(t)
	anonymous := f.drain(5, 1)
	anonymous.ActionID = ""
	c := f.Actuator.Capabilities()
	for _, tc := range []struct {
		name    string
		applies bool
		workers []actuators.Worker
		fence   actuators.Fence
	}{
		{"none", true, nil, f.drain(5, 1)},
		{"two", true, workers[:2], f.drain(5, 1)},
		{"one without a name", true, []actuators.Worker{{Address: workers[0].Address}}, f.drain(5, 1)},
		{"a request without an id", true, workers[:1], anonymous},
		{"nobody's name", c.Lists, []actuators.Worker{{Name: "nobody"}}, f.drain(5, 1)},
		{"one that does not go now", !c.Chooses, workers[1:2], f.drain(5, 1)},
		{"one that is another by now", workers[0].Address != "", []actuators.Worker{{Name: workers[0].Name, Address: "203.0.113.9"}}, f.drain(5, 1)},
	} {
		if !tc.applies {
			continue
		}
		if err := f.Actuator.Release(t.Context(), f.Target, tc.workers, tc.fence); !errors.Is(err, actuators.ErrRefused) {
			t.Errorf("releasing %s: got error %v, want %v", tc.name, err, actuators.ErrRefused)
		}
	}
	f.left(t, workers...)
	if c.Chooses {
		f.release(t, workers[1], f.drain(5, 1))
		f.left(t, workers[0], workers[2])
	}
}

func releaseRefused(t *testing.T, f Fixture) {
	if f.Refuse == nil {
		t.Skip("the platform cannot be made to refuse")
	}
	workers := f.three(t)
	f.Refuse(t)
	wrongly(t, f.Actuator.Release(t.Context(), f.Target, workers[:1], f.drain(5, 1)), actuators.ErrRefused)
	f.left(t, workers...)
}

func releaseFails(t *testing.T, f Fixture) {
	if f.Fail == nil {
		t.Skip("the platform cannot be made to fail")
	}
	workers := f.three(t)
	f.Fail(t)
	err := f.Actuator.Release(t.Context(), f.Target, workers[:1], f.drain(5, 1))
	if err == nil || verdict(err) {
		t.Fatalf("got error %v, want one after which it is tried again", err)
	}
	f.left(t, workers...)
}

func releaseEnded(t *testing.T, f Fixture) {
	workers := f.three(t)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	wrongly(t, f.Actuator.Release(ctx, f.Target, workers[:1], f.drain(5, 1)), actuators.ErrUnknownOutcome, context.Canceled)
	f.left(t, workers...)
}

func releaseHangs(t *testing.T, f Fixture) {
	if f.Stall == nil {
		t.Skip("the platform cannot be made to hang")
	}
	workers := f.three(t)
	resume := f.Stall(t)
	err := promptly(t, func(ctx context.Context) error {
		return f.Actuator.Release(ctx, f.Target, workers[:1], f.drain(5, 1))
	})
	resume()
	wrongly(t, err, actuators.ErrUnknownOutcome, context.DeadlineExceeded)
	f.left(t, workers...)
	f.release(t, workers[0], f.drain(5, 1))
	f.left(t, workers[1:]...)
}

// releaseConcurrent lets many ask for the same, as a leader who was frozen and
// the one after him do.
func releaseConcurrent(t *testing.T, f Fixture) {
	workers := f.three(t)
	errs := together(func() error {
		return f.Actuator.Release(t.Context(), f.Target, workers[:1], f.drain(5, 1))
	})
	for _, err := range errs {
		if verdict(err) {
			t.Errorf("one of %d callers who release the same worker got: %v", callers, err)
		}
	}
	f.release(t, workers[0], f.drain(5, 1))
	f.left(t, workers[1:]...)
}

func releaseFenced(t *testing.T, f Fixture) {
	claimer, ok := f.Actuator.(actuators.Claimer)
	if !ok {
		t.Skip("the platform records no fences")
	}
	workers := f.three(t)
	if err := claimer.Claim(t.Context(), f.Target, actuators.Fence{Epoch: 7}); err != nil {
		t.Fatalf("claiming the target for epoch 7: %v", err)
	}
	wrongly(t, f.Actuator.Release(t.Context(), f.Target, workers[:1], f.drain(6, 1)), actuators.ErrStale)
	f.left(t, workers...)
	f.release(t, workers[0], f.drain(7, 1))
	f.left(t, workers[1:]...)
	wrongly(t, f.Actuator.Release(t.Context(), f.Target, workers[1:2], f.drain(6, 2)), actuators.ErrStale)
	f.left(t, workers[1:]...)
}

func releaseForgotten(t *testing.T, f Fixture) {
	if _, ok := f.Actuator.(actuators.Claimer); !ok || f.Forget == nil {
		t.Skip("the platform records no fences")
	}
	workers := f.three(t)
	f.Forget(t)
	fence := f.drain(5, 1)
	fence.Fenced = true
	err := f.Actuator.Release(t.Context(), f.Target, workers[:1], fence)
	if other, ok := errors.AsType[*actuators.OtherWriterError](err); !ok || other.Writer != actuators.LostFence {
		t.Fatalf("got error %v, want another writer: %s", err, actuators.LostFence)
	}
	f.left(t, workers...)
	fence.AcceptPresent = true
	f.release(t, workers[0], fence)
	f.left(t, workers[1:]...)
}

// scaledAfterRelease shows that a release is our own write: who scales next does
// not find another writer.
func scaledAfterRelease(t *testing.T, f Fixture) {
	workers := f.three(t)
	f.release(t, workers[0], f.drain(5, 1))
	f.left(t, workers[1:]...)
	fence := f.fence(5, 2)
	_, fence.Fenced = f.Actuator.(actuators.Claimer)
	f.scale(t, 3, fence)
	f.has(t, 3)
	if f.Actuator.Capabilities().Lists && len(f.workers(t)) != 3 {
		t.Fatal("the worker did not come back")
	}
}

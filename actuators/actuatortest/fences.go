package actuatortest

import (
	"errors"
	"testing"

	"github.com/zeta-scaler/zeta-scaler/actuators"
)

func fences(t *testing.T, f Fixture) {
	if !f.Actuator.Capabilities().Observes {
		t.Skip("nothing can be observed")
	}
	want := f.fence(5, 7)
	f.scale(t, 1, want)
	got := f.observe(t).Fence
	if got.Epoch == 0 {
		if _, claims := f.Actuator.(actuators.Claimer); claims {
			t.Fatal("its platform is said to record fences, and Observe knows of none")
		}
		t.Skip("the platform records no fences")
	}
	if got.Epoch != want.Epoch || got.Generation != want.Generation ||
		got.RecommendationID != want.RecommendationID || got.ActionID != want.ActionID {
		t.Fatalf("the fence read back is %+v, written was %+v", got, want)
	}
}

func claims(t *testing.T, f Fixture) {
	claimer, ok := f.Actuator.(actuators.Claimer)
	if !ok {
		t.Skip("the platform records no fences")
	}
	f.scale(t, 1, f.fence(5, 1))
	claim := actuators.Fence{Epoch: 7}
	for range 2 {
		if err := claimer.Claim(t.Context(), f.Target, claim); err != nil {
			t.Fatalf("claiming the target for epoch 7: %v", err)
		}
		f.has(t, 1)
	}
	wrongly(t, f.Actuator.Scale(t.Context(), f.Target, 2, f.fence(6, 1)), actuators.ErrStale)
	wrongly(t, claimer.Claim(t.Context(), f.Target, actuators.Fence{Epoch: 6}), actuators.ErrStale)
	f.has(t, 1)
	if got := f.observe(t).Fence.Epoch; got != 7 {
		t.Fatalf("after the claim of epoch 7, Observe says that epoch %d wrote last", got)
	}
	f.scale(t, 2, f.fence(7, 1))
	f.has(t, 2)
	wrongly(t, f.Actuator.Scale(t.Context(), f.Target, 3, f.fence(5, 2)), actuators.ErrStale)
	f.has(t, 2)
}

func forgets(t *testing.T, f Fixture) {
	claimer, ok := f.Actuator.(actuators.Claimer)
	if !ok || f.Forget == nil {
		t.Skip("the platform records no fences")
	}
	f.scale(t, 2, f.fence(5, 1))
	f.Forget(t)
	f.has(t, 2)
	if err := claimer.Claim(t.Context(), f.Target, actuators.Fence{Epoch: 6}); err != nil {
		t.Fatalf("claiming a target whose fence is gone: %v", err)
	}
	fence := f.fence(6, 1)
	fence.Fenced = true
	err := f.Actuator.Scale(t.Context(), f.Target, 3, fence)
	if other, ok := errors.AsType[*actuators.OtherWriterError](err); !ok || other.Writer != actuators.LostFence {
		t.Fatalf("got error %v, want another writer: %s", err, actuators.LostFence)
	}
	f.has(t, 2)
	fence.AcceptPresent = true
	f.scale(t, 3, fence)
	f.has(t, 3)
}

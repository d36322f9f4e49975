package drain_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/zeta-scaler/zeta-scaler/scaling"
	"github.com/zeta-scaler/zeta-scaler/zeta/control"
)

// A scope that has left the configuration while a drain of it had stopped a job, and
// the process was restarted: nobody knows how to go on. No other scope of the cluster
// may remove a worker meanwhile, and once it is listed again its drain goes on.
func TestUnlistedAndRestarted(t *testing.T) {
	b := newBed(t, 3, 4)
	b.cfg.Endpoint = "http://m1:5801/hazelcast/rest/maps/submit-job"
	b.start(t)
	j := b.m.submit("4501", control.Streaming, 1, 0)
	j.on = map[string]int{"w-2": 1}
	b.accept(t)
	for j.Status != control.SavepointDone {
		b.run(t, 100*time.Millisecond)
	}
	listed := b.cfg
	b.cfg.Scope.Key = "other"
	b.start(t)
	_, err := b.x.Request(t.Context(), "other", "", "ops", "two")
	require.NoError(t, err)
	goOn := func() {
		for range 600 {
			_ = b.x.Advance(t.Context()) // that of the other scope fails
			b.clock.t = b.clock.t.Add(100 * time.Millisecond)
			b.m.pass()
		}
	}
	goOn()
	require.Empty(t, b.m.removed)
	p, err := b.x.Plan(t.Context(), "other", "")
	require.NoError(t, err)
	require.Contains(t, p.Against, "drain")

	b.cfg = listed
	b.start(t)
	b.decide(t, scaling.ScaleInCandidate)
	goOn()
	require.Equal(t, control.Running, j.Status)
	require.Nil(t, b.record(t).Open)
	require.Empty(t, b.m.problems)
}

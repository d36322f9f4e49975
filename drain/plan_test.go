package drain_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/zeta-scaler/zeta-scaler/drain"
	"github.com/zeta-scaler/zeta-scaler/scaling"
	"github.com/zeta-scaler/zeta-scaler/state"
	"github.com/zeta-scaler/zeta-scaler/zeta/control"
)

func plan(t *testing.T, b *bed, worker string) scaling.DrainPlan {
	t.Helper()
	before, version, err := state.Load[state.DrainRecord](t.Context(), b.store, state.Drain, scopeKey)
	require.NoError(t, err)
	removed := len(b.m.removed)
	p, err := b.x.Plan(t.Context(), scopeKey, worker)
	require.NoError(t, err)
	after, still, err := state.Load[state.DrainRecord](t.Context(), b.store, state.Drain, scopeKey)
	require.NoError(t, err)
	require.Equal(t, before, after, "a plan has changed something")
	require.Equal(t, version, still)
	require.Len(t, b.m.removed, removed)
	return p
}

func TestPlan(t *testing.T) {
	b := newBed(t, 3, 8)
	b.m.submit("4501", control.Streaming, 6, 0)
	b.m.submit("4502", control.Batch, 6, time.Hour)
	p := plan(t, b, "")
	require.Equal(t, "w-2", p.Worker)
	require.Empty(t, p.Against)
	require.Equal(t, 8, p.Slots)
	require.Positive(t, p.Used)
	require.True(t, p.Hold)
	require.Equal(t, []scaling.PlannedJob{
		{ID: "4501", Name: "job-4501", Mode: "STREAMING", Fate: scaling.FateMove},
		{ID: "4502", Name: "job-4502", Mode: "BATCH", Fate: scaling.FateWait},
	}, p.Jobs)

	p = plan(t, b, "w-0")
	require.Equal(t, "the platform would remove worker w-2, not w-0", p.Against)
	p = plan(t, b, "nobody")
	require.Equal(t, "the platform has no worker nobody", p.Against)

	delete(b.m.configs, "4501")
	p = plan(t, b, "")
	require.Contains(t, p.Against, "job 4501 (job-4501) cannot be restored")
	require.Equal(t, scaling.FateStay, p.Jobs[0].Fate)
	require.NotEmpty(t, p.Jobs[0].Error)
}

// What a plan says against a drain is what a drain is refused for, and a plan
// that has nothing against it is a drain that begins.
func TestPlanIsWhatHappens(t *testing.T) {
	for name, prepare := range map[string]func(*bed){
		"nothing in the way": func(*bed) {},
		"a job without config": func(b *bed) {
			b.m.submit("4501", control.Streaming, 3, 0)
			delete(b.m.configs, "4501")
		},
		"no room elsewhere": func(b *bed) {
			b.m.submit("4501", control.Streaming, 8, 0)
			b.m.submit("4502", control.Streaming, 8, 0)
		},
		"a queue": func(b *bed) { b.m.pending = 2 },
	} {
		t.Run(name, func(t *testing.T) {
			b := newBed(t, 2, 8)
			prepare(b)
			p := plan(t, b, "")
			d, err := b.x.Request(t.Context(), scopeKey, "", "ann", "maintenance")
			require.NoError(t, err)
			require.Equal(t, scaling.DrainPending, d.State)
			b.run(t, 300*time.Millisecond)
			r := b.record(t)
			if p.Against == "" {
				require.NotNil(t, r.Open)
				require.Equal(t, p.Worker, r.Open.Worker)
				require.Contains(t, plan(t, b, "").Against, "drain "+d.ID)
				return
			}
			require.Nil(t, r.Open)
			require.Equal(t, p.Against, r.Last.Error)
		})
	}
}

func TestPlanOfNoScope(t *testing.T) {
	b := newBed(t, 2, 8)
	_, err := b.x.Plan(t.Context(), "nobody", "")
	require.ErrorIs(t, err, drain.ErrNoScope)
}

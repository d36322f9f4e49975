package evaluator

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/zeta-scaler/zeta-scaler/scaling"
	"github.com/zeta-scaler/zeta-scaler/state"
	"github.com/zeta-scaler/zeta-scaler/state/memory"
)

// shortOf is a cluster with a job that has waited for long enough to ask
// for a worker at every tick.
func shortOf(t *testing.T) (*live, *memory.Store) {
	t.Helper()
	rs := fixture()
	src := quietCluster(rs)
	src.values["age"] = func(string, int64) (float64, bool) { return 90, true }
	store := memory.New()
	l := newLive(t, src, store, fixtureConfig(rs, scaling.Bounds{Min: 1, Max: 9}, "a"), 1)
	l.tick(t, at(rs, 100))
	require.Equal(t, scaling.ScaleOut, l.rec.newest("a").action)
	return l, store
}

func putExecution(t *testing.T, store state.Store, change func(*state.ExecutionRecord)) {
	t.Helper()
	rec, version, err := state.Load[state.ExecutionRecord](t.Context(), store, state.Execution, "a")
	require.NoError(t, err)
	change(&rec)
	put, err := state.NewPut(state.Execution, "a", version, rec)
	require.NoError(t, err)
	_, err = store.Apply(t.Context(), state.NoFence, state.Batch{Puts: []state.Put{put}})
	require.NoError(t, err)
}

// TestFailedActionIsAskedForAgain: once the back-off is over and the shortage
// still stands, there is a new generation, whose alert is delivered (spec 4.2).
func TestFailedActionIsAskedForAgain(t *testing.T) {
	for _, state := range []scaling.ActionState{scaling.ActionFailed, scaling.ActionRejectedStale} {
		t.Run(string(state), func(t *testing.T) { isAskedForAgain(t, state) })
	}
}

func isAskedForAgain(t *testing.T, over scaling.ActionState) {
	rs := fixture()
	l, store := shortOf(t)
	first := l.rec.last["a"].Recommendation
	failed := scaling.Execution{RecommendationID: first.RecommendationID, Target: *first.RecommendedWorkers, State: over}
	putExecution(t, store, func(r *state.ExecutionRecord) {
		r.Action, r.BackoffUntil = &failed, at(rs, 103)
	})
	for _, tick := range []struct {
		n     int
		grown uint64
	}{{101, 0}, {102, 0}, {103, 1}, {104, 1}} {
		l.tick(t, at(rs, tick.n))
		ev := l.rec.last["a"]
		require.Equal(t, first.Generation+tick.grown, ev.Recommendation.Generation, "tick %d", tick.n)
		require.Equal(t, over, ev.Execution.State)
		if tick.n == 103 {
			require.True(t, ev.NewGeneration)
			require.Equal(t, at(rs, 103), ev.Recommendation.Since)
		}
	}
}

func TestWhatIsOverIsAskedForAgainOnlyIfItIsMissing(t *testing.T) {
	rs := fixture()
	ended := func(state scaling.ActionState, n int) scaling.Execution {
		return scaling.Execution{State: state, Transitions: []scaling.Transition{{State: state, At: at(rs, n)}}}
	}
	for _, tc := range []struct {
		name   string
		action scaling.Execution
		target int
		until  time.Time
		held   bool
		grows  bool
	}{
		{name: "converged, and a worker is gone again", action: ended(scaling.ActionSucceeded, 90), target: 5, until: at(rs, 100), grows: true},
		{name: "converged and still resting", action: ended(scaling.ActionSucceeded, 90), target: 5, until: at(rs, 140)},
		{name: "converged and all there", action: ended(scaling.ActionSucceeded, 90), target: 4, until: at(rs, 100)},
		{name: "a dry run rests never", action: ended(scaling.ActionSucceeded, 90), target: 5, until: at(rs, 80)},
		{name: "in flight", action: ended(scaling.ActionConverging, 90), target: 5},
		{name: "failed, and the next one waits", action: ended(scaling.ActionFailed, 90), target: 5, held: true},
		{name: "failed", action: ended(scaling.ActionFailed, 90), target: 5, grows: true},
	} {
		t.Run(tc.name, func(t *testing.T) {
			l, store := shortOf(t)
			first := l.rec.last["a"].Recommendation
			putExecution(t, store, func(r *state.ExecutionRecord) {
				tc.action.RecommendationID, tc.action.Target = first.RecommendationID, tc.target
				r.Action, r.CooldownUntil = &tc.action, tc.until
				if tc.held {
					r.Held = &scaling.Execution{State: scaling.ActionPending}
				}
			})
			l.tick(t, at(rs, 101))
			require.Equal(t, tc.grows, l.rec.last["a"].Recommendation.Generation > first.Generation)
		})
	}
}

// TestOtherWriterBlocksUntilResumed: it is named until somebody resumes.
func TestOtherWriterBlocksUntilResumed(t *testing.T) {
	rs := fixture()
	l, store := shortOf(t)
	putExecution(t, store, func(r *state.ExecutionRecord) {
		r.OtherWriter, r.OtherWriterSince = "HorizontalPodAutoscaler st/worker", at(rs, 100)
	})
	names := func() []string {
		var out []string
		for _, c := range l.rec.last["a"].Recommendation.BlockingConditions {
			out = append(out, c.Name)
		}
		return out
	}
	l.tick(t, at(rs, 101))
	require.Equal(t, []string{scaling.BlockerOtherWriter}, names())
	put, err := state.NewPut(state.Control, "a", 0, state.ControlRecord{ResumedAt: at(rs, 101)})
	require.NoError(t, err)
	_, err = store.Apply(t.Context(), state.NoFence, state.Batch{Puts: []state.Put{put}})
	require.NoError(t, err)
	l.tick(t, at(rs, 102))
	require.Empty(t, names())
}

// TestIneffectiveBlocks: two actions that changed nothing are named, with what
// they brought, until somebody resumes or an hour is over.
func TestIneffectiveBlocks(t *testing.T) {
	rs := fixture()
	l, store := shortOf(t)
	putExecution(t, store, func(r *state.ExecutionRecord) {
		r.IneffectiveSince = at(rs, 100)
		r.Tried = []scaling.Tried{{From: new(2), To: 3, At: at(rs, 80)}, {From: new(3), To: 4, At: at(rs, 100)}}
	})
	l.tick(t, at(rs, 101))
	ev := l.rec.last["a"]
	require.True(t, ev.Recommendation.HeldBy(scaling.BlockerIneffective))
	require.True(t, ev.Facts.Has(scaling.FactIneffective))
	require.Contains(t, ev.Recommendation.Reason, "held by ineffective (2 → 3 and 3 → 4 workers have changed nothing)")
	put, err := state.NewPut(state.Control, "a", 0, state.ControlRecord{ResumedAt: at(rs, 101)})
	require.NoError(t, err)
	_, err = store.Apply(t.Context(), state.NoFence, state.Batch{Puts: []state.Put{put}})
	require.NoError(t, err)
	l.tick(t, at(rs, 102))
	ev = l.rec.last["a"]
	require.False(t, ev.Recommendation.HeldBy(scaling.BlockerIneffective))
}

package evaluator

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/zeta-scaler/zeta-scaler/scaling"
	"github.com/zeta-scaler/zeta-scaler/state"
	"github.com/zeta-scaler/zeta-scaler/state/memory"
)

func putDrain(t *testing.T, store state.Store, r *state.DrainRecord) {
	t.Helper()
	_, version, err := state.Load[state.DrainRecord](t.Context(), store, state.Drain, "a")
	require.NoError(t, err)
	put, err := state.NewPut(state.Drain, "a", version, r)
	require.NoError(t, err)
	_, err = store.Apply(t.Context(), state.NoFence, state.Batch{Puts: []state.Put{put}})
	require.NoError(t, err)
}

// idleFor is a cluster that has been idle for long enough to do with a worker less.
func idleFor(t *testing.T) (*live, *memory.Store) {
	t.Helper()
	rs := fixture()
	store := memory.New()
	l := newLive(t, quietCluster(rs), store, fixtureConfig(rs, scaling.Bounds{Min: 1, Max: 9}, "a"), 1)
	l.tick(t, at(rs, 100))
	require.Equal(t, scaling.ScaleInCandidate, l.rec.newest("a").action)
	return l, store
}

// While a worker is emptied the blocker says until when that has to be done; an older
// action's deadline is not taken for it.
func TestADrainSaysWhenItHasToBeDone(t *testing.T) {
	rs := fixture()
	o := overlay{
		execution: map[string]state.ExecutionRecord{"a": {Deadline: at(rs, 90)}},
		drain:     map[string]state.DrainRecord{"a": {Open: &scaling.Drain{State: scaling.DrainDraining, Deadline: at(rs, 130)}}},
	}
	s := &scopeState{Scope: scaling.Scope{Key: "a"}}
	l := o.limits(s, nil, at(rs, 100))
	require.True(t, l.ActionInFlight)
	require.Equal(t, at(rs, 130), l.ActionDeadline)
	o.drain["a"].Open.State = scaling.DrainDecommissioning
	l = o.limits(s, nil, at(rs, 100))
	require.True(t, l.ActionInFlight)
	require.Zero(t, l.ActionDeadline, "nobody knows")
}

// A drain in flight, and its cooldown, hold the next one; a worker that waits in
// PENDING, and one that is gone, do not.
func TestDrainLimits(t *testing.T) {
	rs := fixture()
	open := func(s scaling.DrainState, change func(d *scaling.Drain)) *state.DrainRecord {
		d := &scaling.Drain{ID: "x", Worker: "w-2", State: s}
		if change != nil {
			change(d)
		}
		return &state.DrainRecord{Open: d}
	}
	for name, tc := range map[string]struct {
		record   *state.DrainRecord
		blockers []string
	}{
		"pending":        {open(scaling.DrainPending, nil), nil},
		"draining":       {open(scaling.DrainDraining, nil), []string{scaling.BlockerActionInFlight}},
		"leaving":        {open(scaling.DrainDecommissioning, nil), []string{scaling.BlockerActionInFlight}},
		"gone":           {open(scaling.DrainDecommissioning, func(d *scaling.Drain) { d.GoneAt = at(rs, 100) }), nil},
		"goes back":      {open(scaling.DrainFailed, func(d *scaling.Drain) { d.GivenUp = "it failed" }), nil},
		"cooling":        {&state.DrainRecord{CooldownUntil: at(rs, 110)}, []string{scaling.BlockerCooldown}},
		"over, and cool": {&state.DrainRecord{CooldownUntil: at(rs, 101), Last: &scaling.Drain{State: scaling.DrainDecommissioned}}, nil},
		"back-off":       {&state.DrainRecord{BackoffUntil: at(rs, 110), Failures: 1}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			l, store := idleFor(t)
			putDrain(t, store, tc.record)
			l.tick(t, at(rs, 101))
			ev := l.rec.last["a"]
			require.Equal(t, tc.blockers, names(ev.Recommendation.BlockingConditions))
			want := scaling.ScaleInCandidate
			if tc.blockers != nil {
				want = scaling.ScaleInBlocked
			}
			require.Equal(t, want, ev.Recommendation.Action)
			shown := tc.record.Open
			if shown == nil {
				shown = tc.record.Last
			}
			require.Equal(t, shown, ev.Drain)
		})
	}
}

// A drain that failed is asked for again, under a new id, once its back-off is over;
// one that was called off is not.
func TestFailedDrainIsAskedForAgain(t *testing.T) {
	for name, tc := range map[string]struct {
		failed bool
		until  int
		grows  bool
	}{"failed": {true, 101, true}, "failed, backing off": {true, 120, false}, "called off": {false, 0, false}} {
		t.Run(name, func(t *testing.T) {
			rs := fixture()
			l, store := idleFor(t)
			first := l.rec.last["a"].Recommendation
			var until time.Time
			if tc.until > 0 {
				until = at(rs, tc.until)
			}
			putDrain(t, store, &state.DrainRecord{
				Last: &scaling.Drain{State: scaling.DrainActive, RecommendationID: first.RecommendationID, Failed: tc.failed}, BackoffUntil: until,
			})
			l.tick(t, at(rs, 101))
			second := l.rec.last["a"].Recommendation
			require.Equal(t, tc.grows, second.Generation == first.Generation+1)
			l.tick(t, at(rs, 102))
			require.Equal(t, second.Generation, l.rec.last["a"].Recommendation.Generation, "once")
		})
	}
}

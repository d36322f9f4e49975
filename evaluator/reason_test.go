package evaluator

import (
	"maps"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/zeta-scaler/zeta-scaler/rules"
	"github.com/zeta-scaler/zeta-scaler/scaling"
	"github.com/zeta-scaler/zeta-scaler/state"
	"github.com/zeta-scaler/zeta-scaler/state/memory"
)

// reasonAfter is the sentence at the last tick of a story.
func reasonAfter(t *testing.T, rs *rules.RuleSet, s story, bounds scaling.Bounds, exec *state.ExecutionRecord) scaling.Recommendation {
	t.Helper()
	store := memory.New()
	if exec != nil {
		put, err := state.NewPut(state.Execution, "a", 0, exec)
		require.NoError(t, err)
		_, err = store.Apply(t.Context(), state.NoFence, state.Batch{Puts: []state.Put{put}})
		require.NoError(t, err)
	}
	l := newLive(t, s.source(rs), store, fixtureConfig(rs, bounds, "a"), 1)
	for i := range s["current"] {
		l.tick(t, at(rs, i))
	}
	return l.rec.last["a"].Recommendation
}

// TestReasonsSayWhatIs names sentences that would send a person on call the
// wrong way.
func TestReasonsSayWhatIs(t *testing.T) {
	const n = 12
	late := time.UnixMilli(1 << 40)
	// line is a value that changes at the last tick, or earlier.
	line := func(v float64, tail ...float64) []float64 {
		out := make([]float64, n)
		for i := range out {
			out[i] = v
			if k := i - (n - len(tail)); k >= 0 {
				out[i] = tail[k]
			}
		}
		return out
	}
	for name, tc := range map[string]struct {
		change func(*rules.RuleSet)
		with   story
		bounds scaling.Bounds
		exec   *state.ExecutionRecord
		want   string
	}{
		"kept, and false by now": {
			change: func(rs *rules.RuleSet) { rs.Signals[0].KeepFiringFor = 2 * time.Minute },
			with:   story{"age": line(90, 5)},
			want:   "age 5 s, was > 60 s, kept by keep_firing_for 2m (window 1m30s); 4 → 5 workers",
		},
		"kept, and true again": {
			change: func(rs *rules.RuleSet) { rs.Signals[0].KeepFiringFor = 2 * time.Minute },
			with:   story{"age": line(90, 5, 90)},
			want:   "age 90 s > 60 s for 0s, kept by keep_firing_for 2m (window 1m30s); 4 → 5 workers",
		},
		"bridged": {
			with: story{"age": line(90, absent)},
			want: "age > 60 s for 5m30s (window 1m30s), at this tick UNKNOWN (no_sample); 4 → 5 workers",
		},
		"a summary does not read a missing value as 0": {
			change: func(rs *rules.RuleSet) { rs.Signals[0].Summary = "a job waits for {{ .Value }} s" },
			with:   story{"age": line(90, absent)},
			want:   "age > 60 s for 5m30s (window 1m30s), at this tick UNKNOWN (no_sample); 4 → 5 workers",
		},
		"full slots while a job waits, not long enough": {
			with: story{"slots": line(1), "age": line(0, 90, 90)},
			want: "slots 1 > 0.8 for 5m30s (window 1m30s), but slots alone never scale, and nothing else is sustained yet: age 90 s > 60 s for 30s of 1m30s",
		},
		"full slots and a demand that did not last": {
			with: story{"slots": line(1), "jobs": line(0, 2)},
			want: "slots 1 > 0.8 for 5m30s (window 1m30s), but slots alone never scale, and there is no shortage yet: jobs is 2",
		},
		"full slots alone": {
			with: story{"slots": line(1)},
			want: "slots 1 > 0.8 for 5m30s (window 1m30s), but slots alone never scale: nothing waits and nothing is saturated",
		},
		"full slots and a demand that lasted": {
			with: story{"slots": line(1), "jobs": line(2)},
			want: "slots 1 > 0.8 for 5m30s (window 1m30s), and jobs is 2 for 5m30s; 4 → 5 workers",
		},
		"what a guard holds is no cause of a scale-out": {
			with: story{"cpu": line(0.95), "age": line(90), "big": line(9)},
			want: "CPU 0.95 > 0.8 for 5m30s (window 1m30s); 4 → 5 workers",
		},
		"the floor does not wait for the cooldown": {
			bounds: scaling.Bounds{Min: 5, Max: 8}, exec: &state.ExecutionRecord{CooldownUntil: late},
			want: "4 workers are fewer than min_workers 5; 4 → 5 workers",
		},
		"the floor waits for an action": {
			bounds: scaling.Bounds{Min: 5, Max: 8}, exec: &state.ExecutionRecord{CooldownUntil: late, ActionInFlight: true},
			want: "4 workers are fewer than min_workers 5; 4 → 5 workers, held by action_in_flight",
		},
		"one worker": {
			with: story{"current": line(1), "reporting": line(1)}, bounds: scaling.Bounds{Min: 2, Max: 8},
			want: "1 worker is fewer than min_workers 2; 1 → 2 workers",
		},
		"nothing but workers that are booting": {
			bounds: scaling.Bounds{Min: 6, Max: 8},
			exec:   &state.ExecutionRecord{Booting: []scaling.Booting{{Target: 6, Deadline: late}}},
			want:   "2 workers are booting, and no condition is sustained",
		},
		"a job waits for the worker that is booting": {
			with:   story{"current": line(0), "reporting": line(0), "age": line(0, 90, 90)},
			bounds: scaling.Bounds{Min: 0, Max: 8},
			exec:   &state.ExecutionRecord{Booting: []scaling.Booting{{Target: 1, Deadline: late}}},
			want:   "1 worker is booting; nothing is sustained yet: age 90 s > 60 s for 30s of 1m30s",
		},
		"a value just beside a threshold with decimals": {
			change: func(rs *rules.RuleSet) { rs.Signals[2].Out.Threshold = 0.825 },
			with:   story{"cpu": line(0.8254)},
			want:   "CPU 0.83 > 0.825 for 5m30s (window 1m30s); 4 → 5 workers",
		},
		"a value that rounds to its threshold": {
			with: story{"cpu": line(0.8004)},
			want: "CPU 0.8004 > 0.8 for 5m30s (window 1m30s); 4 → 5 workers",
		},
		"a value that rounds to the other side": {
			change: func(rs *rules.RuleSet) { rs.Signals[2].In.Threshold = 0.127 },
			with:   story{"cpu": line(0.126), "slots": line(0.1)},
			want:   "idle: nothing waits, CPU 0.126 < 0.127 for 5m30s (window 2m) and slots 0.1 < 0.3 for 5m30s (window 2m); 4 → 3 workers",
		},
		"above the maximum and busy": {
			with: story{"cpu": line(0.5)}, bounds: scaling.Bounds{Min: 1, Max: 3},
			want: "4 workers are more than max_workers 3, but not idle: CPU is 0.5 and slots is 0.5",
		},
		"above the maximum and a job waits": {
			with: story{"cpu": line(0.1), "slots": line(0.1), "age": line(30)}, bounds: scaling.Bounds{Min: 1, Max: 3},
			want: "4 workers are more than max_workers 3, but age is 30 s",
		},
		"above the maximum, not for long enough": {
			with: story{"cpu": line(0.5, 0.1, 0.1), "slots": line(0.1)}, bounds: scaling.Bounds{Min: 1, Max: 3},
			want: "4 workers are more than max_workers 3, but not idle for long enough: CPU 0.1 < 0.3 for 30s of 2m",
		},
		"at the minimum while nothing can be relied on": {
			with: story{"cpu": line(0.1), "slots": line(0.1), "reporting": line(3)}, bounds: scaling.Bounds{Min: 4, Max: 8},
			want: "looks idle, but the metrics cannot be relied on: 1 of 4 workers has no fresh sample",
		},
		"workers that are booting while nothing can be relied on": {
			with: story{"age": line(90), "reporting": line(absent)},
			exec: &state.ExecutionRecord{Booting: []scaling.Booting{{Target: 6, Deadline: late}}},
			want: "age 90 s > 60 s for 5m30s (window 1m30s); the metrics cannot be relied on (the number of reporting workers is unknown (no_sample)), so no more than the 2 workers that are booting; 4 → 6 workers",
		},
		"one at a time, whatever the step policy": {
			change: func(rs *rules.RuleSet) { rs.Step.Workers = 3 },
			with:   story{"age": line(90), "reporting": line(3)},
			want:   "age 90 s > 60 s for 5m30s (window 1m30s); the metrics cannot be relied on (1 of 4 workers has no fresh sample), so one worker at a time; 4 → 5 workers",
		},
		"a queue that nobody answers for is not an empty one": {
			with: story{"jobs": line(absent)},
			want: "no condition is sustained as far as is known; jobs is UNKNOWN (no_sample)",
		},
		"a worker that is asked for although something is not known": {
			with: story{"age": line(absent), "jobs": line(absent), "cpu": line(0.9)},
			want: "CPU 0.9 > 0.8 for 5m30s (window 1m30s); 4 → 5 workers; age and jobs are UNKNOWN (no_sample)",
		},
		"several things that are missing are one list": {
			with: story{"age": line(absent), "jobs": line(absent), "reporting": line(absent)},
			want: "the metrics cannot be relied on: the number of reporting workers is unknown (no_sample), age is UNKNOWN (no_sample) and jobs is UNKNOWN (no_sample)",
		},
	} {
		t.Run(name, func(t *testing.T) {
			rs := fixture()
			if tc.change != nil {
				tc.change(rs)
			}
			s := story{
				"current": line(4), "reporting": line(4), "mode": line(0), "age": line(0), "jobs": line(0),
				"cpu": line(0.5), "slots": line(0.5), "big": line(1),
			}
			maps.Copy(s, tc.with)
			if tc.bounds == (scaling.Bounds{}) {
				tc.bounds = scaling.Bounds{Min: 1, Max: 8}
			}
			require.Equal(t, tc.want, reasonAfter(t, rs, s, tc.bounds, tc.exec).Reason)
		})
	}
}

// TestHeldIsAtLeastAcrossAGap: a run that a restore finds behind unknown ticks
// at its start may be older, unless something false was seen there.
func TestHeldIsAtLeastAcrossAGap(t *testing.T) {
	for name, tc := range map[string]struct {
		first   float64
		atLeast bool
	}{"unknown": {absent, true}, "false": {0, false}, "true": {90, true}} {
		t.Run(name, func(t *testing.T) {
			rs := fixture()
			values := story{"age": {tc.first, 90, 90, 90, 90, 90}, "current": {4, 4, 4, 4, 4, 4}, "reporting": {4, 4, 4, 4, 4, 4}, "cpu": {0.5, 0.5, 0.5, 0.5, 0.5, 0.5}}
			lookback := compile(t, rs).Lookback(0)
			src := values.source(rs)
			l := newLive(t, src, memory.New(), fixtureConfig(rs, scaling.Bounds{Min: 1, Max: 8}, "a"), 1)
			// The first tick of the lookback is the story's first.
			l.tick(t, at(rs, 0).Add(lookback))
			for _, c := range l.rec.last["a"].Recommendation.TriggerConditions {
				require.Equal(t, tc.atLeast, c.AtLeast, "%s held %v", c.Name, *c.HeldSeconds)
			}
			require.Equal(t, scaling.RowShortage, l.rec.newest("a").row)
		})
	}
}

// TestEveryRowNamesWhatIsUnknown: whatever decided, the reason names every
// needed signal that has no value, once.
func TestEveryRowNamesWhatIsUnknown(t *testing.T) {
	rs := fixture()
	g, err := newGroup(rs, nil, rs.Interval)
	require.NoError(t, err)
	g.limitsOf = func(*scopeState, time.Time) scaling.Limits {
		return scaling.Limits{Bounds: scaling.Bounds{Min: 1, Max: 8}}
	}
	g.generationOf = func(string) uint64 { return 0 }
	s := g.newScope([]scaling.Label{{Name: "cluster", Value: "a"}}, nil, nil, 0)
	tr := &s.tracks[0]
	const needed = 0b01111 // all but the guard
	for i := range table {
		for unknownSet := uint64(1); unknownSet <= needed; unknownSet++ {
			for _, sustained := range []uint64{0, unknownSet, needed} {
				tr.decision = Decision{
					Row: i, Action: table[i].action, Mode: scaling.FixedSlots, Applies: 0b11111, Known: 0b11111 &^ unknownSet,
					OutSustained: sustained & g.active().hasOut, situation: situation{current: 4, min: 1, max: 8, facts: scaling.FactCurrentKnown},
				}
				for k := range tr.samples.Signals {
					tr.samples.Signals[k] = known(0.5)
					if unknownSet&(1<<k) != 0 {
						tr.samples.Signals[k] = unknown(QueryError)
					}
				}
				text := tr.reason(&s.Scope, tr.kept, &s.limits)
				require.NotContains(t, text, "nothing to do", table[i].id)
				require.Contains(t, text, "UNKNOWN (query_error)", table[i].id)
				for k := range rs.Signals {
					if unknownSet&(1<<k) != 0 {
						require.Contains(t, text, human(rs.Signals[k].Name), "row %s", table[i].id)
					}
				}
			}
		}
		tr.decision.Known, tr.decision.Mode, tr.decision.OutSustained = 0b11111, scaling.UnknownSlots, 0
		require.Contains(t, tr.reason(&s.Scope, tr.kept, &s.limits), "the slot mode is unknown", table[i].id)
	}
}

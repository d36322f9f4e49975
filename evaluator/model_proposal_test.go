package evaluator

import (
	"maps"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/zeta-scaler/zeta-scaler/rules"
	"github.com/zeta-scaler/zeta-scaler/scaling"
)

// stip is the rule set of the STIP with its default windows and thresholds
// (spec 2): scale out after 300 s, scale in after 600 s.
func stip() *rules.RuleSet {
	rs := fixture()
	rs.Name = "stip"
	out := func(v float64) *rules.Condition {
		return &rules.Condition{Comparison: rules.Above, Threshold: v, For: rules.DefaultOutFor}
	}
	in := func(c rules.Comparison, v float64) *rules.Condition {
		return &rules.Condition{Comparison: c, Threshold: v, For: rules.DefaultInFor}
	}
	blocking := func(name string, o *rules.Condition) rules.Signal {
		return rules.Signal{Name: name, Class: scaling.Blocking, Expr: expr(name), Required: true, Out: o, In: in(rules.AtMost, 0)}
	}
	ratio := func(name string, c scaling.Class) rules.Signal {
		return rules.Signal{
			Name: name, Class: c, Expr: expr(name), Required: c == scaling.Saturation, Range: &[2]float64{0, 1},
			Out: out(rules.DefaultOutThreshold), In: in(rules.Below, rules.DefaultInThreshold),
		}
	}
	jobs := blocking("blocked_jobs", nil)
	jobs.Demand = true
	slots := ratio("slot_utilization", scaling.Capacity)
	slots.SlotModes = []scaling.SlotMode{scaling.FixedSlots}
	rs.Signals = []rules.Signal{
		blocking("oldest_blocked_age", out(60)), jobs, blocking("unsatisfied_slots", out(0)), blocking("resource_rejections", out(0)),
		ratio("avg_cpu", scaling.Saturation), ratio("avg_memory", scaling.Saturation), slots,
		{Name: "head_job_too_big", Class: scaling.Guard, Expr: expr("head_job_too_big"), Out: &rules.Condition{Comparison: rules.Above, MaxWorkers: true, For: rules.DefaultOutFor}},
	}
	return rs
}

// The ticks at which a condition that holds since tick 0 has filled its window.
const (
	outFull = 10
	inFull  = 20
)

// proposalCase is a cluster over 25 ticks and what must be said about it. A course
// is values with how often they come, as in "0.9x9 0.8 0.9x20"; "_" is no
// sample, and the last value stays. Inputs that are not given belong to a
// busy-enough cluster of 4 workers without a waiting job.
type proposalCase struct {
	name   string
	change func(*rules.RuleSet)
	inputs map[string]string
	limits func(*scaling.Limits, int)
	want   []caseWant
}

// caseWant is what is said at a tick, or at every one from tick to through.
type caseWant struct {
	tick, through int
	row           scaling.RowID
	action        scaling.Action
	// target is −1 for unknown.
	target     int
	triggers   []string
	blockers   []string
	strong     bool
	generation uint64
}

func parseCourse(t *testing.T, s string, n int) []float64 {
	t.Helper()
	var out []float64
	for field := range strings.FieldsSeq(s) {
		value, times, repeated := strings.Cut(field, "x")
		v, count := float64(gone), 1
		var err error
		if value != "_" {
			v, err = strconv.ParseFloat(value, 64)
			require.NoError(t, err)
		}
		if repeated {
			count, err = strconv.Atoi(times)
			require.NoError(t, err)
		}
		out = append(out, slices.Repeat([]float64{v}, count)...)
	}
	for len(out) < n {
		out = append(out, out[len(out)-1])
	}
	return out[:n]
}

// caseTicks is how long every case runs.
const caseTicks = 25

func (tc proposalCase) world(t *testing.T) *world {
	t.Helper()
	rs := stip()
	if tc.change != nil {
		tc.change(rs)
	}
	inputs := map[string]string{
		"current": "4", "reporting": "4", "mode": "0", "oldest_blocked_age": "0", "blocked_jobs": "0",
		"unsatisfied_slots": "0", "resource_rejections": "0", "avg_cpu": "0.5", "avg_memory": "0.5",
		"slot_utilization": "0.5", "head_job_too_big": "1",
	}
	maps.Copy(inputs, tc.inputs)
	w := &world{rs: rs, ticks: make([]moment, caseTicks)}
	for i := range w.ticks {
		w.ticks[i] = moment{at: at(rs, i), raw: map[string]float64{}, limits: scaling.Limits{Bounds: scaling.Bounds{Min: 1, Max: 10}}}
		if tc.limits != nil {
			tc.limits(&w.ticks[i].limits, i)
		}
	}
	for name, text := range inputs {
		for i, v := range parseCourse(t, text, caseTicks) {
			if v != gone {
				w.ticks[i].raw[name] = v
			}
		}
	}
	return w
}

func (tc proposalCase) run(t *testing.T) {
	w := tc.world(t)
	got := replayed(t, w)
	require.NoError(t, w.compare(w.verdicts(), got))
	for _, want := range tc.want {
		for i := want.tick; i <= max(want.tick, want.through); i++ {
			g := got[i]
			require.Equal(t, want.row, g.Row, "tick %d: %s", i, g)
			require.Equal(t, want.action, g.Action, "tick %d: %s", i, g)
			if want.target < 0 {
				require.Nil(t, g.Target, "tick %d", i)
			} else {
				require.NotNil(t, g.Target, "tick %d", i)
				require.Equal(t, want.target, *g.Target, "tick %d", i)
			}
			require.ElementsMatch(t, want.triggers, g.Triggers, "triggers at tick %d", i)
			require.ElementsMatch(t, want.blockers, g.Blockers, "blockers at tick %d", i)
			require.Equal(t, want.strong, g.Strong, "tick %d", i)
			if want.generation > 0 {
				require.Equal(t, want.generation, g.Generation, "tick %d", i)
			}
		}
	}
}

func restful(extra map[string]string) map[string]string {
	out := map[string]string{"avg_cpu": "0.1", "avg_memory": "0.1", "slot_utilization": "0.1"}
	maps.Copy(out, extra)
	return out
}

func caseBounds(low, high int) func(*scaling.Limits, int) {
	return func(l *scaling.Limits, _ int) { l.Bounds = scaling.Bounds{Min: low, Max: high} }
}

func dynamic(rs *rules.RuleSet) { rs.SlotModeExpr, rs.SlotMode = nil, scaling.DynamicSlots }

const (
	sayHold    = scaling.NoAction
	sayOut     = scaling.ScaleOut
	sayBlocked = scaling.ScaleInBlocked
	sayIn      = scaling.ScaleInCandidate
)

func these(s ...string) []string { return s }

// TestProposalCases replays the conflicts and the known defects of the STIP.
func TestProposalCases(t *testing.T) {
	for _, part := range []struct {
		name  string
		cases []proposalCase
	}{
		{"conflict", conflictCases()},
		{"scale-out", scaleOutCases()},
		{"scale-in", scaleInCases()},
		{"defect", defectCases()},
	} {
		t.Run(part.name, func(t *testing.T) {
			for _, tc := range part.cases {
				t.Run(tc.name, tc.run)
			}
		})
	}
}

// TestProposalRecommendation is about defects D8, D11 and R4: a recommendation
// that stays true is refreshed every tick, is valid beyond the next ones, and
// generations never go back.
func TestProposalRecommendation(t *testing.T) {
	w := proposalCase{inputs: map[string]string{"avg_cpu": "0.95x18 0.5"}}.world(t)
	var since time.Time
	var generation uint64
	tick := 0
	err := Replay(t.Context(), tape{w}, ReplayOptions{
		RuleSet: w.rs, Start: w.ticks[0].at, End: w.ticks[caseTicks-1].at,
		Limits: func(scaling.Scope, time.Time) scaling.Limits { return w.ticks[0].limits },
	}, func(at time.Time, evaluations []scaling.Evaluation) error {
		require.Len(t, evaluations, 1)
		r := &evaluations[0].Recommendation
		require.Equal(t, w.ticks[tick].at, r.ObservedAt)
		require.Equal(t, r.ObservedAt.Add(3*w.rs.Interval), r.ValidUntil)
		require.GreaterOrEqual(t, r.Generation, generation)
		if r.Generation > generation {
			since = at.UTC()
		}
		require.Equal(t, since, r.Since)
		generation = r.Generation
		tick++
		return nil
	})
	require.NoError(t, err)
	require.Equal(t, caseTicks, tick)
	require.EqualValues(t, 3, generation)
}

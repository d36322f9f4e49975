package evaluator

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/zeta-scaler/zeta-scaler/rules"
	"github.com/zeta-scaler/zeta-scaler/scaling"
	"github.com/zeta-scaler/zeta-scaler/state"
	"github.com/zeta-scaler/zeta-scaler/state/memory"
)

// rowCase leads a scope of the fixture to one row.
type rowCase struct {
	row      scaling.RowID
	values   map[string]float64
	missing  []string
	min, max int
	change   func(*rules.RuleSet, *Config)
	control  *state.ControlRecord
	exec     *state.ExecutionRecord
	// ticks is how long the values have been so; default 12, which fills every
	// window of the fixture.
	ticks    int
	action   scaling.Action
	target   int // −1 unknown
	triggers []string
	blockers []string
	reason   string
}

func rowCases() []rowCase {
	far := at(fixture(), 1000)
	idle := map[string]float64{"cpu": 0.1, "slots": 0.1}
	with := func(base map[string]float64, name string, v float64) map[string]float64 {
		out := map[string]float64{name: v}
		for k, b := range base {
			if k != name {
				out[k] = b
			}
		}
		return out
	}
	return []rowCase{
		{
			row: scaling.RowPaused, control: &state.ControlRecord{Paused: true}, values: with(nil, "age", 90),
			action: scaling.NoAction, target: 4, triggers: []string{"age"}, blockers: []string{"paused"}, reason: "paused",
		},
		{
			row: scaling.RowApplicationMode, change: func(_ *rules.RuleSet, c *Config) { c.Scopes[0].Deployment = scaling.Application },
			action: scaling.NoAction, target: 4, blockers: []string{"application_mode"}, reason: "Application Mode",
		},
		{
			row: scaling.RowWorkersUnknown, missing: []string{"current"}, values: with(nil, "age", 90),
			action: scaling.NoAction, target: -1, triggers: []string{"age"}, blockers: []string{"workers_unknown"}, reason: "although age 90 s > 60 s",
		},
		{row: scaling.RowBelowMin, min: 5, action: scaling.ScaleOut, target: 5, reason: "4 workers are fewer than min_workers 5; 4 → 5 workers"},
		{row: scaling.RowAboveMax, max: 3, values: idle, action: scaling.ScaleInCandidate, target: 3, reason: "4 workers are more than max_workers 3"},
		{
			row: scaling.RowAboveMaxBlocked, max: 3, values: idle, exec: &state.ExecutionRecord{CooldownUntil: far},
			action: scaling.ScaleInBlocked, target: 4, blockers: []string{"cooldown"}, reason: "held by cooldown",
		},
		{
			row: scaling.RowWake, min: -1, values: map[string]float64{"current": 0, "reporting": 0, "jobs": 3},
			action: scaling.ScaleOut, target: 1, reason: "no workers, and jobs is 3",
		},
		{
			row: scaling.RowShortageBlind, missing: []string{"cpu"}, values: with(nil, "age", 90),
			action: scaling.ScaleOut, target: 5, triggers: []string{"age"}, reason: "one worker at a time; 4 → 5 workers",
		},
		{
			row: scaling.RowBlindIdle, values: with(idle, "reporting", 1),
			action: scaling.ScaleInBlocked, target: 4, blockers: []string{"metrics_stale"}, reason: "3 of 4 workers have no fresh sample",
		},
		{
			row: scaling.RowBlind, missing: []string{"reporting"},
			action: scaling.NoAction, target: 4, blockers: []string{"metrics_missing"}, reason: "reporting workers is unknown",
		},
		{
			row: scaling.RowShortage, values: with(nil, "age", 90),
			action: scaling.ScaleOut, target: 5, triggers: []string{"age"}, reason: "age 90 s > 60 s for 5m30s (window 1m30s); 4 → 5 workers",
		},
		{
			row: scaling.RowSaturatedTight, values: map[string]float64{"cpu": 0.91, "slots": 0.95},
			action: scaling.ScaleOut, target: 5, triggers: []string{"cpu", "slots"}, reason: "CPU 0.91 > 0.8",
		},
		{
			row: scaling.RowSaturated, values: with(nil, "cpu", 0.91),
			action: scaling.ScaleOut, target: 5, triggers: []string{"cpu"}, reason: "CPU 0.91 > 0.8 for 5m30s (window 1m30s); 4 → 5 workers",
		},
		{
			row: scaling.RowTightWithDemand, values: map[string]float64{"slots": 0.95, "jobs": 2},
			action: scaling.ScaleOut, target: 5, triggers: []string{"slots"},
		},
		{
			row: scaling.RowUnsatisfiable, max: 6, values: map[string]float64{"age": 90, "big": 9},
			action: scaling.NoAction, target: 4, triggers: []string{"age"}, blockers: []string{"big"}, reason: "big 9 > max_workers 6",
		},
		{
			row: scaling.RowTightAlone, values: with(nil, "slots", 0.95),
			action: scaling.NoAction, target: 4, triggers: []string{"slots"}, reason: "slots alone never scale",
		},
		{
			row: scaling.RowIdleShortage, values: with(idle, "jobs", 2),
			action: scaling.ScaleInBlocked, target: 4, blockers: []string{"jobs"}, reason: "looks idle, but jobs is 2",
		},
		{
			row: scaling.RowIdleStale, values: with(idle, "reporting", 3),
			action: scaling.ScaleInBlocked, target: 4, blockers: []string{"metrics_stale"}, reason: "1 of 4 workers",
		},
		{
			row: scaling.RowIdleUnknown, values: idle, missing: []string{"age"},
			change: func(rs *rules.RuleSet, _ *Config) { rs.Signals[0].Required = false },
			action: scaling.ScaleInBlocked, target: 4, blockers: []string{"metrics_missing"}, reason: "age is UNKNOWN (no_sample)",
		},
		{
			row: scaling.RowIdleAtMin, min: 4, values: idle,
			action: scaling.NoAction, target: 4, blockers: []string{"min_workers"}, reason: "already at min_workers 4",
		},
		{row: scaling.RowIdleHeld, values: idle, exec: &state.ExecutionRecord{
			ActionInFlight: true, BackoffUntil: far, Booting: []scaling.Booting{{Target: 5, Deadline: far}},
		}, action: scaling.ScaleInBlocked, target: 4, blockers: []string{"failure_backoff", "action_in_flight", "booting"}},
		{row: scaling.RowIdle, values: idle, action: scaling.ScaleInCandidate, target: 3, reason: "idle: nothing waits, CPU 0.1 < 0.3 for 5m30s (window 2m)"},
		{row: scaling.RowSettling, values: idle, ticks: 3, action: scaling.NoAction, target: 4, reason: "its windows are filling"},
		{row: scaling.RowSteady, action: scaling.NoAction, target: 4, reason: "nothing to do"},
	}
}

// TestRows leads a scope to every row of the table and checks action, target,
// triggers, blockers and the sentence.
func TestRows(t *testing.T) {
	covered := map[scaling.RowID]bool{}
	for _, tc := range rowCases() {
		covered[tc.row] = true
		t.Run(string(tc.row), func(t *testing.T) { tc.run(t) })
	}
	for _, r := range Table() {
		require.True(t, covered[r.ID], "row %s has no case", r.ID)
	}
}

func (tc rowCase) run(t *testing.T) {
	rs := fixture()
	bounds := scaling.Bounds{Min: 1, Max: 10}
	if tc.min != 0 {
		bounds.Min = max(tc.min, 0)
	}
	if tc.max != 0 {
		bounds.Max = tc.max
	}
	cfg := fixtureConfig(rs, bounds, "a")
	if tc.change != nil {
		tc.change(rs, &cfg)
	}
	src := quietCluster(rs)
	src.values["cpu"], src.values["slots"] = constant(0.5), constant(0.5)
	for name, v := range tc.values {
		src.values[name] = constant(v)
	}
	for _, name := range tc.missing {
		delete(src.values, name)
	}
	store := memory.New()
	tc.store(t, store)
	// A source that begins at tick 0 gives windows exactly as old as ticks.
	for name, f := range src.values {
		src.values[name] = func(c string, n int64) (float64, bool) {
			v, _ := f(c, n)
			return v, n >= 0
		}
	}
	if tc.ticks == 0 {
		tc.ticks = 12
	}
	l := newLive(t, src, store, cfg, 1)
	for i := range tc.ticks {
		l.tick(t, at(rs, i))
	}
	r := l.rec.last["a"].Recommendation
	require.Equal(t, tc.row, r.Row, r.Reason)
	require.Equal(t, tc.action, r.Action)
	if tc.target < 0 {
		require.Nil(t, r.RecommendedWorkers)
	} else {
		require.Equal(t, tc.target, *r.RecommendedWorkers)
	}
	require.ElementsMatch(t, tc.triggers, names(r.TriggerConditions))
	require.ElementsMatch(t, tc.blockers, names(r.BlockingConditions))
	require.Contains(t, r.Reason, tc.reason)
	if tc.row == scaling.RowSaturatedTight {
		require.Equal(t, "strong", r.Strength)
	}
}

func (tc rowCase) store(t *testing.T, s *memory.Store) {
	t.Helper()
	put := func(kind state.Kind, v any) {
		p, err := state.NewPut(kind, "a", 0, v)
		require.NoError(t, err)
		_, err = s.Apply(t.Context(), state.NoFence, state.Batch{Puts: []state.Put{p}})
		require.NoError(t, err)
	}
	if tc.control != nil {
		put(state.Control, tc.control)
	}
	if tc.exec != nil {
		put(state.Execution, tc.exec)
	}
}

func names(conditions []scaling.Condition) []string {
	var out []string
	for _, c := range conditions {
		out = append(out, c.Name)
	}
	return out
}

func TestAtMaxWorkers(t *testing.T) {
	rowCase{
		row: scaling.RowShortage, max: 4, values: map[string]float64{"age": 90},
		action: scaling.NoAction, target: 4, triggers: []string{"age"}, blockers: []string{"max_workers"}, reason: "already at max_workers 4",
	}.run(t)
}

func TestBusyScaleOutIsPublishedWithItsBlockers(t *testing.T) {
	far := at(fixture(), 1000)
	rowCase{
		row: scaling.RowShortage, values: map[string]float64{"age": 90}, exec: &state.ExecutionRecord{CooldownUntil: far, ActionInFlight: true},
		action: scaling.ScaleOut, target: 5, triggers: []string{"age"}, blockers: []string{"cooldown", "action_in_flight"}, reason: "held by cooldown and action_in_flight",
	}.run(t)
}

// TestExponentialRamp is AIP-5's ramp: 1, 2, 4 per round while every round is
// granted, back to one when need or max binds, a probe before that.
func TestExponentialRamp(t *testing.T) {
	rs := fixture()
	rs.Step = rules.Step{Policy: rules.StepExponential, Workers: 1, Unit: 1, MaxStep: 8, SustainedBacklog: time.Minute, SchedulerBacklog: time.Minute}
	p := compile(t, rs)
	state, next := p.NewState(), p.NewState()
	l := scaling.Limits{Bounds: scaling.Bounds{Min: 1, Max: 20}}
	n := 0
	step := func(current float64, age float64, unsatisfied Reading) Decision {
		s := Samples{
			Current: known(current), Reporting: known(current), SlotMode: known(0), Slots: known(2), Unsatisfied: unsatisfied,
			Signals: []Reading{known(age), known(3), known(0.5), known(0.5), known(1)},
		}
		d := p.Step(next, state, int64(n)*tickMs, &s, &l)
		state, next = next, state
		n++
		return d
	}
	many := known(100)
	for range 3 {
		require.Equal(t, scaling.NoAction, step(4, 90, many).Action)
	}
	want := func(d Decision, action scaling.Action, target int, blockers ...string) {
		t.Helper()
		require.Equal(t, scaling.RowShortage, d.RowID())
		require.Equal(t, action, d.Action)
		require.Equal(t, target, d.Target)
		require.ElementsMatch(t, blockers, d.Blockers.Names())
	}
	want(step(4, 90, many), scaling.ScaleOut, 5)               // first round: + 1
	want(step(5, 90, many), scaling.NoAction, 5, "next_round") // reached, the round lasts a minute
	want(step(5, 90, many), scaling.ScaleOut, 7)               // granted: + 2
	want(step(6, 90, many), scaling.ScaleOut, 7)               // the target stands
	want(step(6, 90, many), scaling.ScaleOut, 8)               // not wholly granted: + 2 again
	want(step(8, 90, many), scaling.NoAction, 8, "next_round") //
	want(step(8, 90, many), scaling.ScaleOut, 12)              // granted: + 4
	want(step(12, 90, known(3)), scaling.NoAction, 12, "next_round")
	want(step(12, 90, known(3)), scaling.ScaleOut, 14)           // + 8 cut to the need of 2
	want(step(14, 90, many), scaling.NoAction, 14, "next_round") //
	want(step(14, 90, many), scaling.ScaleOut, 15)               // back to + 1
	drained := step(15, 0, many)
	require.NotEqual(t, scaling.RowShortage, drained.RowID())
	require.False(t, state.Ramp.Active, "a trickle that drains between rounds never accumulates")
}

func TestStepDemand(t *testing.T) {
	for _, tc := range []struct {
		name               string
		unsatisfied, slots Reading
		unit, booting      int
		want               int
	}{
		{"five slots at two per worker", known(5), known(2), 1, 0, 7},
		{"in units of four", known(5), known(2), 4, 0, 8},
		{"at most max_step", known(100), known(2), 1, 0, 8},
		{"nothing known", unknown(NoSample), known(2), 1, 0, 5},
		{"no slots", known(5), known(0), 1, 0, 5},
		{"booting workers are part of the need", known(5), known(2), 1, 2, 7},
	} {
		t.Run(tc.name, func(t *testing.T) {
			rs := fixture()
			rs.Step.Policy, rs.Step.Unit, rs.Step.MaxStep = rules.StepDemand, tc.unit, 4
			p := compile(t, rs)
			now := situation{current: 4, booting: tc.booting, max: 100}
			got, _ := p.stepTarget(&now, Ramp{}, &Samples{Unsatisfied: tc.unsatisfied, Slots: tc.slots}, 0)
			require.Equal(t, tc.want, got)
		})
	}
}

func TestBootDeadline(t *testing.T) {
	now := time.UnixMilli(1000)
	entries := []scaling.Booting{{Target: 6, Deadline: now.Add(time.Second)}, {Target: 9, Deadline: now.Add(-time.Millisecond)}}
	require.Equal(t, 2, scaling.BootingWorkers(entries, 4, now), "an entry past its deadline does not count")
	require.Equal(t, 0, scaling.BootingWorkers(entries, 6, now))
}

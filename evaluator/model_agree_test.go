package evaluator

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/zeta-scaler/zeta-scaler/rules"
	"github.com/zeta-scaler/zeta-scaler/scaling"
)

// verdictOf is a published recommendation in the model's words.
func verdictOf(ev *scaling.Evaluation) verdict {
	r := &ev.Recommendation
	v := verdict{
		Row: r.Row, Action: r.Action, Target: r.RecommendedWorkers, Valid: r.MetricsValid, Stale: r.StaleWorkerCount,
		Strong: r.Strength == "strong", Generation: r.Generation,
	}
	for _, c := range r.TriggerConditions {
		v.Triggers = append(v.Triggers, c.Name)
	}
	for _, c := range r.BlockingConditions {
		v.Blockers = append(v.Blockers, c.Name)
	}
	slices.Sort(v.Blockers)
	for _, in := range ev.Inputs {
		for _, w := range in.Windows {
			v.Windows = append(v.Windows, progress(in.Name, w.Direction, w.Truth, w.Sustained, w.HeldSeconds))
		}
	}
	return v
}

// progress is a window as it is shown.
func progress(name string, d scaling.Direction, truth string, sustained bool, held float64) string {
	return fmt.Sprintf("%s %s %s sustained=%t held=%gs", name, d, truth, sustained, held)
}

func (v verdict) String() string {
	n := func(p *int) string {
		if p == nil {
			return "null"
		}
		return fmt.Sprint(*p)
	}
	return fmt.Sprintf("%s %s %s valid=%t stale=%s strong=%t triggers=%v blockers=%v generation=%d",
		v.Row, v.Action, n(v.Target), v.Valid, n(v.Stale), v.Strong, v.Triggers, v.Blockers, v.Generation)
}

// replayed is what the service would have said about a world.
func replayed(t require.TestingT, w *world) []verdict {
	var got []verdict
	byTick := map[time.Time]scaling.Limits{}
	for i := range w.ticks {
		byTick[w.ticks[i].at] = w.ticks[i].limits
	}
	err := Replay(ctxOf(t), tape{w}, ReplayOptions{
		RuleSet: w.rs, Start: w.ticks[0].at, End: w.ticks[len(w.ticks)-1].at, DiscoverAny: true,
		Limits: func(_ scaling.Scope, at time.Time) scaling.Limits { return byTick[at.UTC()] },
	}, func(_ time.Time, evaluations []scaling.Evaluation) error {
		if len(evaluations) != 1 {
			return fmt.Errorf("%d evaluations, want 1", len(evaluations))
		}
		got = append(got, verdictOf(&evaluations[0]))
		return nil
	})
	require.NoError(t, err)
	return got
}

// compare fails at the first tick at which model and service differ.
func (w *world) compare(want, got []verdict) error {
	if len(got) != len(want) {
		return fmt.Errorf("%d ticks were decided, want %d", len(got), len(want))
	}
	for i := range want {
		if !slices.Equal(want[i].Windows, got[i].Windows) {
			return fmt.Errorf("tick %d:\nmodel   %q\nservice %q\n%s", i, want[i].Windows, got[i].Windows, w.describe(i))
		}
		if want[i].String() != got[i].String() {
			return fmt.Errorf("tick %d:\nmodel   %s\nservice %s\n%s", i, want[i], got[i], w.describe(i))
		}
	}
	return nil
}

// describe prints a world up to a tick, as data.
func (w *world) describe(t int) string {
	var b strings.Builder
	rs := w.rs
	fmt.Fprintf(&b, "gap %d coverage %g mode %s expr %t master %t step %+v\n", rs.GapTolerance, rs.MinCoverage, rs.SlotMode, rs.SlotModeExpr != nil, rs.Workers.Master != nil, rs.Step)
	condition := func(c *rules.Condition) string {
		if c == nil {
			return "-"
		}
		return fmt.Sprintf("%s %g max=%t for %s", c.Comparison.Symbol(), c.Threshold, c.MaxWorkers, c.For)
	}
	for i := range rs.Signals {
		s := &rs.Signals[i]
		fmt.Fprintf(&b, "%s required=%t demand=%t absent=%s range=%v modes=%v out[%s keep %s] in[%s] holds=%t%v\n",
			s.Name, s.Required, s.Demand, s.Absent, s.Range, s.SlotModes, condition(s.Out), s.KeepFiringFor, condition(s.In), s.HoldsSet, s.Holds)
	}
	for i := 0; i <= t; i++ {
		m := &w.ticks[i]
		fmt.Fprintf(&b, "%d %v masters=%q limits=%+v\n", i, m.raw, m.masters, m.limits)
	}
	return b.String()
}

// TestModelAgrees holds the service to the model, in worlds that can shrink.
func TestModelAgrees(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		d := rapidDice{t}
		w := drawWorld(d, drawModelRules(d), 16)
		if err := w.compare(w.verdicts(), replayed(t, w)); err != nil {
			t.Fatal(err)
		}
	})
}

// TestModelAgreesManyTimes holds the service to the model in many more and
// longer worlds, the same in every run, and shows that these reach every row.
func TestModelAgreesManyTimes(t *testing.T) {
	rows := map[scaling.RowID]int{}
	for seed := range manyWorlds {
		d := seededDice{rand.New(rand.NewPCG(uint64(seed), 1))}
		w := drawWorld(d, drawModelRules(d), 30)
		want := w.verdicts()
		if err := w.compare(want, replayed(t, w)); err != nil {
			t.Fatalf("seed %d, %s", seed, err)
		}
		for i := range want {
			rows[want[i].Row]++
		}
	}
	for _, r := range Table() {
		require.NotZero(t, rows[r.ID], "row %s was never reached", r.ID)
	}
	t.Log(rows)
}

const manyWorlds = 1500

package evaluator

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/zeta-scaler/zeta-scaler/rules"
	"github.com/zeta-scaler/zeta-scaler/scaling"
)

// drawGrowth is a world that answers: what the model recommends is granted,
// wholly or in part, at once or after a few ticks in which workers boot. Rounds
// of policy exponential mean little in worlds that go their own way.
func drawGrowth(d dice, rs *rules.RuleSet, n int) *world {
	w := drawWorld(d, rs, n)
	bounds := scaling.Bounds{Min: 1, Max: pick(d, "growth max", 30, 30, 9, scaling.Unbounded)}
	current := 1 + d.roll("growth start", 4)
	var booting []scaling.Booting
	var ramp modelRamp
	for t := range w.ticks {
		m := &w.ticks[t]
		m.raw["current"], m.raw["reporting"] = float64(current), float64(current)
		if d.roll("a sample is late", 20) == 19 {
			m.raw["reporting"]--
		}
		m.limits = scaling.Limits{Bounds: bounds, Mode: scaling.Direct, Booting: booting}
		v := w.verdictAt(t, &ramp)
		if v.Action != scaling.ScaleOut || v.Target == nil {
			continue
		}
		switch want := *v.Target; d.roll("granted", 6) {
		case 0: // refused
		case 1:
			current += (want - current + 1) / 2
		case 2, 3:
			current = want
		default:
			booting = []scaling.Booting{{Target: want, Deadline: m.at.Add(time.Duration(2*d.roll("boots for", 4)+1) * modelInterval / 2)}}
		}
	}
	return w
}

// growthRules is a rule set whose triggers come soon and stay.
func growthRules(d dice) *rules.RuleSet {
	rs := drawModelRules(d)
	rs.Step.Policy = pick(d, "growth policy", rules.StepExponential, rules.StepExponential, rules.StepDemand, rules.StepFixed)
	if d.roll("no need known", 2) == 1 {
		rs.Workers.Unsatisfied = nil
	}
	return rs
}

// TestModelAgreesOnGrowth holds the service's step policies to the model's
// while what they ask for is granted, in part or whole.
func TestModelAgreesOnGrowth(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		d := rapidDice{t}
		w := drawGrowth(d, growthRules(d), 16)
		if err := w.compare(w.verdicts(), replayed(t, w)); err != nil {
			t.Fatal(err)
		}
	})
}

// TestModelAgreesOnGrowthManyTimes is the same over many fixed worlds; rounds
// of at least eight units are among them.
func TestModelAgreesOnGrowthManyTimes(t *testing.T) {
	steps := map[string]int{}
	for seed := range manyWorlds {
		d := seededDice{rand.New(rand.NewPCG(uint64(seed), 2))}
		w := drawGrowth(d, growthRules(d), 30)
		want := w.verdicts()
		if err := w.compare(want, replayed(t, w)); err != nil {
			t.Fatalf("seed %d, %s", seed, err)
		}
		for i, v := range want {
			if v.Action == scaling.ScaleOut && followsPolicy(v.Row) {
				current, _ := w.current(i)
				steps[fmt.Sprint(w.rs.Step.Policy, " ", min((*v.Target-current)/w.rs.Step.Unit, 8))]++
			}
			for _, b := range v.Blockers {
				steps[b]++
			}
		}
	}
	require.NotZero(t, steps[string(rules.StepExponential)+" 8"])
	require.NotZero(t, steps[scaling.BlockerNextRound])
	t.Log(steps)
}

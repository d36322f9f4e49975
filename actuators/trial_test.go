package actuators_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/zeta-scaler/zeta-scaler/actuators"
	"github.com/zeta-scaler/zeta-scaler/scaling"
	"github.com/zeta-scaler/zeta-scaler/state"
)

// asking is a decision of which the conditions ask for a worker more, with what
// else held.
func (b *bench) asking(generation uint64, workers int, facts scaling.Facts, triggers ...scaling.Condition) string {
	id := b.decide(generation, scaling.ScaleOut, workers, workers+1, func(d *state.DecisionRecord) {
		d.Recommendation.TriggerConditions = triggers
	})
	rec := scaling.Recommendation{
		Scope: scopeKey, RecommendationID: id, Generation: generation, Action: scaling.ScaleOut, Row: scaling.RowShortage,
		CurrentWorkers: &workers, TriggerConditions: triggers, MetricsSnapshot: b.values,
	}
	b.x.Publish(b.t.Context(), []scaling.Evaluation{{Scope: b.cfg.Scope, Recommendation: rec, Mode: b.cfg.Mode, Tick: b.clock.t, Facts: facts}}, nil)
	return id
}

func lacking(slots float64) scaling.Condition {
	return scaling.Condition{Name: "unsatisfied_slots", Signal: "unsatisfied_slots", Class: scaling.Blocking, Value: new(scaling.Known(slots)), Comparison: ">"}
}

// brings has one worker more asked for, come, and put on trial for a minute.
func (b *bench) brings(generation uint64, workers int, facts scaling.Facts, before, after scaling.Condition) {
	b.accept(b.asking(generation, workers, 0, before))
	b.advance()
	require.Equal(b.t, workers+1, b.p.calls[len(b.p.calls)-1])
	b.p.st.Ready = workers + 1
	b.wait(15 * time.Second)
	b.asking(generation+1, workers+1, facts, after)
	b.advance()
	require.Equal(b.t, scaling.ActionSucceeded, b.record().Action.State)
	b.wait(5 * time.Minute)
	b.asking(generation+1, workers+1, facts, after)
	b.advance()
}

// Two actions that brought their workers and changed nothing hold the next.
func TestIneffectiveScalingHoldsTheNext(t *testing.T) {
	b := newBench(t, nil)
	b.brings(5, 2, 0, lacking(2), lacking(2))
	require.Empty(t, b.record().HeldFor(b.clock.t), "the first may have needed help")
	b.brings(6, 3, 0, lacking(2), lacking(2))
	require.Len(t, b.record().HeldFor(b.clock.t), 2)
	last := b.events[len(b.events)-1]
	require.Equal(t, scaling.EventIneffectiveScaling, last.Kind)
	require.Contains(t, last.Message, "what asked for them has not changed (2 → 3, 3 → 4)")

	v := b.accept(b.asking(7, 4, 0, lacking(2)))
	require.Equal(t, scaling.VerdictHeld, v.Result)
	require.Contains(t, v.Reason, "ineffective: the last actions (2 → 3, 3 → 4) brought workers and changed nothing of what asks for them")
	b.wait(30 * time.Minute)
	b.asking(7, 4, 0, lacking(2))
	b.advance()
	require.Equal(t, []int{3, 4}, b.p.calls)

	t.Run("and the floor is restored all the same", func(t *testing.T) {
		require.Equal(t, scaling.VerdictAccepted, b.accept(b.decide(8, scaling.ScaleOut, 4, 5, func(d *state.DecisionRecord) { d.Row = scaling.RowBelowMin })).Result)
	})
}

func TestIneffectiveEnds(t *testing.T) {
	for name, end := range map[string]func(*bench){
		"after an hour":                func(b *bench) { b.wait(time.Hour) },
		"when the scope is resumed":    func(b *bench) { b.put(state.Control, scopeKey, state.ControlRecord{ResumedAt: b.clock.t}) },
		"when the service is resumed":  func(b *bench) { b.put(state.Control, state.GlobalKey, state.ControlRecord{ResumedAt: b.clock.t}) },
		"when what asked asks no more": func(b *bench) { b.decide(7, scaling.NoAction, 4, 4, noTrigger); b.republish(7, 4); b.advance() },
	} {
		t.Run(name, func(t *testing.T) {
			b := newBench(t, nil)
			b.brings(5, 2, 0, lacking(2), lacking(2))
			b.brings(6, 3, 0, lacking(2), lacking(2))
			b.wait(time.Second)
			end(b)
			b.accept(b.asking(8, 4, 0, lacking(2)))
			b.advance()
			require.Equal(t, []int{3, 4, 5}, b.p.calls)
			require.True(t, b.record().IneffectiveSince.IsZero())
			require.Equal(t, name == "after an hour", len(b.record().Tried) > 0, "a person or a cleared trigger begins anew")
		})
	}
}

func noTrigger(d *state.DecisionRecord) { d.Recommendation.TriggerConditions = nil }

// republish publishes a tick at which nothing asks.
func (b *bench) republish(generation uint64, workers int) {
	rec := scaling.Recommendation{Scope: scopeKey, Generation: generation, Action: scaling.NoAction, Row: scaling.RowSteady, CurrentWorkers: &workers}
	b.x.Publish(b.t.Context(), []scaling.Evaluation{{Scope: b.cfg.Scope, Recommendation: rec, Mode: b.cfg.Mode, Tick: b.clock.t}}, nil)
}

// A shortage that shrinks, or workers that are in use, are no failure of scaling,
// however long it takes.
func TestWhatHelpsIsNotHeld(t *testing.T) {
	saturated := scaling.Condition{Name: "avg_cpu", Class: scaling.Saturation, Value: new(scaling.Known(0.93)), Comparison: ">"}
	for name, c := range map[string]struct {
		facts         scaling.Facts
		before, after scaling.Condition
	}{
		"fewer slots are lacking":        {0, lacking(8), lacking(6)},
		"all slots are taken":            {scaling.FactSlotTight, lacking(2), lacking(2)},
		"the workers are busy":           {scaling.FactSaturated, lacking(2), lacking(2)},
		"something else asks now":        {0, lacking(2), saturated},
		"busy workers, all slots in use": {scaling.FactSaturated | scaling.FactSlotTight, saturated, saturated},
	} {
		t.Run(name, func(t *testing.T) {
			b := newBench(t, nil)
			for i := range 4 {
				b.brings(uint64(5+i), 2+i, c.facts, c.before, c.after)
			}
			require.Equal(t, []int{3, 4, 5, 6}, b.p.calls)
			require.Empty(t, b.record().Tried)
			for _, e := range b.events {
				require.NotContains(t, e.Message, "has not changed")
			}
		})
	}
	t.Run("busy workers that more workers do not relieve", func(t *testing.T) {
		b := newBench(t, nil)
		b.brings(5, 2, scaling.FactSaturated, saturated, saturated)
		b.brings(6, 3, scaling.FactSaturated, saturated, saturated)
		require.NotEmpty(t, b.record().HeldFor(b.clock.t))
	})
}

// A job of 24 slots takes many workers of four; Zeta says that it lacks 24 until
// all are there. Once they are free and it still waits, they do not help.
func TestAPartOfWhatAJobNeedsIsNotIneffective(t *testing.T) {
	b := newBench(t, nil)
	free := func(slots float64) {
		b.values = map[string]scaling.Measurement{
			scaling.InputFree: {Value: scaling.Known(slots)}, "unsatisfied_slots": {Unit: scaling.UnitSlots},
		}
	}
	for i := range 4 {
		free(float64(12 + 4*i))
		b.brings(uint64(5+i), 2+i, 0, lacking(24), lacking(24))
		if i < 3 {
			require.Empty(t, b.record().Tried, "24 of 24 slots are free only with the last")
		}
	}
	require.Len(t, b.record().Tried, 1)
	b.brings(9, 6, 0, lacking(24), lacking(24))
	require.NotEmpty(t, b.record().HeldFor(b.clock.t))
}

// With a cooldown that is shorter than the window, the third waits until it is
// known what the second has changed.
func TestThirdWaitsForTheTrialOfTheSecond(t *testing.T) {
	b := newBench(t, func(c *actuators.ScopeConfig) { c.Cooldown, c.TriggerWindow = new(time.Second), time.Minute })
	b.brings(5, 2, 0, lacking(2), lacking(2))
	b.accept(b.asking(6, 3, 0, lacking(2)))
	b.advance()
	b.p.st.Ready = 4
	b.wait(15 * time.Second)
	b.asking(7, 4, 0, lacking(2))
	b.advance()
	require.Equal(t, scaling.ActionSucceeded, b.record().Action.State)
	for range 5 {
		b.wait(15 * time.Second)
		b.accept(b.asking(7, 4, 0, lacking(2)))
		b.advance()
	}
	require.Equal(t, []int{3, 4}, b.p.calls)
	require.Len(t, b.record().HeldFor(b.clock.t), 2)
}

// A new leader goes on where the older one was: what was tried is stored.
func TestIneffectiveSurvivesARestart(t *testing.T) {
	b := newBench(t, func(c *actuators.ScopeConfig) { c.Cooldown = new(time.Minute) })
	b.brings(5, 2, 0, lacking(2), lacking(2))
	b.lead(3)
	b.brings(6, 3, 0, lacking(2), lacking(2))
	b.lead(3)
	require.Equal(t, scaling.VerdictHeld, b.accept(b.asking(7, 4, 0, lacking(2))).Result)
}

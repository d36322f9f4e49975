package actuators_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/zeta-scaler/zeta-scaler/actuators"
	"github.com/zeta-scaler/zeta-scaler/scaling"
	"github.com/zeta-scaler/zeta-scaler/state"
)

func TestVerdicts(t *testing.T) {
	advisory := scaling.Advisory
	for name, c := range map[string]struct {
		cfg    func(*actuators.ScopeConfig)
		before func(*bench)
		id     string
		want   scaling.VerdictResult
	}{
		"accepted":               {want: scaling.VerdictAccepted},
		"malformed":              {id: "x", want: scaling.VerdictUnknown},
		"unknown scope":          {id: "3-1-other", want: scaling.VerdictUnknown},
		"unknown generation":     {id: "3-9-st", want: scaling.VerdictUnknown},
		"older epoch":            {id: "2-5-st", want: scaling.VerdictStaleEpoch},
		"older generation":       {id: "3-4-st", want: scaling.VerdictSuperseded},
		"hold":                   {before: func(b *bench) { b.decide(5, scaling.NoAction, 2, 2) }, want: scaling.VerdictSuperseded},
		"scale-in":               {before: func(b *bench) { b.decide(5, scaling.ScaleInCandidate, 2, 1) }, want: scaling.VerdictAdvisory},
		"advisory":               {cfg: func(c *actuators.ScopeConfig) { c.Mode = scaling.Advisory }, want: scaling.VerdictAdvisory},
		"no mode":                {cfg: func(c *actuators.ScopeConfig) { c.Mode = "" }, want: scaling.VerdictAdvisory},
		"application mode":       {cfg: func(c *actuators.ScopeConfig) { c.Deployment = scaling.Application }, want: scaling.VerdictAdvisory},
		"no actuator":            {cfg: func(c *actuators.ScopeConfig) { c.Actuator = nil }, want: scaling.VerdictAdvisory},
		"mode by control record": {before: func(b *bench) { b.put(state.Control, scopeKey, state.ControlRecord{Mode: &advisory}) }, want: scaling.VerdictAdvisory},
		"scope paused":           {before: func(b *bench) { b.put(state.Control, scopeKey, state.ControlRecord{Paused: true}) }, want: scaling.VerdictPaused},
		"service paused":         {before: func(b *bench) { b.put(state.Control, state.GlobalKey, state.ControlRecord{Paused: true}) }, want: scaling.VerdictPaused},
		"left the configuration": {before: func(b *bench) { b.x.Configure(nil) }, want: scaling.VerdictAdvisory},
	} {
		t.Run(name, func(t *testing.T) {
			b := newBench(t, c.cfg)
			id := b.decide(5, scaling.ScaleOut, 2, 3)
			if c.before != nil {
				c.before(b)
			}
			if c.id != "" {
				id = c.id
			}
			v := b.accept(id)
			require.Equal(t, c.want, v.Result, v.Reason)
			if c.want != scaling.VerdictAccepted {
				require.NotEmpty(t, v.Reason)
				b.advance()
				require.Empty(t, b.p.calls)
				return
			}
			require.Equal(t, scaling.VerdictDuplicate, b.accept(id).Result)
		})
	}
}

func TestNewerEpochIsNotAnswered(t *testing.T) {
	b := newBench(t, nil)
	id := b.decide(5, scaling.ScaleOut, 2, 3)
	_, err := b.x.Accept(t.Context(), "4-5-st")
	require.ErrorIs(t, err, state.ErrFenced)
	require.Equal(t, scaling.VerdictAccepted, b.accept(id).Result, "what somebody asks for does not end our term")
	b.advance()
	require.Len(t, b.p.calls, 1)
}

// TestValidityIsRefreshedByTheTick: a recommendation that stands is not written
// again, but its rule set's tick is.
func TestValidityIsRefreshedByTheTick(t *testing.T) {
	b := newBench(t, nil)
	id := b.decide(5, scaling.ScaleOut, 2, 3)
	b.wait(5 * time.Minute)
	b.put(state.Tick, "r", state.TickRecord{RuleSet: "r", Last: b.clock.t})
	require.Equal(t, scaling.VerdictAccepted, b.accept(id).Result)
}

func TestAnswers(t *testing.T) {
	other := &actuators.OtherWriterError{Writer: "HorizontalPodAutoscaler st/worker", Detail: "it targets the workload"}
	for name, c := range map[string]struct {
		answers []error
		blind   bool
		want    []scaling.ActionState
		calls   int
	}{
		"stale":       {[]error{actuators.ErrStale}, false, []scaling.ActionState{"PENDING", "EXECUTING", "REJECTED_STALE"}, 1},
		"refused":     {[]error{actuators.ErrRefused}, false, []scaling.ActionState{"PENDING", "EXECUTING", "FAILED"}, 1},
		"other":       {[]error{other}, false, []scaling.ActionState{"PENDING", "EXECUTING", "FAILED"}, 1},
		"retried":     {[]error{errLost, errLost}, false, []scaling.ActionState{"PENDING", "EXECUTING", "CONVERGING"}, 3},
		"given up":    {[]error{errLost, errLost, errLost, errLost, errLost}, false, []scaling.ActionState{"PENDING", "EXECUTING", "FAILED"}, 5},
		"not done":    {[]error{actuators.ErrUnknownOutcome}, false, []scaling.ActionState{"PENDING", "EXECUTING", "UNKNOWN", "EXECUTING", "CONVERGING"}, 2},
		"never known": {[]error{actuators.ErrUnknownOutcome}, true, []scaling.ActionState{"PENDING", "EXECUTING", "UNKNOWN", "FAILED"}, 1},
	} {
		t.Run(name, func(t *testing.T) {
			b := newBench(t, nil)
			b.p.answers, b.p.blind = c.answers, c.blind
			id := b.decide(5, scaling.ScaleOut, 2, 3)
			b.accept(id)
			for range 60 {
				b.advance()
				b.wait(11 * time.Second)
				if s := b.record().Action.State; s.Final() || s == scaling.ActionConverging {
					break
				}
				b.decide(5, scaling.ScaleOut, 2, 3)
			}
			require.Equal(t, c.want, b.states())
			require.Len(t, b.p.calls, c.calls)
			require.Equal(t, scaling.VerdictDuplicate, b.accept(id).Result)
			if r := b.record(); r.Action.State == scaling.ActionFailed {
				require.Equal(t, 1, r.Failures)
				require.True(t, r.BackoffUntil.After(start))
				require.Equal(t, scaling.EventScalingException, b.events[len(b.events)-1].Kind)
				require.True(t, c.blind || len(r.Booting) == 0)
			}
		})
	}
}

// TestOtherWriterUntilResumed: nothing is written until an operator resumes the
// scope after the finding, and then the present number is accepted.
func TestOtherWriterUntilResumed(t *testing.T) {
	b := newBench(t, nil)
	b.p.answers = []error{&actuators.OtherWriterError{Writer: "kubectl"}}
	b.accept(b.decide(5, scaling.ScaleOut, 2, 3))
	b.advance()
	require.Equal(t, "kubectl", b.record().OtherWriter)
	b.wait(time.Hour)
	require.Equal(t, scaling.VerdictHeld, b.accept(b.decide(6, scaling.ScaleOut, 2, 3)).Result)
	b.advance()
	require.Len(t, b.p.calls, 1)
	b.put(state.Control, scopeKey, state.ControlRecord{ResumedAt: b.clock.t})
	b.advance()
	require.Len(t, b.p.calls, 2)
	require.True(t, b.p.fences[1].AcceptPresent)
	require.Empty(t, b.record().OtherWriter)
}

func TestRounds(t *testing.T) {
	b := newBench(t, func(c *actuators.ScopeConfig) { c.Rounds = true })
	first := b.decide(5, scaling.ScaleOut, 2, 3)
	b.accept(first)
	b.advance()
	second := b.decide(6, scaling.ScaleOut, 2, 5)
	require.Equal(t, first, b.accept(second).ActionID, "a later round is the same action")
	b.advance()
	require.Equal(t, []int{3, 5}, b.p.calls)
	require.Equal(t, []string{first}, b.record().Action.Rounds)
	b.p.st.Ready = 5
	b.wait(15 * time.Second)
	third := b.decide(7, scaling.ScaleOut, 5, 9)
	b.advance()
	require.Equal(t, scaling.ActionSucceeded, b.record().Action.State)
	require.Equal(t, scaling.VerdictAccepted, b.accept(third).Result, "the cooldown does not hold up a round")
	b.advance()
	require.Equal(t, []int{3, 5, 9}, b.p.calls)
	b.converged(8, 9) // a hold: the episode is over
	b.decide(8, scaling.NoAction, 9, 9)
	b.advance()
	require.Equal(t, scaling.VerdictHeld, b.accept(b.decide(9, scaling.ScaleOut, 9, 10)).Result)
}

func TestNothingToDo(t *testing.T) {
	t.Run("platform ahead", func(t *testing.T) {
		b := newBench(t, nil)
		b.p.st = actuators.State{Desired: 7, Ready: 7}
		b.accept(b.decide(5, scaling.ScaleOut, 3, 3))
		b.advance()
		require.Equal(t, []scaling.ActionState{"PENDING", "SUCCEEDED"}, b.states())
		require.Equal(t, scaling.ConditionPlatformAhead, b.record().Action.Condition)
		require.Empty(t, b.p.calls)
	})
	t.Run("inventory behind", func(t *testing.T) {
		b := newBench(t, nil)
		b.p.st = actuators.State{Desired: 7, Ready: 7}
		b.accept(b.decide(5, scaling.ScaleOut, 2, 3))
		b.advance()
		require.Equal(t, []scaling.ActionState{"PENDING", "CONVERGING"}, b.states())
		require.Empty(t, b.p.calls)
	})
	t.Run("dry run", func(t *testing.T) {
		b := newBench(t, nil)
		b.p.dry = true
		b.accept(b.decide(5, scaling.ScaleOut, 2, 3))
		b.advance()
		r := b.record()
		require.Equal(t, scaling.ActionSucceeded, r.Action.State)
		require.Empty(t, r.Booting)
		require.True(t, r.CooldownUntil.IsZero())
	})
}

func TestResolvedBeforeItBegan(t *testing.T) {
	b := newBench(t, nil)
	id := b.decide(5, scaling.ScaleOut, 2, 3)
	b.accept(id)
	v, err := b.x.Resolve(t.Context(), id)
	require.NoError(t, err)
	require.Equal(t, scaling.VerdictResolved, v.Result)
	require.Equal(t, scaling.ActionCancelled, v.State)
	b.advance()
	require.Empty(t, b.p.calls)
}

// TestBoundsAreLookedUpBeforeTheCall: what an operator has lowered between the
// decision and the call is not asked for any more, however late that was.
func TestBoundsAreLookedUpBeforeTheCall(t *testing.T) {
	four := 4
	lower := func(b *bench) { b.put(state.Control, scopeKey, state.ControlRecord{MaxWorkers: &four}) }
	reload := func(b *bench) {
		b.cfg.Bounds = scaling.Bounds{Min: 1, Max: 4}
		b.x.Configure([]actuators.ScopeConfig{b.cfg})
	}
	for name, change := range map[string]func(*bench){"by the API": lower, "by a reload": reload} {
		for _, at := range []scaling.ActionState{scaling.ActionPending, scaling.ActionExecuting} {
			t.Run(name+" when "+string(at), func(t *testing.T) {
				b := newBench(t, nil)
				b.onEvent = func(e scaling.Event) {
					if e.Execution.State == at {
						change(b)
					}
				}
				id := b.decide(5, scaling.ScaleOut, 2, 5)
				b.accept(id)
				b.advance()
				require.Empty(t, b.p.calls)
				last := b.events[len(b.events)-1].Execution
				require.Equal(t, scaling.ActionCancelled, last.State)
				require.Equal(t, "max_workers is 4 by now, and 5 were to be asked for", last.Transitions[len(last.Transitions)-1].Reason)
				require.False(t, b.record().ActionInFlight)
				require.Empty(t, b.record().Booting)
				require.Equal(t, scaling.VerdictSuperseded, b.accept(id).Result)
				b.onEvent = nil
				b.accept(b.decide(6, scaling.ScaleOut, 2, 4))
				b.advance()
				require.Equal(t, []int{4}, b.p.calls)
			})
		}
	}
}

// TestPausedBeforeItBegan and nothing is called.
func TestPausedBeforeItBegan(t *testing.T) {
	b := newBench(t, nil)
	b.accept(b.decide(5, scaling.ScaleOut, 2, 3))
	b.put(state.Control, scopeKey, state.ControlRecord{Paused: true})
	b.advance()
	require.Empty(t, b.p.calls)
	require.Nil(t, b.record().Held)
	require.Equal(t, scaling.ActionCancelled, b.events[len(b.events)-1].Execution.State)
}

func TestDirectMode(t *testing.T) {
	b := newBench(t, func(c *actuators.ScopeConfig) { c.Mode = scaling.Direct })
	b.decide(5, scaling.ScaleOut, 2, 3)
	b.advance()
	b.decide(5, scaling.ScaleOut, 2, 3)
	b.advance()
	require.Equal(t, []int{3}, b.p.calls)
}

// TestOlderLeaderStops: what a new leader has taken over, an old one can no
// longer write.
func TestOlderLeaderStops(t *testing.T) {
	b := newBench(t, nil)
	b.accept(b.decide(5, scaling.ScaleOut, 2, 3))
	old := b.x
	b.lead(4)
	b.advance()
	require.ErrorIs(t, old.Advance(t.Context()), state.ErrFenced)
	require.Empty(t, b.p.calls)
	require.Nil(t, b.record().Held)
	_, err := old.Accept(t.Context(), "3-5-st")
	require.ErrorIs(t, err, state.ErrFenced, "and it stays so")
}

// TestHeldActionNamesWhatHoldsItNow: what held it when it was accepted may be
// over while something else holds it.
func TestHeldActionNamesWhatHoldsItNow(t *testing.T) {
	b := newBench(t, nil)
	b.accept(b.decide(5, scaling.ScaleOut, 2, 3))
	b.advance()
	next := b.decide(6, scaling.ScaleOut, 2, 4)
	require.Equal(t, "an action is in flight", b.accept(next).Reason)
	b.p.st.Ready = 3
	b.wait(15 * time.Second)
	b.decide(6, scaling.ScaleOut, 3, 4)
	b.advance()
	r := b.record()
	require.Equal(t, scaling.ActionSucceeded, r.Action.State)
	require.Len(t, r.Held.Transitions, 1)
	require.Equal(t, "cooldown until "+r.CooldownUntil.UTC().Format(time.RFC3339), r.Held.Transitions[0].Reason)
}

// While the loop is late nothing is answered that the next tick may refute, and
// nothing is called off for it: Alertmanager asks once.
func TestLateLoop(t *testing.T) {
	t.Run("accept", func(t *testing.T) {
		b := newBench(t, nil)
		id := b.decide(5, scaling.ScaleOut, 2, 3)
		b.wait(time.Minute)
		_, err := b.x.Accept(t.Context(), id)
		require.ErrorIs(t, err, state.ErrLate)
		require.ErrorContains(t, err, "valid until")
		b.advance()
		require.Empty(t, b.p.calls)
		require.Equal(t, id, b.decide(5, scaling.ScaleOut, 2, 3), "the next tick says the same")
		require.Equal(t, scaling.VerdictAccepted, b.accept(id).Result)
		b.advance()
		require.Equal(t, []int{3}, b.p.calls)
	})
	t.Run("what is certain is answered", func(t *testing.T) {
		b := newBench(t, nil)
		id := b.decide(5, scaling.ScaleOut, 2, 3)
		b.wait(time.Minute)
		b.put(state.Control, scopeKey, state.ControlRecord{Paused: true})
		require.Equal(t, scaling.VerdictPaused, b.accept(id).Result)
		require.Equal(t, scaling.VerdictSuperseded, b.accept(scaling.RecommendationID(3, 4, scopeKey)).Result)
	})
	t.Run("held", func(t *testing.T) {
		b := newBench(t, nil)
		id := b.decide(5, scaling.ScaleOut, 2, 3)
		require.Equal(t, scaling.VerdictAccepted, b.accept(id).Result)
		b.wait(time.Minute)
		b.advance()
		require.Empty(t, b.p.calls)
		require.Equal(t, scaling.ActionPending, b.record().Held.State)
		require.Contains(t, b.record().Held.Transitions[0].Reason, "the decision loop is late")
		b.decide(5, scaling.ScaleOut, 2, 3)
		b.advance()
		require.Equal(t, []int{3}, b.p.calls)
	})
}

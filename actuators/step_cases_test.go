package actuators

import (
	"context"
	"errors"
	"time"

	"github.com/zeta-scaler/zeta-scaler/scaling"
	"github.com/zeta-scaler/zeta-scaler/state"
)

// What TestEveryStateWithEveryInput combines. Epoch 3 leads and generation 5
// asks for 3 workers.

var noon = time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)

const (
	oldID = "2-9-st"
	ownID = "3-5-st"
)

func caseAction(id string, epoch, generation uint64, path ...scaling.ActionState) *scaling.Execution {
	a := &scaling.Execution{
		ID: id, RecommendationID: id, Scope: "st", MasterEpoch: epoch, Generation: generation, Row: scaling.RowShortage, Target: 3, Actuator: "test",
	}
	for i, s := range path {
		a.State = s
		a.Transitions = append(a.Transitions, scaling.Transition{State: s, At: noon.Add(time.Duration(i-10) * time.Second)})
	}
	return a
}

// caseRecords are all states, by what else makes a difference to them.
func caseRecords() map[string]state.ExecutionRecord {
	out := map[string]state.ExecutionRecord{"nothing": {}}
	booting := []scaling.Booting{{Target: 3, Deadline: noon.Add(time.Minute)}}
	for name, id := range map[string]string{"own": ownID, "inherited": oldID} {
		epoch, generation := uint64(3), uint64(5)
		if id == oldID {
			epoch, generation = 2, 9
		}
		action := func(path ...scaling.ActionState) *scaling.Execution {
			return caseAction(id, epoch, generation, path...)
		}
		held := action(scaling.ActionPending)
		succeeded := caseAction("3-4-st", 3, 4, scaling.ActionPending, scaling.ActionExecuting, scaling.ActionConverging, scaling.ActionSucceeded)
		open := func(a *scaling.Execution, b []scaling.Booting) state.ExecutionRecord {
			return state.ExecutionRecord{ActionInFlight: true, Action: a, Booting: b, Deadline: noon.Add(time.Minute)}
		}
		round := action(scaling.ActionPending, scaling.ActionExecuting, scaling.ActionConverging, scaling.ActionExecuting)
		round.Rounds, round.Target = []string{id}, 4
		round.RecommendationID = id + "x"
		for s, r := range map[string]state.ExecutionRecord{
			"pending":          {Held: held},
			"pending, cooling": {Held: held, Action: succeeded, CooldownUntil: noon.Add(time.Minute), Trial: &state.Trial{CheckAt: noon}, Tried: []scaling.Tried{{To: 2}}},
			"pending, failed":  {Held: held, BackoffUntil: noon.Add(time.Minute), Failures: 2},
			"pending, writer":  {Held: held, OtherWriter: "kubectl", OtherWriterSince: noon.Add(-time.Minute)},
			"executing":        open(action(scaling.ActionPending, scaling.ActionExecuting), booting),
			"unannounced":      open(action(scaling.ActionPending, scaling.ActionExecuting), nil),
			"round":            open(round, booting),
			"unknown":          open(action(scaling.ActionPending, scaling.ActionExecuting, scaling.ActionUnknown), booting),
			"converging":       open(action(scaling.ActionPending, scaling.ActionExecuting, scaling.ActionConverging), booting),
		} {
			r.Epoch = 3
			if s == "converging" {
				r.Action.Error, r.EpisodeOver = "an attempt before", true
			}
			if s == "pending" {
				r.EpisodeOver = true
			}
			out[name+" "+s] = r
			if s == "executing" || s == "pending, cooling" {
				ahead := r
				far := noon.Add(400 * 24 * time.Hour)
				ahead.CooldownUntil, ahead.BackoffUntil, ahead.Deadline, ahead.NextAttempt = far, far, far, far
				ahead.OtherWriterSince, ahead.IneffectiveSince, ahead.Trial = far, far, &state.Trial{CheckAt: far}
				ahead.Booting = []scaling.Booting{{Target: 3, Deadline: far}}
				ahead.Seen = []state.Seen{{Workers: 9, At: far}}
				if s != "executing" {
					ahead.Deadline = time.Time{}
				}
				out[name+" "+s+", the clock was ahead"] = ahead
			}
			if s == "executing" || s == "converging" {
				r.Held = caseAction("3-6-st", 3, 6, scaling.ActionPending)
				r.Attempts, r.NextAttempt = 4, noon.Add(-time.Second)
				out[name+" "+s+", another waits"] = r
			}
		}
		earlier := action(scaling.ActionPending, scaling.ActionExecuting, scaling.ActionConverging)
		earlier.ID, earlier.RecommendationID, earlier.Generation = "3-4-st", "3-4-st", 4
		out[name+" converging, may be raised"] = open(earlier, booting)
		for _, s := range scaling.ActionStates() {
			if s.Final() {
				out[name+" "+string(s)] = state.ExecutionRecord{Epoch: 3, Action: action(scaling.ActionPending, s)}
			}
		}
	}
	return out
}

// caseInputs are all inputs, by what else makes a difference to them. They
// answer effects of what is done now.
func caseInputs(about effect) []input {
	var out []input
	for _, k := range inputKinds() {
		in := input{kind: k, recommendation: ownID, about: about}
		switch k {
		case observed:
			for _, st := range []State{
				{},
				{Desired: 2, Ready: 2},
				{Desired: 3, Ready: 2},
				{Desired: 3, Ready: 3},
				{Desired: 9, Ready: 9},
				{Desired: 2, OtherWriter: "kubectl"},
				{Desired: 2, Fence: Fence{Epoch: 4}},
				{Desired: 2, Fence: Fence{Epoch: 2, RecommendationID: oldID}},
			} {
				in.platform = st
				out = append(out, in)
			}
			continue
		case unobserved, unclaimed, unwithdrawn, lost, failed, refused:
			for _, err := range []error{
				errors.New("connection refused"), ErrStale, ErrRefused, ErrUnsupported, ErrUnknownOutcome, context.DeadlineExceeded, &OtherWriterError{Writer: "kubectl"},
			} {
				in.err = err
				out = append(out, in)
			}
			continue
		case accept, resolve:
			for _, id := range []string{"", "3-4-st", oldID, "3-6-st", "4-1-st"} {
				in.recommendation = id
				out = append(out, in)
			}
			in.recommendation = ownID
		}
		out = append(out, in)
	}
	return out
}

// caseViews are what a step may see beside its progress.
func caseViews() []*view {
	var configs []*ScopeConfig
	for _, c := range []ScopeConfig{
		{Mode: scaling.Webhook, Actuator: noActuator{}},
		{Mode: scaling.Direct, Actuator: noActuator{}, Rounds: true, TriggerWindow: time.Minute},
		{Mode: scaling.Advisory},
	} {
		c.Kind = "test"
		c = c.withDefaults()
		configs = append(configs, &c)
	}
	left := *configs[0]
	left.Mode = ""
	configs = append(configs, &left, nil)
	two, nine := 2, 9
	ticks := []tick{
		{},
		{at: noon, workers: &two, action: scaling.ScaleOut, row: scaling.RowShortage, mode: scaling.Direct, recommendation: ownID, generation: 5},
		{at: noon, workers: &nine, action: scaling.NoAction, generation: 6, enoughAt: noon},
	}
	control := func(c state.ControlRecord) stored {
		return stored{Standing: state.Standing{
			Found: true, Control: c, ValidUntil: noon.Add(time.Minute),
			Decision: state.DecisionRecord{Epoch: 3, Generation: 5, Row: scaling.RowShortage, Intent: scaling.IntentOf(scaling.ScaleOut, 3), RecommendationID: ownID},
		}}
	}
	more := control(state.ControlRecord{})
	more.Decision.Intent.Target = 9
	more.Decision.Recommendation.TriggerConditions = []scaling.Condition{{Name: "blocked"}}
	newer := control(state.ControlRecord{})
	newer.Decision.Generation, newer.Decision.Epoch = 6, 4
	expired := control(state.ControlRecord{})
	expired.ValidUntil = noon
	draining := control(state.ControlRecord{})
	draining.drain.Open = &scaling.Drain{ID: "3-4-st", Worker: "w-2", State: scaling.DrainDraining}
	all := []stored{
		{},
		draining,
		control(state.ControlRecord{}), control(state.ControlRecord{Paused: true}),
		control(state.ControlRecord{ResumedAt: noon}), control(state.ControlRecord{MaxWorkers: new(2)}), more, newer, expired,
	}
	var out []*view
	for _, now := range []time.Time{noon, noon.Add(time.Hour)} {
		for _, c := range configs {
			for _, can := range []Capabilities{{}, {Observes: true}, {Observes: true, Withdraws: true, Poll: time.Second}, {DryRun: true}} {
				for _, t := range ticks {
					for _, s := range all {
						if now.After(noon) {
							if s.Control.Paused || s.Decision.Generation != 5 {
								continue
							}
							s.ValidUntil = s.ValidUntil.Add(time.Hour)
						}
						v := &view{
							now: now, epoch: 3, scope: "st", cfg: c, tick: t, stored: s, jitter: 0.5,
						}
						if c != nil && c.Actuator != nil {
							v.can, v.claims = can, can.Observes
						}
						out = append(out, v)
					}
				}
			}
		}
	}
	return out
}

// noActuator is never called.
type noActuator struct{ Actuator }

func inputKinds() []inputKind {
	return []inputKind{look, accept, resolve, takeOver, gone, observed, unobserved, claimed, unclaimed, withdrawn, unwithdrawn, taken, lost, failed, refused}
}

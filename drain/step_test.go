package drain

import (
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/zeta-scaler/zeta-scaler/scaling"
	"github.com/zeta-scaler/zeta-scaler/zeta/control"
)

// legal are the arrows of the machine.
var legal = map[scaling.DrainState][]scaling.DrainState{
	"":                   {scaling.DrainPending},
	scaling.DrainPending: {scaling.DrainDraining, scaling.DrainActive},
	scaling.DrainDraining: {
		scaling.DrainDraining, scaling.DrainDrained, scaling.DrainFailed, scaling.DrainActive,
	},
	scaling.DrainDrained: {
		scaling.DrainDraining, scaling.DrainDrained, scaling.DrainDecommissioning, scaling.DrainFailed, scaling.DrainActive,
	},
	scaling.DrainDecommissioning: {
		scaling.DrainDecommissioning, scaling.DrainDecommissioned, scaling.DrainFailed, scaling.DrainActive,
	},
	scaling.DrainFailed: {scaling.DrainActive},
}

// TestEveryStateWithEveryInput folds every input into every state, under every
// view, and holds each step to what the machine promises.
func TestEveryStateWithEveryInput(t *testing.T) {
	steps, effects, states := 0, map[effectKind]int{}, map[scaling.DrainState]int{}
	views := caseViews()
	for name, before := range caseProgress() {
		kept := step(before, &view{}, input{kind: look}).progress // a clone
		kept.DrainRecord, kept.attempts = before.DrainRecord, before.attempts.cloned()
		copied := cloned(before.Open)
		for inName, in := range caseInputs(before.Open) {
			for _, v := range views {
				o := step(before, v, in)
				steps++
				effects[o.effect.kind]++
				if o.Open != nil {
					states[o.Open.State]++
				}
				if problem := broken(before, v, in, o); problem != "" {
					require.Fail(t, problem, "%s × %s under %+v", name, inName, v)
				}
				if !comesToRest(o) {
					require.Fail(t, "the machine spins", "%s × %s under %+v", name, inName, v)
				}
			}
		}
		require.Equal(t, copied, before.Open, "a step has changed what it was given")
		require.Equal(t, kept.attempts, before.attempts, "a step has changed what it was given")
	}
	t.Logf("%d steps, effects %v, states %v", steps, effects, states)
	for _, k := range []effectKind{rest, again, choose, survey, follow, stop, restore, hold, unhold, release, forget} {
		require.Positive(t, effects[k], k)
	}
}

// comesToRest follows a machine to which nothing happens but what it does itself.
func comesToRest(o *outcome) bool {
	for range 12 {
		if o.effect.kind != again {
			return true
		}
		o = step(o.progress, o.view, o.input)
	}
	return false
}

// broken says which promise a step does not keep.
func broken(before progress, v *view, in input, o *outcome) string {
	for _, problem := range []string{
		brokenTransition(before, o), brokenEffect(before, v, in, o), brokenJobs(before, in, o), brokenEnd(before, o),
	} {
		if problem != "" {
			return problem
		}
	}
	return ""
}

// brokenTransition: only the arrows of the machine, each told.
func brokenTransition(before progress, o *outcome) string {
	for _, d := range []*scaling.Drain{o.Open, o.Last} {
		if d == nil || d == before.Last {
			continue
		}
		had := 0
		if before.Open != nil && before.Open.ID == d.ID {
			had = len(before.Open.Transitions)
		}
		for i := had; i < len(d.Transitions); i++ {
			from := scaling.DrainState("")
			if i > 0 {
				from = d.Transitions[i-1].State
			}
			if !slices.Contains(legal[from], d.Transitions[i].State) {
				return fmt.Sprintf("%s → %s", from, d.Transitions[i].State)
			}
			if !slices.ContainsFunc(o.told, func(t told) bool { return strings.HasPrefix(t.message, string(d.Transitions[i].State)) }) {
				return fmt.Sprintf("%s was not told", d.Transitions[i].State)
			}
		}
		if n := len(d.Transitions); n > 0 && d.Transitions[n-1].State != d.State {
			return fmt.Sprintf("it is %s and its last transition %s", d.State, d.Transitions[n-1].State)
		}
	}
	return ""
}

// brokenEffect: nothing is done before it is stored, and nobody is asked for
// something that the record does not say.
func brokenEffect(before progress, v *view, in input, o *outcome) string {
	e := o.effect
	changes := slices.Contains([]effectKind{stop, restore, hold, unhold, release}, e.kind)
	switch {
	case o.changed && e.kind != again && e.kind != forget:
		return fmt.Sprintf("effect %q goes with a record that is not stored", e.kind)
	case e.kind == rest && !e.until.IsZero() && !e.until.After(v.now):
		return "it rests until a time that has passed"
	case changes && in.kind != kept:
		return fmt.Sprintf("input %q leads to %q, which was not stored before", in.kind, e.kind)
	case changes && o.Open == nil:
		return fmt.Sprintf("%q without a drain", e.kind)
	case e.kind == forget && o.Open != nil:
		return "an open drain is forgotten"
	}
	if !changes {
		return ""
	}
	d := o.Open
	for _, id := range e.jobs {
		at := slices.IndexFunc(d.Jobs, func(j scaling.DrainJob) bool { return j.ID == id })
		switch {
		case e.kind == unhold:
		case at < 0:
			return fmt.Sprintf("%q of job %s, which is none of the drain's", e.kind, id)
		case e.kind == stop && (d.Jobs[at].Step != scaling.JobStopping || d.Jobs[at].Mode == string(control.Batch)):
			return fmt.Sprintf("job %s, which is %s, is stopped", id, d.Jobs[at].Step)
		case e.kind == restore && d.Jobs[at].Step != scaling.JobRestoring:
			return fmt.Sprintf("job %s, which is %s, is restored", id, d.Jobs[at].Step)
		}
	}
	switch {
	case (e.kind == stop || e.kind == hold || e.kind == release) && d.GivenUp != "" && !e.back:
		return fmt.Sprintf("%q while it goes back", e.kind)
	case e.kind == hold && d.HoldJob == "":
		return "slots are held without a job's id in the record"
	case e.kind == release && (d.State != scaling.DrainDecommissioning || d.ReleasedAt.IsZero()):
		return "a worker is released in " + string(d.State)
	case e.kind == release && d.Held && have(d, scaling.JobWaiting, scaling.JobMoving, scaling.JobStopping, scaling.JobStopped, scaling.JobRestoring):
		return "a worker is released before its jobs run elsewhere"
	case e.kind == release && have(d, scaling.JobWaiting, scaling.JobMoving, scaling.JobStopping):
		return "a worker is released with jobs on it"
	case (e.kind == stop && !e.back || e.kind == hold) && (v.stored.PausedAt(v.now) || v.growth() != ""):
		return fmt.Sprintf("%q although it is called off", e.kind)
	}
	_ = before
	return ""
}

// brokenJobs: a job's steps go forwards, and it is never to be submitted again
// while Zeta says that it has not ended, or says nothing.
func brokenJobs(before progress, in input, o *outcome) string {
	if before.Open == nil || o.Open == nil || before.Open.ID != o.Open.ID {
		return ""
	}
	for _, now := range o.Open.Jobs {
		at := slices.IndexFunc(before.Open.Jobs, func(j scaling.DrainJob) bool { return j.ID == now.ID })
		if at < 0 {
			continue
		}
		was := before.Open.Jobs[at]
		if now.Attempts <= was.Attempts {
			continue
		}
		a := in.seen.each[now.ID]
		switch {
		case in.kind != followed:
			return fmt.Sprintf("job %s is submitted by input %q", now.ID, in.kind)
		case a.err != nil && !errors.Is(a.err, control.ErrNoJob):
			return fmt.Sprintf("job %s is submitted although nothing is known of it: %v", now.ID, a.err)
		case a.err == nil && !a.job.Status.Ended():
			return fmt.Sprintf("job %s is submitted while it is %s", now.ID, a.job.Status)
		case a.err == nil && (a.job.Status == control.Canceled || a.job.Status == control.Finished):
			return fmt.Sprintf("job %s, which is %s, begins anew", now.ID, a.job.Status)
		}
	}
	return ""
}

// brokenEnd: what is over is in the history, and leaves no job behind.
func brokenEnd(before progress, o *outcome) string {
	if before.Open == nil || o.Open != nil && o.Open.ID == before.Open.ID {
		return ""
	}
	at := slices.IndexFunc(o.ended, func(d *scaling.Drain) bool { return d.ID == before.Open.ID })
	if at < 0 {
		return "a drain is gone, and not in the history"
	}
	d := o.ended[at]
	switch {
	case !d.State.Over():
		return "it ended as " + string(d.State)
	case have(d, scaling.JobStopping, scaling.JobStopped, scaling.JobRestoring):
		return "it is over, and a job of it does not run"
	case d.State == scaling.DrainActive && d.HoldJob != "":
		return "it is over, and slots are still held"
	case d.State == scaling.DrainActive && d.GivenUp == "":
		return "it went back without a reason"
	case !reflect.DeepEqual(o.Last, d):
		return "what ended is not the last one"
	}
	return ""
}

// TestRestoredOnlyWhenItLives: RUNNING alone is no proof.
func TestRestoredOnlyWhenItLives(t *testing.T) {
	v := caseViews()[0]
	p := caseProgress()["drained, held, restoring"]
	look := func(p progress, at time.Duration, status control.Status, read int64) progress {
		now := *v
		now.now = v.now.Add(at)
		in := caseInput(p.Open, followed)
		in.seen = caseReading(p.Open)
		in.seen.each["4501"] = answer{job: control.Job{ID: "4501", Status: status, Received: read}}
		return step(p, &now, in).progress
	}
	stepOf := func(p progress) scaling.DrainStep { return p.Open.Jobs[0].Step }

	idle := look(p, time.Second, control.Running, 7)
	require.Equal(t, scaling.JobRestoring, stepOf(idle))
	require.Equal(t, scaling.JobRestoring, stepOf(look(idle, 9*time.Second, control.Running, 7)))
	require.Equal(t, scaling.JobRestored, stepOf(look(idle, 13*time.Second, control.Running, 7)), "it may read nothing for long")
	require.Equal(t, scaling.JobRestored, stepOf(look(idle, 2*time.Second, control.Running, 8)), "it reads")

	failed := look(idle, 10*time.Second, control.Failed, 7)
	require.Equal(t, scaling.JobRestoring, stepOf(failed))
	require.True(t, failed.Open.Jobs[0].RunAt.IsZero())
	require.Contains(t, failed.Open.Jobs[0].Error, "FAILED")
	require.Equal(t, 1, failed.Open.Jobs[0].Attempts)
	later := look(failed, time.Minute, control.Failed, 7)
	require.Equal(t, 2, later.Open.Jobs[0].Attempts)
	require.Equal(t, slices.Sorted(maps.Keys(map[string]bool{})), slices.Sorted(maps.Keys(later.attempts.absent)))
}

// Where Zeta tells of checkpoints, the first one is waited for, and a job that began
// anew is told.
func TestAJobThatBeganAnewIsTold(t *testing.T) {
	v := caseViews()[0]
	for name, tc := range map[string]struct {
		checkpoint int64
		step       scaling.DrainStep
		harmed     bool
	}{
		"it went on":              {18, scaling.JobRestored, false},
		"no checkpoint yet":       {17, scaling.JobRestoring, false},
		"none that Zeta tells of": {0, scaling.JobRestoring, false},
		"it began anew":           {1, scaling.JobRestored, true},
	} {
		t.Run(name, func(t *testing.T) {
			p := caseProgress()["drained, held, restoring"]
			p.Open = cloned(p.Open)
			p.Open.Jobs[0].Checkpoint, p.Open.Jobs[0].RunAt = 17, v.now.Add(-time.Second)
			p.attempts.received = map[string]int64{"4501": 3}
			in := caseInput(p.Open, followed)
			in.seen = caseReading(p.Open)
			in.seen.each["4501"] = answer{job: control.Job{ID: "4501", Status: control.Running, Received: 5, Checkpoint: tc.checkpoint}}
			o := step(p, v, in)
			require.Equal(t, tc.step, o.Open.Jobs[0].Step)
			require.Equal(t, tc.harmed, len(o.Open.Harm) == 1)
			require.Equal(t, tc.harmed, slices.ContainsFunc(o.told, func(e told) bool { return e.kind == scaling.EventDrainException }))
		})
	}
}

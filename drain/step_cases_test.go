package drain

import (
	"errors"
	"fmt"
	"time"

	"github.com/zeta-scaler/zeta-scaler/actuators"
	"github.com/zeta-scaler/zeta-scaler/scaling"
	"github.com/zeta-scaler/zeta-scaler/state"
	"github.com/zeta-scaler/zeta-scaler/zeta/control"
)

// What TestEveryStateWithEveryInput combines. Epoch 3 leads and generation 5 asks
// for one worker less.

var caseNoon = time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)

const (
	ownID  = "3-5-st"
	holdID = "1767268800000000" // caseNoon
)

// nothing is an actuator that is never called.
type nothing struct{ actuators.Actuator }

// noEngine and noConfigs are never called.
type (
	noEngine  struct{ Engine }
	noConfigs struct{ Configs }
)

func caseDrain(path ...scaling.DrainState) *scaling.Drain {
	d := &scaling.Drain{
		ID: ownID, Scope: "st", RecommendationID: ownID, Generation: 5, MasterEpoch: 3, Actuator: "test",
		Worker: "w-2", Address: "w-2:5801", Slots: 4, Deadline: caseNoon.Add(10 * time.Minute),
	}
	for i, s := range path {
		d.State = s
		d.Transitions = append(d.Transitions, scaling.DrainTransition{State: s, At: caseNoon.Add(time.Duration(i-30) * time.Second), Reason: "r"})
	}
	return d
}

// caseJobs are the steps that jobs have together.
func caseJobs() map[string][]scaling.DrainJob {
	job := func(id string, s scaling.DrainStep) scaling.DrainJob {
		j := scaling.DrainJob{ID: id, Name: "job-" + id, Mode: "STREAMING", Step: s}
		ago := func(d time.Duration) time.Time { return caseNoon.Add(-d) }
		switch s {
		case scaling.JobWaiting:
			j.Mode = "BATCH"
		case scaling.JobStopping:
			j.StopAt, j.Stops, j.AskedAt = ago(11*time.Second), 1, ago(11*time.Second)
		case scaling.JobStopped:
			j.StopAt, j.Stops, j.AskedAt = ago(11*time.Second), 1, ago(11*time.Second)
		case scaling.JobRestoring:
			j.StopAt, j.Stops, j.AskedAt, j.Attempts = ago(11*time.Second), 1, ago(4*time.Second), 1
		case scaling.JobRestored:
			j.StopAt, j.Stops, j.RunAt, j.Attempts = ago(11*time.Second), 1, ago(9*time.Second), 1
		}
		return j
	}
	twice := job("4501", scaling.JobStopping)
	twice.Stops = 2
	due := job("4501", scaling.JobRestoring)
	due.NextAttempt = caseNoon.Add(-time.Second)
	ahead := job("4501", scaling.JobRestoring)
	ahead.AskedAt, ahead.NextAttempt, ahead.StopAt, ahead.RunAt = caseNoon.AddDate(1, 0, 0), caseNoon.AddDate(1, 0, 0), caseNoon.AddDate(1, 0, 0), caseNoon.AddDate(1, 0, 0)
	return map[string][]scaling.DrainJob{
		"none":                 nil,
		"waiting":              {job("4501", scaling.JobWaiting), job("4502", scaling.JobMoving)},
		"moving":               {job("4501", scaling.JobMoving)},
		"stopping":             {job("4501", scaling.JobStopping), job("4502", scaling.JobStopped)},
		"stopping twice":       {twice, job("4502", scaling.JobStopped)},
		"stopped":              {job("4501", scaling.JobStopped)},
		"restoring":            {job("4501", scaling.JobRestoring)},
		"restoring, due":       {due},
		"the clock was ahead":  {ahead},
		"restored":             {job("4501", scaling.JobRestored), job("4502", scaling.JobFinished)},
		"finished":             {job("4501", scaling.JobFinished)},
		"restored and stopped": {job("4501", scaling.JobStopped), job("4502", scaling.JobRestored)},
	}
}

// caseProgress are all states, by what else makes a difference to them.
func caseProgress() map[string]progress {
	record := func(d *scaling.Drain) progress {
		return progress{DrainRecord: state.DrainRecord{Epoch: 3, Open: d}}
	}
	out := map[string]progress{
		"nothing": {}, "over": {DrainRecord: state.DrainRecord{Epoch: 3, Last: caseDrain(scaling.DrainPending, scaling.DrainActive)}},
	}
	pending := caseDrain(scaling.DrainPending)
	pending.Worker, pending.Address, pending.Deadline = "", "", time.Time{}
	out["pending"] = record(pending)
	cooling := record(cloned(pending))
	cooling.CooldownUntil, cooling.BackoffUntil, cooling.Failures = caseNoon.Add(time.Minute), caseNoon.AddDate(1, 0, 0), 2
	out["pending, cooling"] = cooling
	byHand := cloned(pending)
	byHand.ID, byHand.RecommendationID, byHand.By, byHand.Worker, byHand.Deadline = "drain-3-1-st", "", "ops", "w-2", caseNoon.Add(time.Minute)
	out["pending, by hand"] = record(byHand)
	older := cloned(pending)
	older.MasterEpoch, older.Generation = 2, 9
	out["pending, an older leader's"] = record(older)

	for name, jobs := range caseJobs() {
		with := func(d *scaling.Drain, change func(d *scaling.Drain)) progress {
			d.Jobs = jobs
			if change != nil {
				change(d)
			}
			p := record(cloned(d))
			p.attempts.absent = map[string]time.Time{"4501": caseNoon.Add(-time.Minute)}
			return p
		}
		draining := func() *scaling.Drain { return caseDrain(scaling.DrainPending, scaling.DrainDraining) }
		drained := func() *scaling.Drain {
			return caseDrain(scaling.DrainPending, scaling.DrainDraining, scaling.DrainDrained)
		}
		leaving := func() *scaling.Drain {
			d := caseDrain(scaling.DrainPending, scaling.DrainDraining, scaling.DrainDrained, scaling.DrainDecommissioning)
			d.ReleasedAt = caseNoon.Add(-40 * time.Second)
			return d
		}
		held := func(d *scaling.Drain) { d.HoldJob, d.Held = holdID, true }
		out["draining, "+name] = with(draining(), nil)
		out["draining, holding, "+name] = with(draining(), func(d *scaling.Drain) { d.HoldJob = holdID })
		out["draining, again, "+name] = with(draining(), func(d *scaling.Drain) { d.Rounds = maxRounds })
		out["drained, "+name] = with(drained(), nil)
		out["drained, held, "+name] = with(drained(), held)
		out["leaving, "+name] = with(leaving(), nil)
		out["leaving, held, "+name] = with(leaving(), held)
		out["gone, held, "+name] = with(leaving(), func(d *scaling.Drain) {
			held(d)
			d.GoneAt = caseNoon
		})
		out["gone, "+name] = with(leaving(), func(d *scaling.Drain) { d.GoneAt = caseNoon })
		out["back, "+name] = with(draining(), func(d *scaling.Drain) { d.GivenUp = "cancelled" })
		out["back, holding, "+name] = with(drained(), func(d *scaling.Drain) {
			held(d)
			d.GivenUp = "paused"
		})
		failed := with(caseDrain(scaling.DrainPending, scaling.DrainDraining, scaling.DrainFailed), func(d *scaling.Drain) { d.GivenUp = "it failed" })
		out["failed, "+name] = failed
		failed.attempts = failed.attempts.cloned()
		failed.attempts.unholding, failed.attempts.releases = caseNoon.Add(-time.Hour), 2
		failed.Open = cloned(failed.Open)
		failed.Open.HoldJob = holdID
		out["failed, stuck, "+name] = failed
	}
	return out
}

func caseViews() []*view {
	c := ScopeConfig{
		Scope: scaling.Scope{Key: "st"}, Mode: scaling.Direct, Kind: "test", Actuator: nothing{}, Engine: noEngine{}, Configs: noConfigs{}, Hold: true,
		Cooldown: time.Minute,
	}.withDefaults()
	advisory, noHold, left := c, c, c
	advisory.Mode = scaling.Advisory
	noHold.Hold, noHold.AllowStateMembers = false, true
	left.Mode = ""
	decided := func(a scaling.Action, row scaling.RowID, change func(*stored)) stored {
		id := ownID
		s := stored{Standing: state.Standing{Found: true, ValidUntil: caseNoon.Add(time.Hour * 2), Decision: state.DecisionRecord{
			Epoch: 3, Generation: 5, Row: row, Intent: scaling.IntentOf(a, 2), RecommendationID: id,
			Recommendation: scaling.Recommendation{RecommendationID: id, Action: a, Row: row},
		}}}
		if a == scaling.ScaleInBlocked {
			s.Decision.Recommendation.BlockingConditions = []scaling.Condition{{Name: scaling.BlockerActionInFlight}}
		}
		if change != nil {
			change(&s)
		}
		return s
	}
	all := []stored{
		decided(scaling.ScaleInCandidate, scaling.RowIdle, nil),
		decided(scaling.ScaleInBlocked, scaling.RowIdleHeld, func(s *stored) { s.Decision.Generation = 6 }),
		decided(scaling.NoAction, scaling.RowSteady, func(s *stored) { s.Decision.Generation = 6 }),
		decided(scaling.ScaleOut, scaling.RowShortage, func(s *stored) { s.Decision.Generation = 6 }),
		decided(scaling.ScaleInCandidate, scaling.RowIdle, func(s *stored) { s.Control.Paused = true }),
		decided(scaling.ScaleInCandidate, scaling.RowIdle, func(s *stored) { s.ValidUntil = caseNoon }),
		decided(scaling.ScaleInCandidate, scaling.RowIdle, func(s *stored) { s.Decision.Epoch = 4 }),
		decided(scaling.ScaleInCandidate, scaling.RowIdle, func(s *stored) {
			s.execution.Held = &scaling.Execution{ID: "x", State: scaling.ActionPending}
		}),
		{},
	}
	can := actuators.Capabilities{Observes: true, Releases: true, Lists: true}
	chooses := actuators.Capabilities{Releases: true, Chooses: true}
	dry := actuators.Capabilities{DryRun: true, Releases: true, Chooses: true}
	var out []*view
	add := func(v view) {
		v.epoch, v.scope, v.jitter = 3, "st", 0.5
		if v.now.IsZero() {
			v.now = caseNoon
		}
		if v.cfg == nil {
			v.cfg = &c
		}
		if v.can == (actuators.Capabilities{}) {
			v.can = can
		}
		out = append(out, &v)
	}
	for _, s := range all {
		add(view{stored: s})
		add(view{stored: s, now: caseNoon.Add(time.Hour)})
		add(view{stored: s, can: chooses, tick: tick{at: caseNoon, action: scaling.ScaleInCandidate, mode: scaling.Direct, recommendation: ownID, slotMode: scaling.DynamicSlots}})
	}
	add(view{stored: all[0], cfg: &advisory})
	add(view{stored: all[0], cfg: &noHold, can: chooses})
	add(view{stored: all[0], cfg: &left})
	add(view{stored: all[0], can: dry})
	add(view{stored: all[0], busy: "other"})
	unlisted := view{stored: all[0], epoch: 3, scope: "st", now: caseNoon}
	return append(out, &unlisted)
}

// caseReading is what is seen when nothing is odd: the worker is there and idle,
// and held if it is to be.
func caseReading(d *scaling.Drain) reading {
	r := reading{
		workers: []actuators.Worker{{Name: "w-2", Address: "w-2:5801"}, {Name: "w-1", Address: "w-1:5801"}, {Name: "w-0"}},
		used:    map[string]int{"w-2": 1, "w-1": 0},
		cluster: control.Cluster{
			Slots: control.Slots{Workers: 3, Total: 12, Used: 2},
			Members: []control.Member{
				{Address: "m:5801", Master: true}, {Address: "w-2:5801", Lite: true}, {Address: "w-1:5801", Lite: true}, {Address: "w-0:5801", Lite: true},
			},
		},
		slots: control.Slots{Workers: 1, Total: 4}, running: []control.Job{}, each: map[string]answer{},
	}
	if d != nil && d.HoldJob != "" {
		r.slots.Used = 4
		r.each[d.HoldJob] = answer{job: control.Job{ID: d.HoldJob, Status: control.Running}}
		for i := range 4 {
			r.placed = append(r.placed, control.TaskGroup{Job: d.HoldJob, ID: int64(i)})
		}
	}
	return r
}

// caseInput is an answer to what the drain may have asked for.
func caseInput(d *scaling.Drain, k inputKind) input {
	in := input{kind: k, recommendation: ownID, worker: "w-1", by: "ops", reason: "why"}
	if d != nil {
		in.about = effect{drain: d.ID, state: d.State, worker: actuators.Worker{Name: "w-2", Address: "w-2:5801"}, holding: d.HoldJob}
	}
	return in
}

func caseInputs(d *scaling.Drain) map[string]input {
	out := map[string]input{}
	for _, k := range []inputKind{look, accept, resolve, request, cancel, takeOver, gone} {
		out[string(k)] = caseInput(d, k)
	}
	lost := errors.New("500")
	for _, k := range []inputKind{chosen, surveyed, followed} {
		for name, change := range map[string]func(r *reading){
			"fine": func(*reading) {},
			"unknown": func(r *reading) {
				r.workersErr, r.clusterErr, r.slotsErr, r.placedErr, r.runningErr = lost, lost, lost, lost, lost
			},
			"untold": func(r *reading) {
				r.slotsErr, r.placedErr, r.slots = control.ErrUnsupported, control.ErrUnsupported, control.Slots{}
			},
			"unlisted": func(r *reading) { r.workersErr = actuators.ErrUnsupported },
			"no workers": func(r *reading) {
				r.workers, r.used, r.slots, r.placed = nil, nil, control.Slots{}, nil
				r.cluster.Slots = control.Slots{}
			},
			"gone":    func(r *reading) { r.workers, r.slots, r.placed = r.workers[1:], control.Slots{}, nil },
			"leaving": func(r *reading) { r.workers[0].Leaving = true },
			"another": func(r *reading) { r.workers[0], r.workers[1] = r.workers[1], r.workers[0] },
			"master":  func(r *reading) { r.cluster.Members = []control.Member{{Address: "w-2:5801", Master: true}} },
			"pending": func(r *reading) { r.cluster.Pending = 1 },
			"in use": func(r *reading) {
				r.slots.Used, r.placed = 2, []control.TaskGroup{{Job: "4501", ID: 1}, {Job: "4503", ID: 1}}
				r.running = []control.Job{
					{ID: "4501", Name: "job-4501", Status: control.Running, Mode: control.Streaming}, {ID: "4503", Name: "job-4503", Status: control.Running, Env: map[string]string{"job.mode": "BATCH"}},
				}
			},
			"unnamed":  func(r *reading) { r.slots.Used = 3 },
			"no slots": func(r *reading) { r.slots = control.Slots{Workers: 1} },
			"no config": func(r *reading) {
				r.slots.Used, r.placed = 1, []control.TaskGroup{{Job: "4501", ID: 1}}
				r.running = []control.Job{{ID: "4501", Status: control.Running, Mode: control.Streaming}}
				r.configs = map[string]registered{"4501": {err: lost}}
			},
			"a stray hold": func(r *reading) {
				r.slots.Used, r.placed = 4, []control.TaskGroup{{Job: "77", ID: 1}, {Job: "77", ID: 2}, {Job: "77", ID: 3}, {Job: "77", ID: 4}}
				r.running = []control.Job{{ID: "77", Name: "zeta-scaler-hold-w-2", Status: control.Running, Mode: control.Streaming}}
			},
		} {
			in := caseInput(d, k)
			in.seen = caseReading(d)
			change(&in.seen)
			out[string(k)+", "+name] = in
		}
	}
	for _, status := range []control.Status{
		control.Running, control.DoingSavepoint, control.SavepointDone, control.Finished, control.Failed, control.Canceling, control.Canceled, control.Pending, "RESTARTING",
	} {
		in := caseInput(d, followed)
		in.seen = caseReading(d)
		for _, id := range []string{"4501", "4502"} {
			in.seen.each[id] = answer{job: control.Job{ID: id, Status: status, Received: 5}}
		}
		out["followed, "+string(status)] = in
		if d != nil && d.HoldJob != "" {
			of := caseInput(d, followed)
			of.seen = caseReading(d)
			of.seen.each[d.HoldJob] = answer{job: control.Job{ID: d.HoldJob, Status: status}}
			out["followed, hold "+string(status)] = of
		}
	}
	for name, err := range map[string]error{"no job": control.ErrNoJob, "500": lost} {
		in := caseInput(d, followed)
		in.seen = caseReading(d)
		for _, id := range []string{"4501", "4502", holdID} {
			in.seen.each[id] = answer{err: err}
		}
		out["followed, "+name] = in
	}
	for i, err := range []error{
		nil, lost, control.ErrUnknownOutcome, control.ErrRefused, actuators.ErrUnknownOutcome, actuators.ErrRefused, actuators.ErrStale,
		&actuators.OtherWriterError{Writer: "kubectl"}, &actuators.OtherWorkerError{Named: "w-2", Gone: "w-1"},
	} {
		for _, k := range []effectKind{stop, restore, hold, unhold, release} {
			in := caseInput(d, asked)
			in.about.kind = k
			in.errs = map[string]error{"": err, "4501": err}
			out[fmt.Sprintf("asked, %s, %d", k, i)] = in
		}
	}
	if d == nil {
		return out
	}
	for _, k := range []effectKind{stop, restore, hold, unhold, release} {
		for _, back := range []bool{false, true} {
			in := caseInput(d, kept)
			in.next = in.about
			in.next.kind, in.next.back, in.about = k, back, effect{}
			if announces(d, k) && (!back || d.GivenUp != "" && k != hold && k != release) {
				in.next.jobs = caseAsked(d, k)
				out[fmt.Sprintf("kept, %s, back %v", k, back)] = in
			}
		}
	}
	return out
}

// announces reports whether the record may have been stored for such an effect.
func announces(d *scaling.Drain, k effectKind) bool {
	switch k {
	case stop:
		return have(d, scaling.JobStopping) && (d.State == scaling.DrainDraining || d.GivenUp != "")
	case restore:
		return have(d, scaling.JobRestoring)
	case hold:
		return d.State == scaling.DrainDraining && d.HoldJob != ""
	case release:
		ready := !have(d, scaling.JobWaiting, scaling.JobMoving, scaling.JobStopping)
		if d.Held {
			ready = ready && !have(d, scaling.JobStopped, scaling.JobRestoring)
		}
		return d.State == scaling.DrainDecommissioning && d.GoneAt.IsZero() && ready
	}
	return true
}

// caseAsked are the jobs that an effect is about.
func caseAsked(d *scaling.Drain, k effectKind) (ids []string) {
	for _, j := range d.Jobs {
		if k == stop && j.Step == scaling.JobStopping || k == restore && j.Step == scaling.JobRestoring {
			ids = append(ids, j.ID)
		}
	}
	return ids
}

package scaling

import "time"

// DrainState is where a drain stands (spec 4.6).
type DrainState string

// The states. A drain ends ACTIVE (cancelled, timed out, or reconciled after it
// failed) or DECOMMISSIONED. PENDING was accepted and waits for what is in its
// way; nothing has been done yet.
const (
	DrainPending         DrainState = "PENDING"
	DrainActive          DrainState = "ACTIVE"
	DrainDraining        DrainState = "DRAINING"
	DrainDrained         DrainState = "DRAINED"
	DrainDecommissioning DrainState = "DECOMMISSIONING"
	DrainDecommissioned  DrainState = "DECOMMISSIONED"
	DrainFailed          DrainState = "FAILED"
)

// DrainStates returns every state in the order of a drain's life.
func DrainStates() []DrainState {
	return []DrainState{
		DrainPending, DrainDraining, DrainDrained, DrainDecommissioning, DrainDecommissioned, DrainFailed, DrainActive,
	}
}

// Over reports whether nothing is left to do.
func (s DrainState) Over() bool { return s == DrainActive || s == DrainDecommissioned }

// Drain is the way of one worker out of a scope.
type Drain struct {
	// ID is unique and rises with time within a scope.
	ID string `json:"id"`
	// Scope is the scope's key.
	Scope string `json:"scope"`
	// RecommendationID is the SCALE_IN_CANDIDATE that asked for it, empty if a
	// person did, whom By and Reason name.
	RecommendationID string `json:"recommendationId,omitempty"`
	Generation       uint64 `json:"generation,omitempty"`
	MasterEpoch      uint64 `json:"masterEpoch"`
	By               string `json:"by,omitempty"`
	Reason           string `json:"reason,omitempty"`
	// Remaining is how many workers its recommendation asks to remove beside this
	// one.
	Remaining int `json:"remaining,omitempty"`
	// Worker is the platform's name for the victim, Address Zeta's (host:port), if
	// known.
	Worker  string `json:"worker"`
	Address string `json:"address,omitempty"`
	// Actuator is its kind, such as "kubernetes".
	Actuator string `json:"actuator"`
	// Endpoint is where a person restores a job by hand, such as
	// http://m1:8080/submit-job.
	Endpoint    string            `json:"endpoint,omitempty"`
	State       DrainState        `json:"state"`
	Transitions []DrainTransition `json:"transitions"`
	// Jobs are those found on the worker, in the order in which they were found.
	Jobs []DrainJob `json:"jobs,omitempty"`
	// HoldJob is the id of the job that holds the worker's slots, empty if none
	// was submitted.
	HoldJob string `json:"holdJob,omitempty"`
	// Held is true once it has all of them.
	Held bool `json:"held,omitempty"`
	// Slots is how many the worker has, 0 if they are dynamic or not known yet.
	Slots int `json:"slots,omitempty"`
	// Rounds counts how often a job was found on the worker after it had been
	// emptied.
	Rounds int `json:"rounds,omitempty"`
	// ReleasedAt is when the platform was first about to be asked to remove the
	// worker, zero if it was not.
	ReleasedAt time.Time `json:"releasedAt,omitzero"`
	// GoneAt is when platform and Zeta had it no longer.
	GoneAt time.Time `json:"goneAt,omitzero"`
	// GivenUp says why the drain goes back: what was stopped is restored, and the
	// worker stays. Empty if it does not.
	GivenUp string `json:"givenUp,omitempty"`
	// Failed is true if it went back for a failure: not because somebody or
	// something called it off.
	Failed bool `json:"failed,omitempty"`
	// Deadline is when a drain that is still waiting is given up.
	Deadline time.Time `json:"deadline,omitzero"`
	// Harm names jobs that the engine itself had to restore or fail, empty as it
	// should be.
	Harm []string `json:"harm,omitempty"`
	// Error says why it failed or was given up.
	Error string `json:"error,omitempty"`
}

// EnteredAt is when the drain entered its state, zero if nothing was noted.
func (d *Drain) EnteredAt() time.Time {
	if n := len(d.Transitions); n > 0 {
		return d.Transitions[n-1].At
	}
	return time.Time{}
}

// RestorePatience is how long a job may be stopped before somebody hears of it: in
// a drain that goes well it is for seconds.
const RestorePatience = time.Minute

// Stopped are its jobs that do not run for longer than they should.
func (d *Drain) Stopped(at time.Time) (out []DrainJob) {
	for _, j := range d.Jobs {
		if j.Down() && (j.Attempts > 1 || at.Sub(j.StopAt) >= RestorePatience) {
			out = append(out, j)
		}
	}
	return out
}

// HasFailed reports whether it went wrong, be it that what was stopped is restored
// meanwhile.
func (d *Drain) HasFailed() bool { return d.State == DrainFailed || d.Failed }

// FailureIsNews reports whether it went wrong, and not longer ago than FailureLasts.
func (d *Drain) FailureIsNews(at time.Time) bool {
	return d.HasFailed() && at.Sub(d.EnteredAt()) < FailureLasts
}

// DrainTransition is one step of a drain.
type DrainTransition struct {
	State  DrainState `json:"state"`
	At     time.Time  `json:"at"`
	Reason string     `json:"reason"`
}

// DrainStep is how far a job of the worker is.
type DrainStep string

// The steps of a job. Each is stored before what it says is done.
const (
	// JobWaiting: in batch mode, waited for.
	JobWaiting DrainStep = "waiting"
	// JobMoving: it will be stopped, nothing was done yet.
	JobMoving DrainStep = "moving"
	// JobStopping: asked to stop with a savepoint.
	JobStopping DrainStep = "stopping"
	// JobStopped: the savepoint is done.
	JobStopped DrainStep = "stopped"
	// JobRestoring: submitted again, not yet seen at work.
	JobRestoring DrainStep = "restoring"
	// JobRestored: runs elsewhere and reads.
	JobRestored DrainStep = "restored"
	// JobFinished: ended by itself.
	JobFinished DrainStep = "finished"
)

// DrainJob is one job that was on the worker.
type DrainJob struct {
	ID   string    `json:"id"`
	Name string    `json:"name"`
	Mode string    `json:"mode"`
	Step DrainStep `json:"step"`
	// Config is the digest of the config that was registered for it when the worker
	// was last looked at before it was stopped: it is restored from no other. It is
	// the format and the SHA-256 of the text without secrets, such as "json:9f86d0…"; empty for a
	// job that is not moved.
	Config string `json:"config,omitempty"`
	// StopAt is when it was asked to stop, RunAt when it ran again: its downtime
	// lies between.
	StopAt time.Time `json:"stopAt,omitzero"`
	RunAt  time.Time `json:"runAt,omitzero"`
	// Stops counts how often it was asked to stop, AskedAt is when Zeta was last
	// asked to stop or to restore it.
	Stops   int       `json:"stops,omitempty"`
	AskedAt time.Time `json:"askedAt,omitzero"`
	// Checkpoint is the id of its savepoint, 0 where Zeta does not tell: after a
	// restore ids go on from there, and begin at 1 if it began anew.
	Checkpoint int64 `json:"checkpoint,omitempty"`
	// Attempts counts the restores that were tried, NextAttempt is when the next
	// request is due.
	Attempts    int       `json:"attempts,omitempty"`
	NextAttempt time.Time `json:"nextAttempt,omitzero"`
	Error       string    `json:"error,omitempty"`
}

// Down reports whether the job was asked to stop and does not run again yet.
func (j DrainJob) Down() bool {
	return j.Step == JobStopping || j.Step == JobStopped || j.Step == JobRestoring
}

// Downtime is how long the job did not run, 0 if it was not stopped or does not
// run yet.
func (j DrainJob) Downtime() time.Duration {
	if j.StopAt.IsZero() || j.RunAt.IsZero() {
		return 0
	}
	return j.RunAt.Sub(j.StopAt)
}

// DrainPlan is what a drain would do if it began now.
type DrainPlan struct {
	Scope string `json:"scope"`
	// Worker is the one that would go, empty if it cannot be told; Address is
	// Zeta's of it, if known.
	Worker   string `json:"worker"`
	Address  string `json:"address,omitempty"`
	Actuator string `json:"actuator"`
	// Against says what keeps the drain from beginning, empty if nothing does.
	Against string `json:"against,omitempty"`
	// Used are the worker's slots that are in use, of Slots; 0 if not known.
	Used  int `json:"used"`
	Slots int `json:"slots"`
	// Hold is true if a job of our own would take the worker's slots meanwhile, so
	// that jobs are restored before the worker goes, and not afterwards.
	Hold bool `json:"hold"`
	// Jobs are those on the worker.
	Jobs []PlannedJob `json:"jobs"`
}

// PlannedJob is a job on a worker, and what would become of it.
type PlannedJob struct {
	ID   string `json:"id"`
	Name string `json:"name"`
	Mode string `json:"mode"`
	// Fate is "wait" for one that is waited for, "move" for one that is stopped with
	// a savepoint and restored elsewhere, "stay" for one that cannot be.
	Fate string `json:"fate"`
	// Error says why it cannot be moved.
	Error string `json:"error,omitempty"`
}

// The fates of a job.
const (
	FateWait = "wait"
	FateMove = "move"
	FateStay = "stay"
)

// Package control says what a drain has to know of a Zeta cluster and lets it
// stop, restore and hold jobs there. What a version of Zeta cannot tell is
// unknown, which is an error or a nil, and never the same as nothing.
package control

import (
	"errors"
	"time"
)

// Errors that callers tell apart. Every other error says that Zeta did not
// answer or that its answer could not be read: unknown, ask again.
var (
	// ErrUnsupported: this version or this configuration of Zeta cannot tell.
	ErrUnsupported = errors.New("this Zeta cannot tell")
	// ErrNoJob: Zeta does not know the job, which also a restarted master says of
	// one that was stopped with a savepoint.
	ErrNoJob = errors.New("the job is not known to Zeta")
	// ErrUnknownOutcome: the request may have been carried out (time-out, lost
	// reply); look at the job before asking again.
	ErrUnknownOutcome = errors.New("it is not known whether Zeta did it")
	// ErrRefused: Zeta said that it will not do it.
	ErrRefused = errors.New("refused by Zeta")
)

// Slots are the master's own book on slots, of the cluster or of one worker.
type Slots struct {
	// Workers is how many workers the figures are of: 0 if the one asked for is
	// not there, > 1 if several bear the name.
	Workers int
	// Total ≥ Used ≥ 0. With dynamic slots Total is Used.
	Total int
	Used  int
}

// Free is how many slots nobody has.
func (s Slots) Free() int { return s.Total - s.Used }

// Member is one node of the cluster.
type Member struct {
	// Address is host:port as Hazelcast shows it.
	Address string
	// Lite members hold none of Zeta's state: the workers of a separated cluster.
	Lite bool
	// Master is true for the node that decides.
	Master bool
}

// Cluster is one look at a whole cluster.
type Cluster struct {
	// Version is Zeta's, such as "2.3.8"; empty if it does not say.
	Version string
	Slots   Slots
	// Running counts jobs that run, Pending those that wait for slots (0 where
	// this version has no queue), Failed all that ever failed.
	Running, Pending, Failed int
	// Members has every node, at least one.
	Members []Member
	// Settled is false while state moves between members; nil if Zeta does not
	// say, which is harmless where the workers are lite members.
	Settled *bool
}

// Status is a job's status as Zeta spells it.
type Status string

// The statuses that a drain acts on.
const (
	Running        Status = "RUNNING"
	DoingSavepoint Status = "DOING_SAVEPOINT"
	SavepointDone  Status = "SAVEPOINT_DONE"
	Finished       Status = "FINISHED"
	Failed         Status = "FAILED"
	Canceling      Status = "CANCELING"
	Canceled       Status = "CANCELED"
	Pending        Status = "PENDING"
)

// Ended reports whether the job is over and holds no slot.
func (s Status) Ended() bool {
	switch s {
	case SavepointDone, Finished, Failed, Canceled:
		return true
	}
	return false
}

// Mode is a job's mode.
type Mode string

// The modes.
const (
	Batch     Mode = "BATCH"
	Streaming Mode = "STREAMING"
)

// Job is what Zeta tells about one job.
type Job struct {
	ID     string
	Name   string
	Status Status
	// Mode is empty if this version does not say.
	Mode Mode
	// Env are the options of the config's env block, as strings.
	Env map[string]string
	// Sources and Sinks are the plugins' names, nil if Zeta does not say.
	Sources, Sinks []string
	Created        time.Time
	// Received counts the rows that its sources have read, -1 if unknown.
	Received int64
	// Checkpoint is the id of the latest completed checkpoint or savepoint, 0 if
	// this version does not say.
	Checkpoint int64
}

// TaskGroup is a part of a job that takes one slot. Pipeline is 0 where Zeta
// says only that the job is there: then it stands for all of its groups.
type TaskGroup struct {
	Job      string
	Pipeline int
	ID       int64
}

// Config is the text that a job was submitted with.
type Config struct {
	// Format is "json", "hocon" or "sql"; older versions take json only.
	Format string
	Text   []byte
	// Where names for people where it is registered, Digest tells the registered
	// text from any other: its format and SHA-256, with secrets left out. Both are empty where nobody has registered it.
	Where, Digest string
	// Named says that it was found by the job's name, which others may bear, too, and
	// not by its id.
	Named bool
	// Secrets are texts in it that no message may have.
	Secrets []string
}

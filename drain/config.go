package drain

import (
	"cmp"
	"time"

	"github.com/zeta-scaler/zeta-scaler/acting"
	"github.com/zeta-scaler/zeta-scaler/actuators"
	"github.com/zeta-scaler/zeta-scaler/scaling"
)

// ScopeConfig is one scope whose workers may be drained. A scope that is not
// listed is never drained.
type ScopeConfig struct {
	Scope scaling.Scope
	// Mode is advisory if empty; a control record may override it. What a person
	// asks for by hand is done in any mode.
	Mode scaling.Mode
	// Bounds are those of the configuration; a control record may override them.
	Bounds scaling.Bounds
	// Deployment application is never drained, whatever the mode.
	Deployment scaling.Deployment
	// Kind is the actuator's, such as "kubernetes"; Target is what it writes to.
	Kind     string
	Target   string
	Actuator actuators.Actuator
	// Cluster names the Zeta cluster: of the scopes that have the same one, only
	// one is drained at a time.
	Cluster string
	// Engine is that cluster, Configs keep what its jobs were submitted with.
	Engine Engine
	// Endpoint is where a person restores a job of it by hand.
	Endpoint string
	Configs  Configs
	// Timeout is how long a drain waits for jobs in batch mode, and for everything
	// else before the first job was restored (default 15m).
	Timeout time.Duration
	// Hold says that a job of our own takes the worker's slots while it goes, where
	// they are fixed.
	Hold bool
	// AllowStateMembers allows to drain a worker that holds a part of Zeta's state.
	AllowStateMembers bool
	// Cooldown follows a worker that is gone; FailureBackoff follows a drain that
	// went back (default 3m, doubled with each further one up to 30m).
	Cooldown       time.Duration
	FailureBackoff time.Duration
	// ConvergenceTimeout is how long the platform may take to remove the worker
	// (default 10m).
	ConvergenceTimeout time.Duration
	// CallTimeout bounds one request (default 30s).
	CallTimeout time.Duration
}

// DefaultTimeout is how long a drain waits (spec 4.6).
const DefaultTimeout = 15 * time.Minute

const (
	// stopWait is how long a savepoint may take before the job is asked again:
	// one of a small job takes 0.2 s to 1.1 s.
	stopWait = 10 * time.Second
	// maxStops is how often a job is asked to stop before the drain goes back.
	maxStops = 2
	// confirmWait is how long Zeta may take to show what a request did: it takes
	// 0.1 s to 0.2 s, and ignores some requests without a word.
	confirmWait = 3 * time.Second
	// holdWait is how long the job that holds the slots may take to get them: it
	// takes 0.1 s to 4.6 s. In a queue it must not stay longer than queuedWait,
	// where it blocks everybody behind it.
	holdWait   = 10 * time.Second
	queuedWait = 2 * time.Second
	// settleWait is the least time for which a restored job has to run before it is
	// believed to, unless it reads: a job without slots runs for 9 s before it
	// fails.
	settleWait = 11 * time.Second
	// maxRounds is how often a worker may be found in use after it was emptied
	// before the drain goes back.
	maxRounds = 2
	// maxRestores is how often a job is submitted while the worker is held before
	// the drain goes back, which gives the worker's slots back as well.
	maxRestores = 2
	// maxReleases is how often the platform is asked to remove the worker.
	maxReleases = 5
	// unholdWait is how long a drain that goes back waits for the slots that are
	// held before it restores what was stopped.
	unholdWait = 5 * time.Second

	// Pauses between two looks: at what changes within a second, at a worker that
	// jobs leave by themselves, and at what stands in the way of a drain.
	followEvery = 200 * time.Millisecond
	surveyEvery = 2 * time.Second
	refuseEvery = 30 * time.Second
	// firstRestore is the wait after a restore that failed, doubled with each further
	// one up to lastRestore, less a random half.
	firstRestore = 5 * time.Second
	lastRestore  = 5 * time.Minute
	// maxOthers is of how many jobs it is remembered how far they had read.
	maxOthers = 500
)

// withDefaults fills in what is not set.
func (c ScopeConfig) withDefaults() ScopeConfig {
	c.Timeout = cmp.Or(c.Timeout, DefaultTimeout)
	c.FailureBackoff = cmp.Or(c.FailureBackoff, actuators.DefaultFailureBackoff)
	c.ConvergenceTimeout = cmp.Or(c.ConvergenceTimeout, actuators.DefaultConvergenceTimeout)
	c.CallTimeout = cmp.Or(c.CallTimeout, acting.CallTimeout)
	if c.Mode == "" {
		c.Mode = scaling.Advisory
	}
	if c.Bounds == (scaling.Bounds{}) {
		c.Bounds = scaling.DefaultBounds()
	}
	return c
}

// equipped reports whether the scope has all that a drain needs.
func (c *ScopeConfig) equipped() bool {
	return c != nil && c.Actuator != nil && c.Engine != nil && c.Configs != nil
}

// ScopeKey is the scope's key.
func (c ScopeConfig) ScopeKey() string { return c.Scope.Key }

// Listed is false for a scope that has left the configuration.
func (c ScopeConfig) Listed() bool { return c.Mode != "" }

// Left is what remains of a scope then: nobody may begin a drain, and one that has
// begun still has its engine.
func (c ScopeConfig) Left() ScopeConfig {
	c.Mode = ""
	return c
}

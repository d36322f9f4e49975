// Package simulate plays a workload on a simulated cluster under a rule set, and
// says what would have happened: how long jobs wait, and how many worker-hours
// that costs. Beside it stand clusters that are never scaled, a bound that knows
// the future, and models of other controllers.
package simulate

import "time"

// View is what a controller sees of a cluster: of jobs what the last scrape that got
// an answer said. Its own workers, the time and the bounds it knows without one.
type View struct {
	// Now is the time since the beginning.
	Now time.Duration
	// Workers have registered, Booting were asked for and have not.
	Workers, Booting int
	// SlotsPerWorker is 0 with dynamic slots.
	SlotsPerWorker int
	// SlotsUsed are held by jobs.
	SlotsUsed int
	// JobsWaiting are in the queue and need SlotsWaiting together; HeadLacking is
	// how many slots the first of them lacks.
	JobsWaiting, SlotsWaiting, HeadLacking int
	// OldestWait is how long the first has waited.
	OldestWait time.Duration
	// Idle says of every worker without a job for how long it has had none, the
	// longest first.
	Idle []time.Duration
	// CPU is the mean over the workers, as a ratio, at that scrape.
	CPU float64
	// RejectedTotal counts jobs since the beginning.
	RejectedTotal int
	// Min and Max are the bounds of the number of workers.
	Min, Max int
}

// Model is a controller as its public description has it, for one simulation:
// it remembers what it has seen and has neither clock nor chance of its own.
type Model interface {
	Name() string
	// Every is how often it is asked, > 0.
	Every() time.Duration
	// Want is how many workers there shall be. What lies outside of the bounds is
	// brought into them. Fewer than there are (with those that boot) is a wish to
	// remove some.
	Want(View) int
}

// Peer is a kind of controller to compare with.
type Peer struct {
	// Name is what the command calls it, such as hpa-queue.
	Name string
	// Summary says in a line what it is a model of.
	Summary string
	// New is a model that has seen nothing yet.
	New func() Model
}

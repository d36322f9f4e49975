package scaling

import (
	"fmt"
	"math"
	"time"
)

// Unbounded is the upper bound of a scope that has none.
const Unbounded = math.MaxInt

// Bounds limit a scope's worker count. The zero value is not valid; see
// DefaultBounds.
type Bounds struct {
	// Min is the least number of workers, ≥ 0.
	Min int
	// Max is the greatest number of workers, ≥ 1, or Unbounded.
	Max int
	// FloorDelay is how long the scope may stay below Min before it is
	// brought back to it, ≥ 0.
	FloorDelay time.Duration
}

// DefaultBounds are the STIP's: at least one worker, no upper bound.
func DefaultBounds() Bounds { return Bounds{Min: 1, Max: Unbounded} }

// Validate reports every reason why the bounds cannot be used (spec 2).
func (b Bounds) Validate() []error {
	var errs []error
	if b.Min < 0 {
		errs = append(errs, fmt.Errorf("min_workers is %d, expected 0 or more", b.Min))
	}
	if b.Max < 1 {
		errs = append(errs, fmt.Errorf("max_workers is %d, expected 1 or more", b.Max))
	}
	if b.Min > b.Max {
		errs = append(errs, fmt.Errorf("min_workers %d is greater than max_workers %d", b.Min, b.Max))
	}
	if b.FloorDelay < 0 {
		errs = append(errs, fmt.Errorf("floor_delay is %s, expected 0s or more", b.FloorDelay))
	}
	return errs
}

// Booting is a request for workers that have not registered yet. Target is
// the absolute worker count that was asked for; past Deadline the entry no
// longer counts (spec 1.8).
type Booting struct {
	Target   int       `json:"target"`
	Deadline time.Time `json:"deadline"`
}

// BootingWorkers is how many requested workers have not registered at the
// given instant: max(0, greatest target not yet past its deadline − current).
func BootingWorkers(entries []Booting, current int, at time.Time) int {
	n := 0
	for _, e := range entries {
		if !at.After(e.Deadline) && e.Target > current {
			n = max(n, e.Target-current)
		}
	}
	return n
}

// Limits are everything that bounds one tick's decision and does not come
// from Prometheus: configuration and what the store knows about execution and
// control. The evaluator's loop lays them over each tick.
type Limits struct {
	Bounds Bounds
	// Timed are those of them that end by themselves.
	Timed []TimedBound
	// Conflicts say what was set at run time and does not count, because it does not
	// fit the configuration, or cannot be read.
	Conflicts  []string
	Mode       Mode
	Deployment Deployment
	// Paused is true while the scope or the whole service is paused.
	Paused bool
	// PausedSince is when that began, PausedUntil when it ends by itself; zero if
	// nobody knows, or somebody has to resume.
	PausedSince, PausedUntil time.Time
	// CooldownUntil and BackoffUntil are zero when there is none.
	CooldownUntil time.Time
	BackoffUntil  time.Time
	// ActionInFlight is true while an action of this scope is not final.
	ActionInFlight bool
	// ActionDeadline is when it has to be done, zero if nobody knows.
	ActionDeadline time.Time
	Booting        []Booting
	// OtherWriter is true while somebody else changes the actuator's target, so
	// that nothing is executed until an operator resumes the scope.
	OtherWriter bool
	// Tried are the actions in a row that brought workers and changed nothing of
	// what asked for them, while the next is held for that; nil otherwise.
	Tried []Tried
}

// Tried is an action that brought its workers and changed nothing of what asked
// for them.
type Tried struct {
	// From is the worker count before, nil if it was unknown, To that after.
	From *int `json:"from"`
	To   int  `json:"to"`
	// At is when that was found.
	At time.Time `json:"at"`
}

// IneffectiveHold is for how long the next action is held after two that changed
// nothing.
const IneffectiveHold = time.Hour

// AddSaturating returns a + b for non-negative operands, stopping at the
// greatest int instead of overflowing.
func AddSaturating(a, b int) int {
	if a > math.MaxInt-b {
		return math.MaxInt
	}
	return a + b
}

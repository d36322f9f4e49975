package actuators

import (
	"log/slog"
	"time"
)

// Maker makes an actuator. It is what the configuration says about one: a
// pointer to a struct that package document decodes.
type Maker interface {
	// WritesTo names what the actuator writes to among all targets, "" for
	// nothing. Two scopes with the same would undo each other's work.
	WritesTo() string
	// CallTimeout is how long the actuator itself waits for one call; 0 leaves it
	// to the executor.
	CallTimeout() time.Duration
	// Make makes the actuator. It connects to nothing.
	Make(Env) (Actuator, error)
}

// Releaser is a Maker whose actuator can remove a worker, or could if it were
// configured so.
type Releaser interface {
	// Releases reports whether it can as it is configured.
	Releases() bool
}

// Env is what an actuator is made with beside its options.
type Env struct {
	// Labels are the names of the scope's labels, as in scope_by.
	Labels []string
	Logger *slog.Logger
}

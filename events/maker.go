package events

import (
	"log/slog"
	"time"
)

// Maker makes a handler. It is what the configuration says about one: a pointer
// to a struct that package document decodes.
type Maker interface {
	// Patience is how long one event may take with all attempts of the handler; 0
	// is DefaultTimeout.
	Patience() time.Duration
	// Make makes the handler. It connects to nothing.
	Make(Env) (Handler, error)
}

// Env is what a handler is made with beside its options. What others are
// configured with is asked by interfaces that the handler declares.
type Env struct {
	// Instance names this process for people, such as the pod's name.
	Instance string
	// Actuator is what the configuration says now about the actuator of a scope,
	// by the scope's key; nil if it lists no such scope.
	Actuator func(scope string) any
	// Actuators are those of all listed scopes at the start, Store is what the
	// configuration says about the store.
	Actuators []any
	Store     any
	Logger    *slog.Logger
}

// LogOptions are those of the handler log: none.
type LogOptions struct{}

// Patience implements Maker.
func (*LogOptions) Patience() time.Duration { return 0 }

// Make implements Maker.
func (*LogOptions) Make(e Env) (Handler, error) { return NewLog(e.Logger), nil }

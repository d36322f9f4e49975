// Package exec is the actuator that runs a command of the operator's, for what
// has no API: workers on bare metal, or a script that knows. What the command
// is asked, and what its exit code says, is written in docs/actuators.md.
package exec

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/zeta-scaler/zeta-scaler/actuators"
	"github.com/zeta-scaler/zeta-scaler/actuators/request"
)

// Defaults of Options.
const (
	DefaultTimeout = time.Minute
	DefaultGrace   = 2 * time.Second
)

// Options are what an actuator is made of; Command and Logger are required.
type Options struct {
	// Command is the program, a path or a name that is looked up in PATH. There
	// is no shell. Args are its arguments, the same for every verb.
	Command string   `yaml:"command" check:"required,program"`
	Args    []string `yaml:"args" check:"masked"`
	// Timeout is how long it may take, 0 is DefaultTimeout.
	Timeout time.Duration `yaml:"timeout" check:"least=1s"`
	// Target names what the command scales: two scopes must not write to one.
	Target string `yaml:"target" check:"required"`
	// Grace is how long its processes have between SIGTERM and SIGKILL when the
	// time is over, 0 is DefaultGrace.
	Grace time.Duration
	// Observe says that the command knows the verb observe, Release that it
	// knows release, where any worker may be named, and workers unless Workers
	// names them.
	Observe bool     `yaml:"observe"`
	Release bool     `yaml:"release"`
	Workers []string `yaml:"workers"`
	Logger  *slog.Logger
}

// Actuator runs the command once per request.
type Actuator struct{ o Options }

// New makes an actuator. It runs nothing: a command that does not exist is
// reported by the first call.
func New(o Options) (*Actuator, error) {
	var problems []error
	if o.Command == "" {
		problems = append(problems, errors.New("command: required"))
	}
	if o.Timeout < 0 || o.Grace < 0 {
		problems = append(problems, fmt.Errorf("timeout %s, grace %s: must not be negative", o.Timeout, o.Grace))
	}
	if err := errors.Join(problems...); err != nil {
		return nil, fmt.Errorf("exec actuator: %w", err)
	}
	o.Timeout, o.Grace = cmp.Or(o.Timeout, DefaultTimeout), cmp.Or(o.Grace, DefaultGrace)
	o.Logger = o.Logger.With("command", o.Command)
	return &Actuator{o}, nil
}

// Capabilities are what the options say that the command can do.
func (a *Actuator) Capabilities() actuators.Capabilities {
	return actuators.Capabilities{
		Observes: a.o.Observe, Releases: a.o.Release, Chooses: a.o.Release, Lists: a.o.Release && len(a.o.Workers) == 0,
	}
}

// Observe runs the command and reads what it prints.
func (a *Actuator) Observe(ctx context.Context, t actuators.Target) (actuators.State, error) {
	if !a.o.Observe {
		return actuators.State{}, fmt.Errorf("exec: observing: %w", actuators.ErrUnsupported)
	}
	return told(ctx, a, request.ToObserve(t), parseObservation)
}

// Workers runs the command and reads what it prints, unless the configuration
// names them.
func (a *Actuator) Workers(ctx context.Context, t actuators.Target) ([]actuators.Worker, error) {
	switch {
	case len(a.o.Workers) > 0:
		return actuators.Listed(a.o.Workers).Workers(), nil
	case !a.o.Release:
		return nil, fmt.Errorf("exec: naming workers: %w", actuators.ErrUnsupported)
	}
	return told(ctx, a, request.ToName(t), parseWorkers)
}

// told runs the command for a verb that asks, and reads what it prints. A
// command that fails or takes too long has told nothing, and that is all: it
// changed nothing either.
func told[T any](ctx context.Context, a *Actuator, q request.Request, parse func([]byte) (T, error)) (T, error) {
	var nothing T
	r, err := a.run(ctx, q)
	if err == nil {
		if err = r.verdict(); errors.Is(err, actuators.ErrUnknownOutcome) {
			err = errors.New(r.describe())
		}
	}
	if err != nil {
		return nothing, a.fail(ctx, q.Verb, err)
	}
	if r.stdout.cut() {
		return nothing, a.fail(ctx, q.Verb, fmt.Errorf("it printed more than %d bytes", maxOutput))
	}
	v, err := parse(r.stdout.bytes())
	if err != nil {
		return nothing, a.fail(ctx, q.Verb, fmt.Errorf("reading what it printed: %w", err))
	}
	return v, nil
}

// Scale runs the command, which has to bring the target to want workers.
func (a *Actuator) Scale(ctx context.Context, t actuators.Target, want int, f actuators.Fence) error {
	if want < 0 {
		return fmt.Errorf("exec: %w: %d is no number of workers", actuators.ErrRefused, want)
	}
	return a.change(ctx, request.ToScale(t, want, f))
}

// Release runs the command, which has to remove the worker.
func (a *Actuator) Release(ctx context.Context, t actuators.Target, workers []actuators.Worker, f actuators.Fence) error {
	if !a.o.Release {
		return fmt.Errorf("exec: releasing workers: %w", actuators.ErrUnsupported)
	}
	q, err := request.ToRelease(t, workers, f)
	if err != nil {
		return fmt.Errorf("exec: %w", err)
	}
	return a.change(ctx, q)
}

// change runs the command for a verb that changes something.
func (a *Actuator) change(ctx context.Context, q request.Request) error {
	r, err := a.run(ctx, q)
	if err == nil {
		err = r.verdict()
	}
	if err != nil {
		return a.fail(ctx, q.Verb, err)
	}
	return nil
}

// fail says whose error it is, and that the caller's context has ended if so.
func (a *Actuator) fail(ctx context.Context, verb request.Verb, err error) error {
	if ended := ctx.Err(); ended != nil && !errors.Is(err, ended) {
		return fmt.Errorf("command %s, %s: %w: %w", a.o.Command, verb, ended, err)
	}
	return fmt.Errorf("command %s, %s: %w", a.o.Command, verb, err)
}

// Package app puts the parts of the service together: source, loop, publishers,
// executor, API and server.
package app

import (
	"context"
	"errors"
	"io"
	"os"
	"time"

	"github.com/zeta-scaler/zeta-scaler/config"
)

// Options are what Serve and Export need from the command line.
type Options struct {
	// Load reads the configuration: at the start, and again at every reload.
	Load func() (*config.Config, error)
	// Hangup asks for a reload; nil never does.
	Hangup <-chan os.Signal
	// Log gets the log's lines.
	Log io.Writer
}

// Serve evaluates rule sets and publishes recommendations until ctx ends or a
// part of the service fails for good.
func Serve(ctx context.Context, o Options) error {
	return bounded(ctx, func() error {
		s, err := newService(ctx, o)
		if err != nil {
			return ignoreCancel(ctx, err)
		}
		return s.run(ctx)
	})
}

// stopTimeout bounds a stop. It is shorter than what Kubernetes leaves a pod, so
// that the log says what happened.
const stopTimeout = 25 * time.Second

// errStop says that a part did not end. Nothing is lost with it: everything is
// stored before it is acknowledged, and the next start goes on from there.
var errStop = errors.New("stopping took longer than " + stopTimeout.String() + ": what is under way is left to the next start")

// bounded runs until it is done, or not much longer than ctx.
func bounded(ctx context.Context, run func() error) error {
	done := make(chan error, 1)
	go func() { done <- run() }()
	select {
	case err := <-done:
		return err
	case <-ctx.Done():
	}
	select {
	case err := <-done:
		return err
	case <-time.After(stopTimeout):
		return errStop
	}
}

// ignoreCancel drops the error of what was asked to stop.
func ignoreCancel(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return nil
	}
	return err
}

package app

import (
	"context"
	"fmt"
	"os"
	"time"

	"github.com/zeta-scaler/zeta-scaler/config"
)

// onHangup calls reload for every hangup until ctx ends.
func onHangup(ctx context.Context, hup <-chan os.Signal, reload func(context.Context)) error {
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-hup:
			reload(ctx)
		}
	}
}

// loadTimeout bounds how long a reload waits for files.
const loadTimeout = 30 * time.Second

// reading reads the configuration. Opening a file can hang for ever, as a pipe
// does that nobody writes to, and cannot be called off: who waits goes on when
// ctx ends, and what was read later is dropped.
func reading(ctx context.Context, load func() (*config.Config, error)) (*config.Config, error) {
	type result struct {
		cfg *config.Config
		err error
	}
	done := make(chan result, 1)
	go func() {
		cfg, err := load()
		done <- result{cfg, err}
	}()
	select {
	case r := <-done:
		return r.cfg, r.err
	case <-ctx.Done():
		return nil, fmt.Errorf("reading the configuration: a file does not answer: %w", context.Cause(ctx))
	}
}

// rereading is reading for a reload, which does not wait for ever.
func rereading(ctx context.Context, load func() (*config.Config, error)) (*config.Config, error) {
	ctx, cancel := context.WithTimeout(ctx, loadTimeout)
	defer cancel()
	return reading(ctx, load)
}

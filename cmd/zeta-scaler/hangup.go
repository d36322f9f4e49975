package main

import (
	"context"
	"os"
	"os/signal"
	"syscall"
)

// onHangup calls reload for every SIGHUP until ctx ends.
func onHangup(ctx context.Context, reload func(context.Context)) error {
	hup := make(chan os.Signal, 1)
	signal.Notify(hup, syscall.SIGHUP)
	defer signal.Stop(hup)
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-hup:
			reload(ctx)
		}
	}
}

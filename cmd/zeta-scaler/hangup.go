package main

import (
	"context"
	"os"
	"os/signal"
	"syscall"
)

// hangups gets a SIGHUP from now on. A service asks for it before it starts: one
// that comes meanwhile is a reload, and would otherwise end the process.
func hangups() chan os.Signal {
	hup := make(chan os.Signal, 1)
	signal.Notify(hup, syscall.SIGHUP)
	return hup
}

// onHangup calls reload for every SIGHUP until ctx ends.
func onHangup(ctx context.Context, hup chan os.Signal, reload func(context.Context)) error {
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

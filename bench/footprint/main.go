// Command footprint measures how much memory evaluating many scopes takes. It
// writes its figures in the format of Go benchmarks, in megabytes of 10^6
// bytes, so that benchstat and bench/report read them.
//
//	footprint loop -scopes 10000 -store memory   the evaluator's loop in this process
//	footprint serve -binary FILE -scopes 1       a child `zeta-scaler serve`
//
// Samples are made up in this process; there is no Prometheus. It reads
// /proc, so it runs on Linux only.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"time"
)

// options are the flags.
type options struct {
	scopes int
	ticks  int
	// store is memory or file.
	store string
	// binary and interval are for serve only.
	binary   string
	interval time.Duration
	// heapProfile, if not empty, gets a heap profile of the loop.
	heapProfile string
}

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := run(ctx, os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "footprint:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, args []string) error {
	if len(args) == 0 {
		return errors.New("expected loop or serve")
	}
	var o options
	flags := flag.NewFlagSet(args[0], flag.ExitOnError)
	flags.IntVar(&o.scopes, "scopes", 1, "number of scopes")
	flags.IntVar(&o.ticks, "ticks", 5, "ticks to wait for after the start")
	flags.StringVar(&o.store, "store", "memory", "state store: memory or file")
	flags.StringVar(&o.binary, "binary", "", "serve: the program to start")
	flags.DurationVar(&o.interval, "interval", 2*time.Second, "serve: time between ticks")
	flags.StringVar(&o.heapProfile, "heap-profile", "", "loop: file for a heap profile")
	if err := flags.Parse(args[1:]); err != nil {
		return err
	}
	if o.store != "memory" && o.store != "file" {
		return fmt.Errorf("no store %q, expected memory or file", o.store)
	}
	switch args[0] {
	case "loop":
		return measureLoop(ctx, o)
	case "serve":
		return measureServe(ctx, o)
	default:
		return fmt.Errorf("no measurement %q, expected loop or serve", args[0])
	}
}

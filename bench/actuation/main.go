// Command actuation measures the way from a notification of Alertmanager to a
// durable action, over real HTTP, with the parts that `serve` is made of: web,
// api, webhook, executor and the file store. It writes its figures in the
// format of Go benchmarks, for bench/report.
//
//	actuation accept                  fresh recommendations, beside bare fsynced inserts
//	actuation duplicates -alerts 20   the evaluation's ticks, with and without duplicates
//
// Whoever sends is in this process, too, so what is measured is the worse for
// it.
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
	// rate is per second: of requests (accept) or of alerts (duplicates).
	rate int
	// time is how long each side is measured.
	time time.Duration
	// slice is how long one side goes on before it is the other's turn.
	slice time.Duration
	// scopes, alerts and connections are for duplicates only.
	scopes      int
	alerts      int
	connections int
	// refused: the scopes are advisory, so that every answer is looked up.
	refused bool
}

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := run(ctx, os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "actuation:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, args []string) error {
	if len(args) == 0 {
		return errors.New("expected accept or duplicates")
	}
	measure := map[string]func(context.Context, options, string) error{"accept": measureAccept, "duplicates": measureDuplicates}[args[0]]
	if measure == nil {
		return fmt.Errorf("no measurement %q, expected accept or duplicates", args[0])
	}
	rate, slice := 200, 500*time.Millisecond
	if args[0] == "duplicates" {
		rate, slice = 10_000, 5*time.Second
	}
	var o options
	flags := flag.NewFlagSet(args[0], flag.ExitOnError)
	flags.IntVar(&o.rate, "rate", rate, "requests (accept) or alerts (duplicates) per second")
	flags.DurationVar(&o.time, "time", 3*time.Second, "how long each side is measured")
	flags.DurationVar(&o.slice, "slice", slice, "how long one side goes on before it is the other's turn")
	flags.IntVar(&o.scopes, "scopes", 200, "duplicates: scopes of the evaluation, every tenth of which asks for workers")
	flags.IntVar(&o.alerts, "alerts", 20, "duplicates: alerts of one notification")
	flags.IntVar(&o.connections, "connections", 8, "duplicates: connections that notifications come over")
	flags.BoolVar(&o.refused, "refused", false, "duplicates: scopes are advisory, so that nothing is accepted and every answer is read from the store")
	if err := flags.Parse(args[1:]); err != nil {
		return err
	}
	if o.rate < 1 || o.slice <= 0 || o.time < o.slice || o.scopes < 1 || o.alerts < 1 || o.connections < 1 {
		return errors.New("every flag has to be positive, and -time not less than -slice")
	}
	dir, err := os.MkdirTemp("", "actuation-*")
	if err != nil {
		return err
	}
	return errors.Join(measure(ctx, o, dir), os.RemoveAll(dir))
}

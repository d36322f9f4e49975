// Command peers runs other programs that judge metrics beside zeta-scaler, over
// one Prometheus with one set of samples, and says what each takes: the
// processor time of the server is counted, too. It writes its figures in the
// format of Go benchmarks, for bench/report.
//
//	peers cycle -scopes 100   evaluation: vmalert, Prometheus' rules, KEDA's and HPA's way of asking
//	peers replay -days 30     the past: vmalert -replay, bare range queries
//
// It reads /proc, so it runs on Linux only. bench/peers.sh builds what it needs.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"syscall"
	"time"
)

// options are the flags.
type options struct {
	// prometheus, vmalert and zeta are programs.
	prometheus, vmalert, zeta string
	rounds                    int
	// scopes and only are for cycle, days and folder for replay, url and discard
	// for ask.
	scopes, days      int
	only, folder, url string
	discard           bool
}

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx, os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "peers:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, args []string) error {
	if len(args) == 0 {
		return errors.New("expected cycle or replay")
	}
	var o options
	flags := flag.NewFlagSet(args[0], flag.ExitOnError)
	flags.StringVar(&o.prometheus, "prometheus", "bin/e2e/prometheus", "the program Prometheus")
	flags.StringVar(&o.vmalert, "vmalert", "bin/e2e/vmalert", "the program vmalert")
	flags.StringVar(&o.zeta, "zeta-scaler", "bin/zeta-scaler", "the program zeta-scaler")
	flags.IntVar(&o.rounds, "rounds", 1, "how often everything is measured, in turn")
	flags.IntVar(&o.scopes, "scopes", 100, "cycle: number of scopes")
	flags.StringVar(&o.only, "only", "", "cycle: measure only this one")
	flags.IntVar(&o.days, "days", 30, "replay: how long the past is")
	flags.StringVar(&o.folder, "folder", "", "replay: where its samples are made, and kept for the next run")
	flags.StringVar(&o.url, "url", "", "ask: the server")
	flags.BoolVar(&o.discard, "discard", false, "ask: replies are read and not decoded")
	if err := flags.Parse(args[1:]); err != nil {
		return err
	}
	if args[0] == "ask" { // a child of replay
		return ask(ctx, o)
	}
	measure := map[string]func(context.Context, options, string) error{"cycle": measureCycle, "replay": measureReplay}[args[0]]
	if measure == nil {
		return fmt.Errorf("no measurement %q, expected cycle or replay", args[0])
	}
	dir, err := os.MkdirTemp("", "peers-*")
	if err != nil {
		return err
	}
	for _, program := range []*string{&o.prometheus, &o.vmalert, &o.zeta} {
		if *program, err = filepath.Abs(*program); err != nil {
			return err
		}
	}
	return errors.Join(measure(ctx, o, dir), os.RemoveAll(dir))
}

// figure is a value with the unit that names it.
type figure struct {
	value float64
	unit  string
}

// report writes one line of benchmark format.
func report(name string, figures ...figure) {
	fmt.Printf("Benchmark%s\t1", name)
	for _, f := range figures {
		fmt.Printf("\t%.2f %s", f.value, f.unit)
	}
	fmt.Println()
}

// pause waits, but not longer than ctx.
func pause(ctx context.Context, d time.Duration) error {
	select {
	case <-time.After(d):
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

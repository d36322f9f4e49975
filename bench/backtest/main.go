// Command backtest measures what a backtest of 30 days costs beside the bare
// range queries of the same expressions, over a TSDB folder that it makes:
//
//	go run ./bench/backtest -folder /var/tmp/past
//
// It prints processor time, which other load on the machine disturbs little.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"log/slog"
	"os"
	"runtime"
	"runtime/metrics"
	"runtime/pprof"
	"syscall"
	"time"

	"github.com/zeta-scaler/zeta-scaler/backtest"
	"github.com/zeta-scaler/zeta-scaler/bench/past"
	"github.com/zeta-scaler/zeta-scaler/rules"
	"github.com/zeta-scaler/zeta-scaler/source"
)

func main() {
	folder := flag.String("folder", "", "where the samples are made, and kept for the next run")
	days := flag.Int("days", 30, "how long the past is")
	profile := flag.String("profile", "", "write a profile of the backtest to this file")
	flag.Parse()
	if err := run(context.Background(), *folder, *profile, *days); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run(ctx context.Context, folder, profile string, days int) error {
	if folder == "" {
		return errors.New("give -folder")
	}
	if err := past.Make(ctx, folder, days); err != nil {
		return err
	}
	rs, err := rules.Parse("bench.yaml", []byte(past.RuleSet()))
	if err != nil {
		return err
	}
	begin, last := past.Judged(days)
	end := past.Begin().AddDate(0, 0, days)
	opened, err := backtest.Place{Folder: folder}.Open(ctx, end.Add(-24*time.Hour), slog.New(slog.DiscardHandler))
	if err != nil {
		return err
	}
	bare, err := measured(func() error { return ask(ctx, opened, rs, begin, last) })
	if err != nil {
		return err
	}
	stop, err := profiling(profile)
	if err != nil {
		return err
	}
	var report *backtest.Report
	whole, err := measured(func() (err error) {
		report, err = backtest.Run(ctx, backtest.Options{
			Source: opened, SourceName: folder, RuleSets: []*rules.RuleSet{rs}, Start: begin, End: last, Now: end,
		})
		return err
	})
	if err := errors.Join(err, stop()); err != nil {
		return err
	}
	fmt.Printf("%d ticks of %d scopes and %d signals\n", report.Ticks, len(report.Scopes), past.Signals)
	fmt.Printf("bare range queries: %s\nbacktest: %s\nratio of processor time: %.2f\n",
		bare, whole, whole.cpu.Seconds()/bare.cpu.Seconds())
	return opened.Close()
}

// profiling writes a profile until stop is called; without a file it does nothing.
func profiling(file string) (stop func() error, err error) {
	if file == "" {
		return func() error { return nil }, nil
	}
	f, err := os.Create(file)
	if err != nil {
		return nil, err
	}
	if err := pprof.StartCPUProfile(f); err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return func() error {
		pprof.StopCPUProfile()
		return f.Close()
	}, nil
}

// cost is what something took.
type cost struct {
	cpu, wall time.Duration
	heap      uint64
}

func (c cost) String() string {
	return fmt.Sprintf("%.2f s processor time, %.1f s by the clock, %d MiB of heap at most", c.cpu.Seconds(), c.wall.Seconds(), c.heap>>20)
}

func measured(f func() error) (cost, error) {
	runtime.GC()
	done, peak := make(chan struct{}), make(chan uint64)
	go func() {
		most := uint64(0)
		sample := []metrics.Sample{{Name: "/memory/classes/heap/objects:bytes"}}
		for ticker := time.NewTicker(20 * time.Millisecond); ; {
			select {
			case <-ticker.C:
				metrics.Read(sample)
				most = max(most, sample[0].Value.Uint64())
			case <-done:
				ticker.Stop()
				peak <- most
				return
			}
		}
	}()
	cpu, began := used(), time.Now()
	err := f()
	c := cost{cpu: used() - cpu, wall: time.Since(began)}
	close(done)
	c.heap = <-peak
	return c, err
}

// used is the processor time of this process.
func used() time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		return 0
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// ask asks for every expression, in pieces as large as a server allows.
func ask(ctx context.Context, src *backtest.Opened, rs *rules.RuleSet, begin, end time.Time) error {
	exprs := []string{rs.Workers.Current.Text, rs.Workers.Reporting.Text}
	for i := range rs.Signals {
		exprs = append(exprs, rs.Signals[i].Expr.Text)
	}
	for _, expr := range exprs {
		for from := begin; !from.After(end); from = from.Add(source.DefaultMaxPoints * past.Interval) {
			to := from.Add((source.DefaultMaxPoints - 1) * past.Interval)
			if to.After(end) {
				to = end
			}
			if _, err := src.Range(ctx, expr, source.Window{Start: from, End: to, Step: past.Interval}); err != nil {
				return err
			}
		}
	}
	return nil
}

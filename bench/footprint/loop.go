package main

import (
	"context"
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"runtime/pprof"
	"time"

	"github.com/zeta-scaler/zeta-scaler/bench/fleet"
	"github.com/zeta-scaler/zeta-scaler/evaluator"
	"github.com/zeta-scaler/zeta-scaler/evaluator/handclock"
	"github.com/zeta-scaler/zeta-scaler/metrics"
	"github.com/zeta-scaler/zeta-scaler/rules"
	"github.com/zeta-scaler/zeta-scaler/scaling"
	"github.com/zeta-scaler/zeta-scaler/state"
	"github.com/zeta-scaler/zeta-scaler/state/file"
	"github.com/zeta-scaler/zeta-scaler/state/memory"
)

// measureLoop runs the loop as serve does, with board and metrics as readers,
// on a clock that jumps from tick to tick.
func measureLoop(ctx context.Context, o options) (err error) {
	rs, _, err := rules.Pack(fleet.PackName)
	if err != nil {
		return err
	}
	store, closeStore, err := openStore(ctx, o.store)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, closeStore()) }()
	start := evaluator.TickAtOrBefore(time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC), rs.Interval, evaluator.Phase(rs.Name, rs.Interval))
	clock := handclock.New(start)
	board := evaluator.NewBoard(1)
	collector := metrics.New(metrics.Options{PerSignal: true, Clock: clock.Now})
	counter := make(ticks, 1)
	loop := evaluator.NewLoop(evaluator.Options{
		Source: fleet.New(rs, o.scopes), Clock: clock, Store: store, Epoch: 1, Logger: slog.New(slog.NewTextHandler(os.Stderr, nil)),
		Publishers: []evaluator.Publisher{board, collector, counter},
	})
	ctx, cancel := context.WithCancel(ctx)
	done := make(chan error, 1)
	go func() {
		done <- loop.Run(ctx, evaluator.Config{
			RuleSets: []*rules.RuleSet{rs}, Discover: true, DefaultRuleSet: rs.Name, ForgetAfter: time.Hour,
		})
	}()
	defer func() {
		cancel()
		err = errors.Join(err, <-done)
	}()
	for i := range o.ticks {
		clock.Set(start.Add(time.Duration(i) * rs.Interval))
		for evaluated := 0; evaluated < o.scopes; {
			select {
			case n := <-counter:
				evaluated += n
			case <-ctx.Done():
				return ctx.Err()
			}
		}
	}
	if err := reportLoop(o); err != nil {
		return err
	}
	runtime.KeepAlive(board)
	runtime.KeepAlive(collector)
	return nil
}

// reportLoop looks at the process twice: as it is, and after what is garbage
// was collected and given back.
func reportLoop(o options) error {
	busy, err := residentOf("self")
	if err != nil {
		return err
	}
	debug.FreeOSMemory()
	calm, err := residentOf("self")
	if err != nil {
		return err
	}
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	if o.heapProfile != "" {
		f, err := os.Create(o.heapProfile)
		if err != nil {
			return err
		}
		if err := errors.Join(pprof.Lookup("heap").WriteTo(f, 0), f.Close()); err != nil {
			return err
		}
	}
	report("ResidentLoop/store="+o.store, o.scopes,
		figure{"resident", calm.now}, figure{"before-gc", busy.now}, figure{"peak", busy.peak}, figure{"live", float64(m.HeapAlloc)})
	return nil
}

func openStore(ctx context.Context, kind string) (state.Store, func() error, error) {
	if kind == "memory" {
		s := memory.New()
		return s, s.Close, nil
	}
	dir, err := os.MkdirTemp("", "footprint-*")
	if err != nil {
		return nil, nil, err
	}
	s, err := file.Open(ctx, file.Options{Path: filepath.Join(dir, "state.db")})
	if err != nil {
		return nil, nil, errors.Join(err, os.RemoveAll(dir))
	}
	return s, func() error { return errors.Join(s.Close(), os.RemoveAll(dir)) }, nil
}

// ticks is told how many scopes were evaluated.
type ticks chan int

// Publish implements evaluator.Publisher.
func (t ticks) Publish(_ context.Context, evaluations []scaling.Evaluation, _ []scaling.Scope) {
	if len(evaluations) > 0 {
		t <- len(evaluations)
	}
}

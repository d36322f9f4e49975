package backtest

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/zeta-scaler/zeta-scaler/backoff"
	"github.com/zeta-scaler/zeta-scaler/evaluator"
	"github.com/zeta-scaler/zeta-scaler/progress"
)

// ErrStopped says that a backtest ended before its period did. The report of
// what was judged until then comes with it.
var ErrStopped = errors.New("the backtest was stopped")

// Run replays the rule sets over the period. A report comes even with an error
// that wraps ErrStopped, and says then that it is partial.
func Run(ctx context.Context, o Options) (*Report, error) {
	if err := o.prepare(); err != nil {
		return nil, err
	}
	saved, err := o.load()
	if err != nil {
		return nil, err
	}
	if saved != nil {
		o.Start, o.End, o.Now = saved.Start, saved.End, saved.Now
	}
	r, err := newRun(&o)
	if err != nil {
		return nil, err
	}
	if err := r.resume(saved); err != nil {
		return nil, err
	}
	err = r.all(ctx)
	if o.Lines != nil {
		err = errors.Join(err, o.Lines.Flush())
	}
	if err != nil {
		err = r.stopped(ctx, err)
	} else {
		err = r.finish()
	}
	r.tally.conclude()
	return r.tally.report, err
}

// run is one backtest under way.
type run struct {
	o      *Options
	sides  []*side
	shared *shared
	tally  *tally
	// began is when it did, saved when the checkpoint was written last.
	began, saved time.Time
	// due is true once it is time for another.
	due bool
	// before is how many ticks were folded by runs that were interrupted.
	before int
}

func newRun(o *Options) (*run, error) {
	r := &run{o: o, began: time.Now(), saved: time.Now()}
	var warmUp time.Duration
	for _, rs := range o.RuleSets {
		w, err := evaluator.WarmUp(rs, o.Limits.floorDelay())
		if err != nil {
			return nil, err
		}
		warmUp = max(warmUp, w)
	}
	r.shared = &shared{
		past: &reader{src: o.Source, wait: backoff.Wait}, both: map[string]bool{}, kept: map[question]evaluator.Answer{},
	}
	for _, rs := range o.RuleSets {
		s, err := newSide(rs, o.RuleSets[0], o, warmUp, r.shared)
		if err != nil {
			return nil, err
		}
		r.sides = append(r.sides, s)
	}
	if len(r.sides) > 1 {
		first := map[string]bool{}
		for _, q := range r.sides[0].replay.Queries() {
			first[q.Expr] = true
		}
		for _, q := range r.sides[1].replay.Queries() {
			r.shared.both[q.Expr] = first[q.Expr]
		}
	}
	r.tally = newTally(o, r.sides)
	return r, nil
}

// all folds tick after tick, of the second rule set first where both have one, so
// that the first is compared with what the second says at the same time.
func (r *run) all(ctx context.Context) error {
	for {
		which := -1
		for i, s := range slices.Backward(r.sides) {
			if !s.replay.Done() && (which < 0 || s.replay.NextTick().Before(r.sides[which].replay.NextTick())) {
				which = i
			}
		}
		if which < 0 {
			return nil
		}
		ok, err := r.sides[which].next(ctx, r.read)
		if err != nil {
			return err
		}
		if ok {
			if err := r.tally.tick(which); err != nil {
				return err
			}
		}
		if r.due {
			r.due, r.saved = false, time.Now()
			if err := r.save(); err != nil {
				return err
			}
		}
	}
}

// read is called when a side has got its next piece.
func (r *run) read(s *side) {
	if s != r.sides[0] {
		return
	}
	r.shared.forget(s.replay.NextTick().Add(-time.Hour).UnixMilli())
	if r.o.Progress != nil {
		done, total := s.replay.Ticks()
		r.o.Progress(progress.Progress{
			Done: done, Total: total, Before: r.before, Where: s.replay.NextTick().UTC().Format("2006-01-02 15:04"), Elapsed: time.Since(r.began),
		})
	}
	r.due = r.o.Checkpoint != "" && time.Since(r.saved) >= saveEvery
}

// stopped makes an end before the end a partial report.
func (r *run) stopped(ctx context.Context, cause error) error {
	why := cause.Error()
	if ctx.Err() != nil {
		why = "it was interrupted"
	}
	r.tally.report.Partial, r.tally.report.Stopped = true, why
	err := fmt.Errorf("%w: %s", ErrStopped, why)
	if r.o.Checkpoint == "" {
		return err
	}
	if serr := r.save(); serr != nil {
		return errors.Join(err, serr)
	}
	r.tally.note("The same command goes on from " + r.o.Checkpoint + ".")
	return err
}

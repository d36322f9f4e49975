package backtest

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/prometheus/prometheus/model/labels"

	"github.com/zeta-scaler/zeta-scaler/backoff"
	"github.com/zeta-scaler/zeta-scaler/evaluator"
	"github.com/zeta-scaler/zeta-scaler/source"
)

// block is how many ticks are judged together where an expression fails: pieces
// that are read at once are whole blocks, so that their size changes nothing.
const block = 64

// How often a question without an answer is asked again, and how long after.
const (
	answerTries = 4
	answerWait  = time.Second
	answerLimit = 10 * time.Second
)

// errTooMuch says that a piece is too large for the server.
var errTooMuch = errors.New("the server answers only for shorter periods")

// reader asks for a period of one expression and finds out at which of its
// ticks it fails.
//
// A range query fails as a whole, by an error or with warnings, when it fails at
// one tick. A live service would have missed only that tick, so the range is
// asked for again, block by block. A block whose first and last tick both fail
// is failed; in any other the failing ticks are found by halving.
type reader struct {
	src evaluator.Source
	// wait is backoff.Wait, but for tests.
	wait func(context.Context, time.Duration) error
}

// Past implements evaluator.Past. The window begins at a block.
func (r *reader) Past(ctx context.Context, expr string, w source.Window) (evaluator.Answer, error) {
	m, err := r.ask(ctx, expr, w)
	switch {
	case err == nil && len(m.Warnings) == 0:
		return evaluator.Answer{Series: m.Series}, nil
	case source.TooMuch(err) && ticks(w) > block:
		return evaluator.Answer{}, fmt.Errorf("%w: %w", errTooMuch, err)
	case err != nil && !source.TooMuch(err) && unanswered(err):
		return evaluator.Answer{}, err
	}
	if q, ok := errors.AsType[*source.QueryError](err); ok && q.Type == "bad_data" && !source.TooMuch(err) {
		return failing(w, err, nil), nil // an expression that cannot be read fails everywhere
	}
	var out collected
	for _, part := range cut(w, block) {
		if err := r.block(ctx, expr, part, &out); err != nil {
			return evaluator.Answer{}, err
		}
	}
	return out.answer(), nil
}

// block reads one block.
func (r *reader) block(ctx context.Context, expr string, w source.Window, out *collected) error {
	a, err := r.whole(ctx, expr, w)
	if err != nil || len(a.Failed) == 0 {
		return out.add(a, err)
	}
	ends := [2]evaluator.Answer{}
	for i, at := range []time.Time{w.Start, w.End} {
		if ends[i], err = r.whole(ctx, expr, source.Window{Start: at, End: at, Step: w.Step}); err != nil {
			return err
		}
	}
	if len(ends[0].Failed) > 0 && len(ends[1].Failed) > 0 {
		f := ends[0].Failed[0]
		return out.add(failing(w, f.Err, f.Warnings), nil)
	}
	return r.halve(ctx, expr, w, out)
}

// halve finds the failing ticks of a window that fails as a whole.
func (r *reader) halve(ctx context.Context, expr string, w source.Window, out *collected) error {
	for _, part := range cut(w, (ticks(w)+1)/2) {
		a, err := r.whole(ctx, expr, part)
		if err != nil {
			return err
		}
		if len(a.Failed) > 0 && ticks(part) > 1 {
			if err := r.halve(ctx, expr, part, out); err != nil {
				return err
			}
			continue
		}
		if err := out.add(a, nil); err != nil {
			return err
		}
	}
	return nil
}

// whole asks for a window that either has an answer or fails, in smaller pieces
// if the server wants it so.
func (r *reader) whole(ctx context.Context, expr string, w source.Window) (evaluator.Answer, error) {
	m, err := r.ask(ctx, expr, w)
	switch {
	case err == nil && len(m.Warnings) == 0:
		return evaluator.Answer{Series: m.Series}, nil
	case source.TooMuch(err) && ticks(w) > 1:
		var out collected
		for _, part := range cut(w, (ticks(w)+1)/2) {
			a, err := r.whole(ctx, expr, part)
			if err != nil {
				return evaluator.Answer{}, err
			}
			if len(a.Failed) > 0 {
				return failing(w, a.Failed[0].Err, a.Failed[0].Warnings), nil
			}
			if err := out.add(a, nil); err != nil {
				return evaluator.Answer{}, err
			}
		}
		return out.answer(), nil
	case source.TooMuch(err):
		// Even one tick is too much: that is an answer, and no outage.
		return failing(w, &source.QueryError{Type: "execution", Message: err.Error()}, nil), nil
	case err != nil && unanswered(err):
		return evaluator.Answer{}, err
	}
	return failing(w, err, m.Warnings), nil
}

// ask asks once, and again while there is no answer.
func (r *reader) ask(ctx context.Context, expr string, w source.Window) (source.Matrix, error) {
	for try := 1; ; try++ {
		m, err := r.src.Range(ctx, expr, w)
		if err == nil || !unanswered(err) || source.TooMuch(err) || try == answerTries || ctx.Err() != nil {
			return m, err
		}
		if werr := r.wait(ctx, backoff.Doubled(answerWait, try, answerLimit)); werr != nil {
			return m, err
		}
	}
}

func unanswered(err error) bool {
	return errors.Is(err, source.ErrNoAnswer) || errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded)
}

// ticks is how many instants a window has.
func ticks(w source.Window) int { return int(w.End.Sub(w.Start)/w.Step) + 1 }

// cut cuts a window into windows of at most n instants.
func cut(w source.Window, n int) []source.Window {
	var parts []source.Window
	for start := w.Start; !start.After(w.End); start = start.Add(time.Duration(n) * w.Step) {
		end := start.Add(time.Duration(n-1) * w.Step)
		if end.After(w.End) {
			end = w.End
		}
		parts = append(parts, source.Window{Start: start, End: end, Step: w.Step})
	}
	return parts
}

func failing(w source.Window, err error, warnings []string) evaluator.Answer {
	return evaluator.Answer{Failed: []evaluator.Stretch{{
		From: w.Start.UnixMilli(), To: w.End.UnixMilli(), Err: err, Warnings: warnings,
	}}}
}

// collected joins answers for windows that follow each other.
type collected struct {
	series []source.Series
	index  map[uint64][]int
	failed []evaluator.Stretch
}

func (c *collected) add(a evaluator.Answer, err error) error {
	if err != nil {
		return err
	}
	for _, s := range a.Series {
		if i := c.find(s.Labels); i >= 0 {
			c.series[i].Points = append(c.series[i].Points, s.Points...)
			continue
		}
		h := s.Labels.Hash()
		if c.index == nil {
			c.index = map[uint64][]int{}
		}
		c.index[h] = append(c.index[h], len(c.series))
		c.series = append(c.series, source.Series{Labels: s.Labels, Points: slices.Clone(s.Points)})
	}
	c.failed = append(c.failed, a.Failed...)
	return nil
}

func (c *collected) find(l labels.Labels) int {
	for _, i := range c.index[l.Hash()] {
		if labels.Equal(c.series[i].Labels, l) {
			return i
		}
	}
	return -1
}

func (c *collected) answer() evaluator.Answer {
	return evaluator.Answer{Series: c.series, Failed: c.failed}
}

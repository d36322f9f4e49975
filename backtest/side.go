package backtest

import (
	"context"
	"errors"
	"time"

	"github.com/zeta-scaler/zeta-scaler/evaluator"
	"github.com/zeta-scaler/zeta-scaler/rules"
	"github.com/zeta-scaler/zeta-scaler/source"
)

// Bounds of how much is read at once.
const (
	// firstTicks is how many ticks are read before the number of series is known.
	firstTicks = 8 * block
	// maxPieceTicks are the most whole blocks below the 11 000 points that a
	// Prometheus server gives of a series at once.
	maxPieceTicks = source.DefaultMaxPoints / block * block
	// maxPiecePoints bounds the points of a piece, over all expressions: 16 bytes
	// each, and twice as much while they are read.
	maxPiecePoints = 1 << 18
)

// side is one rule set on its way through the period.
type side struct {
	rs     *rules.RuleSet
	replay *evaluator.Replayer
	past   evaluator.Past
	// ticks is how many are read at once, most the most that the server gives.
	ticks, most int
	// fixed is true while ticks must not grow with what is known of the series.
	fixed bool
}

// newSide prepares a rule set. Its ticks are those that a service would have,
// or the leader's, if both have one interval.
func newSide(rs, leader *rules.RuleSet, o *Options, warmUp time.Duration, past evaluator.Past) (*side, error) {
	phase := evaluator.Phase(rs.Name, rs.Interval)
	if rs.Interval == leader.Interval {
		phase = evaluator.Phase(leader.Name, leader.Interval)
	}
	start := evaluator.TickAtOrBefore(o.Start, rs.Interval, phase)
	if start.Before(o.Start) {
		start = start.Add(rs.Interval)
	}
	replay, err := evaluator.NewReplayer(evaluator.ReplayOptions{
		RuleSet: rs, Start: start, End: o.end(), ForgetAfter: o.ForgetAfter, Scopes: o.Scopes, WarmUp: warmUp, Align: block,
		Limits: o.Limits.over(rs.Bounds),
	})
	if err != nil {
		return nil, err
	}
	s := &side{rs: rs, replay: replay, past: past, ticks: firstTicks, most: maxPieceTicks}
	if o.Ticks > 0 {
		s.ticks, s.fixed = blocks(o.Ticks), true
	}
	return s, nil
}

// blocks rounds up to whole blocks.
func blocks(n int) int { return max(1, (n+block-1)/block) * block }

// end is the last instant of the period.
func (o *Options) end() time.Time {
	if o.End.After(o.Now) {
		return o.Now
	}
	return o.End
}

// next folds the next tick of the side and reports whether there was one.
func (s *side) next(ctx context.Context, read func(*side)) (bool, error) {
	for !s.replay.Next() {
		if s.replay.Done() {
			return false, nil
		}
		if err := s.read(ctx); err != nil {
			return false, err
		}
		read(s)
	}
	return true, nil
}

// read asks for the next piece, smaller ones if the server wants it so.
func (s *side) read(ctx context.Context) error {
	for {
		err := s.replay.Read(ctx, s.past, s.ticks)
		if !errors.Is(err, errTooMuch) || s.ticks <= block {
			if err == nil && !s.fixed {
				s.ticks = s.size(s.replay.Series())
			}
			return err
		}
		s.ticks = blocks(s.ticks / 2)
		s.most = s.ticks
	}
}

// size is how many ticks of so many series make a piece.
func (s *side) size(series int) int {
	n := maxPiecePoints / max(1, series) / block * block
	return min(max(block, n), s.most)
}

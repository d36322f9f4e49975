package backtest

import (
	"context"
	"sync"

	"github.com/zeta-scaler/zeta-scaler/evaluator"
	"github.com/zeta-scaler/zeta-scaler/source"
)

// shared asks once for what two rule sets have in common. Each answer is kept
// until it was given twice, or until it is forgotten.
type shared struct {
	past evaluator.Past

	mu sync.Mutex
	// both are the expressions of both rule sets.
	both map[string]bool
	kept map[question]evaluator.Answer
}

type question struct {
	expr             string
	start, end, step int64
}

// Past implements evaluator.Past.
func (s *shared) Past(ctx context.Context, expr string, w source.Window) (evaluator.Answer, error) {
	q := question{expr, w.Start.UnixMilli(), w.End.UnixMilli(), w.Step.Milliseconds()}
	if !s.both[expr] {
		return s.past.Past(ctx, expr, w)
	}
	s.mu.Lock()
	a, ok := s.kept[q]
	delete(s.kept, q)
	s.mu.Unlock()
	if ok {
		return a, nil
	}
	a, err := s.past.Past(ctx, expr, w)
	if err == nil {
		s.mu.Lock()
		s.kept[q] = a
		s.mu.Unlock()
	}
	return a, err
}

// forget drops what nobody came back for, such as pieces of another size.
func (s *shared) forget(before int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for q := range s.kept {
		if q.end < before {
			delete(s.kept, q)
		}
	}
}

package evaluator

import (
	"context"
	"maps"
	"slices"
	"sync"

	"github.com/zeta-scaler/zeta-scaler/scaling"
)

// Board is a Publisher that keeps the newest evaluation of every scope, for
// those who read: API and page. It is safe for concurrent use.
type Board struct {
	epoch uint64
	mu    sync.RWMutex
	byKey map[string]*scaling.Evaluation
}

// NewBoard returns an empty board of a leader with the given epoch.
func NewBoard(epoch uint64) *Board {
	return &Board{epoch: epoch, byKey: map[string]*scaling.Evaluation{}}
}

// Publish takes over one tick's evaluations and drops scopes that are gone.
func (b *Board) Publish(_ context.Context, evaluations []scaling.Evaluation, gone []scaling.Scope) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for i := range evaluations {
		b.byKey[evaluations[i].Scope.Key] = &evaluations[i]
	}
	for _, s := range gone {
		delete(b.byKey, s.Key)
	}
}

// Evaluations returns the newest evaluations, sorted by scope key.
func (b *Board) Evaluations() []scaling.Evaluation {
	b.mu.RLock()
	defer b.mu.RUnlock()
	out := make([]scaling.Evaluation, 0, len(b.byKey))
	for _, key := range slices.Sorted(maps.Keys(b.byKey)) {
		out = append(out, *b.byKey[key])
	}
	return out
}

// Evaluation returns the newest evaluation of one scope.
func (b *Board) Evaluation(key string) (scaling.Evaluation, bool) {
	b.mu.RLock()
	defer b.mu.RUnlock()
	ev, ok := b.byKey[key]
	if !ok {
		return scaling.Evaluation{}, false
	}
	return *ev, true
}

// Leader is true: without shared leadership a running process leads.
func (b *Board) Leader() bool { return true }

// Epoch is the leader's epoch.
func (b *Board) Epoch() uint64 { return b.epoch }

package evaluator

import (
	"context"
	"maps"
	"slices"
	"sync"

	"github.com/zeta-scaler/zeta-scaler/scaling"
)

// maxGone is how many scopes that are gone a board remembers for those who
// follow its changes.
const maxGone = 1024

// Board is a Publisher that keeps the newest evaluation of every scope, for
// those who read: API and page. It is safe for concurrent use.
type Board struct {
	mu    sync.RWMutex
	epoch uint64
	byKey map[string]posted
	gone  []departure
	// mark counts publications; changed is closed by the next one.
	mark    uint64
	changed chan struct{}
	// published is set once a tick was, since the leader began.
	published bool
}

// posted is an evaluation with the publication that brought it.
type posted struct {
	*scaling.Evaluation
	mark uint64
}

// departure is a scope that is gone.
type departure struct {
	key  string
	mark uint64
}

// NewBoard returns an empty board of a leader with the given epoch, or of a
// process that does not lead if that is 0.
func NewBoard(epoch uint64) *Board {
	return &Board{epoch: epoch, byKey: map[string]posted{}, changed: make(chan struct{})}
}

// Publish takes over one tick's evaluations and drops scopes that are gone.
func (b *Board) Publish(_ context.Context, evaluations []scaling.Evaluation, gone []scaling.Scope) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.mark++
	b.published = true
	for i := range evaluations {
		b.byKey[evaluations[i].Scope.Key] = posted{&evaluations[i], b.mark}
	}
	for _, s := range gone {
		delete(b.byKey, s.Key)
		b.gone = append(b.gone, departure{s.Key, b.mark})
	}
	if n := len(b.gone) - maxGone; n > 0 {
		b.gone = slices.Delete(b.gone, 0, n)
	}
	close(b.changed)
	b.changed = make(chan struct{})
}

// Changes returns the keys of the scopes that were evaluated or are gone since
// a mark, sorted, the mark to ask with next, and a channel that is closed when
// there is more. Mark 0 is the beginning. Of many scopes that are gone, those
// that went first are forgotten.
func (b *Board) Changes(since uint64) (keys []string, mark uint64, more <-chan struct{}) {
	b.mu.RLock()
	defer b.mu.RUnlock()
	for key, p := range b.byKey {
		if p.mark > since {
			keys = append(keys, key)
		}
	}
	for _, d := range b.gone {
		if _, back := b.byKey[d.key]; d.mark > since && !back {
			keys = append(keys, d.key)
		}
	}
	slices.Sort(keys)
	return slices.Compact(keys), b.mark, b.changed
}

// Evaluations returns the newest evaluations, sorted by scope key.
func (b *Board) Evaluations() []scaling.Evaluation {
	b.mu.RLock()
	defer b.mu.RUnlock()
	out := make([]scaling.Evaluation, 0, len(b.byKey))
	for _, key := range slices.Sorted(maps.Keys(b.byKey)) {
		out = append(out, *b.byKey[key].Evaluation)
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
	return *ev.Evaluation, true
}

// Begin empties the board for a new leader, or with epoch 0 for a process that
// leads no longer.
func (b *Board) Begin(epoch uint64) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.epoch, b.published = epoch, false
	b.mark++
	b.gone = nil
	clear(b.byKey)
	close(b.changed)
	b.changed = make(chan struct{})
}

// Published reports whether anything was published since the leader began: before,
// that there is no scope says nothing.
func (b *Board) Published() bool {
	b.mu.RLock()
	defer b.mu.RUnlock()
	return b.published
}

// Leader reports whether this process leads.
func (b *Board) Leader() bool { return b.Epoch() > 0 }

// Epoch is the leader's epoch, 0 while this process does not lead.
func (b *Board) Epoch() uint64 {
	b.mu.RLock()
	defer b.mu.RUnlock()
	return b.epoch
}

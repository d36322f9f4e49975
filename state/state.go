// Package state keeps what Prometheus cannot: epochs, generations, ramps,
// booting workers, cooldowns, pauses, runtime limits and the history of
// decisions (spec 4.4).
package state

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"
)

// Kind is the kind of a record. Each has exactly one writer, so that
// compare-and-set fences leaders and nothing else.
type Kind string

// The kinds.
const (
	// Leader holds the epoch; key "epoch".
	Leader Kind = "leader"
	// Decision is written by the evaluator, one per scope.
	Decision Kind = "decision"
	// Execution is written by the executor, one per scope.
	Execution Kind = "execution"
	// Drain is written by the drainer, one per scope.
	Drain Kind = "drain"
	// Control is written by the API, one per scope; key "" is the whole service.
	Control Kind = "control"
	// Tick is written by the evaluator, one per rule set: its last tick.
	Tick Kind = "tick"
	// Alert is written by the notifier, one per scope that has alerts.
	Alert Kind = "alert"
	// Job is written by the API, one per job that was submitted through it; key
	// "CLUSTER/ID".
	Job Kind = "job"
)

// Errors that every store returns.
var (
	// ErrNotFound says that there is no record under the key.
	ErrNotFound = errors.New("record not found")
	// ErrConflict says that a record's version is not the expected one: another
	// writer was there first.
	ErrConflict = errors.New("record was changed by another writer")
)

// Record is one stored value with the version that compare-and-set needs.
type Record struct {
	Kind Kind
	Key  string
	// Version is ≥ 1 and changes with every write. A store never gives the same
	// one twice for a record, not even after it was removed.
	Version uint64
	Value   json.RawMessage
}

// Put is one compare-and-set write. Version is the version that was read, 0 if
// the record must not exist yet.
type Put struct {
	Kind    Kind
	Key     string
	Version uint64
	Value   json.RawMessage
}

// Remove deletes a record. Version, if > 0, is the version that was read; with 0
// the record goes whatever its version, and a missing one is no error.
type Remove struct {
	Kind    Kind
	Key     string
	Version uint64
}

// Entry is one line of history.
type Entry struct {
	// ID is assigned by the store, unique and rising.
	ID    int64
	Scope string
	// At is kept in microseconds, UTC.
	At     time.Time
	Action string
	// Kind is one of the history kinds: DecisionEntry and its like.
	Kind  string
	Value json.RawMessage
}

// With is the entry with a typed value.
func (e Entry) With(value any) (Entry, error) {
	b, err := json.Marshal(value)
	if err != nil {
		return e, fmt.Errorf("encoding the history (%s) of scope %s: %w", e.Kind, e.Scope, err)
	}
	e.Value = b
	return e, nil
}

// WithEach are the entries with a typed value each.
func WithEach[T any](e Entry, values []T) ([]Entry, error) {
	var out []Entry
	for _, v := range values {
		one, err := e.With(v)
		if err != nil {
			return nil, err
		}
		out = append(out, one)
	}
	return out, nil
}

// Batch is written in one transaction: all of it or nothing. A store may split
// only what is too large for it, and only between scopes: what belongs to one
// scope is written together, and the records of no scope (leader, tick) last. It
// may name a record only once.
type Batch struct {
	Puts    []Put
	Removes []Remove
	History []Entry
}

// Filter selects history, newest first.
type Filter struct {
	Scope  string
	Action string
	Kind   string
	// Since and Until are both part of the period; zero is open.
	Since, Until time.Time
	// Before, if > 0, continues below the entry with that ID (a cursor).
	Before int64
	// Limit is 1…1000.
	Limit int
}

// Retention says how much history is kept.
type Retention struct {
	// Records is how many entries are kept of each scope and kind.
	Records int
	// Oldest is the time of the oldest that are kept, zero for any.
	Oldest time.Time
	// Gone, if > 0, is of how many scopes without a Decision record history is
	// kept: those with the newest. That of the whole service (GlobalKey) stays.
	Gone int
}

// Store is the one interface of all implementations. When Apply returns nil
// the batch is durable. After an error of Apply nothing of the batch is visible,
// unless the store had to split it, or does not know what became of it.
type Store interface {
	// Get fails with ErrNotFound if there is no such record.
	Get(ctx context.Context, kind Kind, key string) (Record, error)
	// List returns all records of a kind as of one moment, sorted by key.
	List(ctx context.Context, kind Kind) ([]Record, error)
	// Apply writes the batch under a fence and returns the new versions of its
	// Puts in order. It fails with ErrFenced if the stored Leader record has a
	// newer epoch than the fence (see Fence.CheckLeader), else with ErrConflict if
	// any version of a Put or Remove does not match. The epoch is read in the transaction of the
	// batch: nothing of an older leader gets in after a newer epoch was stored.
	Apply(ctx context.Context, f Fence, b Batch) ([]uint64, error)
	History(ctx context.Context, f Filter) ([]Entry, error)
	// Trim deletes the history that need not be kept.
	Trim(ctx context.Context, keep Retention) error
	// Check reports whether the store can be used now.
	Check(ctx context.Context) error
	Close() error
}

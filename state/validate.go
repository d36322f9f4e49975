package state

import (
	"encoding/json"
	"errors"
	"fmt"
	"time"
)

// MaxHistoryLimit is the greatest Filter.Limit.
const MaxHistoryLimit = 1000

// Errors about how a store is used.
var (
	// ErrInvalid says that a batch or filter can never succeed as it is.
	ErrInvalid = errors.New("invalid request to the state store")
	// ErrClosed says that the store was closed before.
	ErrClosed = errors.New("state store is closed")
)

// ref names a record.
type ref struct {
	kind Kind
	key  string
}

// Validate reports the first reason why no store may accept the batch: an
// unknown kind, a value that is not JSON, or a record that is named twice (its
// outcome would depend on an order that a batch does not have).
func (b Batch) Validate() error {
	seen := make(map[ref]struct{}, len(b.Puts)+len(b.Removes))
	once := func(kind Kind, key string) error {
		if !kind.Valid() {
			return fmt.Errorf("%w: record kind %q is unknown", ErrInvalid, kind)
		}
		r := ref{kind, key}
		if _, dup := seen[r]; dup {
			return fmt.Errorf("%w: record %s %q is named twice in one batch", ErrInvalid, kind, key)
		}
		seen[r] = struct{}{}
		return nil
	}
	for _, p := range b.Puts {
		if err := once(p.Kind, p.Key); err != nil {
			return err
		}
		if !json.Valid(p.Value) {
			return fmt.Errorf("%w: value of record %s %q is not JSON", ErrInvalid, p.Kind, p.Key)
		}
	}
	for _, r := range b.Removes {
		if err := once(r.Kind, r.Key); err != nil {
			return err
		}
	}
	for i, e := range b.History {
		if e.Kind == "" {
			return fmt.Errorf("%w: history entry %d of scope %q has no kind", ErrInvalid, i, e.Scope)
		}
		if !json.Valid(e.Value) {
			return fmt.Errorf("%w: value of history entry %d of scope %q is not JSON", ErrInvalid, i, e.Scope)
		}
	}
	return nil
}

// Empty reports whether the batch changes nothing.
func (b Batch) Empty() bool {
	return len(b.Puts) == 0 && len(b.Removes) == 0 && len(b.History) == 0
}

// Valid reports whether k is one of the kinds of this package.
func (k Kind) Valid() bool {
	switch k {
	case Leader, Decision, Execution, Drain, Control, Tick, Alert, Job:
		return true
	default:
		return false
	}
}

// Validate reports why a retention makes no sense.
func (r Retention) Validate() error {
	if r.Records < 0 {
		return fmt.Errorf("%w: at most %d history records per scope", ErrInvalid, r.Records)
	}
	return nil
}

// Validate reports why a filter selects nothing that makes sense.
func (f Filter) Validate() error {
	if f.Limit < 1 || f.Limit > MaxHistoryLimit {
		return fmt.Errorf("%w: history limit is %d, expected 1 to %d", ErrInvalid, f.Limit, MaxHistoryLimit)
	}
	if f.Before < 0 {
		return fmt.Errorf("%w: history cursor is %d, expected 0 or more", ErrInvalid, f.Before)
	}
	if !f.Since.IsZero() && !f.Until.IsZero() && f.Until.Before(f.Since) {
		return fmt.Errorf("%w: history until %s is before since %s", ErrInvalid,
			f.Until.Format(time.RFC3339), f.Since.Format(time.RFC3339))
	}
	return nil
}

// Matches reports whether an entry passes the filter, its Limit aside. Since
// and Until are both part of the period.
func (f Filter) Matches(e Entry) bool {
	return (f.Scope == "" || e.Scope == f.Scope) &&
		(f.Action == "" || e.Action == f.Action) &&
		(f.Kind == "" || e.Kind == f.Kind) &&
		(f.Since.IsZero() || !e.At.Before(f.Since)) &&
		(f.Until.IsZero() || !e.At.After(f.Until)) &&
		(f.Before == 0 || e.ID < f.Before)
}

// Instant is a time as stores keep it: UTC, in microseconds.
func Instant(t time.Time) time.Time { return time.UnixMicro(t.UnixMicro()).UTC() }

// FirstFrom is the first time that stores keep and that is not before t: a period
// that begins at t has nothing older.
func FirstFrom(t time.Time) time.Time { return Instant(t.Add(time.Microsecond - 1)) }

// Package memory is a state store that forgets everything when the process
// ends. It serves tests, the demo and advisory use without a disk.
package memory

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"slices"
	"sync"

	"github.com/zeta-scaler/zeta-scaler/state"
)

// Store keeps everything in maps. The zero value is not usable; see New.
type Store struct {
	mu      sync.RWMutex
	closed  bool
	version uint64
	lastID  int64
	records map[state.Kind]map[string]state.Record
	// all and scopes hold the same entries, by rising ID.
	all    []*state.Entry
	scopes map[string][]*state.Entry
}

var _ state.Store = (*Store)(nil)

// New returns an empty store.
func New() *Store {
	return &Store{
		records: map[state.Kind]map[string]state.Record{},
		scopes:  map[string][]*state.Entry{},
	}
}

// Get returns a copy of one record.
func (s *Store) Get(ctx context.Context, kind state.Kind, key string) (state.Record, error) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	if err := s.usable(ctx); err != nil {
		return state.Record{}, err
	}
	r, ok := s.records[kind][key]
	if !ok {
		return state.Record{}, fmt.Errorf("%s record %q: %w", kind, key, state.ErrNotFound)
	}
	r.Value = bytes.Clone(r.Value)
	return r, nil
}

// List returns copies of all records of a kind, sorted by key.
func (s *Store) List(ctx context.Context, kind state.Kind) ([]state.Record, error) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	if err := s.usable(ctx); err != nil {
		return nil, err
	}
	out := make([]state.Record, 0, len(s.records[kind]))
	for _, r := range s.records[kind] {
		r.Value = bytes.Clone(r.Value)
		out = append(out, r)
	}
	slices.SortFunc(out, func(a, b state.Record) int { return cmp.Compare(a.Key, b.Key) })
	return out, nil
}

// Apply checks the fence and every version before it changes anything.
func (s *Store) Apply(ctx context.Context, f state.Fence, b state.Batch) ([]uint64, error) {
	if err := b.Validate(); err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.usable(ctx); err != nil {
		return nil, err
	}
	if err := f.CheckLeader(s.records[state.Leader][state.EpochKey]); err != nil {
		return nil, err
	}
	for _, p := range b.Puts {
		if have := s.records[p.Kind][p.Key].Version; have != p.Version {
			return nil, fmt.Errorf("%s record %q has version %d, expected %d: %w",
				p.Kind, p.Key, have, p.Version, state.ErrConflict)
		}
	}
	for _, r := range b.Removes {
		if have := s.records[r.Kind][r.Key].Version; r.Version > 0 && have != r.Version {
			return nil, fmt.Errorf("%s record %q has version %d, expected %d: %w",
				r.Kind, r.Key, have, r.Version, state.ErrConflict)
		}
	}
	versions := make([]uint64, len(b.Puts))
	for i, p := range b.Puts {
		s.version++
		versions[i] = s.version
		if s.records[p.Kind] == nil {
			s.records[p.Kind] = map[string]state.Record{}
		}
		s.records[p.Kind][p.Key] = state.Record{
			Kind: p.Kind, Key: p.Key, Version: s.version, Value: bytes.Clone(p.Value),
		}
	}
	for _, r := range b.Removes {
		delete(s.records[r.Kind], r.Key)
	}
	for _, e := range b.History {
		s.lastID++
		e.ID, e.At, e.Value = s.lastID, state.Instant(e.At), bytes.Clone(e.Value)
		s.all = append(s.all, &e)
		s.scopes[e.Scope] = append(s.scopes[e.Scope], &e)
	}
	return versions, nil
}

// History walks back from the newest entry.
func (s *Store) History(ctx context.Context, f state.Filter) ([]state.Entry, error) {
	if err := f.Validate(); err != nil {
		return nil, err
	}
	s.mu.RLock()
	defer s.mu.RUnlock()
	if err := s.usable(ctx); err != nil {
		return nil, err
	}
	from := s.all
	if f.Scope != "" {
		from = s.scopes[f.Scope]
	}
	out := []state.Entry{}
	for _, e := range slices.Backward(from) {
		if len(out) == f.Limit {
			break
		}
		if f.Matches(*e) {
			c := *e
			c.Value = bytes.Clone(c.Value)
			out = append(out, c)
		}
	}
	return out, nil
}

// Trim drops what is too old or too much, in one pass from the newest.
func (s *Store) Trim(ctx context.Context, keep state.Retention) error {
	if err := keep.Validate(); err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.usable(ctx); err != nil {
		return err
	}
	type pile struct{ scope, kind string }
	count := map[pile]int{}
	drop := map[int64]bool{}
	gone := map[string]int{}
	for _, e := range slices.Backward(s.all) {
		p := pile{e.Scope, e.Kind}
		if e.At.Before(keep.Oldest) || count[p] == keep.Records || s.tooMany(gone, e.Scope, keep.Gone) {
			drop[e.ID] = true
			continue
		}
		count[p]++
	}
	dropped := func(e *state.Entry) bool { return drop[e.ID] }
	s.all = slices.DeleteFunc(s.all, dropped)
	for scope, entries := range s.scopes {
		entries = slices.DeleteFunc(entries, dropped)
		if len(entries) == 0 {
			delete(s.scopes, scope)
			continue
		}
		s.scopes[scope] = entries
	}
	return nil
}

// tooMany numbers the scopes that are gone as they come, and reports whether one
// is beyond the limit.
func (s *Store) tooMany(gone map[string]int, scope string, limit int) bool {
	if _, exists := s.records[state.Decision][scope]; exists || scope == state.GlobalKey || limit <= 0 {
		return false
	}
	if gone[scope] == 0 {
		gone[scope] = len(gone) + 1
	}
	return gone[scope] > limit
}

// Check fails only after Close.
func (s *Store) Check(ctx context.Context) error {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return s.usable(ctx)
}

// Close makes every later call fail with ErrClosed.
func (s *Store) Close() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.closed = true
	return nil
}

func (s *Store) usable(ctx context.Context) error {
	if s.closed {
		return state.ErrClosed
	}
	return ctx.Err()
}

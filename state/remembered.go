package state

import (
	"context"
	"errors"
	"fmt"
	"sync"
)

// records is what a table remembers, whatever the type of its values.
type records struct {
	store Store
	kind  Kind
	fence Fence

	mu    sync.Mutex
	known map[string]remembered
	// all is true while a record that is not known does not exist.
	all bool
	// dropped counts what was forgotten: a read that began before it may be older
	// than what made the table forget.
	dropped uint64
}

// remembered is one record, with a copy of its value or nil.
type remembered struct {
	version uint64
	value   any
}

func (r *records) recall(key string) (m remembered, known bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	m, ok := r.known[key]
	return m, ok || r.all
}

// reading marks the moment at which a read of the store begins.
func (r *records) reading() (began uint64) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.dropped
}

// read takes over what was read. A write that came in between knows better:
// versions rise.
func (r *records) read(began uint64, key string, m remembered) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.fence != NoFence && r.dropped == began && r.known[key].version <= m.version {
		r.known[key] = m
	}
}

// readAll says that all records there are have been read.
func (r *records) readAll(began uint64) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.all = r.fence != NoFence && r.dropped == began
}

// wrote takes over what was written. A copy is kept if asked for, or if there
// was one.
func (r *records) wrote(key string, m remembered, keep bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	before := r.known[key]
	if r.fence == NoFence || before.version > m.version {
		return
	}
	if !keep && before.value == nil {
		m.value = nil
	}
	r.known[key] = m
}

// removed takes over that a record is gone.
func (r *records) removed(key string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.known, key)
	r.dropped++
}

// drop forgets a record: whether and as what it exists has to be read again.
func (r *records) drop(key string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.known, key)
	r.all = false
	r.dropped++
}

// listFrom is from how many unknown versions on all records of a kind are read
// at once.
const listFrom = 8

// versions finds the version of every key, 0 for what does not exist.
func (r *records) versions(ctx context.Context, keys []string) (map[string]uint64, error) {
	out := make(map[string]uint64, len(keys))
	var unknown []string
	for _, key := range keys {
		m, known := r.recall(key)
		if !known {
			unknown = append(unknown, key)
		}
		out[key] = m.version
	}
	if len(unknown) >= listFrom {
		return out, r.listVersions(ctx, out)
	}
	for _, key := range unknown {
		rec, err := r.store.Get(ctx, r.kind, key)
		if err != nil && !errors.Is(err, ErrNotFound) {
			return nil, fmt.Errorf("reading what is stored now: %w", err)
		}
		out[key] = rec.Version
	}
	return out, nil
}

func (r *records) listVersions(ctx context.Context, into map[string]uint64) error {
	began := r.reading()
	stored, err := r.store.List(ctx, r.kind)
	if err != nil {
		return fmt.Errorf("reading what is stored now: %w", err)
	}
	for _, rec := range stored {
		r.read(began, rec.Key, remembered{version: rec.Version})
		if _, asked := into[rec.Key]; asked {
			into[rec.Key] = rec.Version
		}
	}
	r.readAll(began)
	return nil
}

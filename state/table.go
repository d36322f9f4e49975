package state

import (
	"cmp"
	"context"
	"errors"

	"github.com/zeta-scaler/zeta-scaler/trouble"
)

// Table is the records of one kind, written by compare-and-set and under one
// fence. It is safe for concurrent use.
//
// A table with a fence belongs to the leader, the only writer of its records: it
// remembers their versions, and keeps a copy of each record that Get or Change
// has read. A write that fails makes it forget the records that the write named,
// so that they are read again. A table without a fence remembers nothing: others
// write the same records.
//
// Values are shared with the table once they are given to it or come from it:
// neither side changes them in place.
type Table[T any] struct{ *records }

// The tables, one per kind.

// Leaders has the one record EpochKey.
func Leaders(s Store) *Table[LeaderRecord] { return newTable[LeaderRecord](s, Leader, NoFence) }

// Decisions are the evaluator's, one per scope.
func Decisions(s Store, f Fence) *Table[DecisionRecord] {
	return newTable[DecisionRecord](s, Decision, f)
}

// Executions are the executor's, one per scope.
func Executions(s Store, f Fence) *Table[ExecutionRecord] {
	return newTable[ExecutionRecord](s, Execution, f)
}

// Drains are the drainer's, one per scope.
func Drains(s Store, f Fence) *Table[DrainRecord] { return newTable[DrainRecord](s, Drain, f) }

// Controls are set by operators through any replica, so nothing fences them:
// one per scope, and GlobalKey.
func Controls(s Store) *Table[ControlRecord] { return newTable[ControlRecord](s, Control, NoFence) }

// Ticks are the evaluator's, one per rule set.
func Ticks(s Store, f Fence) *Table[TickRecord] { return newTable[TickRecord](s, Tick, f) }

// Alerts are the notifier's, one per scope that has alerts.
func Alerts(s Store, f Fence) *Table[AlertRecord] { return newTable[AlertRecord](s, Alert, f) }

// Jobs are submitted through any replica, so nothing fences them.
func Jobs(s Store) *Table[JobRecord] { return newTable[JobRecord](s, Job, NoFence) }

func newTable[T any](s Store, kind Kind, f Fence) *Table[T] {
	return &Table[T]{&records{store: s, kind: kind, fence: f, known: map[string]remembered{}}}
}

// Row is one record as it was read.
type Row[T any] struct {
	Key string
	// Version is 0 if there is no such record; Value is zero then.
	Version uint64
	Value   T
}

// Get returns one record, the table's copy if it has one.
func (t *Table[T]) Get(ctx context.Context, key string) (Row[T], error) {
	if r, ok := t.recall(key); ok && r.value != nil {
		return Row[T]{key, r.version, r.value.(T)}, nil
	}
	row := Row[T]{Key: key}
	began := t.reading()
	r, err := t.store.Get(ctx, t.kind, key)
	switch {
	case errors.Is(err, ErrNotFound):
	case err != nil:
		return row, err
	default:
		if row.Value, err = Decode[T](r); err != nil {
			return row, err
		}
		row.Version = r.Version
	}
	t.read(began, key, remembered{row.Version, row.Value})
	return row, nil
}

// List reads all records from the store, as of one moment, sorted by key. The
// table keeps no copies of them: there may be many, and large ones.
func (t *Table[T]) List(ctx context.Context) ([]Row[T], error) { return t.list(ctx, false) }

// Keys are those of all records, sorted, also of records that cannot be decoded:
// none is.
func (t *Table[T]) Keys(ctx context.Context) ([]string, error) {
	stored, err := t.store.List(ctx, t.kind)
	keys := make([]string, len(stored))
	for i := range stored {
		keys[i] = stored[i].Key
	}
	return keys, err
}

// Load is List, but keeps a copy of every record for Get and Change.
func (t *Table[T]) Load(ctx context.Context) ([]Row[T], error) { return t.list(ctx, true) }

// Unreadable is a record whose value cannot be decoded.
type Unreadable struct {
	Key     string
	Version uint64
	// Size is how many bytes the value has.
	Size int
	Err  error
}

// NoteUnreadable tells of the records of a list that cannot be decoded, whenever they
// are others than before.
func NoteUnreadable(t *trouble.State, bad []Unreadable) {
	keys := make([]string, len(bad))
	var first error
	for i, b := range bad {
		keys[i], first = b.Key, cmp.Or(first, b.Err)
	}
	t.NoteOf("records", keys, first)
}

// ListReadable is List, but a record that cannot be decoded does not keep the
// others from being read.
func (t *Table[T]) ListReadable(ctx context.Context) (rows []Row[T], bad []Unreadable, err error) {
	return t.listReadable(ctx, false)
}

// LoadReadable is Load, but a record that cannot be decoded does not keep the others
// from being read. Get and Change of that one fail with ErrUnreadable.
func (t *Table[T]) LoadReadable(ctx context.Context) (rows []Row[T], bad []Unreadable, err error) {
	return t.listReadable(ctx, true)
}

func (t *Table[T]) list(ctx context.Context, keep bool) ([]Row[T], error) {
	rows, bad, err := t.listReadable(ctx, keep)
	if err == nil && len(bad) > 0 {
		return nil, bad[0].Err
	}
	return rows, err
}

func (t *Table[T]) listReadable(ctx context.Context, keep bool) (rows []Row[T], bad []Unreadable, err error) {
	began := t.reading()
	stored, err := t.store.List(ctx, t.kind)
	if err != nil {
		return nil, nil, err
	}
	rows = make([]Row[T], 0, len(stored))
	for _, r := range stored {
		v, err := Decode[T](r)
		if err != nil {
			bad = append(bad, Unreadable{r.Key, r.Version, len(r.Value), err})
			t.read(began, r.Key, remembered{version: r.Version}) // it can be written over
			continue
		}
		rows = append(rows, Row[T]{r.Key, r.Version, v})
		m := remembered{version: r.Version}
		if keep {
			m.value = v
		}
		t.read(began, r.Key, m)
	}
	t.readAll(began)
	return rows, bad, nil
}

// maxAttempts is how often Change begins again because another writer was
// faster.
const maxAttempts = 50

// Change lets edit make a new value out of the stored one, and stores it with
// the history that edit returns, unless edit says no. If another writer was
// faster, edit is asked again with what that one wrote. It returns what is
// stored then, and fails with ErrConflict only if others were faster all the
// time.
func (t *Table[T]) Change(ctx context.Context, key string, edit func(old Row[T]) (next T, history []Entry, ok bool)) (T, error) {
	var none T
	for attempt := 1; ; attempt++ {
		old, err := t.Get(ctx, key)
		if err != nil {
			return none, err
		}
		next, history, ok := edit(old)
		if !ok {
			return old.Value, nil
		}
		w := NewWrite(t.store, t.fence)
		if err := t.put(w, key, next, &old.Version); err != nil {
			return none, err
		}
		w.puts[0].keep = true
		w.Append(history...)
		err = w.Commit(ctx)
		switch {
		case err == nil:
			return next, nil
		case !errors.Is(err, ErrConflict) || ctx.Err() != nil || attempt == maxAttempts:
			return none, err
		}
	}
}

// Put adds to a write that a record gets this value, whatever it has now. It is
// for the only writer of a record, who knows better than the store.
func (t *Table[T]) Put(w *Write, key string, value T) error { return t.put(w, key, value, nil) }

// Replace adds to a write that a record gets this value if it still is what was
// read; if it is not, the write fails with ErrConflict.
func (t *Table[T]) Replace(w *Write, old Row[T], value T) error {
	return t.put(w, old.Key, value, &old.Version)
}

func (t *Table[T]) put(w *Write, key string, value T, version *uint64) error {
	p, err := NewPut(t.kind, key, 0, value)
	if err != nil {
		return err
	}
	if version != nil {
		p.Version = *version
	}
	w.batch.Puts = append(w.batch.Puts, p)
	w.puts = append(w.puts, pending{of: t.records, value: value, blind: version == nil})
	return nil
}

// Remove adds to a write that a record goes, whatever its version.
func (t *Table[T]) Remove(w *Write, key string) {
	t.remove(w, key, 0)
}

// RemoveRow adds to a write that a record goes if it still is what was read; if it
// is not, the write fails with ErrConflict.
func (t *Table[T]) RemoveRow(w *Write, old Row[T]) { t.remove(w, old.Key, old.Version) }

func (t *Table[T]) remove(w *Write, key string, version uint64) {
	w.batch.Removes = append(w.batch.Removes, Remove{t.kind, key, version})
	w.removes = append(w.removes, t.records)
}

// Forget gives back what the table remembers about a record.
func (t *Table[T]) Forget(key string) { t.drop(key) }

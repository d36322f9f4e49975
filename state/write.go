package state

import "context"

// Write collects what is stored together: records of any tables, and history.
// It is used once, by one goroutine.
type Write struct {
	store Store
	fence Fence
	batch Batch
	// puts and removes run parallel to those of batch.
	puts    []pending
	removes []*records
}

// pending is a Put on its way.
type pending struct {
	of    *records
	value any
	// blind: the version is not that of a row that was read, but whatever is
	// there.
	blind bool
	// keep asks the table for a copy.
	keep bool
}

// NewWrite begins a write under a fence: that of the tables which take part.
func NewWrite(s Store, f Fence) *Write { return &Write{store: s, fence: f} }

// Append adds history.
func (w *Write) Append(entries ...Entry) { w.batch.History = append(w.batch.History, entries...) }

// Empty reports whether there is nothing to store.
func (w *Write) Empty() bool { return w.batch.Empty() }

// Commit stores everything. It fails with ErrFenced if a newer leader has taken
// over, and with ErrConflict if a record is not what it was. After an error the
// tables read the records that the write named again before they are written
// again; the write itself may have been stored, if the error is not one of these.
func (w *Write) Commit(ctx context.Context) error {
	err := w.findVersions(ctx)
	var versions []uint64
	if err == nil {
		versions, err = w.store.Apply(ctx, w.fence, w.batch)
	}
	for i, p := range w.batch.Puts {
		of := w.puts[i]
		if err != nil {
			of.of.drop(p.Key)
			continue
		}
		of.of.wrote(p.Key, remembered{versions[i], of.value}, of.keep)
	}
	for i, r := range w.batch.Removes {
		if err != nil {
			w.removes[i].drop(r.Key)
			continue
		}
		w.removes[i].removed(r.Key)
	}
	return err
}

// findVersions fills in the versions of what is written whatever is there.
func (w *Write) findVersions(ctx context.Context) error {
	keys := map[*records][]string{}
	for i, p := range w.puts {
		if p.blind {
			keys[p.of] = append(keys[p.of], w.batch.Puts[i].Key)
		}
	}
	for of, names := range keys {
		versions, err := of.versions(ctx, names)
		if err != nil {
			return err
		}
		for i, p := range w.puts {
			if p.blind && p.of == of {
				w.batch.Puts[i].Version = versions[w.batch.Puts[i].Key]
			}
		}
	}
	return nil
}

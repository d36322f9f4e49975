package alerts

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/zeta-scaler/zeta-scaler/state"
)

// storeTimeout bounds one write: an alert about trouble must get out even if
// the store is part of it.
const storeTimeout = 5 * time.Second

// load reads what an earlier leader has left. Its alerts are resolved by the
// first evaluation of their scope that does not call for them.
func (n *Notifier) load(ctx context.Context) error {
	records, err := n.store.List(ctx, state.Alert)
	if err != nil {
		return fmt.Errorf("reading alerts: %w", err)
	}
	for _, rec := range records {
		r, err := state.Decode[state.AlertRecord](rec)
		if err != nil {
			return err
		}
		n.pages[rec.Key] = pageOf(&r, rec.Version, n.loaded)
		n.strays[rec.Key] = true
	}
	return nil
}

// save writes the records of all scopes whose alerts have changed, in one
// transaction. A write that fails is tried again with the next one: what is due
// is sent all the same, and ends by itself if nobody sends it again.
func (n *Notifier) save(ctx context.Context, out []outgoing) {
	n.mu.Lock()
	n.keep(out)
	batch, keys, err := n.batch()
	n.mu.Unlock()
	if err == nil && !batch.Empty() {
		// A write at the end of the process must still get through.
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), storeTimeout)
		defer cancel()
		var versions []uint64
		if versions, err = n.store.Apply(ctx, batch); err == nil {
			n.saved(keys, versions)
		} else {
			err = errors.Join(err, n.reread(ctx, keys))
		}
	}
	n.noteStore(err)
}

// keep notes the annotations that make a resolved alert readable even if its
// scope is never evaluated again.
func (n *Notifier) keep(out []outgoing) {
	for i := range out {
		p := n.pages[out[i].labels[labelScope]]
		if p == nil {
			continue
		}
		for _, a := range p.alerts {
			if a.identity == out[i].identity {
				a.annotations = essential(out[i].annotations)
			}
		}
	}
}

func essential(annotations map[string]string) map[string]string {
	out := map[string]string{}
	for _, name := range []string{annotationSummary, "description", "runbook_url"} {
		if text := annotations[name]; text != "" {
			out[name] = text
		}
	}
	return out
}

// dirtyKeys are the scopes of one batch, those whose record is written in the
// order of the versions that Apply returns. Only the goroutine of Run takes
// pages out of the book, so that a page is still there after a write.
type dirtyKeys struct{ puts, removes []string }

func (n *Notifier) batch() (state.Batch, dirtyKeys, error) {
	var b state.Batch
	var keys dirtyKeys
	if n.fenced {
		return b, keys, nil
	}
	for key := range n.dirty {
		p := n.pages[key]
		switch {
		case len(p.alerts) > 0:
		case p.version > 0:
			b.Removes = append(b.Removes, state.Remove{Kind: state.Alert, Key: key})
			keys.removes = append(keys.removes, key)
			continue
		default:
			if p.gone {
				delete(n.pages, key)
			}
			continue
		}
		put, err := state.NewPut(state.Alert, key, p.version, p.record(n.epoch))
		if err != nil {
			return b, keys, err
		}
		b.Puts = append(b.Puts, put)
		keys.puts = append(keys.puts, key)
	}
	clear(n.dirty)
	return b, keys, nil
}

func (n *Notifier) saved(keys dirtyKeys, versions []uint64) {
	n.mu.Lock()
	defer n.mu.Unlock()
	for i, key := range keys.puts {
		n.pages[key].version = versions[i]
	}
	for _, key := range keys.removes {
		p := n.pages[key]
		p.version = 0
		if p.gone && len(p.alerts) == 0 && !n.dirty[key] {
			delete(n.pages, key)
		}
	}
}

// reread brings the versions up to date after a write that failed, and stops
// the notifier if a later leader has written.
func (n *Notifier) reread(ctx context.Context, keys dirtyKeys) error {
	records, err := n.store.List(ctx, state.Alert)
	n.mu.Lock()
	defer n.mu.Unlock()
	for _, key := range append(keys.puts, keys.removes...) {
		n.dirty[key] = true
	}
	if err != nil {
		return err
	}
	versions := map[string]uint64{}
	for _, rec := range records {
		versions[rec.Key] = rec.Version
		if r, err := state.Decode[state.AlertRecord](rec); err == nil && r.Epoch > n.epoch {
			n.fenced = true
			return fmt.Errorf("epoch %d has taken over, this is epoch %d: no more alerts are sent", r.Epoch, n.epoch)
		}
	}
	for _, key := range append(keys.puts, keys.removes...) {
		n.pages[key].version = versions[key]
	}
	return nil
}

func (n *Notifier) noteStore(err error) {
	switch {
	case err != nil && !n.storeFailing:
		n.logger.Error("alerts could not be stored", "err", err)
	case err == nil && n.storeFailing:
		n.logger.Info("alerts are stored again")
	}
	n.storeFailing = err != nil
}

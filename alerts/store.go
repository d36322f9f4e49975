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
	rows, bad, err := n.stored.ListReadable(ctx)
	if err != nil {
		return fmt.Errorf("reading alerts: %w", err)
	}
	for _, b := range bad {
		n.logger.Error("the alerts of a scope that an earlier leader has left cannot be read: they end by themselves", "scope", b.Key, "err", b.Err)
	}
	for _, row := range rows {
		n.scopes[row.Key] = restored(&row.Value, n.loaded)
		n.unattended[row.Key] = true
	}
	return nil
}

// save writes the records of all scopes whose alerts have changed. A write that
// fails is tried again with the next one: what is due is sent all the same, and
// ends by itself if nobody sends it again.
func (n *Notifier) save(ctx context.Context, out []dueAlert) {
	n.mu.Lock()
	n.keep(out)
	w, keys, err := n.write()
	n.mu.Unlock()
	if err == nil && len(keys) > 0 {
		// A write at the end of the process must still get through.
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), storeTimeout)
		defer cancel()
		err = n.saved(keys, w.Commit(ctx))
	}
	n.unstored.Note(err)
}

// keep notes the annotations that make a resolved alert readable even if its
// scope is never evaluated again.
func (n *Notifier) keep(out []dueAlert) {
	for i := range out {
		p := n.scopes[out[i].key]
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

// write takes what has changed; keys are the scopes that it is about.
func (n *Notifier) write() (w *state.Write, keys []string, err error) {
	w = state.NewWrite(n.store, n.fence)
	if n.fenced {
		return w, nil, nil
	}
	for key := range n.dirty {
		if a := n.scopes[key]; len(a.alerts) == 0 {
			n.stored.Remove(w, key)
		} else if err := n.stored.Put(w, key, a.record(n.fence)); err != nil {
			return w, nil, err
		}
		keys = append(keys, key)
	}
	clear(n.dirty)
	return w, keys, nil
}

// saved takes over what became of a write. Only the goroutine of Run forgets
// scopes, so that they are all still there.
func (n *Notifier) saved(keys []string, err error) error {
	n.mu.Lock()
	defer n.mu.Unlock()
	if errors.Is(err, state.ErrFenced) {
		n.fenced = true
		return fmt.Errorf("no more alerts are sent: %w", err)
	}
	for _, key := range keys {
		if err != nil {
			n.dirty[key] = true
		} else if a := n.scopes[key]; a.gone && len(a.alerts) == 0 && !n.dirty[key] {
			delete(n.scopes, key)
		}
	}
	return err
}

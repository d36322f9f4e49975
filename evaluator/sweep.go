package evaluator

import (
	"context"
	"errors"
	"time"

	"github.com/zeta-scaler/zeta-scaler/state"
)

// sweepAfter is for how long, counted in ticks, a control record has to have
// something in it that is over, or nothing at all, before that is taken out of the
// store. A clock that is ahead for a while therefore ends nothing for good.
const sweepAfter = time.Hour

// swept is a control record that is to be swept, and for how long it has been.
type swept struct {
	version uint64
	passed  time.Duration
}

// sweep cleans the control records: what has ended by itself goes, and then those
// in which nothing is set. Whoever writes one meanwhile is faster.
func (r *runner) sweep(ctx context.Context) {
	now := r.Clock.Now()
	due := map[string]swept{}
	for _, row := range r.overlay.rows {
		if !row.Value.Ended(now) && !r.overlay.useless(row.Key, row.Value) {
			continue
		}
		s := swept{version: row.Version}
		if before := r.swept[row.Key]; before.version == row.Version {
			s.passed = before.passed + r.group.interval
		}
		if s.passed >= sweepAfter {
			if err := r.sweepRow(ctx, row, now); err != nil && !errors.Is(err, state.ErrConflict) {
				r.noteStore(err)
			}
			continue
		}
		due[row.Key] = s
	}
	r.swept = due
}

func (r *runner) sweepRow(ctx context.Context, row state.Row[state.ControlRecord], now time.Time) error {
	w := state.NewWrite(r.Store, state.Fence(r.Epoch))
	switch rest := row.Value.At(now); {
	case r.overlay.useless(row.Key, rest):
		r.controls.RemoveRow(w, row)
	default:
		if err := r.controls.Replace(w, row, rest); err != nil {
			return err
		}
	}
	return w.Commit(ctx)
}

// useless reports whether a control record says nothing that anybody needs. When
// somebody resumed a scope is compared with what executor and drainer remember of
// it.
func (o *overlay) useless(key string, c state.ControlRecord) bool {
	if key == state.GlobalKey || !c.Empty() {
		return false
	}
	if len(o.unknown[key]) > 0 {
		return false
	}
	_, executes := o.execution[key]
	_, drains := o.drain[key]
	return c.ResumedAt.IsZero() || !executes && !drains
}

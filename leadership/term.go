package leadership

import (
	"context"
	"errors"
	"time"

	"github.com/zeta-scaler/zeta-scaler/state"
)

// Term is the time for which one process leads, under one epoch.
type Term struct {
	// Epoch is ≥ 1 and greater than that of every earlier term.
	Epoch uint64
	// Since is when the term began.
	Since time.Time

	leads func() error
}

// NewTerm makes a term; leads, if not nil, answers Leads.
func NewTerm(epoch uint64, since time.Time, leads func() error) Term {
	return Term{Epoch: epoch, Since: since, leads: leads}
}

// Leads returns nil while the process leads, and for ever an error that wraps
// state.ErrFenced once it does not. It compares times and asks nobody, so it tells the
// truth even to a process that has just woken up: ask it right before each act.
func (t Term) Leads() error {
	if t.leads == nil {
		return nil
	}
	return t.leads()
}

// NewLeader is what a new leader writes into the store.
type NewLeader struct {
	// Holder names the process, for people.
	Holder string
	Since  time.Time
	// URL is where other replicas reach the process, empty for nowhere.
	URL string
	// AtLeast is the least epoch that will do, for stores that forget.
	AtLeast uint64
	// Leads, if not nil, is asked before every attempt: who lost leadership
	// meanwhile must not go above its successor.
	Leads func() error
}

// Raise stores an epoch that no leader had before and returns it. It is not
// used before it is stored: killed at any point, the next start gets a greater
// one.
func Raise(ctx context.Context, s state.Store, l NewLeader) (uint64, error) {
	var lost error
	r, err := state.Leaders(s).Change(ctx, state.EpochKey,
		func(old state.Row[state.LeaderRecord]) (state.LeaderRecord, []state.Entry, bool) {
			if l.Leads != nil {
				lost = l.Leads()
			}
			epoch := max(old.Value.Epoch+1, l.AtLeast)
			return state.LeaderRecord{Epoch: epoch, Holder: l.Holder, Since: l.Since, URL: l.URL}, nil, lost == nil
		})
	if err := errors.Join(err, lost); err != nil {
		return 0, err
	}
	return r.Epoch, nil
}

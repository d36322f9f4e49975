package leadership

import (
	"context"
	"errors"
	"time"

	"github.com/zeta-scaler/zeta-scaler/state"
)

// ErrLost says that this process leads no longer and must not act.
var ErrLost = errors.New("leadership is lost")

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
// ErrLost once it does not. It compares times and asks nobody, so it tells the
// truth even to a process that has just woken up: ask it right before each act.
func (t Term) Leads() error {
	if t.leads == nil {
		return nil
	}
	return t.leads()
}

// Claim is what a new leader writes into the store.
type Claim struct {
	// Holder names the process, for people.
	Holder string
	Since  time.Time
	// AtLeast is the least epoch that will do, for stores that forget.
	AtLeast uint64
	// Leads, if not nil, is asked before every attempt: who lost leadership
	// meanwhile must not go above its successor.
	Leads func() error
}

// Raise stores an epoch that no leader had before and returns it. It is not
// used before it is stored: killed at any point, the next start gets a greater
// one.
func Raise(ctx context.Context, s state.Store, c Claim) (uint64, error) {
	for {
		have, version, err := state.Load[state.LeaderRecord](ctx, s, state.Leader, state.EpochKey)
		if err != nil {
			return 0, err
		}
		next := state.LeaderRecord{Epoch: max(have.Epoch+1, c.AtLeast), Holder: c.Holder, Since: c.Since}
		put, err := state.NewPut(state.Leader, state.EpochKey, version, next)
		if err != nil {
			return 0, err
		}
		if c.Leads != nil {
			if err := c.Leads(); err != nil {
				return 0, err
			}
		}
		_, err = s.Apply(ctx, state.Batch{Puts: []state.Put{put}})
		if errors.Is(err, state.ErrConflict) && ctx.Err() == nil {
			continue // somebody else raised it meanwhile: go above theirs
		}
		if err != nil {
			return 0, err
		}
		return next.Epoch, nil
	}
}

// Current tells who leads, or led last: the epoch, the holder and since when.
// It is zero if nobody ever led.
func Current(ctx context.Context, s state.Store) (state.LeaderRecord, error) {
	r, _, err := state.Load[state.LeaderRecord](ctx, s, state.Leader, state.EpochKey)
	return r, err
}

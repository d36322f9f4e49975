package state

import (
	"cmp"
	"errors"
	"fmt"
)

// ErrFenced says that this process leads no longer: a newer epoch is stored, or
// its own time is over. It must not write or act any more, and trying again does
// not help.
var ErrFenced = errors.New("this process leads no longer")

// Fence is the epoch under which a leader writes. Once a newer epoch is stored,
// a store refuses every write under the fence, whichever records it names.
type Fence uint64

// NoFence is for those who write without leading: whoever changes control
// records, and whoever raises the epoch.
const NoFence Fence = 0

// Check fails with ErrFenced if epoch is newer than the fence. Every comparison
// of an epoch that was read with one's own goes through here.
func (f Fence) Check(epoch uint64) error { return f.check(LeaderRecord{Epoch: epoch}) }

// CheckLeader is what a store asks in the transaction of a write. The record is
// the stored Leader record, or the zero Record if there is none.
func (f Fence) CheckLeader(r Record) error {
	if f == NoFence || r.Version == 0 {
		return nil
	}
	leader, err := Decode[LeaderRecord](r)
	if err != nil {
		return err
	}
	return f.check(leader)
}

func (f Fence) check(leader LeaderRecord) error {
	if f == NoFence || leader.Epoch <= uint64(f) {
		return nil
	}
	return fmt.Errorf("%w: epoch %d is over, %s leads under epoch %d",
		ErrFenced, f, cmp.Or(leader.Holder, "another"), leader.Epoch)
}

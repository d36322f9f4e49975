package kubernetes

import (
	"errors"

	"github.com/zeta-scaler/zeta-scaler/state"
)

// errTooLarge says that a batch does not fit into the root.
var errTooLarge = errors.New("the batch is too large for one commit")

// piece is a part of a batch; at are the places of its Puts in the whole.
type piece struct {
	state.Batch
	at []int
}

// halves splits a batch between its scopes. What belongs to one scope stays
// together, and what belongs to none comes last: a tick is stored when all that
// it decided is. ok is false if there is only one scope.
func halves(b state.Batch) (first, second piece, ok bool) {
	order := map[string]int{}
	place := func(key string) {
		if _, known := order[key]; !known {
			order[key] = len(order)
		}
	}
	for _, p := range b.Puts {
		if !inRoot(p.Kind) {
			place(p.Key)
		}
	}
	for _, r := range b.Removes {
		if !inRoot(r.Kind) {
			place(r.Key)
		}
	}
	for _, e := range b.History {
		place(e.Scope)
	}
	of := func(key string, root bool) *piece {
		if !root && order[key] < len(order)/2 {
			return &first
		}
		return &second
	}
	for i, p := range b.Puts {
		half := of(p.Key, inRoot(p.Kind))
		half.Puts, half.at = append(half.Puts, p), append(half.at, i)
	}
	for _, r := range b.Removes {
		half := of(r.Key, inRoot(r.Kind))
		half.Removes = append(half.Removes, r)
	}
	for _, e := range b.History {
		half := of(e.Scope, false)
		half.History = append(half.History, e)
	}
	return first, second, len(order) > 1
}

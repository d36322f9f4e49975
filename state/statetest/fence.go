package statetest

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sync/errgroup"

	"github.com/zeta-scaler/zeta-scaler/state"
)

// raise stores the next epoch, as package leadership does.
func raise(ctx context.Context, s state.Store) (uint64, error) {
	r, err := state.Leaders(s).Change(ctx, state.EpochKey,
		func(old state.Row[state.LeaderRecord]) (state.LeaderRecord, []state.Entry, bool) {
			next := old.Value.Epoch + 1
			return state.LeaderRecord{Epoch: next, Holder: "leader " + strconv.FormatUint(next, 10), Since: epoch}, nil, true
		})
	return r.Epoch, err
}

// fence: once a newer epoch is stored, nothing of an older leader gets in,
// whichever records it names.
func fence(t *testing.T, open Open) {
	s := open(t)
	entry := state.Entry{Scope: "a", At: epoch, Kind: state.DecisionEntry, Value: raw(`{}`)}
	write := func(f state.Fence, b state.Batch) error {
		_, err := s.Apply(t.Context(), f, b)
		return err
	}
	require.NoError(t, write(1, state.Batch{History: []state.Entry{entry}}), "nobody has led yet")
	_, err := raise(t.Context(), s)
	require.NoError(t, err)
	versions, err := s.Apply(t.Context(), 1, state.Batch{
		Puts: []state.Put{{Kind: state.Decision, Key: "a", Value: raw(`1`)}}, History: []state.Entry{entry},
	})
	require.NoError(t, err)
	_, err = raise(t.Context(), s)
	require.NoError(t, err)

	for name, b := range map[string]state.Batch{
		"a record that it wrote": {Puts: []state.Put{{Kind: state.Decision, Key: "a", Version: versions[0], Value: raw(`2`)}}},
		"a version that is over": {Puts: []state.Put{{Kind: state.Decision, Key: "a", Version: versions[0] + 1, Value: raw(`2`)}}},
		"a record of nobody":     {Puts: []state.Put{{Kind: state.Alert, Key: "new", Value: raw(`2`)}}},
		"a record of no scope":   {Puts: []state.Put{{Kind: state.Tick, Key: "set", Value: raw(`2`)}}},
		"a removal":              {Removes: []state.Remove{{Kind: state.Decision, Key: "a"}}},
		"history":                {History: []state.Entry{entry}},
	} {
		err := write(1, b)
		require.ErrorIs(t, err, state.ErrFenced, name)
		require.ErrorContains(t, err, "epoch 1 is over, leader 2 leads under epoch 2", name)
	}
	requireValue(t, s, state.Decision, "a", versions[0], `1`)
	h, err := s.History(t.Context(), state.Filter{Limit: 10})
	require.NoError(t, err)
	require.Len(t, h, 2)

	require.NoError(t, write(state.NoFence, state.Batch{Puts: []state.Put{{Kind: state.Control, Key: "a", Value: raw(`1`)}}}),
		"operators write through any replica")
	require.NoError(t, write(2, state.Batch{Puts: []state.Put{{Kind: state.Decision, Key: "a", Version: versions[0], Value: raw(`3`)}}}))
}

// concurrentLeaders: a counter is raised by leaders that replace each other; an
// older one never writes after a newer one.
func concurrentLeaders(t *testing.T, open Open) {
	const leaders, writes = 5, 6
	s := open(t)
	g, ctx := errgroup.WithContext(t.Context())
	for range leaders {
		g.Go(func() error {
			own, err := raise(ctx, s)
			if err != nil {
				return err
			}
			return lead(ctx, s, own, writes)
		})
	}
	require.NoError(t, g.Wait())
}

// lead writes its epoch until it is fenced, and looks at what it writes over.
func lead(ctx context.Context, s state.Store, own uint64, writes int) error {
	table := state.Ticks(s, state.Fence(own))
	for range writes {
		var older bool
		_, err := table.Change(ctx, "set", func(old state.Row[state.TickRecord]) (state.TickRecord, []state.Entry, bool) {
			before, _ := strconv.ParseUint("0"+old.Value.RuleSet, 10, 64)
			older = before > own
			return state.TickRecord{RuleSet: strconv.FormatUint(own, 10)}, nil, true
		})
		switch {
		case errors.Is(err, state.ErrFenced):
			return nil
		case err != nil:
			return err
		case older:
			return fmt.Errorf("epoch %d wrote over what a newer one had written", own)
		}
	}
	return nil
}

package state_test

import (
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/zeta-scaler/zeta-scaler/scaling"
	"github.com/zeta-scaler/zeta-scaler/state"
	"github.com/zeta-scaler/zeta-scaler/state/memory"
)

// drainOf is a record of a drain, written under an epoch.
func drainOf(epoch uint64, id string) state.DrainRecord {
	return state.DrainRecord{Epoch: epoch, Open: &scaling.Drain{ID: id}}
}

func TestLedStep(t *testing.T) {
	down, own := errors.New("the disk is full"), errors.New("not now")
	newer := func(s state.Store) error {
		_, err := state.Drains(s, state.NoFence).Change(t.Context(), "prod", func(state.Row[state.DrainRecord]) (state.DrainRecord, []state.Entry, bool) {
			return drainOf(8, "theirs"), nil, true
		})
		return err
	}
	leader := func(s state.Store) error {
		_, err := state.Leaders(s).Change(t.Context(), state.EpochKey, func(state.Row[state.LeaderRecord]) (state.LeaderRecord, []state.Entry, bool) {
			return state.LeaderRecord{Epoch: 8}, nil, true
		})
		return err
	}
	for name, tt := range map[string]struct {
		before, during func(state.Store) error
		step           error
		want           error
		says           string
		leads          bool
	}{
		"stored":                           {leads: true},
		"the step says no":                 {step: own, want: own, says: "not now", leads: true},
		"the step says that it is fenced":  {step: state.ErrFenced, want: state.ErrFenced, says: state.ErrFenced.Error(), leads: true},
		"the record is of a newer epoch":   {before: newer, want: state.ErrFenced, says: "the drain of scope prod: "},
		"a newer leader writes meanwhile":  {during: newer, want: state.ErrFenced, says: "the drain of scope prod: "},
		"a newer leader is there":          {before: leader, want: state.ErrFenced},
		"a newer leader comes meanwhile":   {during: leader, want: state.ErrFenced},
		"the store cannot be written":      {during: func(state.Store) error { return down }, want: state.ErrUnusable, says: "the drain of scope prod: the disk is full", leads: true},
		"the store cannot be written, why": {during: func(state.Store) error { return down }, want: down, leads: true},
	} {
		t.Run(name, func(t *testing.T) {
			store := &counting{Store: memory.New()}
			if tt.before != nil {
				require.NoError(t, tt.before(store.Store))
			}
			if tt.during != nil {
				store.before = func() error { return tt.during(store.Store) }
			}
			led := state.Lead(state.Drains(store, 7), "drain", func() error { return nil })
			err := led.Step(t.Context(), "prod", func(state.DrainRecord) (state.DrainRecord, []state.Entry, bool, error) {
				e, err := state.Entry{Scope: "prod", At: time.Unix(1, 0), Kind: state.DrainEntry}.With(scaling.Drain{ID: "over"})
				require.NoError(t, err)
				return drainOf(7, "ours"), []state.Entry{e}, true, tt.step
			})
			require.ErrorIs(t, err, tt.want)
			if tt.says != "" {
				require.ErrorContains(t, err, tt.says)
			}
			if tt.leads {
				require.NoError(t, led.Leads())
			} else {
				require.ErrorIs(t, led.Leads(), state.ErrFenced)
			}
			history, err := store.History(t.Context(), state.Filter{Limit: 10})
			require.NoError(t, err)
			row, err := state.Drains(store, state.NoFence).Get(t.Context(), "prod")
			require.NoError(t, err)
			if tt.want == nil {
				require.Equal(t, "ours", row.Value.Open.ID)
				require.Len(t, history, 1)
			} else {
				require.Empty(t, history, "nothing is stored")
				require.True(t, row.Value.Open == nil || row.Value.Open.ID == "theirs")
			}
		})
	}
}

func TestLedStepWithoutAChange(t *testing.T) {
	store := &counting{Store: memory.New()}
	led := state.Lead(state.Executions(store, 7), "action", func() error { return nil })
	require.NoError(t, led.Step(t.Context(), "prod", func(old state.ExecutionRecord) (state.ExecutionRecord, []state.Entry, bool, error) {
		return old, nil, false, nil
	}))
	require.Zero(t, store.applies)
}

func TestLedReads(t *testing.T) {
	store := memory.New()
	for key, epoch := range map[string]uint64{"a": 6, "b": 7} {
		w := state.NewWrite(store, state.NoFence)
		require.NoError(t, state.Executions(store, state.NoFence).Put(w, key, state.ExecutionRecord{Epoch: epoch}))
		require.NoError(t, w.Commit(t.Context()))
	}
	always := func() error { return nil }
	rows, bad, err := state.Lead(state.Executions(store, 7), "action", always).Load(t.Context())
	require.NoError(t, err)
	require.Empty(t, bad)
	require.Len(t, rows, 2)

	late := state.Lead(state.Executions(store, 6), "action", always)
	_, _, err = late.Load(t.Context())
	require.ErrorIs(t, err, state.ErrFenced)
	require.ErrorContains(t, err, "the action of scope b: ")
	require.ErrorIs(t, late.Leads(), state.ErrFenced)

	over := errors.New("the lease is over")
	require.ErrorIs(t, state.Lead(state.Executions(store, 7), "action", func() error { return over }).Leads(), over)

	require.NoError(t, store.Close())
	closed := state.Lead(state.Executions(store, 7), "action", always)
	_, err = closed.Get(t.Context(), "a")
	require.ErrorIs(t, err, state.ErrUnusable)
	require.ErrorContains(t, err, "reading the action of scope a: ")
	_, _, err = closed.Load(t.Context())
	require.ErrorIs(t, err, state.ErrUnusable)
	require.ErrorContains(t, err, "reading actions: ")
}

package state_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sync/errgroup"

	"github.com/zeta-scaler/zeta-scaler/state"
	"github.com/zeta-scaler/zeta-scaler/state/memory"
)

// counting is a store that counts calls, and fails or races when asked to.
type counting struct {
	state.Store
	gets, lists, applies int
	// before runs once before the next Apply reaches the store; after once when
	// it has, and its error is what the caller sees.
	before, after func() error
}

func (c *counting) Get(ctx context.Context, kind state.Kind, key string) (state.Record, error) {
	c.gets++
	return c.Store.Get(ctx, kind, key)
}

func (c *counting) List(ctx context.Context, kind state.Kind) ([]state.Record, error) {
	c.lists++
	return c.Store.List(ctx, kind)
}

func (c *counting) Apply(ctx context.Context, f state.Fence, b state.Batch) ([]uint64, error) {
	c.applies++
	if f := c.before; f != nil {
		c.before = nil
		if err := f(); err != nil {
			return nil, err
		}
	}
	versions, err := c.Store.Apply(ctx, f, b)
	if f := c.after; f != nil {
		c.after = nil
		if err := f(); err != nil {
			return nil, err
		}
	}
	return versions, err
}

func set(t *testing.T, s state.Store, key string, attempts int) {
	t.Helper()
	_, err := state.Executions(s, 0).Change(t.Context(), key, to(attempts))
	require.NoError(t, err)
}

func to(attempts int) func(state.Row[state.ExecutionRecord]) (state.ExecutionRecord, []state.Entry, bool) {
	return func(old state.Row[state.ExecutionRecord]) (state.ExecutionRecord, []state.Entry, bool) {
		old.Value.Attempts = attempts
		return old.Value, nil, true
	}
}

func oneMore(old state.Row[state.ExecutionRecord]) (state.ExecutionRecord, []state.Entry, bool) {
	old.Value.Attempts++
	return old.Value, nil, true
}

func attempts(t *testing.T, table *state.Table[state.ExecutionRecord], key string) int {
	t.Helper()
	row, err := table.Get(t.Context(), key)
	require.NoError(t, err)
	return row.Value.Attempts
}

func TestFencedTableKeepsCopies(t *testing.T) {
	s := &counting{Store: memory.New()}
	table := state.Executions(s, 1)
	row, err := table.Get(t.Context(), "a")
	require.NoError(t, err)
	require.Equal(t, state.Row[state.ExecutionRecord]{Key: "a"}, row, "a missing record is the zero value")
	for range 3 {
		_, err := table.Change(t.Context(), "a", oneMore)
		require.NoError(t, err)
	}
	require.Equal(t, 3, attempts(t, table, "a"))
	require.Equal(t, 1, s.gets, "read once, and never again")
	require.Equal(t, 3, attempts(t, state.Executions(s, 1), "a"), "and it is what is stored")

	table.Forget("a")
	require.Equal(t, 3, attempts(t, table, "a"))
	require.Equal(t, 3, s.gets)
}

func TestLoadedTableReadsNothing(t *testing.T) {
	s := &counting{Store: memory.New()}
	set(t, s, "a", 1)
	set(t, s, "b", 2)
	table := state.Executions(s, 1)
	rows, err := table.Load(t.Context())
	require.NoError(t, err)
	require.Len(t, rows, 2)
	s.gets = 0
	require.Equal(t, 1, attempts(t, table, "a"))
	require.Equal(t, 2, attempts(t, table, "b"))
	require.Zero(t, s.gets)
}

// Who wants the keys alone has no record decoded.
func TestKeys(t *testing.T) {
	s := memory.New()
	table := state.Executions(s, state.NoFence)
	keys, err := table.Keys(t.Context())
	require.NoError(t, err)
	require.Empty(t, keys)
	set(t, s, "b", 1)
	_, err = s.Apply(t.Context(), state.NoFence, state.Batch{Puts: []state.Put{{Kind: state.Execution, Key: "a", Value: []byte(`[1]`)}}})
	require.NoError(t, err)
	keys, err = table.Keys(t.Context())
	require.NoError(t, err)
	require.Equal(t, []string{"a", "b"}, keys)
}

func TestUnfencedTableSeesOthers(t *testing.T) {
	s := memory.New()
	table := state.Executions(s, state.NoFence)
	require.Zero(t, attempts(t, table, "a"))
	set(t, s, "a", 4)
	require.Equal(t, 4, attempts(t, table, "a"))
}

func TestFailedWriteDropsTheCopy(t *testing.T) {
	down := errors.New("down")
	for name, tc := range map[string]struct {
		fault func(s *counting)
		want  int
	}{
		"it was not stored": {func(s *counting) { s.before = func() error { return down } }, 1},
		"it was stored":     {func(s *counting) { s.after = func() error { return down } }, 2},
	} {
		t.Run(name, func(t *testing.T) {
			s := &counting{Store: memory.New()}
			table := state.Executions(s, 1)
			_, err := table.Change(t.Context(), "a", oneMore)
			require.NoError(t, err)
			tc.fault(s)
			_, err = table.Change(t.Context(), "a", oneMore)
			require.ErrorIs(t, err, down)
			require.Equal(t, tc.want, attempts(t, table, "a"))
			_, err = table.Change(t.Context(), "a", oneMore)
			require.NoError(t, err)
			require.Equal(t, tc.want+1, attempts(t, table, "a"))
		})
	}
}

func TestChangeBeginsAgainAfterAConflict(t *testing.T) {
	s := &counting{Store: memory.New()}
	table := state.Executions(s, 1)
	require.Zero(t, attempts(t, table, "a"))
	s.before = func() error { set(t, s.Store, "a", 10); return nil }
	got, err := table.Change(t.Context(), "a", oneMore)
	require.NoError(t, err)
	require.Equal(t, 11, got.Attempts)
	require.Equal(t, 2, s.applies)
}

func TestChangeGivesUpWhenOthersAreAlwaysFaster(t *testing.T) {
	s := &counting{Store: memory.New()}
	n := 0
	var race func() error
	race = func() error { n++; set(t, s.Store, "a", n); s.before = race; return nil }
	s.before = race
	_, err := state.Executions(s, 1).Change(t.Context(), "a", oneMore)
	require.ErrorIs(t, err, state.ErrConflict)
}

func TestChangeThatIsNotWantedStoresNothing(t *testing.T) {
	s := &counting{Store: memory.New()}
	set(t, s, "a", 3)
	s.applies = 0
	got, err := state.Executions(s, 1).Change(t.Context(), "a", func(state.Row[state.ExecutionRecord]) (state.ExecutionRecord, []state.Entry, bool) {
		return state.ExecutionRecord{}, nil, false
	})
	require.NoError(t, err)
	require.Equal(t, 3, got.Attempts)
	require.Zero(t, s.applies)
}

func TestChangeStoresItsHistory(t *testing.T) {
	s := memory.New()
	entry := state.Entry{Scope: "a", At: time.Unix(1, 0), Kind: state.ActionEntry, Value: []byte(`{}`)}
	_, err := state.Executions(s, 1).Change(t.Context(), "a", func(old state.Row[state.ExecutionRecord]) (state.ExecutionRecord, []state.Entry, bool) {
		return old.Value, []state.Entry{entry}, true
	})
	require.NoError(t, err)
	h, err := s.History(t.Context(), state.Filter{Limit: 10})
	require.NoError(t, err)
	require.Len(t, h, 1)
}

func TestReplacedLeaderIsFenced(t *testing.T) {
	s := memory.New()
	table := state.Executions(s, 1)
	set(t, s, "a", 1)
	require.Equal(t, 1, attempts(t, table, "a"))
	_, err := state.Leaders(s).Change(t.Context(), state.EpochKey, func(state.Row[state.LeaderRecord]) (state.LeaderRecord, []state.Entry, bool) {
		return state.LeaderRecord{Epoch: 2}, nil, true
	})
	require.NoError(t, err)
	_, err = table.Change(t.Context(), "a", oneMore)
	require.ErrorIs(t, err, state.ErrFenced)
	require.NotErrorIs(t, err, state.ErrConflict, "trying again does not help")
	require.ErrorContains(t, err, "this process leads no longer: epoch 1 is over, another leads under epoch 2")
}

func TestFence(t *testing.T) {
	require.NoError(t, state.Fence(3).Check(2))
	require.NoError(t, state.Fence(3).Check(3))
	require.ErrorIs(t, state.Fence(3).Check(4), state.ErrFenced)
	require.NoError(t, state.NoFence.Check(4))
	require.ErrorContains(t,
		state.Fence(3).CheckLeader(state.Record{Kind: state.Leader, Key: state.EpochKey, Version: 1, Value: []byte(`{"epoch":"x"}`)}),
		"decoding leader record")
}

// A leader writes many records and history together, whatever is stored.
func TestWriteOfManyRecords(t *testing.T) {
	s := &counting{Store: memory.New()}
	decisions, ticks := state.Decisions(s, 1), state.Ticks(s, 1)
	write := func(scopes int) error {
		w := state.NewWrite(s, 1)
		for i := range scopes {
			if err := decisions.Put(w, fmt.Sprint(i), state.DecisionRecord{Generation: 1}); err != nil {
				return err
			}
		}
		return errors.Join(ticks.Put(w, "set", state.TickRecord{RuleSet: "set"}), w.Commit(t.Context()))
	}
	require.NoError(t, write(100))
	require.Equal(t, 1, s.lists)
	require.Equal(t, 1, s.gets, "the tick")
	require.NoError(t, write(110))
	require.Equal(t, 1, s.lists, "what is not known does not exist")
	require.Equal(t, 1, s.gets)

	// A write whose outcome is unknown.
	s.after = func() error { return errors.New("down") }
	require.Error(t, write(110))
	require.NoError(t, write(110))
	require.Equal(t, 2, s.lists)

	// One that does not even reach the store leaves the rest known.
	s.before = func() error { return errors.New("down") }
	require.Error(t, write(3))
	require.NoError(t, write(3))
	require.NoError(t, write(110))
	require.Equal(t, 2, s.lists)
}

func TestRemovedRecordIsMadeAnew(t *testing.T) {
	s := memory.New()
	table := state.Decisions(s, 1)
	put := func() *state.Write {
		w := state.NewWrite(s, 1)
		require.NoError(t, table.Put(w, "a", state.DecisionRecord{}))
		return w
	}
	require.NoError(t, put().Commit(t.Context()))
	w := state.NewWrite(s, 1)
	table.Remove(w, "a")
	require.False(t, w.Empty())
	require.NoError(t, w.Commit(t.Context()))
	require.NoError(t, put().Commit(t.Context()))

	// Somebody else removes it: one write fails, the next one knows.
	_, err := s.Apply(t.Context(), state.NoFence, state.Batch{Removes: []state.Remove{{Kind: state.Decision, Key: "a"}}})
	require.NoError(t, err)
	require.ErrorIs(t, put().Commit(t.Context()), state.ErrConflict)
	require.NoError(t, put().Commit(t.Context()))
}

func TestReplaceOnlyWhatWasRead(t *testing.T) {
	s := memory.New()
	table := state.Controls(s)
	replace := func(rows ...state.Row[state.ControlRecord]) error {
		w := state.NewWrite(s, state.NoFence)
		for _, row := range rows {
			row.Value.Paused = true
			require.NoError(t, table.Replace(w, row, row.Value))
		}
		return w.Commit(t.Context())
	}
	old, err := table.Get(t.Context(), "a")
	require.NoError(t, err)
	other, err := table.Get(t.Context(), "b")
	require.NoError(t, err)
	require.NoError(t, replace(old))
	require.ErrorIs(t, replace(other, old), state.ErrConflict)
	rows, err := table.List(t.Context())
	require.NoError(t, err)
	require.Len(t, rows, 1, "all or nothing")
	require.True(t, rows[0].Value.Paused)
	require.NoError(t, replace(rows[0], other))
}

func TestConcurrentChangesLoseNothing(t *testing.T) {
	s := memory.New()
	tables := []*state.Table[state.ExecutionRecord]{state.Executions(s, 1), state.Executions(s, 1), state.Executions(s, 0)}
	const rounds = 30
	g, ctx := errgroup.WithContext(t.Context())
	for i := range 6 {
		g.Go(func() error {
			for n := 0; n < rounds; {
				_, err := tables[i%3].Change(ctx, "a", oneMore)
				switch {
				case err == nil:
					n++
				case !errors.Is(err, state.ErrConflict):
					return err
				}
			}
			return nil
		})
	}
	require.NoError(t, g.Wait())
	require.Equal(t, 6*rounds, attempts(t, state.Executions(s, 1), "a"))
}

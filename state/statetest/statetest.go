// Package statetest is the one test suite that every state store passes.
package statetest

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/zeta-scaler/zeta-scaler/state"
)

// Open returns a fresh, empty store and closes it when the test ends. It is
// called with the subtest's own TB.
type Open func(t testing.TB) state.Store

// RunConformance checks everything that state.Store promises.
func RunConformance(t *testing.T, open Open) {
	for name, test := range map[string]func(*testing.T, Open){
		"missing record":                            missingRecord,
		"compare and set":                           compareAndSet,
		"a version is never reused":                 versionNeverReused,
		"only what was read is removed":             removesWhatWasRead,
		"a value is the caller's own":               valueIsCopied,
		"keys and values are kept exactly":          exactKeysAndValues,
		"list is of one kind, sorted by key":        list,
		"a batch is all or nothing":                 allOrNothing,
		"a batch names a record once":               invalidBatches,
		"remove":                                    remove,
		"history filters":                           historyFilters,
		"history pages":                             historyPages,
		"history refuses bad filters":               invalidFilters,
		"trim by count and by age":                  trim,
		"trim after a smaller limit":                trimSmaller,
		"trim what is of scopes that are gone":      trimGone,
		"trim a scope with a long name":             trimLong,
		"cancelled context":                         cancelled,
		"closed store":                              closed,
		"model":                                     model,
		"concurrent writers lose no update":         concurrentCounter,
		"a reader never sees half of a batch":       concurrentPairs,
		"typed records":                             typedRecords,
		"a leader that was replaced writes nothing": fence,
		"leaders that replace each other":           concurrentLeaders,
	} {
		t.Run(name, func(t *testing.T) { test(t, open) })
	}
}

func missingRecord(t *testing.T, open Open) {
	s := open(t)
	_, err := s.Get(t.Context(), state.Decision, "a")
	require.ErrorIs(t, err, state.ErrNotFound)
	require.ErrorContains(t, err, `decision record "a"`)
	records, err := s.List(t.Context(), state.Decision)
	require.NoError(t, err)
	require.Empty(t, records)
	require.NoError(t, s.Check(t.Context()))
}

func compareAndSet(t *testing.T, open Open) {
	s := open(t)
	first := put(t, s, state.Control, "a", 0, `{"n":1}`)
	require.GreaterOrEqual(t, first, uint64(1))

	_, err := apply(t, s, state.Put{Kind: state.Control, Key: "a", Version: 0, Value: raw(`{"n":2}`)})
	require.ErrorIs(t, err, state.ErrConflict, "a record that exists is not created")
	_, err = apply(t, s, state.Put{Kind: state.Control, Key: "a", Version: first + 1, Value: raw(`{"n":2}`)})
	require.ErrorIs(t, err, state.ErrConflict, "a version that was never given")
	_, err = apply(t, s, state.Put{Kind: state.Control, Key: "b", Version: first, Value: raw(`{}`)})
	require.ErrorIs(t, err, state.ErrConflict, "a record that is not there")
	requireValue(t, s, state.Control, "a", first, `{"n":1}`)

	second := put(t, s, state.Control, "a", first, `{"n":2}`)
	require.NotEqual(t, first, second)
	requireValue(t, s, state.Control, "a", second, `{"n":2}`)
	_, err = apply(t, s, state.Put{Kind: state.Control, Key: "a", Version: first, Value: raw(`{"n":3}`)})
	require.ErrorIs(t, err, state.ErrConflict, "the version before")
	requireValue(t, s, state.Control, "a", second, `{"n":2}`)
}

// A record that somebody has changed meanwhile does not go with what was read.
func removesWhatWasRead(t *testing.T, open Open) {
	for _, kind := range []state.Kind{state.Control, state.Tick} {
		s := open(t)
		remove := func(version uint64, beside ...state.Put) error {
			_, err := s.Apply(t.Context(), state.NoFence, state.Batch{
				Puts: beside, Removes: []state.Remove{{Kind: kind, Key: "a", Version: version}},
			})
			return err
		}
		first := put(t, s, kind, "a", 0, `{"n":1}`)
		second := put(t, s, kind, "a", first, `{"n":2}`)
		require.ErrorIs(t, remove(first, state.Put{Kind: state.Execution, Key: "a", Value: raw(`{}`)}), state.ErrConflict, "the version before")
		requireValue(t, s, kind, "a", second, `{"n":2}`)
		_, err := s.Get(t.Context(), state.Execution, "a")
		require.ErrorIs(t, err, state.ErrNotFound, "nothing of the batch is there")
		require.NoError(t, remove(second))
		_, err = s.Get(t.Context(), kind, "a")
		require.ErrorIs(t, err, state.ErrNotFound)
		require.ErrorIs(t, remove(second), state.ErrConflict, "it is gone")
	}
}

func versionNeverReused(t *testing.T, open Open) {
	s := open(t)
	seen := map[uint64]bool{}
	for range 5 {
		v := put(t, s, state.Execution, "a", 0, `{}`)
		require.False(t, seen[v], "version %d came back after a removal", v)
		seen[v] = true
		_, err := s.Apply(t.Context(), state.NoFence, state.Batch{Removes: []state.Remove{{Kind: state.Execution, Key: "a"}}})
		require.NoError(t, err)
	}
}

func valueIsCopied(t *testing.T, open Open) {
	s := open(t)
	value := raw(`{"n":1}`)
	at := time.Unix(1700000000, 0).UTC()
	_, err := s.Apply(t.Context(), state.NoFence, state.Batch{
		Puts:    []state.Put{{Kind: state.Decision, Key: "a", Value: value}},
		History: []state.Entry{{Scope: "a", At: at, Action: "NO_ACTION", Kind: state.DecisionEntry, Value: value}},
	})
	require.NoError(t, err)
	value[1] = 'X'
	for range 2 {
		r, err := s.Get(t.Context(), state.Decision, "a")
		require.NoError(t, err)
		require.Equal(t, `{"n":1}`, string(r.Value))
		r.Value[1] = 'Y'
		h, err := s.History(t.Context(), state.Filter{Limit: 1})
		require.NoError(t, err)
		require.Equal(t, `{"n":1}`, string(h[0].Value))
		h[0].Value[1] = 'Z'
	}
}

func exactKeysAndValues(t *testing.T, open Open) {
	s := open(t)
	for _, key := range []string{"", "default", "prod/a%2Fb", `'; DROP TABLE record; --`, "日本 \"x\"\n\t\\", "UPPER", "upper"} {
		value, err := json.Marshal(map[string]string{"key": key})
		require.NoError(t, err)
		v := put(t, s, state.Control, key, 0, string(value))
		requireValue(t, s, state.Control, key, v, string(value))
	}
	requireValue(t, s, state.Control, "big", put(t, s, state.Control, "big", 0, big), big)
}

// big is a value larger than a database page.
var big = func() string {
	b, _ := json.Marshal(make([]int, 20_000))
	return string(b)
}()

func list(t *testing.T, open Open) {
	s := open(t)
	for _, key := range []string{"b", "a", "c/d", "c"} {
		put(t, s, state.Decision, key, 0, `{"k":"`+key+`"}`)
	}
	put(t, s, state.Execution, "a", 0, `{}`)
	records, err := s.List(t.Context(), state.Decision)
	require.NoError(t, err)
	keys := []string{}
	for _, r := range records {
		keys = append(keys, r.Key)
		require.Equal(t, state.Decision, r.Kind)
		require.JSONEq(t, `{"k":"`+r.Key+`"}`, string(r.Value))
		require.NotZero(t, r.Version)
	}
	require.Equal(t, []string{"a", "b", "c", "c/d"}, keys)
}

func allOrNothing(t *testing.T, open Open) {
	s := open(t)
	a := put(t, s, state.Decision, "a", 0, `1`)
	put(t, s, state.Decision, "gone", 0, `1`)
	_, err := s.Apply(t.Context(), state.NoFence, state.Batch{
		Puts: []state.Put{
			{Kind: state.Decision, Key: "a", Version: a, Value: raw(`2`)},
			{Kind: state.Decision, Key: "new", Value: raw(`2`)},
			{Kind: state.Decision, Key: "gone", Version: 0, Value: raw(`2`)},
		},
		Removes: []state.Remove{{Kind: state.Tick, Key: "x"}},
		History: []state.Entry{{Scope: "a", At: time.Unix(1, 0), Kind: state.DecisionEntry, Value: raw(`{}`)}},
	})
	require.ErrorIs(t, err, state.ErrConflict)
	require.ErrorContains(t, err, `"gone"`)
	requireValue(t, s, state.Decision, "a", a, `1`)
	_, err = s.Get(t.Context(), state.Decision, "new")
	require.ErrorIs(t, err, state.ErrNotFound)
	h, err := s.History(t.Context(), state.Filter{Limit: 10})
	require.NoError(t, err)
	require.Empty(t, h)
}

func invalidBatches(t *testing.T, open Open) {
	s := open(t)
	ok := state.Put{Kind: state.Decision, Key: "a", Value: raw(`{}`)}
	for name, b := range map[string]state.Batch{
		"two puts":          {Puts: []state.Put{ok, ok}},
		"put and remove":    {Puts: []state.Put{ok}, Removes: []state.Remove{{Kind: ok.Kind, Key: ok.Key}}},
		"value not JSON":    {Puts: []state.Put{{Kind: state.Decision, Key: "a", Value: raw(`{`)}}},
		"no value":          {Puts: []state.Put{{Kind: state.Decision, Key: "a"}}},
		"unknown kind":      {Puts: []state.Put{{Kind: "nonsense", Key: "a", Value: raw(`{}`)}}},
		"history kindless":  {History: []state.Entry{{Scope: "a", Value: raw(`{}`)}}},
		"history valueless": {History: []state.Entry{{Scope: "a", Kind: "decision"}}},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := s.Apply(t.Context(), state.NoFence, b)
			require.ErrorIs(t, err, state.ErrInvalid)
		})
	}
	versions, err := s.Apply(t.Context(), state.NoFence, state.Batch{})
	require.NoError(t, err)
	require.Empty(t, versions)
	records, err := s.List(t.Context(), state.Decision)
	require.NoError(t, err)
	require.Empty(t, records)
}

func remove(t *testing.T, open Open) {
	s := open(t)
	put(t, s, state.Decision, "a", 0, `1`)
	put(t, s, state.Execution, "a", 0, `1`)
	for range 2 { // the second one finds nothing, which is no error
		versions, err := s.Apply(t.Context(), state.NoFence, state.Batch{
			Puts:    []state.Put{},
			Removes: []state.Remove{{Kind: state.Decision, Key: "a"}},
		})
		require.NoError(t, err)
		require.Empty(t, versions)
		_, err = s.Get(t.Context(), state.Decision, "a")
		require.ErrorIs(t, err, state.ErrNotFound)
	}
	_, err := s.Get(t.Context(), state.Execution, "a")
	require.NoError(t, err)
}

func cancelled(t *testing.T, open Open) {
	s := open(t)
	ctx, cancel := contextWithCancel(t)
	cancel()
	_, err := s.Apply(ctx, state.NoFence, state.Batch{Puts: []state.Put{{Kind: state.Tick, Key: "a", Value: raw(`{}`)}}})
	require.ErrorIs(t, err, ctx.Err())
	_, err = s.Get(t.Context(), state.Tick, "a")
	require.ErrorIs(t, err, state.ErrNotFound)
	_, err = s.Get(ctx, state.Tick, "a")
	require.ErrorIs(t, err, ctx.Err())
}

func closed(t *testing.T, open Open) {
	s := open(t)
	require.NoError(t, s.Close())
	require.NoError(t, s.Close())
	require.ErrorIs(t, s.Check(t.Context()), state.ErrClosed)
	_, err := s.Get(t.Context(), state.Tick, "a")
	require.ErrorIs(t, err, state.ErrClosed)
	_, err = s.List(t.Context(), state.Tick)
	require.ErrorIs(t, err, state.ErrClosed)
	_, err = s.History(t.Context(), state.Filter{Limit: 1})
	require.ErrorIs(t, err, state.ErrClosed)
	_, err = s.Apply(t.Context(), state.NoFence, state.Batch{Puts: []state.Put{{Kind: state.Tick, Key: "a", Value: raw(`{}`)}}})
	require.ErrorIs(t, err, state.ErrClosed)
	require.ErrorIs(t, s.Trim(t.Context(), state.Retention{Records: 1}), state.ErrClosed)
}

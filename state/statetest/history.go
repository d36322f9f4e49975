package statetest

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/zeta-scaler/zeta-scaler/state"
)

var epoch = time.Date(2026, 1, 2, 3, 4, 5, 123456000, time.UTC)

// fill appends one entry per scope and minute; odd minutes scale out, and every
// fifth entry is of kind limits.
func fill(t testing.TB, s state.Store, scopes []string, minutes int) {
	t.Helper()
	for m := range minutes {
		b := state.Batch{}
		for _, scope := range scopes {
			e := state.Entry{
				Scope: scope, At: epoch.Add(time.Duration(m) * time.Minute),
				Action: "NO_ACTION", Kind: state.DecisionEntry, Value: raw(fmt.Sprintf(`{"minute":%d}`, m)),
			}
			if m%2 == 1 {
				e.Action = "SCALE_OUT"
			}
			if m%5 == 4 {
				e.Kind, e.Action = state.LimitsEntry, ""
			}
			b.History = append(b.History, e)
		}
		_, err := s.Apply(t.Context(), state.NoFence, b)
		require.NoError(t, err)
	}
}

// summary renders entries as "scope@minute", which is what fill put into them.
func summary(entries []state.Entry) []string {
	out := []string{}
	for _, e := range entries {
		out = append(out, fmt.Sprintf("%s@%d", e.Scope, int(e.At.Sub(epoch).Minutes())))
	}
	return out
}

func historyFilters(t *testing.T, open Open) {
	s := open(t)
	fill(t, s, []string{"a", "b"}, 7)
	minute := func(m int) time.Time { return epoch.Add(time.Duration(m) * time.Minute) }
	for name, tc := range map[string]struct {
		filter state.Filter
		want   []string
	}{
		"all":               {state.Filter{}, []string{"b@6", "a@6", "b@5", "a@5", "b@4", "a@4", "b@3", "a@3", "b@2", "a@2", "b@1", "a@1", "b@0", "a@0"}},
		"limit":             {state.Filter{Limit: 2}, []string{"b@6", "a@6"}},
		"scope":             {state.Filter{Scope: "a"}, []string{"a@6", "a@5", "a@4", "a@3", "a@2", "a@1", "a@0"}},
		"no such scope":     {state.Filter{Scope: "c"}, []string{}},
		"action":            {state.Filter{Action: "SCALE_OUT", Scope: "b"}, []string{"b@5", "b@3", "b@1"}},
		"action only":       {state.Filter{Action: "SCALE_OUT", Limit: 3}, []string{"b@5", "a@5", "b@3"}},
		"kind":              {state.Filter{Kind: state.LimitsEntry}, []string{"b@4", "a@4"}},
		"since, inclusive":  {state.Filter{Scope: "a", Since: minute(5)}, []string{"a@6", "a@5"}},
		"since, just after": {state.Filter{Scope: "a", Since: minute(5).Add(time.Nanosecond)}, []string{"a@6"}},
		"until, inclusive":  {state.Filter{Scope: "a", Until: minute(1)}, []string{"a@1", "a@0"}},
		"until, just not":   {state.Filter{Scope: "a", Until: minute(1).Add(-time.Nanosecond)}, []string{"a@0"}},
		"period": {
			state.Filter{Since: minute(2), Until: minute(3)}, []string{"b@3", "a@3", "b@2", "a@2"},
		},
		"everything at once": {
			state.Filter{Scope: "a", Action: "SCALE_OUT", Kind: state.DecisionEntry, Since: minute(1), Until: minute(4)},
			[]string{"a@3", "a@1"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			if tc.filter.Limit == 0 {
				tc.filter.Limit = state.MaxHistoryLimit
			}
			entries, err := s.History(t.Context(), tc.filter)
			require.NoError(t, err)
			require.Equal(t, tc.want, summary(entries))
		})
	}
	entries, err := s.History(t.Context(), state.Filter{Scope: "a", Limit: 1})
	require.NoError(t, err)
	require.Equal(t, minute(6), entries[0].At)
	require.JSONEq(t, `{"minute":6}`, string(entries[0].Value))
	require.Equal(t, "NO_ACTION", entries[0].Action)
	require.Equal(t, state.DecisionEntry, entries[0].Kind)
}

func historyPages(t *testing.T, open Open) {
	s := open(t)
	fill(t, s, []string{"a", "b", "c"}, 11)
	for _, f := range []state.Filter{{}, {Scope: "b"}, {Action: "SCALE_OUT"}, {Since: epoch.Add(3 * time.Minute)}} {
		f.Limit = state.MaxHistoryLimit
		whole, err := s.History(t.Context(), f)
		require.NoError(t, err)
		require.NotEmpty(t, whole)

		f.Limit = 4
		var paged []state.Entry
		for {
			page, err := s.History(t.Context(), f)
			require.NoError(t, err)
			if len(page) == 0 {
				break
			}
			require.LessOrEqual(t, len(page), f.Limit)
			paged = append(paged, page...)
			f.Before = page[len(page)-1].ID
			// What is written meanwhile is newer and never shows up in a later page.
			fill(t, s, []string{"a", "b", "c"}, 1)
		}
		require.Equal(t, whole, paged)
	}
}

func invalidFilters(t *testing.T, open Open) {
	s := open(t)
	for name, f := range map[string]state.Filter{
		"no limit":           {},
		"limit too great":    {Limit: 1001},
		"negative limit":     {Limit: -1},
		"negative cursor":    {Limit: 1, Before: -1},
		"until before since": {Limit: 1, Since: epoch, Until: epoch.Add(-1)},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := s.History(t.Context(), f)
			require.ErrorIs(t, err, state.ErrInvalid)
		})
	}
}

func trim(t *testing.T, open Open) {
	s := open(t)
	ctx := t.Context()
	fill(t, s, []string{"a", "b"}, 10)
	require.NoError(t, s.Trim(ctx, state.Retention{Records: 1000}))
	requireHistory(t, s, "a", "a@9", "a@8", "a@7", "a@6", "a@5", "a@4", "a@3", "a@2", "a@1", "a@0")

	// Both kinds are counted for themselves: limits are at minutes 4 and 9.
	require.NoError(t, s.Trim(ctx, state.Retention{Records: 3}))
	requireHistory(t, s, "a", "a@9", "a@8", "a@7", "a@6", "a@4")
	requireHistory(t, s, "b", "b@9", "b@8", "b@7", "b@6", "b@4")

	// An entry exactly as old as oldest stays.
	require.NoError(t, s.Trim(ctx, state.Retention{Records: 3, Oldest: epoch.Add(7 * time.Minute)}))
	requireHistory(t, s, "a", "a@9", "a@8", "a@7")

	_, err := s.Apply(ctx, state.NoFence, state.Batch{History: []state.Entry{
		{Scope: "a", At: epoch.Add(10 * time.Minute), Kind: state.DecisionEntry, Value: raw(`{}`)},
		{Scope: "a", At: epoch.Add(11 * time.Minute), Kind: state.DecisionEntry, Value: raw(`{}`)},
	}})
	require.NoError(t, err)
	require.NoError(t, s.Trim(ctx, state.Retention{Records: 3}))
	requireHistory(t, s, "a", "a@11", "a@10", "a@9", "a@8")

	require.NoError(t, s.Trim(ctx, state.Retention{Records: 3, Oldest: epoch.Add(time.Hour)}))
	requireHistory(t, s, "a")
	require.ErrorIs(t, s.Trim(ctx, state.Retention{Records: -1}), state.ErrInvalid)

	// IDs keep rising after everything was deleted: a cursor stays valid.
	before := lastID(t, s, "z")
	require.NoError(t, s.Trim(ctx, state.Retention{Records: 0}))
	requireHistory(t, s, "z")
	require.Greater(t, lastID(t, s, "z"), before)
}

// lastID appends an entry and returns its ID.
func lastID(t *testing.T, s state.Store, scope string) int64 {
	t.Helper()
	fill(t, s, []string{scope}, 1)
	entries, err := s.History(t.Context(), state.Filter{Scope: scope, Limit: 1})
	require.NoError(t, err)
	require.Len(t, entries, 1)
	return entries[0].ID
}

func trimSmaller(t *testing.T, open Open) {
	s := open(t)
	fill(t, s, []string{"a", "b"}, 4)
	require.NoError(t, s.Trim(t.Context(), state.Retention{Records: 3}))
	// Nothing was appended since, yet the smaller limit holds for every scope.
	require.NoError(t, s.Trim(t.Context(), state.Retention{Records: 1}))
	requireHistory(t, s, "a", "a@3")
	requireHistory(t, s, "b", "b@3")
}

// trimLong trims what a Trim before it has not looked at yet.
func trimLong(t *testing.T, open Open) {
	s := open(t)
	long := strings.Repeat("long", 500)
	require.NoError(t, s.Trim(t.Context(), state.Retention{Records: 1}))
	fill(t, s, []string{long}, 4)
	require.NoError(t, s.Trim(t.Context(), state.Retention{Records: 1}))
	requireHistory(t, s, long, long+"@3")
}

func trimGone(t *testing.T, open Open) {
	s := open(t)
	for _, key := range []string{"old", "there", "newer", "newest", state.GlobalKey} {
		fill(t, s, []string{key}, 2)
	}
	put(t, s, state.Decision, "there", 0, `{}`)
	require.NoError(t, s.Trim(t.Context(), state.Retention{Records: 10, Gone: 2}))
	requireHistory(t, s, "old")
	for _, key := range []string{"there", "newer", "newest"} {
		requireHistory(t, s, key, key+"@1", key+"@0")
	}
	all, err := s.History(t.Context(), state.Filter{Limit: 10})
	require.NoError(t, err)
	require.Len(t, all, 8, "and that of the whole service")
	require.NoError(t, s.Trim(t.Context(), state.Retention{Records: 10}))
	requireHistory(t, s, "newer", "newer@1", "newer@0")
	require.NoError(t, s.Trim(t.Context(), state.Retention{Records: 10, Gone: 1}))
	requireHistory(t, s, "newer")
	requireHistory(t, s, "newest", "newest@1", "newest@0")
}

func requireHistory(t *testing.T, s state.Store, scope string, want ...string) {
	t.Helper()
	entries, err := s.History(t.Context(), state.Filter{Scope: scope, Limit: state.MaxHistoryLimit})
	require.NoError(t, err)
	require.Equal(t, append([]string{}, want...), summary(entries))
}

package kubernetes

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/zeta-scaler/zeta-scaler/state"
)

func apply(t testing.TB, s state.Store, kind state.Kind, key string, version uint64, value any) (uint64, error) {
	t.Helper()
	p, err := state.NewPut(kind, key, version, value)
	require.NoError(t, err)
	versions, err := s.Apply(t.Context(), state.Batch{Puts: []state.Put{p}})
	if err != nil {
		return 0, err
	}
	return versions[0], nil
}

// A leader that was replaced writes nothing, not even what nobody else wrote,
// and whatever its cache remembers.
func TestFencedStoreRefusesAnOldEpoch(t *testing.T) {
	srv := newServer()
	first, second := openOn(t, srv), openOn(t, srv)
	one, err := apply(t, first, state.Leader, state.EpochKey, 0, state.LeaderRecord{Epoch: 1, Holder: "first"})
	require.NoError(t, err)
	old := first.Fenced(1)
	a, err := apply(t, old, state.Decision, "a", 0, 1)
	require.NoError(t, err)
	_, err = apply(t, second, state.Leader, state.EpochKey, one, state.LeaderRecord{Epoch: 2, Holder: "second"})
	require.NoError(t, err)

	_, err = apply(t, old, state.Decision, "a", a, 2)
	require.ErrorIs(t, err, state.ErrConflict)
	require.ErrorContains(t, err, "epoch 1 is over, second leads under epoch 2")
	_, err = apply(t, old, state.Decision, "new", 0, 2)
	require.ErrorIs(t, err, state.ErrConflict)
	_, err = apply(t, second.Fenced(2), state.Decision, "a", a, 3)
	require.NoError(t, err)
	_, err = apply(t, first, state.Control, "a", 0, 3)
	require.NoError(t, err, "operators write through any replica")
	require.NoError(t, old.Close())
	require.NoError(t, first.Check(t.Context()), "the view was closed, not the store")
}

func TestQuietTickIsOneRequest(t *testing.T) {
	srv := newServer()
	s := openOn(t, srv)
	version, err := apply(t, s, state.Tick, "set", 0, 1)
	require.NoError(t, err)
	before := srv.requests
	_, err = apply(t, s, state.Tick, "set", version, 2)
	require.NoError(t, err)
	require.Equal(t, 1, srv.requests-before)
}

func TestReadsOfWhatIsKnownAreOneRequest(t *testing.T) {
	srv := newServer()
	require.NoError(t, round(t, openOn(t, srv), 1))
	s := openOn(t, srv)
	_, err := s.List(t.Context(), state.Decision)
	require.NoError(t, err)
	before := srv.requests
	_, err = s.List(t.Context(), state.Decision)
	require.NoError(t, err)
	_, err = s.Get(t.Context(), state.Decision, "scope/1")
	require.NoError(t, err)
	_, err = s.History(t.Context(), state.Filter{Limit: 10})
	require.NoError(t, err)
	require.Equal(t, 3, srv.requests-before)
}

func TestEmptyPagesGoAndVersionsStay(t *testing.T) {
	srv := newServer()
	s := openOn(t, srv)
	v, err := apply(t, s, state.Decision, "gone", 0, 1)
	require.NoError(t, err)
	_, err = s.Apply(t.Context(), state.Batch{Removes: []state.Remove{{Kind: state.Decision, Key: "gone"}}})
	require.NoError(t, err)
	require.NoError(t, s.Trim(t.Context(), 10, time.Time{}))
	require.Contains(t, srv.objects, s.names.page("gone"), "the last commit is about it")
	_, err = apply(t, s, state.Decision, "other", 0, 1)
	require.NoError(t, err)
	require.NoError(t, s.Trim(t.Context(), 10, time.Time{}))
	require.NotContains(t, srv.objects, s.names.page("gone"))
	require.Contains(t, srv.objects, s.names.page("other"))

	again, err := apply(t, s, state.Decision, "gone", 0, 1)
	require.NoError(t, err)
	require.Greater(t, again, v)
}

func TestPartsOfDeadCommitsAreSweptAway(t *testing.T) {
	srv := newServer()
	s := openOn(t, srv)
	s.maxInline = 1
	srv.fault = func(verb, name string) fate {
		if verb == "update" && name == s.names.root || verb == "delete" {
			return lost
		}
		return pass
	}
	require.Error(t, round(t, s, 1))
	srv.fault = nil
	parts := func() (n int) {
		for name := range srv.objects {
			if strings.Contains(name, "-commit-") {
				n++
			}
		}
		return n
	}
	require.Equal(t, 1, parts())
	s = openOn(t, srv)
	require.NoError(t, s.Trim(t.Context(), 10, time.Time{}))
	require.Equal(t, 1, parts(), "its writer might still commit it")
	require.NoError(t, round(t, s, 1))
	require.Equal(t, 1, rounds(t, s))
	require.NoError(t, openOn(t, srv).Trim(t.Context(), 10, time.Time{}))
	require.Zero(t, parts())
}

func TestMissingRoot(t *testing.T) {
	srv := newServer()
	s := openOn(t, srv)
	require.NoError(t, round(t, s, 1))
	delete(srv.objects, s.names.root)
	require.ErrorContains(t, s.Check(t.Context()), "the root of the state is missing")
	require.ErrorContains(t, round(t, s, 2), "the root of the state is missing")
	_, err := open(t.Context(), srv, Options{Namespace: "test"})
	require.ErrorContains(t, err, "restore it")
	_, err = open(t.Context(), srv, Options{Namespace: "test", Name: "other"})
	require.NoError(t, err, "another store in the same namespace")
}

func TestWhatDoesNotFitIsRefused(t *testing.T) {
	s := openOn(t, newServer())
	_, err := apply(t, s, state.Execution, "a", 0, strings.Repeat("x", 1<<20))
	require.ErrorIs(t, err, state.ErrInvalid)
	require.ErrorContains(t, err, `scope "a" would have`)
	_, err = apply(t, s, state.Tick, "a", 0, strings.Repeat("x", 1<<20))
	require.ErrorIs(t, err, state.ErrInvalid)
	_, err = s.Apply(t.Context(), state.Batch{History: []state.Entry{
		{Scope: "a", Kind: "decision", Value: fmt.Appendf(nil, "%q", strings.Repeat("x", 1<<20))},
	}})
	require.ErrorIs(t, err, state.ErrInvalid)
	_, err = apply(t, s, state.Execution, "a\xff", 0, 1)
	require.ErrorIs(t, err, state.ErrInvalid)
	require.NoError(t, round(t, s, 1), "and the store goes on")
}

func TestOptionsAreChecked(t *testing.T) {
	for want, o := range map[string]Options{
		"DNS label":           {Name: "Upper"},
		"40 characters":       {Name: strings.Repeat("a", 41)},
		"expected 1024":       {HistoryBytes: 10},
		"bytes of history":    {HistoryBytes: 1 << 20},
		"expected 1024 to 71": {HistoryBytes: -1},
	} {
		_, err := open(t.Context(), newServer(), o)
		require.ErrorIs(t, err, state.ErrInvalid)
		require.ErrorContains(t, err, want)
	}
	_, err := Open(t.Context(), Options{Kubeconfig: "testdata/none"})
	require.ErrorContains(t, err, "reading kubeconfig testdata/none")
}

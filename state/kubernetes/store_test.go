package kubernetes

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/types"

	"github.com/zeta-scaler/zeta-scaler/state"
)

func apply(t testing.TB, s state.Store, kind state.Kind, key string, version uint64, value any) (uint64, error) {
	t.Helper()
	p, err := state.NewPut(kind, key, version, value)
	require.NoError(t, err)
	versions, err := s.Apply(t.Context(), state.NoFence, state.Batch{Puts: []state.Put{p}})
	if err != nil {
		return 0, err
	}
	return versions[0], nil
}

// Whatever the cache of a replaced leader remembers.
func TestFenceIsReadAnew(t *testing.T) {
	srv := newServer()
	first, second := openOn(t, srv), openOn(t, srv)
	one, err := apply(t, first, state.Leader, state.EpochKey, 0, state.LeaderRecord{Epoch: 1, Holder: "first"})
	require.NoError(t, err)
	old, now := state.Decisions(first, 1), state.Decisions(second, 2)
	w := state.NewWrite(first, 1)
	require.NoError(t, old.Put(w, "a", state.DecisionRecord{}))
	require.NoError(t, w.Commit(t.Context()))
	_, err = apply(t, second, state.Leader, state.EpochKey, one, state.LeaderRecord{Epoch: 2, Holder: "second"})
	require.NoError(t, err)

	for _, key := range []string{"a", "new"} {
		w := state.NewWrite(first, 1)
		require.NoError(t, old.Put(w, key, state.DecisionRecord{}))
		err := w.Commit(t.Context())
		require.ErrorIs(t, err, state.ErrFenced)
		require.ErrorContains(t, err, "epoch 1 is over, second leads under epoch 2")
		w = state.NewWrite(second, 2)
		require.NoError(t, now.Put(w, key, state.DecisionRecord{}))
		require.NoError(t, w.Commit(t.Context()))
	}
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

// Whoever spreads the same commit may be the one that makes the page.
func TestAPageThatSomebodyElseMadeMeanwhile(t *testing.T) {
	srv := newServer()
	s := openOn(t, srv)
	name := s.names.page("a")
	srv.fault = func(verb, object string) fate {
		if verb == "create" && object == name && srv.objects[name] == nil {
			cm, err := s.orEmpty(nil, "a").encode()
			require.NoError(t, err)
			cm.UID = "theirs"
			require.NoError(t, srv.store(cm))
		}
		return pass
	}
	_, err := apply(t, s, state.Decision, "a", 0, 7)
	require.NoError(t, err)
	p, err := decodePage(srv.objects[name])
	require.NoError(t, err)
	require.Equal(t, "7", p.records[ref{state.Decision, "a"}].value)
	require.Equal(t, types.UID("theirs"), p.meta.UID)
}

func TestEmptyPagesGoAndVersionsStay(t *testing.T) {
	srv := newServer()
	s := openOn(t, srv)
	v, err := apply(t, s, state.Decision, "gone", 0, 1)
	require.NoError(t, err)
	_, err = s.Apply(t.Context(), state.NoFence, state.Batch{Removes: []state.Remove{{Kind: state.Decision, Key: "gone"}}})
	require.NoError(t, err)
	require.NoError(t, s.Trim(t.Context(), state.Retention{Records: 10}))
	require.Contains(t, srv.objects, s.names.page("gone"), "the last commit is about it")
	_, err = apply(t, s, state.Decision, "other", 0, 1)
	require.NoError(t, err)
	require.NoError(t, s.Trim(t.Context(), state.Retention{Records: 10}))
	require.NotContains(t, srv.objects, s.names.page("gone"))
	require.Contains(t, srv.objects, s.names.page("other"))

	again, err := apply(t, s, state.Decision, "gone", 0, 1)
	require.NoError(t, err)
	require.Greater(t, again, v)
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
	_, err = s.Apply(t.Context(), state.NoFence, state.Batch{History: []state.Entry{
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

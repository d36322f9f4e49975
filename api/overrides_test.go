package api

import (
	"net/http"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/zeta-scaler/zeta-scaler/state"
)

// What was set at run time and does not fit the configuration is said wherever the
// limits are.
func TestWhatDoesNotCountIsSaid(t *testing.T) {
	o := options(t)
	o.Store = pauses(t, map[string]state.ControlRecord{"prod": {MinWorkers: new(12), By: "ann"}})
	h := newHandler(t, o)
	want := []string{"min_workers 12 is greater than max_workers 10: the minimum is 10"}
	is := decoded[EffectiveConfig](t, call(h, "GET", "/autoscaler/config?scope=prod")).Scopes[0]
	require.Equal(t, want, is.Conflicts)
	require.Equal(t, 10, *is.MinWorkers.Value)
	require.Equal(t, want, decoded[Status](t, call(h, "GET", "/autoscaler/status?scope=prod")).Scopes[0].Conflicts)
	require.Contains(t, mainOf(t, o, "/config"), want[0])
	require.Contains(t, mainOf(t, o, "/?scope=prod"), want[0])
}

// A record that cannot be decoded touches its own scope alone, and whoever pauses
// or resumes that writes it anew.
func TestAControlRecordThatCannotBeRead(t *testing.T) {
	o := options(t)
	o.Store = pauses(t, map[string]state.ControlRecord{"empty": {MaxWorkers: new(7)}})
	spoil := func(key string) {
		r, err := o.Store.Get(t.Context(), state.Control, key)
		var version uint64
		if err == nil {
			version = r.Version
		}
		_, err = o.Store.Apply(t.Context(), state.NoFence, state.Batch{Puts: []state.Put{{Kind: state.Control, Key: key, Version: version, Value: []byte(`[1]`)}}})
		require.NoError(t, err)
	}
	spoil("prod")
	h := newHandler(t, o)
	say := state.UnreadableControl("prod")
	conf := decoded[EffectiveConfig](t, call(h, "GET", "/autoscaler/config"))
	for _, c := range conf.Scopes {
		switch c.Scope {
		case "prod":
			require.Equal(t, []string{say}, c.Conflicts)
		case "empty":
			require.Equal(t, 7, *c.MaxWorkers.Value)
			require.Empty(t, c.Conflicts)
		}
	}
	rec := send(t, h, "PUT", "/autoscaler/config", `{"scopes":[{"scope":"prod","maxWorkers":4}]}`, "If-Match", "*")
	require.Equal(t, http.StatusUnprocessableEntity, rec.Code, "a pause that nobody can read is not lost by the way")
	require.Contains(t, problemOf(t, rec.Body.Bytes()).Detail, say)
	rec = send(t, h, "POST", "/autoscaler/resume", `{"scope":"prod"}`)
	require.Equal(t, http.StatusOK, rec.Code, rec.Body)
	require.False(t, storedControl(t, o, "prod").Paused)
	require.Contains(t, audits(t, o)[0].Reason, "could not be read")

	spoil(state.GlobalKey)
	st := decoded[Status](t, call(h, "GET", "/autoscaler/status"))
	for _, sc := range st.Scopes {
		require.Equal(t, []string{state.UnreadableControl(state.GlobalKey)}, sc.Conflicts)
	}
	rec = send(t, h, "POST", "/autoscaler/pause", `{"reason":"look"}`)
	require.Equal(t, http.StatusOK, rec.Code, rec.Body)
	require.True(t, storedControl(t, o, state.GlobalKey).Paused)
}

// So does an action or a drain, which the status says.
func TestActionsThatCannotBeReadAreSaid(t *testing.T) {
	for _, kind := range []state.Kind{state.Execution, state.Drain} {
		o := options(t)
		o.Store = pauses(t, nil)
		_, err := o.Store.Apply(t.Context(), state.NoFence, state.Batch{Puts: []state.Put{{Kind: kind, Key: "prod", Value: []byte(`[1]`)}}})
		require.NoError(t, err)
		for _, sc := range decoded[Status](t, call(newHandler(t, o), "GET", "/autoscaler/status")).Scopes {
			require.Equal(t, sc.Scope == "prod", slices.Contains(sc.Conflicts, state.UnreadableActions(kind)), sc.Scope)
			require.LessOrEqual(t, len(sc.Conflicts), 1)
		}
	}
}

// The page of the configuration says that the whole service is paused.
func TestTheConfigurationPageShowsAPauseOfTheService(t *testing.T) {
	o := options(t)
	require.NotContains(t, mainOf(t, o, "/config"), "The whole service since")
	o.Store = pauses(t, map[string]state.ControlRecord{state.GlobalKey: {Paused: true, Reason: "upgrade of m1", By: "ann", UpdatedAt: o.Now(), PausedUntil: o.Now().Add(time.Hour)}})
	words := mainOf(t, o, "/config")
	require.Contains(t, words, "The whole service since")
	require.Contains(t, words, "by ann, until")
	require.Contains(t, words, "upgrade of m1")
}

// A replica that does not lead has the same scopes in its configuration as the leader,
// those that nobody listed, too.
func TestAFollowersConfigurationHasAllScopes(t *testing.T) {
	r := newRoles(t)
	var want []string
	for _, ev := range r.leader.Board.Evaluations() {
		want = append(want, ev.Scope.Key)
		w := state.NewWrite(r.leader.Store, state.NoFence)
		require.NoError(t, state.Decisions(r.leader.Store, state.NoFence).Put(w, ev.Scope.Key, state.DecisionRecord{Scope: ev.Scope}))
		require.NoError(t, w.Commit(t.Context()))
	}
	require.Len(t, want, 3)
	for _, o := range []Options{r.leader, r.follower} {
		var got []string
		for _, s := range decoded[EffectiveConfig](t, call(newHandler(t, o), "GET", "/autoscaler/config")).Scopes {
			got = append(got, s.Scope)
		}
		require.ElementsMatch(t, want, got)
	}
}

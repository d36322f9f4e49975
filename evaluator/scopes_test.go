package evaluator

import (
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/zeta-scaler/zeta-scaler/scaling"
)

// Scopes are published in the order of their keys, in whatever order they were
// found.
func TestScopesAreInTheOrderOfTheirKeys(t *testing.T) {
	table := newScopeTable([]string{"cluster"})
	for _, name := range []string{"c", "a", "d", "b"} {
		table.add(&scopeState{Scope: scaling.Scope{Key: name, Labels: []scaling.Label{{Name: "cluster", Value: name}}}})
	}
	var keys []string
	for _, s := range table.sorted {
		keys = append(keys, s.Key)
	}
	require.Equal(t, []string{"a", "b", "c", "d"}, keys)
}

// The snapshot has every input that the rule set asks for, known or not.
func TestSnapshotHasEveryInput(t *testing.T) {
	rs := fixture()
	want := []string{"workers.current", "workers.reporting", "workers.slots", "workers.unsatisfied", "slot_mode"}
	for _, s := range rs.Signals {
		want = append(want, s.Name)
	}
	src := story{"current": {4}, "mode": {0}}.source(rs)
	at := time.UnixMilli(src.phase.Milliseconds())
	var snapshot map[string]scaling.Measurement
	err := Replay(t.Context(), src, ReplayOptions{
		RuleSet: rs, Start: at, End: at,
		Limits: func(scaling.Scope, time.Time) scaling.Limits { return scaling.Limits{Bounds: scaling.DefaultBounds()} },
	}, func(_ time.Time, evaluations []scaling.Evaluation) error {
		require.Len(t, evaluations, 1)
		snapshot = evaluations[0].Recommendation.MetricsSnapshot
		return nil
	})
	require.NoError(t, err)
	var names []string
	for name := range snapshot {
		names = append(names, name)
	}
	slices.Sort(want)
	slices.Sort(names)
	require.Equal(t, want, names)
	require.Equal(t, scaling.Known(0), snapshot["slot_mode"].Value)
	require.NotEmpty(t, snapshot["cpu"].Reason)
}

package main

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/zeta-scaler/zeta-scaler/demo"
	"github.com/zeta-scaler/zeta-scaler/evaluator"
	"github.com/zeta-scaler/zeta-scaler/rules"
	"github.com/zeta-scaler/zeta-scaler/scaling"
)

func TestExplainTableJSON(t *testing.T) {
	code, stdout, stderr := runArgs(t, "explain", "--table", "-o", "json")
	require.Zero(t, code)
	require.Empty(t, stderr)
	var rows []map[string]string
	require.NoError(t, json.Unmarshal([]byte(stdout), &rows))
	var ids []string
	for i, r := range rows {
		want := evaluator.Table()[i]
		require.Equal(t, map[string]string{
			"id": string(want.ID), "when": want.When, "action": string(want.Action), "target": want.Target,
		}, r)
		ids = append(ids, r["id"])
	}
	require.Equal(t, []string{
		"paused", "application_mode", "workers_unknown", "below_min", "above_max", "above_max_blocked", "wake",
		"shortage_blind", "blind_idle", "blind", "shortage", "saturated_tight", "saturated", "tight_with_demand",
		"unsatisfiable", "tight_alone", "idle_shortage", "idle_stale", "idle_unknown", "idle_at_min", "idle_held",
		"idle", "settling", "steady",
	}, ids)
}

func TestRulesListJSON(t *testing.T) {
	code, stdout, _ := runArgs(t, "rules", "list", "-o", "json")
	require.Zero(t, code)
	var packs []map[string]string
	require.NoError(t, json.Unmarshal([]byte(stdout), &packs))
	var names []string
	for _, p := range packs {
		rs, _, err := rules.Pack(p["name"])
		require.NoError(t, err)
		require.Equal(t, map[string]string{
			"name": rs.Name, "version": rs.Version, "digest": rs.Digest, "description": rs.Description,
		}, p)
		names = append(names, p["name"])
	}
	require.Equal(t, rules.Packs(), names)
}

// fields are those of a recommendation that are always there.
var fields = []string{
	"scope", "recommendationId", "masterEpoch", "generation", "action", "row", "strength", "reason", "currentWorkers",
	"recommendedWorkers", "triggerConditions", "blockingConditions", "metricsSnapshot", "metricsValid",
	"staleWorkerCount", "recommendationOnly", "ruleSet", "observedAt", "timestamp", "since", "validUntil",
}

// Every scenario ends by itself, prints one JSON object a line, and is the same
// for the same seed.
func TestDemoOnceJSON(t *testing.T) {
	// What a scenario is about, so that it cannot end before it came to that.
	about := map[string]scaling.RowID{
		"burst": "shortage", "reject-storm": "shortage", "idle-night": "idle", "stale-worker": "idle_stale",
		"unsatisfiable": "unsatisfiable", "flap": "settling", "drain": "idle",
	}
	require.Len(t, about, len(demo.ScenarioNames()))
	for _, scenario := range demo.ScenarioNames() {
		t.Run(scenario, func(t *testing.T) {
			t.Parallel()
			args := []string{"demo", "--once", "--scenario", scenario, "--seed", "7", "-o", "json"}
			code, first, stderr := runArgs(t, args...)
			require.Zero(t, code)
			require.Empty(t, stderr)
			_, second, _ := runArgs(t, args...)
			require.Equal(t, first, second)
			rows := map[scaling.RowID]bool{}
			for line := range strings.Lines(first) {
				r := decodeRecommendation(t, line)
				rows[r.Row] = true
				require.Equal(t, scenario != "drain", r.RecommendationOnly, "only that scenario is carried out without --follow")
			}
			require.Contains(t, rows, about[scenario])
		})
	}
}

func decodeRecommendation(t *testing.T, line string) *scaling.Recommendation {
	t.Helper()
	var object map[string]json.RawMessage
	require.NoError(t, json.Unmarshal([]byte(line), &object))
	for _, f := range fields {
		require.Contains(t, object, f)
	}
	require.Len(t, object, len(fields))
	r := &scaling.Recommendation{}
	dec := json.NewDecoder(bytes.NewReader([]byte(line)))
	dec.DisallowUnknownFields()
	require.NoError(t, dec.Decode(r))
	require.NotEmpty(t, r.Reason)
	requireUnknownIsNotZero(t, object)
	return r
}

// requireUnknownIsNotZero looks at every input: it has a number or UNKNOWN with
// a reason, and a count that is not known is null.
func requireUnknownIsNotZero(t *testing.T, r map[string]json.RawMessage) {
	t.Helper()
	var snapshot map[string]struct {
		Value  json.RawMessage `json:"value"`
		Unit   string          `json:"unit"`
		Reason string          `json:"reason"`
	}
	require.NoError(t, json.Unmarshal(r["metricsSnapshot"], &snapshot))
	require.NotEmpty(t, snapshot)
	for name, v := range snapshot {
		if string(v.Value) == `"UNKNOWN"` {
			require.NotEmpty(t, v.Reason, name)
			continue
		}
		var number float64
		require.NoError(t, json.Unmarshal(v.Value, &number), name)
		require.Empty(t, v.Reason, name)
	}
	if string(snapshot["workers.current"].Value) == `"UNKNOWN"` {
		require.Equal(t, "null", string(r["currentWorkers"]))
		require.Equal(t, "null", string(r["recommendedWorkers"]))
	}
	if string(snapshot["workers.reporting"].Value) == `"UNKNOWN"` {
		require.Equal(t, "null", string(r["staleWorkerCount"]))
	}
}

func TestDemoFollows(t *testing.T) {
	_, alone, _ := runArgs(t, "demo", "--once", "--scenario", "burst")
	code, followed, stderr := runArgs(t, "demo", "--once", "--scenario", "burst", "--follow")
	require.Zero(t, code)
	require.Empty(t, stderr)
	require.NotEqual(t, alone, followed)
	require.Contains(t, followed, "SCALE_OUT")
}

func TestWorkersAreNeverZeroWhenUnknown(t *testing.T) {
	n := func(i int) *int { return &i }
	for _, c := range []struct {
		from, to *int
		want     string
	}{
		{nil, nil, "unknown"},
		{n(0), n(0), "0"},
		{n(3), n(3), "3"},
		{n(3), n(4), "3 → 4"},
		{n(3), nil, "3 → unknown"},
		{nil, n(4), "unknown → 4"},
		{n(0), nil, "0 → unknown"},
	} {
		require.Equal(t, c.want, workers(&scaling.Recommendation{CurrentWorkers: c.from, RecommendedWorkers: c.to}))
	}
}

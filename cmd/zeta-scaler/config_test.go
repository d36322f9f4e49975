package main

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/zeta-scaler/zeta-scaler/api"
	"github.com/zeta-scaler/zeta-scaler/scaling"
	"github.com/zeta-scaler/zeta-scaler/state"
)

func TestConfigCommands(t *testing.T) {
	url, store := serveScope(t)
	code, stdout, stderr := runArgs(t, "config", "show", "--server", url)
	require.Zero(t, code, stderr)
	require.Equal(t, `KEY        VALUE   FROM
log.level  "info"  default

SCOPE  KEY          VALUE      FROM
prod   min_workers  1          default
prod   max_workers  unbounded  default
prod   mode         advisory   default
`, stdout)

	code, stdout, stderr = runArgs(t, "config", "set", "--scope", "prod", "--max-workers", "20", "--until", "6h", "--reason", "the quarter ends", "--server", url)
	require.Zero(t, code, stderr)
	require.Regexp(t, `(?m)^prod   max_workers  20        set at run time: max_workers 20 until \d{4}-\S+Z: the quarter ends$`, stdout)
	r, _, err := state.Load[state.ControlRecord](t.Context(), store, state.Control, "prod")
	require.NoError(t, err)
	require.WithinDuration(t, time.Now().Add(6*time.Hour), r.MaxTimed.Until, time.Minute)
	_, stdout, _ = runArgs(t, "status", "--server", url)
	require.Regexp(t, `(?m)^prod: max_workers 20 until \S+: the quarter ends$`, stdout)

	_, stdout, _ = runArgs(t, "config", "set", "--scope", "prod", "--max-workers", "configured", "--min-workers", "2", "--server", url)
	require.Regexp(t, `(?m)^prod   min_workers  2          set at run time$`, stdout)
	require.Regexp(t, `(?m)^prod   max_workers  unbounded  default$`, stdout)
	_, stdout, _ = runArgs(t, "config", "show", "--scope", "prod", "--server", url, "-o", "json")
	var reply api.EffectiveConfig
	require.NoError(t, json.Unmarshal([]byte(stdout), &reply))
	require.Equal(t, 2, *reply.Scopes[0].MinWorkers.Value)

	for args, want := range map[*[]string]string{
		{"--scope", "prdo", "--min-workers", "1"}:                       `there is no scope "prdo"`,
		{"--scope", "prod"}:                                             "give --min-workers, --max-workers or --mode",
		{"--min-workers", "1"}:                                          "--scope is missing",
		{"--scope", "prod", "--max-workers", "many"}:                    `--max-workers is "many", expected a number or the word configured`,
		{"--scope", "prod", "--max-workers", "9", "--until", "tonight"}: "or a duration such as 6h",
		{"--scope", "prod", "--max-workers", "1"}:                       "min_workers 2 is greater than max_workers 1",
	} {
		code, _, stderr := runArgs(t, append([]string{"config", "set", "--server", url}, *args...)...)
		require.NotZero(t, code)
		require.Contains(t, stderr, want)
	}
}

func TestConfigChange(t *testing.T) {
	change, err := (&configChange{scope: "a", mode: "configured", most: "9", until: "2026-03-14T18:00:00+01:00"}).change(at)
	require.NoError(t, err)
	require.Equal(t, api.Optional[scaling.Mode]{Set: true}, change.Mode)
	require.False(t, change.MinWorkers.Set)
	require.True(t, change.Until.Value.Equal(time.Date(2026, 3, 14, 17, 0, 0, 0, time.UTC)))
}

func TestStatusOfAFollowerNamesTheLeader(t *testing.T) {
	status := &api.Status{LeaderName: "node-2/4711"}
	require.Equal(t, "This replica does not lead; node-2/4711 decides.\nNo scopes are shown: only the leader knows them.\n", scopesText(status, screen{}))
	require.Equal(t, noScopes+"\n", scopesText(&api.Status{Leader: true}, screen{}))
	status.LeaderError = "The leader gives no answer."
	require.Equal(t, "! The leader gives no answer.\n\n", troubles(status))
	require.Equal(t, "This replica does not lead; node-2/4711 decides.\nNo scopes are shown: only the leader knows them.\n", scopesText(status, screen{}))
}

package state_test

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/zeta-scaler/zeta-scaler/scaling"
	"github.com/zeta-scaler/zeta-scaler/state"
	"github.com/zeta-scaler/zeta-scaler/state/memory"
)

func TestPausedAt(t *testing.T) {
	now := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	for name, tc := range map[string]struct {
		record state.ControlRecord
		want   bool
	}{
		"never":           {state.ControlRecord{}, false},
		"until resumed":   {state.ControlRecord{Paused: true}, true},
		"until later":     {state.ControlRecord{Paused: true, PausedUntil: now.Add(1)}, true},
		"until now":       {state.ControlRecord{Paused: true, PausedUntil: now}, false},
		"resumed earlier": {state.ControlRecord{PausedUntil: now.Add(time.Hour)}, false},
	} {
		t.Run(name, func(t *testing.T) {
			require.Equal(t, tc.want, tc.record.PausedAt(now))
		})
	}
}

// The names are on disk and in the API: they do not change by accident.
func TestRecordsAsJSON(t *testing.T) {
	at := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	two, webhook := 2, scaling.Webhook
	for name, tc := range map[string]struct {
		record any
		want   string
	}{
		"leader": {
			state.LeaderRecord{Epoch: 7, Holder: "host/1", Since: at},
			`{"epoch":7,"holder":"host/1","since":"2026-01-02T03:04:05Z"}`,
		},
		"control": {
			state.ControlRecord{
				Paused: true, Reason: "upgrade", By: "ops", PausedUntil: at,
				MinWorkers: &two, MaxWorkers: &two, Mode: &webhook, UpdatedAt: at,
			},
			`{"paused":true,"reason":"upgrade","by":"ops","pausedUntil":"2026-01-02T03:04:05Z",` +
				`"minWorkers":2,"maxWorkers":2,"mode":"webhook","updatedAt":"2026-01-02T03:04:05Z"}`,
		},
		"execution": {
			state.ExecutionRecord{
				Booting: []scaling.Booting{{Target: 5, Deadline: at}}, CooldownUntil: at, BackoffUntil: at, ActionInFlight: true,
			},
			`{"booting":[{"target":5,"deadline":"2026-01-02T03:04:05Z"}],"cooldownUntil":"2026-01-02T03:04:05Z",` +
				`"backoffUntil":"2026-01-02T03:04:05Z","actionInFlight":true}`,
		},
		"nothing to execute": {state.ExecutionRecord{}, `{}`},
		"drain": {
			state.DrainRecord{
				Epoch: 7,
				Open: &scaling.Drain{
					ID: "7-3-prod", Scope: "prod", RecommendationID: "7-3-prod", Generation: 3, MasterEpoch: 7,
					Worker: "zeta-worker-2", Address: "10.0.0.3:5801", Actuator: "kubernetes", State: scaling.DrainDraining,
					Transitions: []scaling.DrainTransition{{State: scaling.DrainDraining, At: at, Reason: "idle"}},
					Jobs: []scaling.DrainJob{{
						ID: "4501", Name: "orders", Mode: "STREAMING", Step: scaling.JobStopping, StopAt: at, Stops: 1, AskedAt: at,
					}},
					HoldJob: "900", Slots: 4, Deadline: at,
				},
				CooldownUntil: at, BackoffUntil: at, Failures: 1, Others: map[string]int64{"4502": 12},
			},
			`{"epoch":7,"open":{"id":"7-3-prod","scope":"prod","recommendationId":"7-3-prod","generation":3,"masterEpoch":7,` +
				`"worker":"zeta-worker-2","address":"10.0.0.3:5801","actuator":"kubernetes","state":"DRAINING",` +
				`"transitions":[{"state":"DRAINING","at":"2026-01-02T03:04:05Z","reason":"idle"}],` +
				`"jobs":[{"id":"4501","name":"orders","mode":"STREAMING","step":"stopping","stopAt":"2026-01-02T03:04:05Z","stops":1,` +
				`"askedAt":"2026-01-02T03:04:05Z"}],"holdJob":"900","slots":4,"deadline":"2026-01-02T03:04:05Z"},` +
				`"cooldownUntil":"2026-01-02T03:04:05Z","backoffUntil":"2026-01-02T03:04:05Z","failures":1,"others":{"4502":12}}`,
		},
		"nothing to drain": {state.DrainRecord{}, `{}`},
		"tick": {
			state.TickRecord{RuleSet: "zeta-auto", Last: at},
			`{"ruleSet":"zeta-auto","last":"2026-01-02T03:04:05Z"}`,
		},
		"ramp": {
			state.Ramp{Size: 4, Base: 8, Tick: at, Bound: true},
			`{"size":4,"base":8,"tick":"2026-01-02T03:04:05Z","bound":true}`,
		},
	} {
		t.Run(name, func(t *testing.T) {
			b, err := json.Marshal(tc.record)
			require.NoError(t, err)
			require.Equal(t, tc.want, string(b))
		})
	}
}

func TestDecode(t *testing.T) {
	r := state.Record{Kind: state.Leader, Key: state.EpochKey, Value: []byte(`{"epoch":7,"addedLater":true}`)}
	got, err := state.Decode[state.LeaderRecord](r)
	require.NoError(t, err, "what a newer version added is ignored")
	require.Equal(t, state.LeaderRecord{Epoch: 7}, got)

	r.Value = []byte(`{"epoch":-1}`)
	_, err = state.Decode[state.LeaderRecord](r)
	require.ErrorContains(t, err, `decoding leader record "epoch"`)

	_, err = state.NewPut(state.Tick, "a", 0, func() {})
	require.ErrorContains(t, err, `encoding tick record "a"`)
}

// Bounds that somebody has written by hand and that no scope can have are a record
// that cannot be read; nothing is carried out by it.
func TestBoundsThatNobodyCanHaveSet(t *testing.T) {
	for value, want := range map[string]string{
		`{"minWorkers":-3}`: "min_workers is -3, expected 0 or more",
		`{"maxWorkers":0}`:  "max_workers is 0, expected 1 or more",
		`{"minTimed":{"workers":-1,"until":"2026-01-02T03:04:05Z"}}`: "min_workers until 2026-01-02T03:04:05Z is -1, expected 0 or more",
		`{"maxTimed":{"workers":-1,"until":"2026-01-02T03:04:05Z"}}`: "max_workers until 2026-01-02T03:04:05Z is -1, expected 1 or more",
		`{"minWorkers":5,"maxWorkers":2}`:                            "min_workers 5 is greater than max_workers 2",
		`{"minWorkers":5,"maxWorkers":-2}`:                           "max_workers is -2, expected 1 or more; min_workers 5 is greater than max_workers -2",
		`{"minWorkers":0,"maxWorkers":1}`:                            "",
		// The one was over when the other was set.
		`{"minTimed":{"workers":8,"until":"2026-01-02T03:04:05Z"},"maxWorkers":5}`: "",
	} {
		store := memory.New()
		decision, err := state.NewPut(state.Decision, "prod", 0, state.DecisionRecord{})
		require.NoError(t, err)
		_, err = store.Apply(t.Context(), state.NoFence, state.Batch{Puts: []state.Put{decision, {Kind: state.Control, Key: "prod", Value: []byte(value)}}})
		require.NoError(t, err)
		_, err = state.ReadStanding(t.Context(), store, "prod")
		if want == "" {
			require.NoError(t, err, value)
			continue
		}
		require.ErrorIs(t, err, state.ErrUnreadable, value)
		require.EqualError(t, err, `decoding control record "prod": its value cannot be read: `+want)
	}
}

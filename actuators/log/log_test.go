package log

import (
	"bytes"
	"encoding/json"
	"log/slog"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/zeta-scaler/zeta-scaler/actuators"
	"github.com/zeta-scaler/zeta-scaler/actuators/actuatortest"
	"github.com/zeta-scaler/zeta-scaler/scaling"
)

func TestConformance(t *testing.T) {
	for name, workers := range map[string][]string{"without names": nil, "with names": {"a", "b", "c"}} {
		t.Run(name, func(t *testing.T) {
			actuatortest.RunConformance(t, func(*testing.T) actuatortest.Fixture {
				return actuatortest.Fixture{
					Actuator: New(slog.New(slog.DiscardHandler), workers...),
					Target:   actuators.Target{Scope: scaling.Scope{Key: "prod"}},
				}
			})
		})
	}
}

func TestReleaseWritesWhomItWouldRemove(t *testing.T) {
	var out bytes.Buffer
	a := New(slog.New(slog.NewJSONHandler(&out, nil)), "a", "b")
	workers, err := a.Workers(t.Context(), actuators.Target{})
	require.NoError(t, err)
	require.Equal(t, []actuators.Worker{{Name: "a"}, {Name: "b"}}, workers)
	require.Equal(t, actuators.Capabilities{DryRun: true, Releases: true, Chooses: true}, a.Capabilities())
	f := actuators.Fence{
		ActionID: "3-8-prod", RecommendationID: "3-9-prod",
		Recommendation: scaling.Recommendation{Row: scaling.RowIdle, Reason: "3 workers are idle"},
	}
	require.ErrorIs(t, a.Release(t.Context(), actuators.Target{}, workers, f), actuators.ErrRefused)
	require.Empty(t, out.String())
	require.NoError(t, a.Release(t.Context(), actuators.Target{Scope: scaling.Scope{Key: "prod"}}, workers[:1], f))
	var got map[string]any
	require.NoError(t, json.Unmarshal(out.Bytes(), &got))
	delete(got, "time")
	require.Equal(t, map[string]any{
		"level": "INFO", "msg": "dry run: this worker would be removed", "scope": "prod", "worker": "a", "address": "",
		"recommendation_id": "3-9-prod", "action_id": "3-8-prod", "row": "idle", "reason": "3 workers are idle",
	}, got)
}

func TestScaleWritesWhatItWouldDo(t *testing.T) {
	two := 2
	for _, test := range []struct {
		name string
		from *int
		want map[string]any
	}{
		{"known", &two, map[string]any{"from": 2.0}},
		{"unknown", nil, map[string]any{"from": "unknown"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			var out bytes.Buffer
			a := New(slog.New(slog.NewJSONHandler(&out, nil)))
			require.NoError(t, a.Scale(t.Context(), actuators.Target{Scope: scaling.Scope{Key: "prod"}}, 4, actuators.Fence{
				Epoch: 3, Generation: 9, RecommendationID: "3-9-prod", ActionID: "3-8-prod", From: test.from,
				Recommendation: scaling.Recommendation{Row: scaling.RowShortage, Reason: "2 jobs wait"},
			}))
			var got map[string]any
			require.NoError(t, json.Unmarshal(out.Bytes(), &got))
			delete(got, "time")
			require.Equal(t, map[string]any{
				"level": "INFO", "msg": "dry run: this scope would be scaled", "scope": "prod", "from": test.want["from"], "want": 4.0,
				"recommendation_id": "3-9-prod", "action_id": "3-8-prod", "row": "shortage", "reason": "2 jobs wait",
			}, got)
		})
	}
}

func TestNothingIsWrittenForWhatIsRefused(t *testing.T) {
	var out bytes.Buffer
	a := New(slog.New(slog.NewJSONHandler(&out, nil)))
	require.ErrorIs(t, a.Scale(t.Context(), actuators.Target{}, -1, actuators.Fence{}), actuators.ErrRefused)
	require.ErrorIs(t, a.Release(t.Context(), actuators.Target{}, nil, actuators.Fence{}), actuators.ErrUnsupported)
	require.Empty(t, out.String())
}

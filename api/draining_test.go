package api

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/zeta-scaler/zeta-scaler/drain"
	"github.com/zeta-scaler/zeta-scaler/scaling"
	"github.com/zeta-scaler/zeta-scaler/state"
)

// fakeDrains begins every drain, but for scopes that are called as what is wrong
// with them.
type fakeDrains struct{}

func (fakeDrains) problem(scope string) error {
	return map[string]error{
		"none":     fmt.Errorf("%w: none", drain.ErrNoScope),
		"busy":     fmt.Errorf("%w: drain 7-9 of worker w is DRAINING; one worker at a time", drain.ErrRefused),
		"follower": ErrFollower,
		"late":     fmt.Errorf("%w: since noon", state.ErrLate),
		"broken":   errors.New("disk on fire"),
	}[scope]
}

func (f fakeDrains) Plan(_ context.Context, scope, worker string) (scaling.DrainPlan, error) {
	return scaling.DrainPlan{
		Scope: scope, Worker: worker, Actuator: "kubernetes", Against: "job nightly-load (4503) cannot be restored: no config is registered",
		Used: 3, Slots: 4, Hold: true,
		Jobs: []scaling.PlannedJob{
			{ID: "4501", Name: "orders", Mode: "STREAMING", Fate: scaling.FateMove},
			{ID: "4502", Name: "nightly", Mode: "BATCH", Fate: scaling.FateWait},
			{ID: "4503", Name: "nightly-load", Mode: "STREAMING", Fate: scaling.FateStay, Error: "no config is registered"},
		},
	}, f.problem(scope)
}

func (f fakeDrains) Request(_ context.Context, scope, worker, by, reason string) (scaling.Drain, error) {
	return scaling.Drain{
		ID: "drain-7-1773480390000-prod", Scope: scope, Worker: worker, By: by, Reason: reason, MasterEpoch: 7,
		Actuator: "kubernetes", State: scaling.DrainPending,
	}, f.problem(scope)
}

func (f fakeDrains) Cancel(_ context.Context, scope, by, reason string) (scaling.Drain, error) {
	return scaling.Drain{
		ID: "drain-7-1773480390000-prod", Scope: scope, Worker: "worker-2", By: by, MasterEpoch: 7,
		Actuator: "kubernetes", State: scaling.DrainActive, GivenUp: "cancelled: " + reason,
	}, f.problem(scope)
}

func TestADrainSaysWhoAskedForIt(t *testing.T) {
	o, log := options(t), &strings.Builder{}
	o.User = nil
	o.Logger = slog.New(slog.NewTextHandler(log, nil))
	d := decoded[scaling.Drain](t, send(t, newHandler(t, o), "POST", "/autoscaler/drain", `{"scope":"prod","worker":"worker-2","reason":"new kernel"}`))
	require.Equal(t, "192.0.2.1", d.By, "the address of who has no credential")
	require.NotNil(t, d.Transitions)
	o.User = func(context.Context) string { return "ann" }
	h := newHandler(t, o)
	require.Equal(t, "ann", decoded[scaling.Drain](t, send(t, h, "POST", "/autoscaler/drain", `{"scope":"prod","reason":"new kernel"}`)).By)
	require.Equal(t, "ann", decoded[scaling.Drain](t, send(t, h, "POST", "/autoscaler/drain/cancel", `{"scope":"prod","reason":"not now"}`)).By)
	require.Contains(t, log.String(), `msg="drain asked for" scope=prod worker=worker-2`)
	require.Contains(t, log.String(), `msg="drain cancelled" scope=prod`)
}

func TestDrainRefusals(t *testing.T) {
	h := newHandler(t, options(t))
	for body, want := range map[string]string{
		`{"scope":"busy","reason":"x"}`:                    "drain 7-9 of worker w is DRAINING; one worker at a time",
		`{"scope":"follower","reason":"x"}`:                "this replica does not lead: ask the one that does",
		`{"scope":"prod","worker":"","reason":"x"}`:        "leave it out to mean the one that the platform would remove",
		`{"scope":"prod","worker":null,"reason":"x"}`:      "leave it out to mean the one that the platform would remove",
		`{"scope":"prod","worker":"a\nb","reason":"x"}`:    "control characters",
		`{"scope":"prod","reason":"x","by":"somebody"}`:    `unknown field \"by\"`,
		`{"scope":"broken","worker":"w","reason":"x"}`:     "the state store failed",
		`{"scope":"prod","worker":"w","reason":"a\u0000"}`: "control characters",
	} {
		rec := send(t, h, "POST", "/autoscaler/drain", body)
		require.GreaterOrEqual(t, rec.Code, http.StatusBadRequest, body)
		require.Contains(t, rec.Body.String(), want)
		require.NotContains(t, rec.Body.String(), "disk on fire")
	}
}

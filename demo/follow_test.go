package demo

import (
	"bytes"
	"errors"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/stretchr/testify/require"

	"github.com/zeta-scaler/zeta-scaler/app"
	"github.com/zeta-scaler/zeta-scaler/rules"
	"github.com/zeta-scaler/zeta-scaler/scaling"
	"github.com/zeta-scaler/zeta-scaler/state"
)

// TestFollowGoesTheWholeWay: what --follow starts was asked for by alert and
// webhook, and is in the store with all its steps.
func TestFollowGoesTheWholeWay(t *testing.T) {
	d, err := newSimulation(t.Context(), Options{Scenario: "burst", Once: true, Follow: true}, prometheus.NewRegistry())
	require.NoError(t, err)
	require.NoError(t, errors.Join(d.run(t.Context()), d.close()))
	store := d.store
	entries, err := store.History(t.Context(), state.Filter{Kind: state.ActionEntry, Limit: 100})
	require.NoError(t, err)
	require.NotEmpty(t, entries)
	rec, _, err := state.Load[state.ExecutionRecord](t.Context(), store, state.Execution, clusterName)
	require.NoError(t, err)
	require.Equal(t, scaling.ActionSucceeded, rec.Action.State)
	var states []scaling.ActionState
	for _, tr := range rec.Action.Transitions {
		states = append(states, tr.State)
	}
	require.Equal(t, []scaling.ActionState{
		scaling.ActionPending, scaling.ActionExecuting, scaling.ActionConverging, scaling.ActionSucceeded,
	}, states)
	alert, _, err := state.Load[state.AlertRecord](t.Context(), store, state.Alert, clusterName)
	require.NoError(t, err)
	require.NotEmpty(t, alert.Alerts)
}

// TestStandInForAlertmanager: it tells the beginning and the end of what asks
// for workers, once each, and nothing else.
func TestStandInForAlertmanager(t *testing.T) {
	var told []string
	now := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	answer := http.StatusOK
	hook := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var b bytes.Buffer
		if _, err := b.ReadFrom(r.Body); err != nil {
			t.Error(err)
		}
		told = append(told, b.String())
		w.WriteHeader(answer)
	}))
	defer hook.Close()
	a := &alertmanager{now: func() time.Time { return now }, firing: map[string]bool{}, client: hook.Client(), url: hook.URL}
	post := func(action, id string, ends time.Duration, code int) {
		body := `[{"labels":{"alertname":"A","action":"` + action + `","recommendation":"` + id + `"},"startsAt":"2026-01-01T00:00:00Z","endsAt":"` +
			now.Add(ends).Format(time.RFC3339) + `"}]`
		w := httptest.NewRecorder()
		a.ServeHTTP(w, httptest.NewRequest(http.MethodPost, "/api/v2/alerts", bytes.NewBufferString(body)))
		require.Equal(t, code, w.Code)
	}
	post("SCALE_IN_CANDIDATE", "1-1-a", time.Minute, 200)
	post("SCALE_OUT", "", time.Minute, 200)
	require.Empty(t, told)
	post("SCALE_OUT", "1-2-a", time.Minute, 200)
	post("SCALE_OUT", "1-2-a", time.Minute, 200)
	require.Len(t, told, 1)
	require.Contains(t, told[0], `"status":"firing"`)
	require.Equal(t, map[string]bool{"1-2-a": true}, a.firing)
	post("SCALE_OUT", "1-2-a", -time.Second, 200)
	post("SCALE_OUT", "1-2-a", -time.Second, 200)
	require.Len(t, told, 2)
	require.Contains(t, told[1], `"status":"resolved"`)
	require.Empty(t, a.firing)

	answer = http.StatusServiceUnavailable
	post("SCALE_OUT", "1-3-a", time.Minute, 500)
}

// TestFollowHasRoundsAsServeHas: a shortage that goes on does not wait for the
// cooldown where the rule set's step policy goes on by rounds.
func TestFollowHasRoundsAsServeHas(t *testing.T) {
	d, err := newSimulation(t.Context(), Options{Scenario: "burst", Once: true, Follow: true}, prometheus.NewRegistry())
	require.NoError(t, err)
	defer func() { require.NoError(t, d.close()) }()
	for name, rounds := range map[string]bool{"zeta-auto": false, "zeta-responsive": true} {
		d.rules, _, err = rules.Pack(name)
		require.NoError(t, err)
		var p app.Parts
		d.follow(&p)
		require.Equal(t, rounds, p.Scopes[0].Rounds, name)
	}
}

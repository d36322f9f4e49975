package demo

import (
	"errors"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/stretchr/testify/require"

	"github.com/zeta-scaler/zeta-scaler/demo/sim"
	"github.com/zeta-scaler/zeta-scaler/scaling"
	"github.com/zeta-scaler/zeta-scaler/state"
	"github.com/zeta-scaler/zeta-scaler/zeta/control"
)

// The scenario drain removes two workers, moves the streaming jobs both times,
// waits for the batch job, and leaves every job of the story well.
func TestDrainGoesTheWholeWay(t *testing.T) {
	d, err := newSimulation(t.Context(), Options{Scenario: "drain", Once: true}, prometheus.NewRegistry())
	require.NoError(t, err)
	require.NoError(t, errors.Join(d.run(t.Context()), d.close()))
	rec, _, err := state.Load[state.DrainRecord](t.Context(), d.store, state.Drain, clusterName)
	require.NoError(t, err)
	require.Nil(t, rec.Open)
	require.Equal(t, "worker-3", rec.Last.Worker)
	entries, err := d.store.History(t.Context(), state.Filter{Kind: state.DrainEntry, Limit: 100})
	require.NoError(t, err)
	require.Len(t, entries, 2)
	require.Equal(t, scaling.DrainDecommissioned, rec.Last.State)
	require.NotEmpty(t, rec.Last.RecommendationID, "asked for by alert and webhook")
	for _, j := range rec.Last.Jobs {
		require.Equal(t, scaling.JobRestored, j.Step)
		require.Positive(t, j.Downtime())
		require.Less(t, j.Downtime(), 10*time.Second)
	}
	names, _ := d.world.current().WorkerNames()
	require.Equal(t, []string{"worker-2", "worker-1"}, names)
	jobs, err := sim.View{Current: d.world.current}.Jobs(t.Context())
	require.NoError(t, err)
	require.Len(t, jobs, 2, "a job is lost, or a hold is left")
	for _, j := range jobs {
		require.Equal(t, control.Running, j.Status)
	}

	page := httptest.NewRecorder()
	d.handler.ServeHTTP(page, httptest.NewRequest(http.MethodGet, "/?scope="+clusterName, http.NoBody))
	require.Equal(t, http.StatusOK, page.Code)
	for _, want := range []string{"Drains", "worker-4", "worker-3", "DECOMMISSIONED", "orders", "2.0s"} {
		require.Contains(t, page.Body.String(), want)
	}
}

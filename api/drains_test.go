package api

import (
	"context"
	"encoding/json"
	"net/url"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/zeta-scaler/zeta-scaler/scaling"
	"github.com/zeta-scaler/zeta-scaler/state"
)

func TestDrainsAreListedOpenFirst(t *testing.T) {
	o := options(t)
	page := decoded[DrainsPage](t, call(newHandler(t, o), "GET", "/autoscaler/drain"))
	require.Equal(t, []scaling.Drain{*draining(), *drained()}, page.Drains)
	page = decoded[DrainsPage](t, call(newHandler(t, o), "GET", "/autoscaler/drain?limit=1"))
	require.Equal(t, []scaling.Drain{*draining()}, page.Drains)
	page = decoded[DrainsPage](t, call(newHandler(t, o), "GET", "/autoscaler/drain?scope=prod"))
	require.Equal(t, []scaling.Drain{*drained()}, page.Drains)
}

// A drain that ended while the page was made is there once, and what cannot be
// read is counted.
func TestDrainsThatChangeOrCannotBeRead(t *testing.T) {
	o := options(t)
	keep(t, o.Store, state.Entry{Scope: hostile, At: tick, Kind: state.DrainEntry, Value: []byte(`{"id":"7-9","scope":` + jsonText(t, hostile) + `,"state":"ACTIVE"}`)})
	keep(t, o.Store, state.Entry{Scope: "prod", At: tick, Kind: state.DrainEntry, Value: []byte(`[]`)})
	page := decoded[DrainsPage](t, call(newHandler(t, o), "GET", "/autoscaler/drain"))
	require.Len(t, page.Drains, 2)
	require.Equal(t, 1, page.Unreadable)
}

func TestStatusHasTheLatestDrain(t *testing.T) {
	o := options(t)
	reply := decoded[Status](t, call(newHandler(t, o), "GET", "/autoscaler/status"))
	got := map[string]*scaling.Drain{}
	for _, s := range reply.Scopes {
		got[s.Scope] = s.Drain
	}
	require.Equal(t, map[string]*scaling.Drain{"prod": drained(), hostile: draining(), "empty": nil}, got)
}

// The list shows its scopes without the drains that a store does not give.
func TestListWithoutDrains(t *testing.T) {
	o := options(t)
	o.Store = failingStore{o.Store}
	words := mainOf(t, o, "/")
	require.Contains(t, words, "prod")
	require.NotContains(t, words, "drain failed")
}

type failingStore struct{ state.Store }

func (failingStore) List(context.Context, state.Kind) ([]state.Record, error) {
	return nil, context.DeadlineExceeded
}

func TestPageShowsADrain(t *testing.T) {
	o := options(t)
	words := mainOf(t, o, "/?scope=prod")
	for _, want := range []string{
		"Drains DECOMMISSIONED worker-2", "By kubernetes , in Zeta 10.0.0.3:5801 , for recommendation 7-2-prod; drain 7-1 .",
		"orders 4501 streaming restored 2.4s", "nightly 4502 batch finished none", "DRAINED 2026-03-14T08:56:42Z its 4 slots are held",
	} {
		require.Contains(t, words, want)
	}
	words = mainOf(t, o, "/?scope="+url.QueryEscape(hostile))
	for _, want := range []string{
		"Drains FAILED " + hostile, "A job that was stopped does not run yet.", "restoring " + hostile + " 42.0s so far", "Restored or failed by Zeta itself: " + hostile,
	} {
		require.Contains(t, words, want)
	}
	require.NotContains(t, mainOf(t, o, "/?scope=empty"), "Drains")
	require.Contains(t, mainOf(t, o, "/"), "drain failed: "+hostile)
	require.NotContains(t, mainOf(t, o, "/"), "worker-2")
}

func TestDrainNotes(t *testing.T) {
	for name, test := range map[string]struct {
		drain scaling.Drain
		kind  string
		note  string
		badge string
	}{
		"waits for batch jobs": {scaling.Drain{State: scaling.DrainDraining, Worker: "w1", Deadline: tick.Add(time.Minute)}, "plain", "Given up at 2026-03-14T09:27:30Z if jobs in batch mode still run there.", "draining: w1"},
		"goes back":            {scaling.Drain{State: scaling.DrainDraining, Worker: "w1", GivenUp: "timed out"}, "open", "It goes back: timed out", "draining: w1"},
		"went back":            {scaling.Drain{State: scaling.DrainActive, Worker: "w1", GivenUp: "timed out", Error: "timed out", Failed: true}, "person", "The worker stays: timed out", "drain went back: w1"},
		"called off":           {scaling.Drain{State: scaling.DrainActive, Worker: "w1"}, "plain", "The worker stays: it was called off", ""},
		"failed":               {scaling.Drain{State: scaling.DrainFailed, Worker: "w1", Error: "no slots"}, "alarm", "no slots", "drain failed: w1"},
		"gone":                 {scaling.Drain{State: scaling.DrainDecommissioned, Worker: "w1"}, "", "", ""},
		"not chosen":           {scaling.Drain{State: scaling.DrainPending}, "", "", "drain pending"},
	} {
		t.Run(name, func(t *testing.T) {
			kind, note, _ := drainNote(&test.drain, tick)
			require.Equal(t, test.kind, kind)
			require.Equal(t, test.note, note)
			b, _ := drainBadge(&test.drain)
			require.Equal(t, test.badge, b.Words)
		})
	}
}

func jsonText(t *testing.T, s string) string {
	t.Helper()
	b, err := json.Marshal(s)
	require.NoError(t, err)
	return string(b)
}

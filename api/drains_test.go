package api

import (
	"context"
	"encoding/json"
	"net/url"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/net/html"

	"github.com/zeta-scaler/zeta-scaler/scaling"
	"github.com/zeta-scaler/zeta-scaler/state"
	"github.com/zeta-scaler/zeta-scaler/state/memory"
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

// Of a store that gives nothing, the list shows its scopes with the drains of the
// last tick.
func TestListWithoutDrains(t *testing.T) {
	o := options(t)
	o.Store = failingStore{o.Store}
	rows := rowsOf(pageOf(t, o, "/"))
	require.Len(t, rows, 3)
	require.Contains(t, rows[0][0], "drain failed: "+hostile)
}

// A drain that has failed needs a person: its scope is counted and listed first,
// with what to do, for a day, or until the jobs that it has stopped run.
func TestAFailedDrainComesFirst(t *testing.T) {
	back := func(change func(*state.DrainRecord)) *state.DrainRecord {
		r := &state.DrainRecord{BackoffUntil: tick.Add(3 * time.Minute), Last: &scaling.Drain{
			ID: "7-4", Scope: "prod", RecommendationID: "7-2-prod", Worker: "w1", Actuator: "kubernetes", State: scaling.DrainActive, Failed: true,
			GivenUp: "timed out", Transitions: []scaling.DrainTransition{{State: scaling.DrainActive, At: tick.Add(-time.Minute)}},
		}}
		if change != nil {
			change(r)
		}
		return r
	}
	for name, c := range map[string]struct {
		record *state.DrainRecord
		action scaling.Action
		// said is what the first card says, "" for a drain that needs nobody.
		said, runbook string
	}{
		"went back": {
			back(nil), scaling.ScaleInCandidate,
			"A drain has failed: to remove w1 by kubernetes , 2026-03-14T09:25:30Z (1m12s ago). timed out What now: The worker stays, and every job that was stopped runs again. " +
				"Mend what the error says: it is tried again by itself while it is still called for. Pause the scope to stop that. " +
				"Next attempt at 2026-03-14T09:29:30Z , in 2m48s. Its steps · Runbook", "runbook#zetadrainfailed",
		},
		"not called for any more": {back(nil), scaling.NoAction, "It is not called for any more, so nothing is tried again.", "runbook#zetadrainfailed"},
		"by hand":                 {back(func(r *state.DrainRecord) { r.Last.RecommendationID = "" }), scaling.NoAction, "then ask for the drain again.", "runbook#zetadrainfailed"},
		"a job does not run": {back(func(r *state.DrainRecord) {
			r.Open, r.Last = r.Last, nil
			r.Open.State = scaling.DrainDraining
			r.Open.Failed = false
			r.Open.Jobs = []scaling.DrainJob{{ID: "1", Step: scaling.JobRestoring, StopAt: tick.Add(-time.Hour), Attempts: 7, Error: "no slots"}}
		}), scaling.NoAction, "1 job of w1 that was stopped for a drain does not run , 2026-03-14T09:25:30Z (1m12s ago). no slots What now: What was stopped is restored again", "runbook#zetajobrestorefailed"},
		"a day ago":  {back(func(r *state.DrainRecord) { r.Last.Transitions[0].At = tick.Add(-25 * time.Hour) }), scaling.NoAction, "", ""},
		"called off": {back(func(r *state.DrainRecord) { r.Last.Failed = false }), scaling.NoAction, "", ""},
	} {
		t.Run(name, func(t *testing.T) {
			o := options(t)
			o.Store = memory.New()
			put, err := state.NewPut(state.Drain, "prod", 0, c.record)
			require.NoError(t, err)
			_, err = o.Store.Apply(t.Context(), state.NoFence, state.Batch{Puts: []state.Put{put}})
			require.NoError(t, err)
			calm, prod := scaleOut("calm"), scaleOut("prod")
			prod.Recommendation.Action = c.action
			o.Board = &fakeBoard{evaluations: []scaling.Evaluation{calm, prod}}
			first := rowsOf(pageOf(t, o, "/"))[0]
			var card []string
			for _, n := range pageOf(t, o, "/?scope=prod") {
				if attribute(n, "class") == "failure" {
					card = append(card, text(n))
				}
			}
			if c.said == "" {
				require.Contains(t, first[0], "calm")
				require.Contains(t, mainOf(t, o, "/?need=failed"), "None of the 2 scopes is like that")
				require.Empty(t, card)
				return
			}
			require.Contains(t, first[0], "prod")
			require.Contains(t, first[4], "What now")
			require.Contains(t, mainOf(t, o, "/?need=failed"), "Scopes 1 to 1 of 1, filtered from 2")
			require.Len(t, card, 1)
			require.Contains(t, card[0], c.said)
			for _, target := range []string{"/", "/?scope=prod"} {
				require.True(t, slices.ContainsFunc(named(pageOf(t, o, target), "a"), func(n *html.Node) bool { return attribute(n, "href") == c.runbook }), target)
			}
		})
	}
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

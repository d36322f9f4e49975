package api

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/zeta-scaler/zeta-scaler/scaling"
	"github.com/zeta-scaler/zeta-scaler/state"
	"github.com/zeta-scaler/zeta-scaler/state/memory"
)

func ids(page ActionsPage) []string {
	out := []string{}
	for _, x := range page.Actions {
		out = append(out, x.ID)
	}
	return out
}

func TestActionsUnderWayComeFirst(t *testing.T) {
	h := newHandler(t, options(t))
	for query, want := range map[string][]string{
		"":                           {"7-2-acting", "6-9-other", "7-1-acting", "7-1-over"},
		"scope=other":                {"6-9-other"},
		"scope=nobody":               {},
		"state=CONVERGING":           {"7-2-acting"},
		"state=PENDING":              {"6-9-other"},
		"state=FAILED":               {"7-1-over"},
		"state=CANCELLED":            {},
		"limit=3":                    {"7-2-acting", "6-9-other", "7-1-acting"},
		"since=2026-03-14T09:26:00Z": {"7-2-acting"},
		"until=2026-03-14T09:00:00Z": {"7-1-over"},
		"since=2026-03-14T09:00:00Z&state=SUCCEEDED": {"7-1-acting"},
	} {
		require.Equal(t, want, ids(decoded[ActionsPage](t, call(h, "GET", "/autoscaler/actions?"+query))), query)
	}
}

func TestActionPagesMeetEachOther(t *testing.T) {
	h := newHandler(t, options(t))
	for limit := 1; limit <= 5; limit++ {
		var all []string
		query := fmt.Sprintf("limit=%d", limit)
		for next := query; next != ""; {
			page := decoded[ActionsPage](t, call(h, "GET", "/autoscaler/actions?"+next))
			require.LessOrEqual(t, len(page.Actions), limit)
			all = append(all, ids(page)...)
			next = ""
			if page.NextCursor != nil {
				next = query + "&cursor=" + *page.NextCursor
			}
		}
		require.Equal(t, []string{"7-2-acting", "6-9-other", "7-1-acting", "7-1-over"}, all, "limit %d", limit)
	}
}

// A state that few actions have is looked for behind the first entries, and
// what cannot be read hides nothing.
func TestActionsAreLookedFor(t *testing.T) {
	store := memory.New()
	add := func(x *scaling.Execution) {
		value, err := json.Marshal(x)
		require.NoError(t, err)
		keep(t, store, state.Entry{Scope: x.Scope, At: tick, Kind: state.ActionEntry, Value: value})
	}
	add(execution("rare", scaling.ActionFailed, tick))
	keep(t, store, state.Entry{Scope: "acting", At: tick, Kind: state.ActionEntry, Value: []byte(`{"note":1}`)})
	keep(t, store, state.Entry{Scope: "acting", At: tick, Kind: state.ActionEntry, Value: []byte(`[1]`)})
	for i := range 1100 {
		add(execution(fmt.Sprint(i), scaling.ActionSucceeded, tick))
	}
	put, err := state.NewPut(state.Execution, "broken", 0, []int{1})
	require.NoError(t, err)
	_, err = store.Apply(t.Context(), state.NoFence, state.Batch{Puts: []state.Put{put}})
	require.NoError(t, err)
	o := options(t)
	o.Store, o.History = store, store
	var log strings.Builder
	o.Logger = textLogger(&log)
	page := decoded[ActionsPage](t, call(newHandler(t, o), "GET", "/autoscaler/actions?state=FAILED&limit=5"))
	require.Equal(t, []string{"rare"}, ids(page))
	require.Nil(t, page.NextCursor)
	require.Equal(t, 3, page.Unreadable)
	require.Equal(t, 2, strings.Count(log.String(), "action cannot be read"), "entries of the history")
	require.Equal(t, 1, strings.Count(log.String(), `msg="actions cannot be read" records=[broken]`))
}

// Pages ask every few seconds: what is kept of an action or a drain and cannot be read
// is logged once, and when it can be read again.
func TestUnreadableRecordsAreLoggedOnce(t *testing.T) {
	for kind, target := range map[state.Kind]string{state.Execution: "/autoscaler/actions", state.Drain: "/autoscaler/drain"} {
		o := options(t)
		store := memory.New()
		o.Store, o.History = store, store
		var log strings.Builder
		o.Logger = textLogger(&log)
		h := newHandler(t, o)
		_, err := store.Apply(t.Context(), state.NoFence, state.Batch{Puts: []state.Put{{Kind: kind, Key: "broken", Value: []byte(`[1]`)}}})
		require.NoError(t, err)
		for range 3 {
			require.Equal(t, http.StatusOK, call(h, "GET", target).Code)
		}
		require.Equal(t, 1, strings.Count(log.String(), "records=[broken]"), target)
		_, err = store.Apply(t.Context(), state.NoFence, state.Batch{Removes: []state.Remove{{Kind: kind, Key: "broken"}}})
		require.NoError(t, err)
		call(h, "GET", target)
		require.Equal(t, 1, strings.Count(log.String(), "can be read again"), target)
	}
}

func TestStatusShowsTheAction(t *testing.T) {
	o := options(t)
	ev := scaleOut("prod")
	ev.Execution = &scaling.Execution{ID: "7-3-prod", RecommendationID: "7-3-prod", Scope: "prod", Target: 3, Actuator: "log", State: scaling.ActionPending}
	o.Board = &fakeBoard{evaluations: []scaling.Evaluation{ev}}
	rec := call(newHandler(t, o), "GET", "/autoscaler/status")
	require.Contains(t, rec.Body.String(), `"transitions":[]`)
	_, router := loadDocument(t)
	checkReply(t, router, newRequest(t, "/autoscaler/status"), rec)
	require.Equal(t, scaling.ActionPending, decoded[Status](t, rec).Scopes[0].Action.State)
	require.Nil(t, ev.Execution.Transitions, "the shared evaluation stays as it is")
}

func newRequest(t *testing.T, target string) *http.Request {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, target, http.NoBody)
	require.NoError(t, err)
	return req
}

func TestExplainChoosesTheDecision(t *testing.T) {
	o := options(t)
	h := newHandler(t, o)
	now := decoded[Explanation](t, call(h, "GET", "/autoscaler/explain?scope=prod"))
	require.Nil(t, now.Id)
	require.Equal(t, scaling.RowShortage, now.Recommendation.Row)
	byID := map[scaling.RowID]scaling.RowVerdict{}
	for _, v := range now.Rows {
		byID[v.ID] = v
	}
	require.Equal(t, scaling.RowMatched, byID[scaling.RowShortage].Verdict)
	require.Equal(t, scaling.RowNotTried, byID[scaling.RowSteady].Verdict)
	require.Equal(t, []string{"current 2 + booting 1 is not below min 1"}, byID[scaling.RowBelowMin].Because)

	page := decoded[HistoryPage](t, call(h, "GET", "/autoscaler/history?scope=prod"))
	for _, e := range page.Entries {
		x := decoded[Explanation](t, call(h, "GET", fmt.Sprintf("/autoscaler/explain?scope=prod&id=%d", e.ID)))
		require.Equal(t, e.ID, *x.Id)
		require.Equal(t, e.Recommendation.Row, x.Recommendation.Row)
		x = decoded[Explanation](t, call(h, "GET", "/autoscaler/explain?scope=prod&at="+e.At.Add(time.Second).Format(time.RFC3339)))
		require.Equal(t, e.ID, *x.Id)
	}
	// An entry of another scope or of another kind is none of this scope's decisions.
	for _, query := range []string{"scope=gone&id=3", "scope=prod&id=2", "scope=prod&id=9223372036854775807", "scope=prod&at=2020-01-01T00:00:00Z"} {
		require.Contains(t, []int{http.StatusNotFound, http.StatusBadRequest}, call(h, "GET", "/autoscaler/explain?"+query).Code, query)
	}
}

func TestExplainSaysWhatItDoesNotKnow(t *testing.T) {
	o := options(t)
	ev := scaleOut("prod")
	ev.Recommendation.RuleSet.Name = "another"
	o.Board = &fakeBoard{evaluations: []scaling.Evaluation{ev}}
	x := decoded[Explanation](t, call(newHandler(t, o), "GET", "/autoscaler/explain?scope=prod"))
	require.Contains(t, x.Notes[0], "not loaded any more")
	require.Empty(t, x.Queries[0].Promql)
	o.Board = options(t).Board
	o.PrometheusURL = nil
	x = decoded[Explanation](t, call(newHandler(t, o), "GET", "/autoscaler/explain?scope=prod"))
	require.Contains(t, x.Notes[0], "inside the service")
	require.NotEmpty(t, x.Queries[0].Promql)
	require.Empty(t, x.Queries[0].Curl)

	store := memory.New()
	value, err := json.Marshal(scaling.HistoryRecord{Recommendation: scaleOut("old").Recommendation})
	require.NoError(t, err)
	keep(t, store, state.Entry{Scope: "old", At: tick, Kind: state.DecisionEntry, Value: value})
	o.History = store
	x = decoded[Explanation](t, call(newHandler(t, o), "GET", "/autoscaler/explain?scope=old&id=1"))
	require.Equal(t, scaling.RowUndetermined, x.Rows[0].Verdict)
	require.Contains(t, x.Notes[0], "does not hold the facts")
}

// The webhook has a limit of its own.
func TestNotificationsMayBeLarge(t *testing.T) {
	h := newHandler(t, options(t))
	require.Equal(t, http.StatusOK, send(t, h, "POST", "/webhook/alertmanager", strings.Repeat(" ", 7<<20)).Code)
}

package api

import (
	"encoding/json"
	"net/http"
	"net/url"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/zeta-scaler/zeta-scaler/scaling"
	"github.com/zeta-scaler/zeta-scaler/state"
)

// plotOf is what the plot of a scope's page is drawn from.
func plotOf(t *testing.T, o Options, target string) (points [][5]*int64, marks [][3]any, from, to string) {
	t.Helper()
	for _, n := range pageOf(t, o, target) {
		if attribute(n, "id") == "plot" {
			require.NoError(t, json.Unmarshal([]byte(attribute(n, "data-points")), &points))
			require.NoError(t, json.Unmarshal([]byte(attribute(n, "data-marks")), &marks))
			return points, marks, attribute(n, "data-from"), attribute(n, "data-to")
		}
	}
	require.Fail(t, "there is no plot")
	return nil, nil, "", ""
}

// The plot begins with what held at its beginning, has the bounds of each time,
// and ends with the newest tick.
func TestPlotOfAPeriod(t *testing.T) {
	o := options(t)
	ev := scaleOut("empty")
	for i, minutes := range []int{600, 300, 90, 20} {
		ev.Recommendation.CurrentWorkers, ev.MaxWorkers = new(10+i), new(100+i)
		record(t, o.Store, ev, tick.Add(-time.Duration(minutes)*time.Minute))
	}
	values := func(p [5]*int64) (out []any) {
		for _, v := range p {
			if v == nil {
				out = append(out, nil)
			} else {
				out = append(out, *v)
			}
		}
		return out
	}
	start := tick.Add(-time.Hour)
	points, _, from, to := plotOf(t, o, "/?scope=empty&range=1h")
	require.Equal(t, []string{encoded(start.Unix()), encoded(tick.Unix())}, []string{from, to})
	require.Len(t, points, 3)
	require.Equal(t, []any{start.Unix(), int64(12), int64(3), int64(1), int64(102)}, values(points[0]), "what was decided before it began still held")
	require.Equal(t, []any{tick.Add(-20 * time.Minute).Unix(), int64(13), int64(3), int64(1), int64(103)}, values(points[1]))
	require.Equal(t, []any{tick.Unix(), nil, nil, int64(1), nil}, values(points[2]), "the newest tick: nothing is known, and there is no maximum")

	points, _, _, _ = plotOf(t, o, "/?scope=empty&range=6h")
	require.Len(t, points, 5)
	require.Equal(t, tick.Add(-6*time.Hour).Unix(), *points[0][0])
	words := mainOf(t, o, "/?scope=empty&range=6h")
	require.Contains(t, words, "Last 1h 6h 24h 7d")
	require.Equal(t, http.StatusBadRequest, call(newHandler(t, o), http.MethodGet, "/?scope=prod&range=2h").Code)
}

// Actions and pauses of the period are marked, and said in words.
func TestPlotMarksActionsAndPauses(t *testing.T) {
	o := options(t)
	ago := func(minutes int) time.Time { return tick.Add(-time.Duration(minutes) * time.Minute) }
	put := func(kind, scope string, at time.Time, v any) {
		value, err := json.Marshal(v)
		require.NoError(t, err)
		keep(t, o.Store, state.Entry{Scope: scope, At: at, Kind: kind, Action: "x", Value: value})
	}
	put(state.ActionEntry, "prod", ago(29), scaling.Execution{
		ID: "7-1-prod", Scope: "prod", From: new(2), Target: 4, State: scaling.ActionFailed,
		Transitions: []scaling.Transition{{State: scaling.ActionPending, At: ago(31)}, {State: scaling.ActionFailed, At: ago(29)}},
	})
	audit := func(what, scope string, at time.Time, until time.Time) {
		put(state.AuditEntry, scope, at, AuditRecord{Who: "ann", What: what, Scope: scope, At: at, After: state.ControlRecord{Reason: "upgrade", PausedUntil: until}})
	}
	audit(auditPause, "prod", ago(300), time.Time{})
	audit(auditPause, "prod", ago(45), time.Time{})
	audit(auditResume, "prod", ago(40), time.Time{})
	audit(auditPause, "prod", ago(20), ago(15))
	audit(auditPause, state.GlobalKey, ago(10), time.Time{})
	audit(auditPause, "other", ago(9), time.Time{})

	_, marks, _, _ := plotOf(t, o, "/?scope=prod&range=1h")
	at := func(minutes int) float64 { return float64(ago(minutes).Unix()) }
	require.Equal(t, [][3]any{
		{at(10), at(0), "pause"}, {at(20), at(15), "pause"}, {at(31), at(29), "failed"}, {at(45), at(40), "pause"}, {at(60), at(45), "pause"},
	}, marks)
	words := mainOf(t, o, "/?scope=prod&range=1h")
	for _, want := range []string{
		"The service paused by ann: upgrade, 2026-03-14T09:16:30Z",
		"Paused by ann: upgrade, 2026-03-14T09:06:30Z to 2026-03-14T09:11:30Z",
		"Action 2 → 4: failed, 2026-03-14T08:55:30Z to 2026-03-14T08:57:30Z its steps",
	} {
		require.Contains(t, words, want)
	}
}

func TestSignalsOverTime(t *testing.T) {
	o := options(t)
	words := mainOf(t, o, "/signals?scope=prod&range=6h")
	require.Contains(t, words, "oldest_blocked_job, seconds")
	require.Contains(t, words, "scale out if > 60")
	require.Contains(t, words, "scale in if ≤ 0")
	require.Contains(t, words, "A value every 1m30s")
	require.NotContains(t, words, "avg_cpu", "nothing is known of it")
	require.Contains(t, mainOf(t, o, "/?scope=prod"), "Each signal with its thresholds")
	require.Contains(t, mainOf(t, o, "/signals?scope="+url.QueryEscape(hostile)), hostile)
	for target, status := range map[string]int{"/signals": 400, "/signals?scope=none": 404, "/signals?scope=prod&range=1y": 400} {
		require.Equal(t, status, call(newHandler(t, o), http.MethodGet, target).Code, target)
	}
	o.Past = fakePast{err: ErrBusy}
	require.Equal(t, http.StatusServiceUnavailable, call(newHandler(t, o), http.MethodGet, "/signals?scope=prod").Code)
	o.Past = nil
	require.Equal(t, http.StatusNotImplemented, call(newHandler(t, o), http.MethodGet, "/signals?scope=prod").Code)
	require.NotContains(t, mainOf(t, o, "/?scope=prod"), "Each signal with its thresholds")
}

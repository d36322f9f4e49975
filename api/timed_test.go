package api

import (
	"net/http"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/zeta-scaler/zeta-scaler/scaling"
)

// A bound with an end goes before one without, ends by itself, and then what was
// set before holds again.
func TestABoundEndsByItself(t *testing.T) {
	o := options(t)
	now := o.Now()
	o.Now = func() time.Time { return now }
	h := newHandler(t, o)
	put := func(change string) ScopeConfig {
		rec := send(t, h, "PUT", "/autoscaler/config", `{"scopes":[{"scope":"prod",`+change+`}]}`, "If-Match", "*")
		return decoded[EffectiveConfig](t, rec).Scopes[0]
	}
	put(`"maxWorkers":12`)
	end := now.Add(6 * time.Hour).UTC()
	is := put(`"maxWorkers":20,"until":"` + end.Format(time.RFC3339) + `","reason":"the quarter ends"`)
	want := scaling.TimedBound{
		Bound: scaling.MaxWorkers, Workers: 20, Until: end, Since: now, By: "ann", Reason: "the quarter ends",
	}
	require.Equal(t, []scaling.TimedBound{want}, is.Control.TimedBounds)
	require.Equal(t, SourcedCount{
		Value: new(20), Origin: FromRuntime, Source: "max_workers 20 until " + end.Format(time.RFC3339) + " by ann: the quarter ends",
	}, is.MaxWorkers)
	require.Equal(t, new(12), is.Control.MaxWorkers)

	st := decoded[Status](t, call(h, "GET", "/autoscaler/status?scope=prod"))
	require.Equal(t, []scaling.TimedBound{want}, st.Scopes[0].TimedBounds)
	require.Contains(t, call(h, "GET", "/?scope=prod").Body.String(), "max_workers 20</span> since")
	require.NotContains(t, call(h, "GET", "/?scope=prod&id=1").Body.String(), "max_workers 20</span> since", "it was decided before")
	history := decoded[HistoryPage](t, call(h, "GET", "/autoscaler/history?scope=prod"))
	require.Equal(t, "max_workers: 12 → 20 until "+end.Format(time.RFC3339)+": the quarter ends", history.Changes[0].Reason)
	require.Equal(t, end, *history.Changes[0].Until)
	require.Equal(t, "the quarter ends", audits(t, o)[0].Reason)

	// The same again changes nothing, which leaves no empty words behind.
	put(`"maxWorkers":20,"until":"` + end.Format(time.RFC3339) + `","reason":"the quarter ends"`)
	history = decoded[HistoryPage](t, call(h, "GET", "/autoscaler/history?scope=prod"))
	require.Equal(t, "the quarter ends", history.Changes[0].Reason)
	put(`"maxWorkers":20,"until":"` + end.Format(time.RFC3339) + `"`)
	require.Contains(t, mainOf(t, o, "/history?scope=prod"), "config by ann: until "+end.Format(time.RFC3339)+" 2026")
	put(`"maxWorkers":20,"until":"` + end.Format(time.RFC3339) + `","reason":"the quarter ends"`)

	now = end.Add(-time.Millisecond)
	require.Equal(t, 20, *decoded[EffectiveConfig](t, call(h, "GET", "/autoscaler/config?scope=prod")).Scopes[0].MaxWorkers.Value)
	now = end
	is = decoded[EffectiveConfig](t, call(h, "GET", "/autoscaler/config?scope=prod")).Scopes[0]
	require.Equal(t, SourcedCount{Value: new(12), Origin: FromRuntime}, is.MaxWorkers)
	require.Empty(t, is.Control.TimedBounds)
	require.Empty(t, decoded[Status](t, call(h, "GET", "/autoscaler/status?scope=prod")).Scopes[0].TimedBounds)

	// A bound without an end, or none, ends one that had one.
	later := end.Add(time.Hour).Format(time.RFC3339)
	put(`"maxWorkers":30,"minWorkers":3,"until":"` + later + `"`)
	is = put(`"maxWorkers":8`)
	require.Equal(t, 8, *is.MaxWorkers.Value)
	require.Equal(t, 3, *is.MinWorkers.Value)
	is = put(`"minWorkers":null`)
	require.Equal(t, 1, *is.MinWorkers.Value)
	require.Empty(t, is.Control.TimedBounds)
}

func TestAnEndIsChecked(t *testing.T) {
	o := options(t)
	past, later := o.Now().Add(-time.Second).Format(time.RFC3339), o.Now().Add(time.Hour).Format(time.RFC3339)
	for _, tt := range []struct {
		change string
		status int
		detail string
	}{
		{`"maxWorkers":20,"until":"` + past + `"`, 400, "is not in the future"},
		{`"maxWorkers":20,"until":null`, 400, `"until"`},
		{`"maxWorkers":20,"until":"soon"`, 400, "not an RFC 3339 time"},
		{`"until":"` + later + `"`, 400, "neither is given"},
		{`"maxWorkers":null,"until":"` + later + `"`, 400, "not null"},
		{`"maxWorkers":20,"mode":"webhook","until":"` + later + `"`, 400, "cannot end a mode"},
		{`"maxWorkers":20,"reason":"a\u0007b","until":"` + later + `"`, 400, "control characters"},
		{`"maxWorkers":0,"until":"` + later + `"`, 422, "max_workers is 0"},
	} {
		rec := send(t, newHandler(t, o), "PUT", "/autoscaler/config", `{"scopes":[{"scope":"prod",`+tt.change+`}]}`, "If-Match", "*")
		require.Equal(t, tt.status, rec.Code, "%s: %s", tt.change, rec.Body)
		require.Contains(t, problemOf(t, rec.Body.Bytes()).Detail, tt.detail)
	}
	// What holds when it ends is checked, too: 15 is more than the 10 of the file.
	h := newHandler(t, o)
	rec := send(t, h, "PUT", "/autoscaler/config", `{"scopes":[{"scope":"prod","maxWorkers":20,"until":"`+later+`"}]}`, "If-Match", "*")
	require.Equal(t, http.StatusOK, rec.Code)
	rec = send(t, h, "PUT", "/autoscaler/config", `{"scopes":[{"scope":"prod","minWorkers":15}]}`, "If-Match", "*")
	require.Equal(t, http.StatusUnprocessableEntity, rec.Code)
	require.Contains(t, problemOf(t, rec.Body.Bytes()).Detail, "on min_workers 15 is greater than max_workers 10")
}

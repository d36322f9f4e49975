package api

import (
	"context"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/zeta-scaler/zeta-scaler/backtest"
	"github.com/zeta-scaler/zeta-scaler/chart"
	"github.com/zeta-scaler/zeta-scaler/rules"
	"github.com/zeta-scaler/zeta-scaler/scaling"
	"github.com/zeta-scaler/zeta-scaler/source"
)

// fakePast knows a past of three workers that wait for nothing.
type fakePast struct {
	// err is what every question is answered with; nil answers.
	err error
	// at is what was decided; nil is what the board shows.
	at *scaling.Evaluation
}

func (p fakePast) At(_ context.Context, scope string, at time.Time) (scaling.Evaluation, error) {
	if p.err != nil || p.at == nil {
		return scaling.Evaluation{}, errOr(p.err, backtest.ErrNoSample)
	}
	ev := *p.at
	ev.Tick = at.Truncate(30 * time.Second)
	ev.Recommendation.ObservedAt = ev.Tick
	ev.Recommendation.Scope, ev.Scope.Key = scope, scope
	return ev, nil
}

func errOr(err, otherwise error) error {
	if err != nil {
		return err
	}
	return otherwise
}

func (p fakePast) Signals(_ context.Context, _ scaling.Scope, axis chart.Axis) (map[string]*chart.Band, error) {
	band := chart.NewBand(axis.Columns)
	band.Add(0, 412)
	return map[string]*chart.Band{"oldest_blocked_job": &band}, p.err
}

func (p fakePast) RuleSets(string) []*rules.RuleSet {
	rs, _, err := rules.Pack("zeta-fixed-slot")
	if err != nil {
		panic(err)
	}
	return []*rules.RuleSet{rs}
}

func (p fakePast) Backtest(ctx context.Context, scope string, start, end time.Time, against *rules.RuleSet) (*backtest.Report, error) {
	if p.err != nil {
		return nil, p.err
	}
	db, err := source.OpenTemporary("", nil)
	if err != nil {
		return nil, err
	}
	defer func() { _ = db.Close() }() // a test's
	o := backtest.Options{SourceName: "a test", Start: start, End: end, Scopes: []string{scope}, Plots: true, Now: end}
	for _, n := range []source.Notation{
		{Series: `seatunnel_zeta_workers{cluster="` + scope + `"}`, Values: "3x3000"},
		{Series: `seatunnel_zeta_worker_sample_age_seconds{cluster="` + scope + `", worker="a"}`, Values: "3x3000"},
		{Series: `seatunnel_zeta_worker_cpu_ratio{cluster="` + scope + `", worker="a"}`, Values: "0.5x3000"},
	} {
		if err := db.Load(start, 30*time.Second, n); err != nil {
			return nil, err
		}
	}
	engine, err := source.NewEngine(source.EngineOptions{}, db)
	if err != nil {
		return nil, err
	}
	defer func() { _ = engine.Close() }() // a test's
	o.Source, o.RuleSets = engine, p.RuleSets(scope)
	if against != nil {
		o.RuleSets = append(o.RuleSets, against)
	}
	return backtest.Run(ctx, o)
}

func pastOf(t *testing.T, past Past) http.Handler {
	t.Helper()
	o := options(t)
	o.Past = past
	return newHandler(t, o)
}

func TestExplainComputesAgain(t *testing.T) {
	ev := blind("prod")
	h := pastOf(t, fakePast{at: &ev})
	var x Explanation
	get := func(target string) int {
		x = Explanation{}
		rec := serve(h, httptest.NewRequest(http.MethodGet, target, nil))
		require.NoError(t, json.Unmarshal(rec.Body.Bytes(), &x))
		return rec.Code
	}
	require.Equal(t, http.StatusOK, get("/autoscaler/explain?scope=prod&at=2026-03-14T09:10:05Z"))
	require.Nil(t, x.Id)
	require.Empty(t, x.Recommendation.RecommendationID, "nobody has published it")
	require.Zero(t, x.Recommendation.Generation)
	require.Equal(t, time.Date(2026, 3, 14, 9, 10, 0, 0, time.UTC), x.Recommendation.ObservedAt)
	require.Contains(t, x.Notes[0], "Computed again from what Prometheus has of 2026-03-14T09:10:00Z now")

	// The record of that very tick counts more.
	require.Equal(t, http.StatusOK, get("/autoscaler/explain?scope=prod&at=2026-03-14T09:25:31Z"))
	require.NotNil(t, x.Id)

	// What Prometheus does not have any more is what was recorded.
	h = pastOf(t, fakePast{err: backtest.ErrNoSample})
	require.Equal(t, http.StatusOK, get("/autoscaler/explain?scope=prod&at=2026-03-14T09:26:00Z"))
	require.NotNil(t, x.Id)
	require.Contains(t, strings.Join(x.Notes, " "), "cannot be computed for that very time")
	require.Equal(t, http.StatusNotFound, get("/autoscaler/explain?scope=prod&at=2020-03-14T09:26:00Z"))
	h = pastOf(t, fakePast{err: ErrBusy})
	require.Equal(t, http.StatusServiceUnavailable, get("/autoscaler/explain?scope=prod&at=2020-03-14T09:26:00Z"))
}

func TestPageOfThePast(t *testing.T) {
	ev := blind("prod")
	ev.Recommendation.ValidUntil = time.Date(2026, 3, 14, 9, 11, 30, 0, time.UTC)
	page := serve(pastOf(t, fakePast{at: &ev}), httptest.NewRequest(http.MethodGet, "/?scope=prod&at=2026-03-14T09:10:05Z", nil))
	require.Equal(t, http.StatusOK, page.Code)
	require.Contains(t, page.Body.String(), "how it was decided at <time datetime=\"2026-03-14T09:10:00Z\">")
	require.Contains(t, page.Body.String(), `<option value="zeta-fixed-slot">`)
	require.NotContains(t, strings.ToLower(page.Body.String()), "out of date", "that is about decisions of now")
	none := serve(pastOf(t, nil), httptest.NewRequest(http.MethodGet, "/?scope=prod&at=2026-03-14T09:10:05Z", nil))
	require.Equal(t, http.StatusOK, none.Code, "what was recorded is known without Prometheus, too")
	require.Contains(t, none.Body.String(), "This is the recorded decision of 2026-03-14T08:26:30Z")
	gone := serve(pastOf(t, fakePast{err: backtest.ErrNoSample}), httptest.NewRequest(http.MethodGet, "/?scope=prod&at=2020-03-14T09:10:05Z", nil))
	require.Equal(t, http.StatusNotFound, gone.Code)
	later := serve(pastOf(t, fakePast{at: &ev}), httptest.NewRequest(http.MethodGet, "/?scope=prod&at=2036-03-14T09:10:05Z", nil))
	require.Equal(t, http.StatusBadRequest, later.Code)
}

// Whether a scope was paused then says the decision, not what is set now.
func TestPageOfAPastPause(t *testing.T) {
	for _, paused := range []bool{true, false} {
		ev := blind("prod")
		ev.Paused = paused
		h := pastOf(t, fakePast{at: &ev})
		if !paused {
			require.Equal(t, http.StatusOK, send(t, h, "POST", "/autoscaler/pause", `{"scope":"prod","reason":"later"}`).Code)
		}
		page := serve(h, httptest.NewRequest(http.MethodGet, "/?scope=prod&at=2026-03-14T09:10:05Z", nil)).Body.String()
		require.NotContains(t, page, "Resumed")
		require.NotContains(t, page, "counts from the next tick on")
		require.NotContains(t, page, ev.Recommendation.RecommendationID)
		if paused {
			require.Contains(t, page, "Paused: nothing acts")
		} else {
			require.NotContains(t, page, "Paused: nothing acts")
		}
	}
}

func TestBacktest(t *testing.T) {
	post := func(past Past, body, accept string) *httptest.ResponseRecorder {
		req := httptest.NewRequest(http.MethodPost, "/autoscaler/backtest", strings.NewReader(body))
		req.Header.Set("Content-Type", "application/json")
		req.Header.Set("Accept", accept)
		return serve(pastOf(t, past), req)
	}
	page := post(fakePast{}, `{"scope":"prod","against":"zeta-fixed-slot"}`, "text/html")
	require.Equal(t, http.StatusOK, page.Code, page.Body.String())
	require.Contains(t, page.Body.String(), `<path class="observed"`)
	require.Contains(t, page.Body.String(), `href="?at=2026-03-13T`)
	require.NotContains(t, page.Body.String(), "style=", "the page's policy lets none in")
	for body, want := range map[string]int{
		`{"scope":"prod","end":"2026-03-14T09:00:00Z","start":"2026-03-14T10:00:00Z"}`: http.StatusBadRequest,
		`{"scope":"prod","start":"2026-03-01T10:00:00Z"}`:                              http.StatusBadRequest,
		`{"scope":"prod","against":"none"}`:                                            http.StatusBadRequest,
		`{"scope":"prod","rules":"format: x"}`:                                         http.StatusBadRequest,
		`{"scope":"prod","rules":"format: x","against":"zeta-fixed-slot"}`:             http.StatusBadRequest,
		`{"scope":"none"}`: http.StatusNotFound,
		`{}`:               http.StatusBadRequest,
	} {
		require.Equal(t, want, post(fakePast{}, body, "").Code, body)
	}
	require.Equal(t, http.StatusServiceUnavailable, post(fakePast{err: ErrBusy}, `{"scope":"prod"}`, "").Code)
	require.Equal(t, http.StatusNotImplemented, post(nil, `{"scope":"prod"}`, "").Code)
}
